"""Render search hits for the terminal. `search.py` renders them as plain lines and JSON."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column
from rich.text import Text

from construct.memory.recall.query import analyse, excerpt, word_spans
from construct.memory.recall.search import Hit
from construct.operations.search import SearchResult
from construct.references import written
from construct.views.search import legend, words_sought
from construct.views.unmarked import without_markup
from construct.views.widgets import Prose, grid
from construct.vocabulary import Match, Role

_LINES_PER_HIT = 2
_MIN_EXCERPT = 60
"""Columns of the shortest excerpt, however narrow the terminal."""
_SAID_BY: Mapping[str | None, tuple[str, str]] = {
    Role.USER: ("you: ", "accent"),
    Role.ASSISTANT: ("assistant: ", "dim"),
}
_COLUMNS_BESIDE = 40
"""Columns that the id, the date, the speaker and the notes take beside the excerpt."""


def search_view(result: SearchResult) -> RenderableType:
    """Return hits, best first, on about two lines each, then the legend.

    Each shows the part of its text that has the words of the query, in bold.
    """
    if result.hits:
        return _Hits(result, words_sought(result), analyse(result.query).pieces)
    nothing = "Nothing was found. Try other words, or fewer."
    return Text("\n".join([nothing, *legend(result)]), style="dim")


@dataclass(frozen=True, slots=True)
class _Hits:
    """A table of hits whose excerpts are fitted to the console's width."""

    result: SearchResult
    words: tuple[str, ...]
    pieces: tuple[str, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max(_MIN_EXCERPT, _LINES_PER_HIT * (options.max_width - _COLUMNS_BESIDE))
        yield grid(
            (
                (written((hit.kind, hit.id)), hit.date, self._text(hit, room))
                for hit in self.result.hits
            ),
            Column(no_wrap=True, style="dim", justify="right"),
            Column(no_wrap=True, style="dim"),
            Column(overflow="fold"),
        )
        if below := "\n".join(legend(self.result)):
            yield Text(f"\n{below}", style="dim")

    def _text(self, hit: Hit, columns: int) -> Text:
        text = without_markup(hit.text) if hit.role == Role.ASSISTANT else hit.text
        notes = [hit.state] if hit.state and hit.state != "active" else []
        notes += [hit.match] if hit.match != Match.DIRECT else []
        return Prose.assemble(
            _SAID_BY.get(hit.role, ""),
            self._excerpt(text, columns),
            *((f"  {note}", "dim") for note in notes),
        )

    def _excerpt(self, text: str, columns: int) -> Text:
        # `excerpt` counts characters, but those of some scripts are two columns wide.
        size = columns * len(text) // max(1, cell_len(text))
        shown = Text(excerpt(text, self.words, size, self.pieces))
        for begin, end in word_spans(shown.plain, self.words, self.pieces):
            shown.stylize("strong", begin, end)
        return shown
