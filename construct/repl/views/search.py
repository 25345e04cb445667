"""What recall found."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from construct.memory.recall.excerpts import excerpt, spans
from construct.memory.recall.query import Query, analyse
from construct.memory.recall.search import Hit
from construct.references import written
from construct.repl.views.prose import Prose

_MOST_LINES = 2
_SHORTEST = 60
_BESIDE = 36
"""Columns of the id, the date, and what is said of who said it and how it was found."""
_MATCHES = {"loose": "only some of the words, or near them", "related": "by way of the graph"}


def hits_view(hits: Sequence[Hit], query: str) -> RenderableType:
    """Return hits, best first, each on two lines or so: the best should still be on the screen under the last.

    What is shown of each is where the words of the query stand, and these are marked.
    """
    if not hits:
        return Text("Nothing was found. Other words for it may do, or fewer.", style="dim")
    return _Hits(hits, analyse(query))


@dataclass(frozen=True, slots=True)
class _Hits:
    hits: Sequence[Hit]
    query: Query

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True, style="dim", justify="right")
        table.add_column(no_wrap=True, style="dim")
        table.add_column(overflow="fold")
        columns = max(_SHORTEST, _MOST_LINES * (options.max_width - _BESIDE))
        for hit in self.hits:
            table.add_row(written((hit.kind, hit.id)), hit.date, self._text(hit, columns))
        yield table
        if legend := " · ".join(self._legend()):
            yield Text(f"\n{legend}", style="dim")

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
        shown = Text(excerpt(text, self.query.words, size, self.query.pieces))
        for begin, end in spans(shown.plain, self.query.words, self.query.pieces):
            shown.stylize("strong", begin, end)
        return shown

    def _legend(self) -> Iterator[str]:
        yield from (f"{m}: {words}" for m, words in _MATCHES.items() if any(hit.match == m for hit in self.hits))
