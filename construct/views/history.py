"""How memory changed: between two moments, by week, by generation."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from construct.clock import Clock
from construct.memory.shown.lines import SIGNS
from construct.operations.history import Diff, Generations, Period, Unit, bundled, folded
from construct.store.provenance import Generation
from construct.store.records import Observation
from construct.text import one_line
from construct.views.memory import observation_json, observation_table
from construct.views.rules import left_out_view
from construct.views.widgets import AccentBar, Prose, grid, headed, spaced
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
    sections = {
        "Learned": [("+", o) for o in found.learned],
        "Changed": _changed(found),
        "Gone": [("-", o) for o in found.gone],
    }
    parts = [
        Group(Text(title, style="heading3"), _diff_table(lines))
        for title, lines in sections.items()
        if lines
    ]
    return spaced([*parts, _closing(found, between)])


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
    lines: list[_Line] = []
    done: set[int] = set()
    for new in {new.id: new for _, new in found.changed}.values():
        olds = [old for old, by in found.changed if by.id == new.id and old.id not in done]
        done |= {old.id for old in olds}
        lines += [*(("-", old) for old in olds), ("+", new)]
    return lines


def _diff_table(lines: Sequence[_Line]) -> Table:
    rows = (
        (
            Text(f"  {sign}", style="success" if sign == "+" else "error"),
            Text(str(o.id), style="dim"),
            Text(SIGNS[o.priority], style=o.priority),
            Prose(one_line(o.content), style="" if sign == "+" else "dim").append(
                f"  {o.observation_date}", style="dim"
            ),
        )
        for sign, o in lines
    )
    return grid(
        rows,
        Column(no_wrap=True),
        Column(no_wrap=True, justify="right"),
        Column(no_wrap=True),
        Column(overflow="fold"),
        gap=1,
    )


def _head(weeks: Sequence[Period]) -> Text:
    learned = counted(sum(week.learned for week in weeks), "observation")
    known = sum(weeks[-1].active.values())
    span = f" in {counted(len(weeks), 'week')}; {known:,} known today"
    return Text.assemble((f"{learned} learned", "heading3"), span)


def _timeline_table(shown: Sequence[Period], unit: Unit) -> Table:
    most = max(1, *(period.learned for period in shown))
    return headed(
        (_timeline_row(line, unit, most) for line in folded(shown)),
        Column("week of" if unit == "week" else unit, no_wrap=True),
        Column("learned", max_width=_BAR_WIDTH, min_width=7),
        Column(justify="right", no_wrap=True),
        Column("known", justify="right", no_wrap=True),
        Column(style="dim", overflow="fold"),
    )


def _timeline_row(line: Sequence[Period], unit: Unit, most: int) -> list[RenderableType]:
    first = line[0]
    if first.is_quiet:
        return [Text(counted(len(line), f"quiet {unit}"), style="dim")]
    return [
        _name(first.begin, unit),
        AccentBar(most, 0, first.learned),
        f"{first.learned:,}",
        _known(first),
        ", ".join(_notes(first)),
    ]


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
    rows = (
        (_generation_head(g), AccentBar(most, 0, g.active + g.pending), _generation_words(g))
        for g in found
    )
    return grid(rows, Column(no_wrap=True), Column(max_width=_BAR_WIDTH), Column(overflow="fold"))


def _generation_head(g: Generation) -> Text:
    origin = "from messages" if g.number == 0 else f"from generation {g.number - 1}"
    origin += " and below" if g.number > 1 else ""
    return Text.assemble((f"generation {g.number}", "accent"), (f"\n{origin}", "dim"))


def _generation_words(g: Generation) -> str:
    now = f"{g.active:,} active ({counted(g.tokens, 'token')}) of {g.made:,}"
    further = [f"{g.pending:,} pending"] if g.pending else []
    further += [f"{g.condensed:,} condensed further"] if g.condensed else []
    return "\n".join(filter(None, [now, ", ".join(further)]))
