"""What was learned over time."""

from collections.abc import Iterator, Sequence
from datetime import date

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from construct.memory.inspection.timeline import Period, Unit, bundled, folded
from construct.repl.views.bars import AccentBar
from construct.repl.views.words import counted

_BAR_WIDTH = 24
_ABOVE = 2
"""From this generation on they are counted together."""
_LEGEND = "known: straight from messages + condensed once + more often"


def timeline_view(weeks: Sequence[Period], most: int | None = None) -> RenderableType:
    """Return weeks, oldest first, those in which nothing changed as one line; bundled where that takes over `most`."""
    if not weeks:
        return Text("Nothing is remembered yet.", style="dim")
    unit, shown = bundled(weeks, len(weeks) if most is None else most)
    legend = _LEGEND if unit == "week" else f"{_LEGEND}\nweek by week: /timeline all"
    return Group(_head(weeks), _table(shown, unit), Text(f"\n{legend}", style="dim"))


def _head(weeks: Sequence[Period]) -> Text:
    head = Text()
    head.append(f"{counted(sum(week.learned for week in weeks), 'observation')} learned", style="heading3")
    return head.append(f" in {counted(len(weeks), 'week')}; {sum(weeks[-1].active.values()):,} known today")


def _table(shown: Sequence[Period], unit: Unit) -> Table:
    most = max(1, *(period.learned for period in shown))
    table = Table(box=None, padding=(0, 1), header_style="dim", pad_edge=False)
    table.add_column("week of" if unit == "week" else unit, no_wrap=True)
    table.add_column("learned", max_width=_BAR_WIDTH, min_width=7)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("known", justify="right", no_wrap=True)
    table.add_column("", style="dim", overflow="fold")
    for line in folded(shown):
        first = line[0]
        if first.is_quiet:
            table.add_row(Text(f"{counted(len(line), f'quiet {unit}')}", style="dim"))
            continue
        bar = AccentBar(most, 0, first.learned)
        table.add_row(_name(first.begin, unit), bar, f"{first.learned:,}", _known(first), ", ".join(_notes(first)))
    return table


def _name(begin: date, unit: Unit) -> str:
    quarter = f"{begin:%Y} Q{(begin.month + 2) // 3}"
    return {"week": str(begin), "month": f"{begin:%Y-%m}", "quarter": quarter, "year": f"{begin:%Y}"}[unit]


def _known(period: Period) -> str:
    """Return what was known at the end: of generation 0, of 1, and of all above."""
    counts = [sum(n for g, n in period.active.items() if min(g, _ABOVE) == level) for level in range(_ABOVE + 1)]
    last = max((level for level, n in enumerate(counts) if n), default=0)
    return " + ".join(f"{n:,}" for n in counts[: last + 1])


def _notes(period: Period) -> Iterator[str]:
    if period.superseded:
        yield f"{period.superseded:,} superseded"
    if period.reflections:
        yield counted(period.reflections, "reflection")
    if period.corrected:
        yield f"{period.corrected:,} corrected"
