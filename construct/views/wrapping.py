"""Fitting text to a terminal's width: where lines may break, and where they are cut.

Wide characters take two columns, combining ones none. A line breaks between words, and
between the characters of scripts that have no spaces.
"""

import re
from collections.abc import Callable
from itertools import accumulate, pairwise

from rich.cells import cell_len, chop_cells

from construct.text import PrintableStream, one_line

# What is not to be parted: a Chinese or Japanese character with its punctuation, or
# what stands between two spaces.
_WIDE = "\u2e80-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\U00020000-\U0003ffff"
_WORD = re.compile(
    rf"[「『（【《〈]*[{_WIDE}][、。，．：；？！」』）】》〉”’…ー.,:;?!)%]* *|[^ {_WIDE}]+ *| +"
)
_PARTS = re.compile(r"\n|[^\S\n]+|\S+")
_KEY = re.compile(r" +\S  ")
"""What begins a line of choices: the key that picks it."""
_FENCES = ("```", "~~~")


def fitted(text: str, columns: int) -> str:
    """Return `text` as one line of at most `columns` columns, cut with an ellipsis."""
    line = one_line(text)
    if cell_len(line) <= columns:
        return line
    kept = sum(width < columns for width in accumulate(map(cell_len, line)))
    return line[:kept].rstrip() + "…"


def breaks(line: str, width: int, stays_whole: Callable[[str], bool] = str.isascii) -> list[int]:
    """Return where to break `line`.

    An ASCII word longer than the line stays whole by default: where nothing stands
    beside it the terminal wraps it, and a long URL can still be copied.
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
            cuts = chops(word, width)
            points += [match.start() + cut for cut in cuts]
            column = cell_len(word[cuts[-1] :]) if cuts else size
            column += len(match[0]) - len(word)
        else:
            column += size + len(match[0]) - len(word)
    return points


def wrapped(text: str, width: int) -> str:
    """Return text broken for a terminal; lines with columns in them stay whole.

    What follows a key and two spaces is broken beside the key.
    """
    parts: list[str] = []
    for line in text.split("\n"):
        key = _KEY.match(line)
        head = key[0] if key else ""
        rest = line[len(head) :]
        if "  " in rest or "\t" in rest:
            parts.append(line)
            continue
        cuts = pairwise([0, *breaks(rest, max(20, width - len(head))), len(rest)])
        first, *more = [rest[begin:end].rstrip() for begin, end in cuts]
        parts += [head + first, *(" " * len(head) + piece for piece in more)]
    return "\n".join(parts)


def chops(text: str, width: int) -> list[int]:
    """Return where to cut `text`, anywhere, into pieces of `width` columns."""
    return list(accumulate(map(len, chop_cells(text, width)[:-1])))


class WrappedStream(PrintableStream):
    """Breaks lines between words as they stream in to a terminal.

    Lines of code are left whole, to be copied.
    """

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
            # Its end may be far away: Chinese, a URL.
            return self._placed() if cell_len(self._word) >= self._width else ""
        out = self._placed()
        if part != "\n":
            self._gap += part
            return out
        self._gap, self._column = "", 0
        return out + part

    def _placed(self) -> str:
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
