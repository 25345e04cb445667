"""What recall found."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from construct.language.index_words import index_words
from construct.memory.recall.excerpts import excerpt, word_spans
from construct.memory.recall.query import analyse
from construct.memory.recall.related import MATCH_MEANS
from construct.memory.recall.search import Hit
from construct.operations.memory import Found
from construct.references import written
from construct.views.unmarked import without_markup
from construct.views.widgets import Prose
from construct.views.words import counted
from construct.vocabulary import ItemKind, Role

_MOST_LINES = 2
_SHORTEST = 60
_EXCERPT = 160
"""Characters shown of a hit in plain lines."""
_BESIDE = 36
"""Columns of the id, the date, and what is said of who said it and how it was found."""


def found_view(found: Found) -> RenderableType:
    """Return hits, best first, on about two lines each: the best stays on the screen.

    Each shows the part where the words of the query stand, and these are marked. Below
    stands which words were searched in the place of misspelt ones.
    """
    if found.hits:
        return _Hits(found, _words_sought(found), analyse(found.query).pieces)
    nothing = "Nothing was found. Other words for it may do, or fewer."
    return Text("\n".join([nothing, *_legend(found)]), style="dim")


def found_lines(found: Found) -> Iterator[str]:
    """Yield a line for each hit, for other programs, and what the marks mean."""
    words, pieces = _words_sought(found), analyse(found.query).pieces
    for hit in found.hits:
        note = f"  [{hit.match}]" if hit.match != "direct" else ""
        who = f"{hit.role}: " if hit.role else ""
        text = excerpt(hit.text, words, _EXCERPT, pieces)
        yield f"{written((hit.kind, hit.id)):>14}  [{hit.date}] {who}{text}{note}"
    if not found.hits:
        yield "Nothing was found."
    yield from _legend(found)


def found_json(found: Found) -> list[dict[str, Any]]:
    """Return the hits for programs."""
    return [_hit_json(hit) for hit in found.hits]


def unsearched_view(left: int) -> str:
    """Return that so many imported messages are not in the search index yet."""
    messages = counted(left, "imported message")
    return f"Not searched yet: {messages} (being entered into the index)."


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


def _words_sought(found: Found) -> tuple[str, ...]:
    """Return the words that were searched, in the form in which they are compared."""
    sought = list(analyse(found.query).words)
    for one in found.respelt:
        sought += index_words(one.searched)
    return tuple(sought)


def _legend(found: Found) -> list[str]:
    """Return which words were respelt, and what the marks of the hits mean."""
    marks = {hit.match for hit in found.hits}
    meanings = [f"{mark}: {means}" for mark, means in MATCH_MEANS.items() if mark in marks]
    return [*map(str, found.respelt), *meanings]


@dataclass(frozen=True, slots=True)
class _Hits:
    found: Found
    words: tuple[str, ...]
    pieces: tuple[str, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True, style="dim", justify="right")
        table.add_column(no_wrap=True, style="dim")
        table.add_column(overflow="fold")
        columns = max(_SHORTEST, _MOST_LINES * (options.max_width - _BESIDE))
        for hit in self.found.hits:
            table.add_row(written((hit.kind, hit.id)), hit.date, self._text(hit, columns))
        yield table
        if below := "\n".join(_legend(self.found)):
            yield Text(f"\n{below}", style="dim")

    def _text(self, hit: Hit, columns: int) -> Text:
        text = Prose()
        if hit.role == Role.USER:
            text.append("you: ", style="accent")
        elif hit.role:
            text.append("reply: ", style="dim")
        said = without_markup(hit.text) if hit.role == Role.ASSISTANT else hit.text
        text.append(self._excerpt(said, columns))
        if hit.state and hit.state != "active":
            text.append(f"  {hit.state}", style="dim")
        if hit.match != "direct":
            text.append(f"  {hit.match}", style="dim")
        return text

    def _excerpt(self, text: str, columns: int) -> Text:
        size = columns * len(text) // max(1, cell_len(text))
        shown = Text(excerpt(text, self.words, size, self.pieces))
        for begin, end in word_spans(shown.plain, self.words, self.pieces):
            shown.stylize("strong", begin, end)
        return shown
