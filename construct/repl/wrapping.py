"""Breaking plain lines between words as they stream in."""

import re

from rich.cells import cell_len

from construct.text import PrintableStream

_PARTS = re.compile(r"\n|[^\S\n]+|\S+")
_FENCES = ("```", "~~~")


class WrappedStream(PrintableStream):
    """`PrintableStream` for a terminal `width` columns wide; lines of code are left to it, to be copied whole."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self._width = width
        self._column = 0
        self._gap = self._word = ""
        self._in_code = False

    def feed(self, piece: str) -> str:
        """Return what can be printed now; the last word waits for its end."""
        return self._wrapped(super().feed(piece))

    def finish(self) -> str:
        """Return the rest."""
        return self._wrapped(super().finish()) + self._placed()

    def _wrapped(self, text: str) -> str:
        return "".join(self._take(part) for part in _PARTS.findall(text))

    def _take(self, part: str) -> str:
        if not part.isspace():
            self._word += part
            return self._placed() if cell_len(self._word) >= self._width else ""  # no end may come: Chinese, a URL
        out = self._placed()
        if part != "\n":
            self._gap += part
            return out
        self._gap, self._column = "", 0
        return out + part

    def _placed(self) -> str:
        """Return the word that waits, on the line or on a new one."""
        gap, word = self._gap, self._word
        if not word:
            return ""
        self._gap = self._word = ""
        if not self._column and word.startswith(_FENCES):
            self._in_code = not self._in_code
        end = self._column + cell_len(gap + word)
        if gap and self._column and end > self._width and not self._in_code:
            gap, end = "\n", cell_len(word)
        self._column = (end - 1) % self._width + 1
        return gap + word
