"""Shorten long runs of code and encoded data in what an observer reads. No I/O.

A pasted file of base64, or a program, would fill many calls and give no note. Its beginning
and its end say what it was. Prose is never shortened.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from construct.language.own_words import is_code_line

_LEAST = 6_000
"""Characters from which a run of code or data is shortened, about 2,000 tokens."""
_HEAD, _TAIL = 1_500, 700
"""Characters that stay at either end of a run."""
_LONG_WORD = 200
"""Characters from which a word is no word of any language, but encoded."""
_BESIDE_CODE = re.compile(r"    |\t|\s*(?:#|//|/?\*|--|\"\"\")")
_UNSPACED = re.compile("[\u0e00-\u0eff\u0f40-\u109f\u1780-\u17d3\u3040-\u30ff\u3400-\u9fff]")
"""Scripts without spaces: a long run of these is prose."""
_SIGNS = re.compile(r"[{}\[\]<>=;_|\\*&^%$#@~`+/]")
_CALL = re.compile(r"\w\([\w\"'*]|\w\.\w+\.\w")
_MOSTLY = 0.5
"""Share of a run's characters that are code or data, for it to be shortened."""
_WORDS_OF_PROSE = 6
"""An indented line with fewer words is taken for code."""
_SIGNS_OF_CODE = 0.12
"""Share of a line's characters that are signs, for it to be code or data."""


def abridged(text: str) -> str:
    """Return a text with long runs of code or data replaced by their beginning and end.

    In lines that begin with `> ` (pasted text) prose between such lines goes with them, if it
    is less. In the user's own lines only comments and indented lines do.
    """
    if len(text) < _LEAST:
        return text
    lines = text.split("\n")
    parts: list[str] = []
    for is_pasted, block in groupby(lines, lambda line: line.startswith(">")):
        group = list(block)
        if is_pasted:
            parts += _shortened(group, "> ") if _is_mostly_data(group) else group
        else:
            parts += _own_lines(group)
    return "\n".join(parts)


def _own_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines that were not pasted; comments and indented lines go with the code."""
    for may_be_data, run in groupby(lines, _may_be_data):
        group = list(run)
        yield from _shortened(group, "") if may_be_data and _is_mostly_data(group) else group


def _shortened(lines: Sequence[str], mark: str) -> list[str]:
    """Return the first and last lines of a run; all of them if it is short."""
    if sum(map(len, lines)) + len(lines) < _LEAST:
        return list(lines)
    whole = "\n".join(lines)
    head, tail = whole[:_HEAD], whole[-_TAIL:]
    # Marked as nobody's words, whoever wrote the rest.
    left_out = f"> [{len(whole) - _HEAD - _TAIL:,} characters of code or data left out]"
    return [head, left_out, *(f"{mark}{line.removeprefix(mark)}" for line in tail.split("\n"))]


def _is_mostly_data(lines: Sequence[str]) -> bool:
    bare = [line.removeprefix(">").removeprefix(" ") for line in lines]
    data = sum(len(line) for line in bare if _is_data(line))
    return data > _MOSTLY * sum(map(len, bare))


def _may_be_data(line: str) -> bool:
    return _BESIDE_CODE.match(line) is not None or _is_data(line)


def _is_data(line: str) -> bool:
    """Return whether a line is code or encoded data; blank and short indented ones are."""
    is_indented = line.startswith(("    ", "\t"))
    if not line.strip() or (is_indented and len(line.split()) < _WORDS_OF_PROSE):
        return True
    longest = max(map(len, line.split()))
    if longest >= _LONG_WORD or (longest >= 40 and longest > 0.8 * len(line)):
        return _UNSPACED.search(line) is None
    if is_code_line(line) or _CALL.search(line):
        return True
    return len(_SIGNS.findall(line)) > _SIGNS_OF_CODE * len(line)
