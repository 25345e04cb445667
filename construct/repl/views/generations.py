"""The generations that observations have been through, and how they flow into each other."""

from collections.abc import Mapping, Sequence
from datetime import date

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from construct.repl.views.bars import AccentBar
from construct.repl.views.observations import observation_table
from construct.repl.views.words import counted
from construct.store.lineage import Generation
from construct.store.records import Observation
from construct.text import one_line

_BAR_WIDTH = 24


def generations_view(
    found: Sequence[Generation],
    newest: Sequence[Observation],
    sources: Mapping[int, Sequence[int]],
    kept_back: Sequence[str],
    today: date,
) -> RenderableType:
    """Return how many observations each generation has, the newest reflections, and what was kept back and why."""
    if not found:
        return Text("Nothing is remembered yet.", style="dim")
    if not newest:
        return Group(_table(found), Text("\nNothing has been condensed yet.", style="dim"), *_kept_back(kept_back))
    parts: list[RenderableType] = [_table(found), Text("\nNewest reflections", style="heading3")]
    for o in newest:
        made_of = ", ".join(map(str, sources.get(o.id, ())))
        parts.append(observation_table([o], today))
        parts.append(Padding(Text(f"from {made_of}  (/why {o.id})", style="dim"), (0, 0, 0, 5 + len(str(o.id)))))
    return Group(*parts, *_kept_back(kept_back))


def _kept_back(notes: Sequence[str]) -> list[RenderableType]:
    """Return what the newest reflections proposed and did not do, each with its reason."""
    if not notes:
        return []
    return [Text("\nKept as it was", style="heading3"), *(Text(f"  {one_line(note)}", style="dim") for note in notes)]


def _table(found: Sequence[Generation]) -> Table:
    most = max(1, *(g.made for g in found))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(max_width=_BAR_WIDTH)
    table.add_column(overflow="fold")
    for g in found:
        origin = "from messages" if g.number == 0 else f"from generation {g.number - 1}"
        origin += " and below" if g.number > 1 else ""
        head = Text().append(f"generation {g.number}", style="accent").append(f"\n{origin}", style="dim")
        bar = AccentBar(most, 0, g.active + g.pending)
        table.add_row(head, bar, Text("\n".join(_words(g))))
    return table


def _words(g: Generation) -> list[str]:
    """Return a line of what it has now, and one of what else became of it."""
    now = f"{g.active:,} active ({counted(g.tokens, 'token')}) of {g.made:,}"
    further = [f"{g.pending:,} pending"] if g.pending else []
    further += [f"{g.condensed:,} condensed further"] if g.condensed else []
    return [now, *([", ".join(further)] if further else [])]
