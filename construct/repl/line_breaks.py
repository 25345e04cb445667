"""Where a line may be broken: between words, and between the characters of scripts that have no spaces."""

import re
from collections.abc import Callable
from itertools import pairwise

from rich.cells import cell_len, chop_cells

# What is not to be parted: a Chinese or Japanese character with its punctuation, or what stands between two spaces.
_WIDE = "\u2e80-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\U00020000-\U0003ffff"
_WORD = re.compile(rf"[「『（【《〈]*[{_WIDE}][、。，．：；？！」』）】》〉”’…ー.,:;?!)%]* *|[^ {_WIDE}]+ *| +")


def breaks(line: str, width: int, stays_whole: Callable[[str], bool] = str.isascii) -> list[int]:
    """Return where to break `line`.

    An ASCII word longer than the line stays whole unless told otherwise: where nothing stands beside it the terminal
    wraps it, and a long URL can still be copied.
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
    """Return lines of text broken for a terminal; one with columns in it is left as it is."""
    return "\n".join(part for line in text.split("\n") for part in _wrapped(line, max(20, width)))


def _wrapped(line: str, width: int) -> list[str]:
    if "  " in line or "\t" in line:
        return [line]
    return [line[begin:end].rstrip() for begin, end in pairwise([0, *breaks(line, width), len(line)])]


def chops(text: str, width: int) -> list[int]:
    """Return where to cut `text`, which has no place to break, into pieces of `width` columns."""
    points: list[int] = []
    for piece in chop_cells(text, width)[:-1]:
        points.append(len(piece) + (points[-1] if points else 0))
    return points
