"""What recall found."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from construct.memory.language.stem import words
from construct.memory.recall.excerpts import excerpt, spans
from construct.memory.recall.query import analyse
from construct.memory.recall.related import MATCH_MEANS
from construct.memory.recall.search import Hit
from construct.memory.recall.spelling import Respelt
from construct.references import written
from construct.repl.views.prose import Prose

_MOST_LINES = 2
_SHORTEST = 60
_BESIDE = 36
"""Columns of the id, the date, and what is said of who said it and how it was found."""


def hits_view(hits: Sequence[Hit], query: str, respelt: Sequence[Respelt] = ()) -> RenderableType:
    """Return hits, best first, each on two lines or so: the best should still be on the screen under the last.

    What is shown of each is where the words of the query stand, and these are marked. Below them stands which words
    were searched in the place of misspelt ones.
    """
    if not hits:
        nothing = "Nothing was found. Other words for it may do, or fewer."
        return Text("\n".join([nothing, *map(str, respelt)]), style="dim")
    return _Hits(hits, words_sought(query, respelt), analyse(query).pieces, respelt)


def words_sought(query: str, respelt: Sequence[Respelt]) -> tuple[str, ...]:
    """Return the words that were searched, folded."""
    return (*analyse(query).words, *(word for one in respelt for word in words(one.searched)))


def match_legend(hits: Sequence[Hit]) -> list[str]:
    """Return what the marks of these hits mean."""
    return [f"{match}: {means}" for match, means in MATCH_MEANS.items() if any(hit.match == match for hit in hits)]


@dataclass(frozen=True, slots=True)
class _Hits:
    hits: Sequence[Hit]
    words: tuple[str, ...]
    pieces: tuple[str, ...]
    respelt: Sequence[Respelt]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True, style="dim", justify="right")
        table.add_column(no_wrap=True, style="dim")
        table.add_column(overflow="fold")
        columns = max(_SHORTEST, _MOST_LINES * (options.max_width - _BESIDE))
        for hit in self.hits:
            table.add_row(written((hit.kind, hit.id)), hit.date, self._text(hit, columns))
        yield table
        if below := "\n".join([*map(str, self.respelt), *match_legend(self.hits)]):
            yield Text(f"\n{below}", style="dim")

    def _text(self, hit: Hit, columns: int) -> Text:
        text = Prose()
        if hit.role:
            text.append(
                f"{'you' if hit.role == 'user' else 'reply'}: ", style="accent" if hit.role == "user" else "dim"
            )
        text.append(self._excerpt(hit.text, columns))
        if hit.state and hit.state != "active":
            text.append(f"  {hit.state}", style="dim")
        if hit.match != "direct":
            text.append(f"  {hit.match}", style="dim")
        return text

    def _excerpt(self, text: str, columns: int) -> Text:
        size = columns * len(text) // max(1, cell_len(text))
        shown = Text(excerpt(text, self.words, size, self.pieces))
        for begin, end in spans(shown.plain, self.words, self.pieces):
            shown.stylize("strong", begin, end)
        return shown
