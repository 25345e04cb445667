"""Render search hits as plain lines and as JSON. Does not import rich."""

from collections.abc import Iterator

from construct.language.index_words import index_words
from construct.memory.recall.query import analyse, excerpt
from construct.memory.recall.search import MATCH_MEANS
from construct.operations.search import SearchResult
from construct.references import written
from construct.views.shapes import FoundMessageJson, FoundNoteJson, found_json
from construct.views.words import counted
from construct.vocabulary import Match

_EXCERPT = 160
"""Characters shown of a hit's text in plain lines."""


def search_lines(result: SearchResult) -> Iterator[str]:
    """Yield one line per hit, then the legend."""
    words, pieces = words_sought(result), analyse(result.query).pieces
    for hit in result.hits:
        note = f"  [{hit.match}]" if hit.match != Match.DIRECT else ""
        who = f"{hit.role}: " if hit.role else ""
        text = excerpt(hit.text, words, _EXCERPT, pieces)
        yield f"{written((hit.kind, hit.id)):>14}  [{hit.date}] {who}{text}{note}"
    if not result.hits:
        yield "Nothing was found."
    yield from legend(result)


def search_json(result: SearchResult) -> list[FoundNoteJson | FoundMessageJson]:
    """Return the hits as JSON, best first."""
    found = ((hit, result.items.get((hit.kind, hit.id))) for hit in result.hits)
    return [found_json(hit, item) for hit, item in found if item is not None]


def unsearched_view(left: int) -> str:
    """Return a note that some imported messages are not in the search index yet."""
    messages = counted(left, "imported message")
    return f"Not searched yet: {messages} (being added to the index)."


def words_sought(result: SearchResult) -> tuple[str, ...]:
    """Return the words that were searched for, normalised as in the index."""
    sought = list(analyse(result.query).words)
    for correction in result.respelt:
        sought += index_words(correction.searched)
    return tuple(sought)


def legend(result: SearchResult) -> list[str]:
    """Return lines that name corrected spellings and explain the marks of the hits."""
    marks = {hit.match for hit in result.hits}
    meanings = [f"{mark}: {means}" for mark, means in MATCH_MEANS.items() if mark in marks]
    nowhere = [f"Nothing holds: {', '.join(result.nowhere)}."] if result.nowhere else []
    return [*map(str, result.respelt), *(nowhere if result.hits else []), *meanings]
