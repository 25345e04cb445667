"""Finds what stands between tags in a text, in one pass: a text may be large and hostile."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from construct.store.transfer.foreign import Part, mark, words

_TITLE = re.compile(r'\btitle="([^"]*)"')


class Tagged(NamedTuple):
    """A place in a text from an opening tag to its closing tag."""

    start: int
    end: int
    opening: re.Match[str]
    body: str


def tagged(
    text: str, opening: re.Pattern[str], closing: Callable[[re.Match[str]], str]
) -> Iterator[Tagged]:
    """Yield the places between tags; `closing` gives the closing tag for an opening one."""
    unclosed: set[str] = set()
    position = 0
    while match := opening.search(text, position):
        position = match.end()
        tag = closing(match)
        end = -1 if tag in unclosed else text.find(tag, position)
        if end < 0:
            unclosed.add(tag)
            continue
        body = text[position:end]
        position = end + len(tag)
        yield Tagged(match.start(), position, match, body)


def without_tagged(
    text: str, opening: re.Pattern[str], closing: Callable[[re.Match[str]], str]
) -> tuple[str, list[re.Match[str]]]:
    """Return a text without these places and the white space after them, and their openings."""
    pieces: list[str] = []
    openings: list[re.Match[str]] = []
    end = 0
    for place in tagged(text, opening, closing):
        between = text[end : place.start]
        pieces.append(between.lstrip() if openings else between)
        openings.append(place.opening)
        end = place.end
    pieces.append(text[end:].lstrip() if openings else text)
    return "".join(pieces), openings


def with_artifacts(text: str, opening: re.Pattern[str], closing: str) -> Iterator[Part]:
    """Yield a text in parts: what was said, and the texts written beside it with their marks."""
    end = 0
    for place in tagged(text, opening, lambda _: closing):
        yield words(text[end : place.start].strip())
        name = _TITLE.search(place.opening[0])
        yield mark("artifact", name[1] if name else "")
        yield words(place.body.strip("\n"))
        end = place.end
    yield words(text[end:].strip() if end else text)
