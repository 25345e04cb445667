"""How memory changed: between two moments, by week, by generation."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from construct.clock import Clock
from construct.memory.shown.lines import SIGNS
from construct.operations.history import Diff, Generations, Period, Unit, bundled, folded
from construct.store.provenance import Generation
from construct.store.records import Observation
from construct.text import one_line
from construct.views.memory import observation_json, observation_table
from construct.views.rules import left_out_view
from construct.views.widgets import AccentBar, Prose
from construct.views.words import counted, period

_BAR_WIDTH = 24
_ABOVE = 2
"""From this generation on the timeline counts them together."""
_LEGEND = "known: straight from messages + condensed once + more often"
_NOTHING = "Nothing is remembered yet."

_Line = tuple[str, Observation]


def diff_view(found: Diff, clock: Clock) -> RenderableType:
    """Return what was learned (+), changed (- and + together) and is gone (-)."""
    between = period(found.since, found.until, clock)
    if not (found.learned or found.changed or found.gone):
        return Text(f"Nothing changed {between}.", style="dim")
    parts: list[RenderableType] = []
    for title, lines in (
        ("Learned", [("+", o) for o in found.learned]),
        ("Changed", _changed(found)),
        ("Gone", [("-", o) for o in found.gone]),
    ):
        if lines:
            parts += [Text()] if parts else []
            parts += [Text(title, style="heading3"), _diff_table(lines)]
    return Group(*parts, Text(), _closing(found, between))


def diff_json(found: Diff) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "learned": [observation_json(o) for o in found.learned],
        "changed": [
            {"old": observation_json(old), "new": observation_json(new)}
            for old, new in found.changed
        ],
        "gone": [observation_json(o) for o in found.gone],
    }


def timeline_view(weeks: Sequence[Period], most: int | None = None) -> RenderableType:
    """Return weeks, oldest first, those in which nothing changed as one line.

    Bundled where that takes over `most`.
    """
    if not weeks:
        return Text(_NOTHING, style="dim")
    unit, shown = bundled(weeks, len(weeks) if most is None else most)
    legend = _LEGEND if unit == "week" else f"{_LEGEND}\nweek by week: /timeline all"
    return Group(_head(weeks), _timeline_table(shown, unit), Text(f"\n{legend}", style="dim"))


def timeline_json(weeks: Sequence[Period]) -> list[dict[str, Any]]:
    """Return the same for programs."""
    return [
        {
            "monday": week.begin.isoformat(),
            "learned": week.learned,
            "superseded": week.superseded,
            "reflections": week.reflections,
            "corrected": week.corrected,
            "active": dict(week.active),
        }
        for week in weeks
    ]


def generations_view(found: Generations, today: date) -> RenderableType:
    """Return how many observations each generation has, and the newest reflections.

    Below stands what reflector runs kept back, and why.
    """
    if not found.levels:
        return Text(_NOTHING, style="dim")
    parts: list[RenderableType] = [_generations_table(found.levels)]
    if found.newest:
        parts.append(Text("\nNewest reflections", style="heading3"))
    else:
        parts.append(Text("\nNothing has been condensed yet.", style="dim"))
    for o in found.newest:
        made_of = ", ".join(map(str, found.sources.get(o.id, ())))
        origin = Text(f"from {made_of}  (/why {o.id})", style="dim")
        parts += [observation_table([o], today), Padding(origin, (0, 0, 0, 5 + len(str(o.id))))]
    if found.kept_back:
        parts.append(Text("\nKept as it was", style="heading3"))
        parts += [Text(f"  {one_line(note)}", style="dim") for note in found.kept_back]
    if found.left_out:
        parts.append(Text(f"\n{left_out_view(found.left_out)}", style="dim"))
    return Group(*parts)


def _closing(found: Diff, between: str) -> Text:
    counts = (
        (len(found.learned), "learned"),
        (len({new.id for _, new in found.changed}), "changed"),
        (len(found.gone), "gone"),
    )
    words = ", ".join(f"{n:,} {what}" for n, what in counts if n)
    when_known = "now" if found.until is None else "then"
    known = f"{found.known_after:,} known {when_known}, {found.known_before:,} before"
    return Text.assemble((words, "strong"), (f" · {between} · {known}", "dim"))


def _changed(found: Diff) -> list[_Line]:
    """Return each new observation once, below what it replaced and no other one did."""
    lines: list[_Line] = []
    done: set[int] = set()
    for new in {new.id: new for _, new in found.changed}.values():
        olds = [old for old, by in found.changed if by.id == new.id and old.id not in done]
        done |= {old.id for old in olds}
        lines += [*(("-", old) for old in olds), ("+", new)]
    return lines


def _diff_table(lines: Sequence[_Line]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for sign, o in lines:
        content = Prose(one_line(o.content), style="" if sign == "+" else "dim")
        table.add_row(
            Text(f"  {sign}", style="success" if sign == "+" else "error"),
            Text(str(o.id), style="dim"),
            Text(SIGNS[o.priority], style=o.priority),
            content.append(f"  {o.observation_date}", style="dim"),
        )
    return table


def _head(weeks: Sequence[Period]) -> Text:
    head = Text()
    head.append(
        f"{counted(sum(week.learned for week in weeks), 'observation')} learned", style="heading3"
    )
    return head.append(
        f" in {counted(len(weeks), 'week')}; {sum(weeks[-1].active.values()):,} known today"
    )


def _timeline_table(shown: Sequence[Period], unit: Unit) -> Table:
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
        table.add_row(
            _name(first.begin, unit),
            bar,
            f"{first.learned:,}",
            _known(first),
            ", ".join(_notes(first)),
        )
    return table


def _name(begin: date, unit: Unit) -> str:
    quarter = f"{begin:%Y} Q{(begin.month + 2) // 3}"
    return {
        "week": str(begin),
        "month": f"{begin:%Y-%m}",
        "quarter": quarter,
        "year": f"{begin:%Y}",
    }[unit]


def _known(period: Period) -> str:
    """Return what was known at the end: of generation 0, of 1, and of all above."""
    counts = [
        sum(n for g, n in period.active.items() if min(g, _ABOVE) == level)
        for level in range(_ABOVE + 1)
    ]
    last = max((level for level, n in enumerate(counts) if n), default=0)
    return " + ".join(f"{n:,}" for n in counts[: last + 1])


def _notes(period: Period) -> Iterator[str]:
    if period.superseded:
        yield f"{period.superseded:,} superseded"
    if period.reflections:
        yield counted(period.reflections, "reflection")
    if period.corrected:
        yield f"{period.corrected:,} corrected"


def _generations_table(found: Sequence[Generation]) -> Table:
    most = max(1, *(g.made for g in found))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(max_width=_BAR_WIDTH)
    table.add_column(overflow="fold")
    for g in found:
        origin = "from messages" if g.number == 0 else f"from generation {g.number - 1}"
        origin += " and below" if g.number > 1 else ""
        head = (
            Text()
            .append(f"generation {g.number}", style="accent")
            .append(f"\n{origin}", style="dim")
        )
        bar = AccentBar(most, 0, g.active + g.pending)
        table.add_row(head, bar, Text("\n".join(_generation_words(g))))
    return table


def _generation_words(g: Generation) -> list[str]:
    """Return a line of what it has now, and one of what else became of it."""
    now = f"{g.active:,} active ({counted(g.tokens, 'token')}) of {g.made:,}"
    further = [f"{g.pending:,} pending"] if g.pending else []
    further += [f"{g.condensed:,} condensed further"] if g.condensed else []
    return [now, *([", ".join(further)] if further else [])]
