"""Fit text to a terminal's width by wrapping or cutting lines.

Wide characters take two columns, combining ones none. Lines break between words or, in
scripts without spaces, between characters.
"""

import re
from collections.abc import Callable
from itertools import accumulate, pairwise

from rich.cells import cell_len, chop_cells

from construct.text import PrintableStream, one_line

# Chinese and Japanese characters.
_WIDE = "\u2e80-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\U00020000-\U0003ffff"
# What a line break may not split: a wide character with its punctuation, such as
# "「字」", or a run of other characters between spaces; each with the spaces that follow.
_WORD = re.compile(
    rf"[「『（【《〈]*[{_WIDE}][、。，．：；？！」』）】》〉”’…ー.,:;?!)%]* *|[^ {_WIDE}]+ *| +"
)
_PARTS = re.compile(r"\n|[^\S\n]+|\S+")
# The beginning of a choice in a menu: the key that picks it, as in "  n  no model".
_KEY = re.compile(r" +\S  ")
_MIN_WIDTH_BESIDE_KEY = 20
_FENCES = ("```", "~~~")


def ellipsized(text: str, columns: int) -> str:
    """Return `text` as one line of at most `columns` columns, cut with an ellipsis."""
    line = one_line(text)
    if cell_len(line) <= columns:
        return line
    kept = sum(width < columns for width in accumulate(map(cell_len, line)))
    return line[:kept].rstrip() + "…"


def break_points(
    line: str, width: int, stays_whole: Callable[[str], bool] = str.isascii
) -> list[int]:
    """Return the indexes at which to break `line`.

    A word longer than the line is split unless `stays_whole` says otherwise. By default
    ASCII words stay whole: the terminal wraps them, and a long URL can be copied.
    """
    points: list[int] = []
    column = 0
    for match in _WORD.finditer(line):
        word = match[0].rstrip(" ")
        size = cell_len(word)
        if column and column + size > width:
            points.append(match.start())
            column = 0
        if size > width and not stays_whole(word):
            cuts = [0, *chop_points(word, width)]
            points += [match.start() + cut for cut in cuts[1:]]
            size = cell_len(word[cuts[-1] :])
        column += size + len(match[0]) - len(word)
    return points


def wrapped(text: str, width: int) -> str:
    """Return text wrapped for a terminal. Lines of tables are left as they are.

    A menu's choice is indented to stand beside its key.
    """
    parts: list[str] = []
    for line in text.split("\n"):
        key = _KEY.match(line)
        head = key[0] if key else ""
        rest = line[len(head) :]
        if "  " in rest or "\t" in rest:
            parts.append(line)
            continue
        room = max(_MIN_WIDTH_BESIDE_KEY, width - len(head))
        cuts = pairwise([0, *break_points(rest, room), len(rest)])
        first, *more = [rest[begin:end].rstrip() for begin, end in cuts]
        parts += [head + first, *(" " * len(head) + piece for piece in more)]
    return "\n".join(parts)


def chop_points(text: str, width: int) -> list[int]:
    """Return the indexes at which to cut `text` into pieces of `width` columns."""
    return list(accumulate(map(len, chop_cells(text, width)[:-1])))


class WrappedStream(PrintableStream):
    """Wraps text between words as it streams to a terminal.

    Lines in code fences are not wrapped, so that code can be copied.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self._width = width
        self._column = 0
        self._gap = self._word = ""
        self._in_code = False

    def feed(self, piece: str) -> str:
        """Return what can be printed now. An incomplete last word is held back."""
        return self._wrapped(super().feed(piece))

    def finish(self) -> str:
        """Return the rest."""
        return self._wrapped(super().finish()) + self._placed()

    def _wrapped(self, text: str) -> str:
        return "".join(self._take(part) for part in _PARTS.findall(text))

    def _take(self, part: str) -> str:
        """Add a word, a run of blanks or a line end. Return what can be printed."""
        if not part.isspace():
            self._word += part
            # A word as wide as the line, such as a URL or Chinese, is not held back.
            return self._placed() if cell_len(self._word) >= self._width else ""
        word = self._placed()
        if part != "\n":
            self._gap += part
            return word
        self._gap, self._column = "", 0
        return word + part

    def _placed(self) -> str:
        """Return the held-back word, on a new line if it does not fit."""
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
