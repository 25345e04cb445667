"""Pastes: read fast, shown folded at the prompt, sent whole and marked as pasted."""

import re
from collections.abc import Callable, Iterable

from prompt_toolkit.input import Input
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress

from construct.pasted import Span

_FOLD_FROM_LINES = 2
_LONGEST_UNFOLDED = 200
"""Characters of the longest paste that counts as typed: it is the user's own."""
_FOLDED = re.compile(r"\[pasted [\d,]+ (?:lines|characters) #(\d+)\]")
_END_OF_PASTE = "\x1b[201~"


class Pastes:
    """The pasted texts of one chat that are shown folded."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._count = 0

    def fold(self, text: str) -> str:
        """Return what the prompt shows for a pasted text: the text itself if it is short."""
        lines = text.strip("\n").count("\n") + 1
        if lines < _FOLD_FROM_LINES and len(text) <= _LONGEST_UNFOLDED:
            return text
        number = next((n for n, known in self._texts.items() if known == text), None)
        if number is None:
            number = self._count = self._count + 1
            self._texts[number] = text
        size = f"{len(text):,} characters" if lines < _FOLD_FROM_LINES else f"{lines:,} lines"
        return f"[pasted {size} #{number}]"

    def unfold(self, text: str) -> str:
        """Return a text with every fold replaced by the paste behind it."""
        return self.unfold_marked(text)[0]

    def unfold_marked(self, text: str) -> tuple[str, tuple[Span, ...]]:
        """Return a text with its folds replaced, and where in it the pastes stand."""
        parts: list[str] = []
        spans: list[Span] = []
        length = done = 0
        for fold in _FOLDED.finditer(text):
            paste = self._texts.get(int(fold[1]))
            if paste is None:
                continue
            own = text[done : fold.start()]
            start = length + len(own)
            length = start + len(paste)
            parts += [own, paste]
            spans.append((start, length))
            done = fold.end()
        return "".join([*parts, text[done:]]), tuple(spans)

    def fold_at(self, text: str, position: int) -> Span | None:
        """Return where the fold stands that ends at a position or has it inside."""
        for fold in _FOLDED.finditer(text):
            if fold.start() < position <= fold.end() and int(fold[1]) in self._texts:
                return fold.span()
        return None

    def forget_except_in(self, lines: Iterable[str]) -> None:
        """Forget the pastes that are not folded in any of these lines."""
        kept = {int(number) for line in lines for number in _FOLDED.findall(line)}
        self._texts = {number: text for number, text in self._texts.items() if number in kept}


class PasteParser(Vt100Parser):
    """Collects a paste piece by piece, searching each piece once for its end.

    prompt_toolkit's parser searches the whole paste again with every kilobyte.
    """

    def __init__(self, feed_key_callback: Callable[[KeyPress], None]) -> None:
        super().__init__(feed_key_callback)
        self._pieces: list[str] = []
        self._seam = ""  # the last characters: the end mark may arrive in two parts

    def feed(self, data: str) -> None:
        """Take input from the terminal. A paste is passed on once it is complete."""
        if self._in_bracketed_paste:
            self._pieces.append(data)
            joined = self._seam + data
            self._seam = joined[1 - len(_END_OF_PASTE) :]
            if _END_OF_PASTE not in joined:
                return
            data, self._pieces, self._seam = "".join(self._pieces), [], ""
        super().feed(data)


def read_long_pastes(terminal: Input) -> None:
    """Make a terminal's input use `PasteParser`.

    Not needed for the Windows console, which delivers a paste in one piece.
    """
    if isinstance(terminal, Vt100Input):
        terminal.vt100_parser = PasteParser(terminal.vt100_parser.feed_key_callback)
