"""Render how memory changed: between two dates, week by week, by generation."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from construct.clock import Clock
from construct.memory.shown.lines import SIGNS
from construct.operations.history import (
    Diff,
    Generations,
    PeriodSummary,
    PeriodUnit,
    bundled,
    folded,
)
from construct.store.note_history import Generation
from construct.store.records import Observation
from construct.text import one_line
from construct.views.learning import stand_ins_view
from construct.views.memory import observation_table
from construct.views.rules import left_out_view
from construct.views.shapes import note_json
from construct.views.widgets import AccentBar, ByWidth, Prose, grid, headed, spaced
from construct.views.words import counted, period

_BAR_WIDTH = 24
_WIDE_FROM = 64
"""Terminal width from which the tables have room for all their columns."""
_MAX_LEVEL = 2
"""The timeline counts this generation and all later ones as one level."""
_LEGEND = "known: noted from messages + condensed once + condensed more than once"
_NOTHING = "There are no observations yet."

_SignedLine = tuple[str, Observation]
"""An observation with "+" (added) or "-" (removed)."""


def diff_view(diff: Diff, clock: Clock) -> RenderableType:
    """Return what was learned (+), changed (- then +) and is gone (-)."""
    between = period(diff.since, diff.until, clock)
    if not (diff.learned or diff.changed or diff.gone):
        return Text(f"No observation changed {between}.", style="dim")
    sections = {
        "Learned": [("+", o) for o in diff.learned],
        "Changed": _changed(diff),
        "Gone": [("-", o) for o in diff.gone],
    }
    parts = [
        Group(Text(title, style="heading3"), _diff_table(lines))
        for title, lines in sections.items()
        if lines
    ]
    return spaced([*parts, _diff_summary(diff, between)])


def diff_json(diff: Diff) -> dict[str, Any]:
    """Return the JSON form of `diff_view`."""
    return {
        "learned": [note_json(o) for o in diff.learned],
        "changed": [{"old": note_json(old), "new": note_json(new)} for old, new in diff.changed],
        "gone": [note_json(o) for o in diff.gone],
    }


def timeline_view(weeks: Sequence[PeriodSummary], max_lines: int | None = None) -> RenderableType:
    """Return one line per week, oldest first; quiet weeks in a row share a line.

    If that takes more than `max_lines`, the lines are months, quarters or years.
    """
    if not weeks:
        return Text(_NOTHING, style="dim")
    unit, shown = bundled(weeks, len(weeks) if max_lines is None else max_lines)
    legend = _LEGEND if unit == PeriodUnit.WEEK else f"{_LEGEND}\nweek by week: /timeline all"
    lines = ByWidth(_WIDE_FROM, _timeline_table(shown, unit), Group(*_narrow_timeline(shown, unit)))
    return Group(_timeline_head(weeks), lines, Text(f"\n{legend}", style="dim"))


def timeline_json(weeks: Sequence[PeriodSummary]) -> list[dict[str, Any]]:
    """Return the JSON form of `timeline_view`."""
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


def generations_view(generations: Generations, today: date) -> RenderableType:
    """Return the generations, the newest reflections, and what was not condensed."""
    if not generations.levels:
        return Text(_NOTHING, style="dim")
    parts: list[RenderableType] = [_generations_table(generations.levels)]
    if generations.newest:
        parts.append(Text("\nNewest reflections", style="heading3"))
    else:
        parts.append(Text("\nNothing has been condensed yet.", style="dim"))
    for o in generations.newest:
        made_of = ", ".join(map(str, generations.sources.get(o.id, ())))
        origin = Text(f"from {made_of}  (/why {o.id})", style="dim")
        parts += [observation_table([o], today), Padding(origin, (0, 0, 0, 5 + len(str(o.id))))]
    if generations.kept_back:
        parts.append(Text("\nKept as it was", style="heading3"))
        parts += [Text(f"  {one_line(note)}", style="dim") for note in generations.kept_back]
    if generations.stand_ins:
        parts.append(Text(f"\n{stand_ins_view(generations.stand_ins)}", style="dim"))
        parts += [Text(f"  {one_line(note)}", style="dim") for note in generations.stood_in]
    if generations.left_out:
        parts.append(Text(f"\n{left_out_view(generations.left_out)}", style="dim"))
    return Group(*parts)


def _diff_summary(diff: Diff, between: str) -> Text:
    counts = (
        (len(diff.learned), "learned"),
        (len({new.id for _, new in diff.changed}), "changed"),
        (len(diff.gone), "gone"),
    )
    summary = ", ".join(f"{number:,} {change}" for number, change in counts if number)
    end = "now" if diff.until is None else "then"
    known = f"{diff.known_after:,} known {end}, {diff.known_before:,} before"
    return Text.assemble((summary, "strong"), (f" · {between} · {known}", "dim"))


def _changed(diff: Diff) -> list[_SignedLine]:
    """Return each new observation after the old ones it replaces, each old one once."""
    lines: list[_SignedLine] = []
    listed: set[int] = set()
    for new in {new.id: new for _, new in diff.changed}.values():
        for old, successor in diff.changed:
            if successor.id == new.id and old.id not in listed:
                listed.add(old.id)
                lines.append(("-", old))
        lines.append(("+", new))
    return lines


def _diff_table(lines: Sequence[_SignedLine]) -> Table:
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


def _timeline_head(weeks: Sequence[PeriodSummary]) -> Text:
    learned = counted(sum(week.learned for week in weeks), "observation")
    known = sum(weeks[-1].active.values())
    span = f" in {counted(len(weeks), 'week')}; {known:,} known today"
    return Text.assemble((f"{learned} learned", "heading3"), span)


def _timeline_table(shown: Sequence[PeriodSummary], unit: PeriodUnit) -> Table:
    most_learned = max(1, *(period.learned for period in shown))
    return headed(
        (_timeline_row(line, unit, most_learned) for line in folded(shown)),
        Column("week of" if unit == PeriodUnit.WEEK else unit, no_wrap=True),
        Column("learned", max_width=_BAR_WIDTH, min_width=7),
        Column(justify="right", no_wrap=True),
        Column("known", justify="right", no_wrap=True),
        Column(style="dim", overflow="fold"),
    )


def _timeline_row(
    periods: Sequence[PeriodSummary], unit: PeriodUnit, most_learned: int
) -> list[RenderableType]:
    """Return the row of one period, or of several quiet ones."""
    first = periods[0]
    if first.is_quiet:
        return [Text(_quiet_words(periods, unit), style="dim")]
    return [
        _period_name(first.begin, unit),
        AccentBar(most_learned, 0, first.learned),
        f"{first.learned:,}",
        _known(first),
        ", ".join(_period_notes(first)),
    ]


def _narrow_timeline(shown: Sequence[PeriodSummary], unit: PeriodUnit) -> Iterator[Text]:
    for periods in folded(shown):
        first = periods[0]
        if first.is_quiet:
            yield Text(_quiet_words(periods, unit), style="dim")
            continue
        counts = f"{first.learned:,} learned, {_known(first)} known"
        notes = "".join(f", {note}" for note in _period_notes(first))
        yield Text.assemble(f"{_period_name(first.begin, unit)}  {counts}", (notes, "dim"))


def _quiet_words(periods: Sequence[PeriodSummary], unit: PeriodUnit) -> str:
    return counted(len(periods), f"quiet {unit}")


def _period_name(begin: date, unit: PeriodUnit) -> str:
    match unit:
        case PeriodUnit.WEEK:
            return str(begin)
        case PeriodUnit.MONTH:
            return f"{begin:%Y-%m}"
        case PeriodUnit.QUARTER:
            return f"{begin:%Y} Q{(begin.month + 2) // 3}"
        case PeriodUnit.YEAR:
            return f"{begin:%Y}"


def _known(period: PeriodSummary) -> str:
    """Return what was known at the end as "12 + 3 + 1": generation 0, 1, and above."""
    counts = [0] * (_MAX_LEVEL + 1)
    for generation, number in period.active.items():
        counts[min(generation, _MAX_LEVEL)] += number
    while len(counts) > 1 and not counts[-1]:
        counts.pop()
    return " + ".join(f"{number:,}" for number in counts)


def _period_notes(period: PeriodSummary) -> Iterator[str]:
    if period.superseded:
        yield f"{period.superseded:,} superseded"
    if period.reflections:
        yield counted(period.reflections, "reflection")
    if period.corrected:
        yield f"{period.corrected:,} corrected"


def _generations_table(generations: Sequence[Generation]) -> ByWidth:
    most_made = max(1, *(g.made for g in generations))
    rows = (
        (_generation_head(g), AccentBar(most_made, 0, g.active + g.pending), _generation_counts(g))
        for g in generations
    )
    columns = Column(no_wrap=True), Column(max_width=_BAR_WIDTH), Column(overflow="fold")
    return ByWidth(_WIDE_FROM, grid(rows, *columns), Group(*_narrow_generations(generations)))


def _narrow_generations(generations: Sequence[Generation]) -> Iterator[Text]:
    for g in generations:
        yield _generation_head(g)
        yield Text(_generation_counts(g).replace("\n", ", "))


def _generation_head(g: Generation) -> Text:
    origin = "from messages" if g.number == 0 else f"from generation {g.number - 1}"
    origin += " and below" if g.number > 1 else ""
    return Text.assemble((f"generation {g.number}", "accent"), (f"\n{origin}", "dim"))


def _generation_counts(g: Generation) -> str:
    others = [counted(g.tokens, "token")] if g.active else []
    others += [f"{g.pending:,} pending"] if g.pending else []
    others += [f"{g.condensed:,} condensed further"] if g.condensed else []
    return "\n".join(filter(None, (f"{g.active:,} active of {g.made:,}", ", ".join(others))))
