"""Where in a text a query's words stand, and the part of it that has most of them."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from construct.language.index_words import fold, stem, word_forms
from construct.memory.recall.query import akin
from construct.text import one_line

_WORD = re.compile(r"[^\W_]+")


def word_spans(
    line: str, words: Sequence[str], pieces: Sequence[str] = ()
) -> Iterator[tuple[int, int]]:
    """Yield (begin, end) of the words, in any of their forms, and of the pieces of words."""
    wanted = {stem(form): form for word in words for form in word_forms(word)}
    for match in _WORD.finditer(line):
        word = fold(match[0])
        form = wanted.get(stem(word))
        if form and akin(word, form):
            yield match.span()
    for piece in pieces:
        yield from (match.span() for match in re.finditer(re.escape(piece), line))


def excerpt(text: str, words: Sequence[str], size: int, pieces: Sequence[str] = ()) -> str:
    """Return the part of a text that has most of the words, as one line of whole words."""
    line = one_line(text)
    if len(line) <= size:
        return line
    places = sorted(begin for begin, _ in word_spans(line, words, pieces))
    starts = [max(0, place - size // 4) for place in places] or [0]
    start = max(
        starts, key=lambda begin: bisect_left(places, begin + size) - bisect_left(places, begin)
    )
    end = min(len(line), start + size)
    start = line.find(" ", start) + 1 if start and " " in line[start : start + 40] else start
    end = line.rfind(" ", start, end) if end < len(line) and " " in line[end - 40 : end] else end
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
