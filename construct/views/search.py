"""What recall found, for other programs: plain lines, and JSON."""

from collections.abc import Iterator
from typing import Any

from construct.language.index_words import index_words
from construct.memory.recall.query import analyse, excerpt
from construct.memory.recall.search import MATCH_MEANS, Hit
from construct.operations.search import Found
from construct.references import written
from construct.views.words import counted
from construct.vocabulary import ItemKind

_EXCERPT = 160
"""Characters shown of a hit in plain lines."""


def found_lines(found: Found) -> Iterator[str]:
    """Yield a line for each hit, for other programs, and what the marks mean."""
    words, pieces = words_sought(found), analyse(found.query).pieces
    for hit in found.hits:
        note = f"  [{hit.match}]" if hit.match != "direct" else ""
        who = f"{hit.role}: " if hit.role else ""
        text = excerpt(hit.text, words, _EXCERPT, pieces)
        yield f"{written((hit.kind, hit.id)):>14}  [{hit.date}] {who}{text}{note}"
    if not found.hits:
        yield "Nothing was found."
    yield from legend(found)


def found_json(found: Found) -> list[dict[str, Any]]:
    """Return the hits for programs."""
    return [_hit_json(hit) for hit in found.hits]


def unsearched_view(left: int) -> str:
    """Return that so many imported messages are not in the search index yet."""
    messages = counted(left, "imported message")
    return f"Not searched yet: {messages} (being added to the index)."


def _hit_json(hit: Hit) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "kind": hit.kind,
        "id": written((hit.kind, hit.id)),
        "conversation": hit.conversation,
        "date": hit.date,
        "text": hit.text,
        "score": round(hit.score, 6),
    }
    if hit.match != "direct":
        shape["match"] = hit.match
    match hit.kind:
        case ItemKind.MESSAGE:
            shape |= {"date": hit.created_at, "role": hit.role}
        case ItemKind.MEMORY:
            shape["state"] = hit.state
        case ItemKind.OBSERVATION:
            shape |= {
                "id": hit.id,
                "generation": hit.generation,
                "priority": hit.priority,
                "stance": hit.stance,
                "state": hit.state,
            }
    return shape


def words_sought(found: Found) -> tuple[str, ...]:
    """Return the words that were searched, in the form in which they are compared."""
    sought = list(analyse(found.query).words)
    for one in found.respelt:
        sought += index_words(one.searched)
    return tuple(sought)


def legend(found: Found) -> list[str]:
    """Return which words were respelt, and what the marks of the hits mean."""
    marks = {hit.match for hit in found.hits}
    meanings = [f"{mark}: {means}" for mark, means in MATCH_MEANS.items() if mark in marks]
    return [*map(str, found.respelt), *meanings]
