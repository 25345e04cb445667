"""Reading what is pasted, however much: prompt_toolkit searches all that has come of it with every kilobyte more."""

from collections.abc import Callable

from prompt_toolkit.input import Input
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress

_END = "\x1b[201~"


class PasteParser(Vt100Parser):
    """Gathers a paste in pieces, each of them looked at once."""

    def __init__(self, feed_key_callback: Callable[[KeyPress], None]) -> None:
        super().__init__(feed_key_callback)
        self._pieces: list[str] = []
        self._seam = ""  # the end of what has come: the mark may come in two parts

    def feed(self, data: str) -> None:
        """Take what has come from the terminal; a paste is handed on once its end has come."""
        if self._in_bracketed_paste:
            self._pieces.append(data)
            joined = self._seam + data
            self._seam = joined[1 - len(_END) :]
            if _END not in joined:
                return
            data, self._pieces, self._seam = "".join(self._pieces), [], ""
        super().feed(data)


def read_long_pastes(terminal: Input) -> None:
    """Have a terminal's input read by such a parser; Windows' own console hands a paste over in one piece."""
    if isinstance(terminal, Vt100Input):
        terminal.vt100_parser = PasteParser(terminal.vt100_parser.feed_key_callback)
