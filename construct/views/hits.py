"""What recall found, on a screen."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column
from rich.text import Text

from construct.memory.recall.query import analyse, excerpt, word_spans
from construct.memory.recall.search import Hit
from construct.operations.search import Found
from construct.references import written
from construct.views.search import legend, words_sought
from construct.views.unmarked import without_markup
from construct.views.widgets import Prose, grid
from construct.vocabulary import Role

_MOST_LINES = 2
_SHORTEST = 60
_SAID_BY: Mapping[str | None, tuple[str, str]] = {
    Role.USER: ("you: ", "accent"),
    Role.ASSISTANT: ("reply: ", "dim"),
}
_BESIDE = 36
"""Columns of the id, the date, and what is said of who said it and how it was found."""


def found_view(found: Found) -> RenderableType:
    """Return hits, best first, on about two lines each: the best stays on the screen.

    Each shows the part where the words of the query stand, and these are marked. Below
    stands which words were searched in the place of misspelt ones.
    """
    if found.hits:
        return _Hits(found, words_sought(found), analyse(found.query).pieces)
    nothing = "Nothing was found. Try other words, or fewer."
    return Text("\n".join([nothing, *legend(found)]), style="dim")


@dataclass(frozen=True, slots=True)
class _Hits:
    found: Found
    words: tuple[str, ...]
    pieces: tuple[str, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max(_SHORTEST, _MOST_LINES * (options.max_width - _BESIDE))
        yield grid(
            (
                (written((hit.kind, hit.id)), hit.date, self._text(hit, room))
                for hit in self.found.hits
            ),
            Column(no_wrap=True, style="dim", justify="right"),
            Column(no_wrap=True, style="dim"),
            Column(overflow="fold"),
        )
        if below := "\n".join(legend(self.found)):
            yield Text(f"\n{below}", style="dim")

    def _text(self, hit: Hit, columns: int) -> Text:
        said = without_markup(hit.text) if hit.role == Role.ASSISTANT else hit.text
        notes = [hit.state] if hit.state and hit.state != "active" else []
        notes += [hit.match] if hit.match != "direct" else []
        return Prose.assemble(
            _SAID_BY.get(hit.role, ""),
            self._excerpt(said, columns),
            *((f"  {note}", "dim") for note in notes),
        )

    def _excerpt(self, text: str, columns: int) -> Text:
        size = columns * len(text) // max(1, cell_len(text))
        shown = Text(excerpt(text, self.words, size, self.pieces))
        for begin, end in word_spans(shown.plain, self.words, self.pieces):
            shown.stylize("strong", begin, end)
        return shown
