"""How the memory changed: between two moments, week by week, and by generation.

Observations of reverted cycles are left out.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from itertools import groupby

from construct.clock import Clock, from_text, to_text
from construct.errors import UsageError
from construct.language.moments import parse_moment
from construct.operations.context import Context
from construct.store import note_history, observations, succession
from construct.store.forbidden import count_left_out
from construct.store.note_history import Generation, Span
from construct.store.note_links import sources_of
from construct.store.records import Observation
from construct.text import shorten
from construct.vocabulary import CycleKind, Priority

_NEWEST_REFLECTIONS = 5
"""How many reflections are shown, and the notes of how many reflector runs."""


@dataclass(frozen=True, slots=True)
class Diff:
    """The difference between what was known at two moments."""

    learned: tuple[Observation, ...]
    """Known only at the second moment, without replacing anything known at the first."""
    changed: tuple[tuple[Observation, Observation], ...]
    """Pairs of an observation known at the first moment and its replacement."""
    gone: tuple[Observation, ...]
    """Known only at the first moment, and not replaced at the second."""
    since: datetime
    until: datetime | None = None
    """None means now."""
    known_before: int = 0
    """How many observations were known at the first moment."""
    known_after: int = 0
    """How many observations were known at the second moment."""


def diff(ctx: Context, since: str, until: str | None = None) -> Diff:
    """Return what changed in memory between two moments, given as people write them.

    Raises UsageError if one cannot be read or the second is before the first.
    """
    start = parse_moment(since, ctx.clock)
    end = None if until is None else parse_moment(until, ctx.clock, end_of_day=True)
    last = end or ctx.clock.now()
    if start > last:
        if end is None:
            raise UsageError(f"{shorten(since, 40)} is in the future.\nGive an earlier date.")
        raise UsageError("The first date is later than the second.\nGive the earlier one first.")
    before = _known_at(ctx, to_text(start))
    after = {o.id: o for o in _known_at(ctx, to_text(last))}
    ids_before = {o.id for o in before}
    changed: list[tuple[Observation, Observation]] = []
    gone: list[Observation] = []
    for old in before:
        if old.id in after:
            continue
        successors = succession.successors(ctx.db, old, lambda o: o.id in after)
        if not successors:
            gone.append(old)
        changed += [(old, new) for new in sorted(successors, key=lambda o: o.id)]
    replacements = {new.id for _, new in changed}
    learned = [o for o in after.values() if o.id not in ids_before | replacements]
    return Diff(
        learned=tuple(learned),
        changed=tuple(changed),
        gone=tuple(gone),
        since=start,
        until=end,
        known_before=len(before),
        known_after=len(after),
    )


def _known_at(ctx: Context, moment: str) -> list[Observation]:
    """Return what was active at a stored time, and what was made by then but is still pending."""
    pending = [
        o
        for o in observations.unsuperseded(ctx.db)
        if o.committed_at is None and o.created_at <= moment
    ]
    return note_history.active_at(ctx.db, moment) + pending


@dataclass(frozen=True, slots=True)
class Generations:
    """How observations were condensed, generation by generation."""

    levels: tuple[Generation, ...]
    newest: tuple[Observation, ...]
    """The newest active reflections, oldest first."""
    sources: Mapping[int, Sequence[int]]
    """Ids of the observations that each of the newest reflections condenses."""
    kept_back: tuple[str, ...]
    """Notes of the newest reflector runs, such as what was refused, and why."""
    left_out: int = 0
    """How many observations the user's rules have kept out of the memory."""


def generations(ctx: Context) -> Generations:
    """Return the counts of observations by generation, and the newest reflections."""
    newest = observations.newest_reflections(ctx.db, _NEWEST_REFLECTIONS)
    return Generations(
        levels=tuple(note_history.generations(ctx.db)),
        newest=tuple(newest),
        sources=sources_of(ctx.db, [o.id for o in newest]),
        kept_back=tuple(note_history.notes_of_reflections(ctx.db, _NEWEST_REFLECTIONS)),
        left_out=count_left_out(ctx.db),
    )


class PeriodUnit(StrEnum):
    """How long the periods of a timeline are, the shortest first."""

    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


_WEEK = timedelta(weeks=1)
_FIELD_OF_CYCLE: Mapping[str, str] = {
    CycleKind.REFLECTOR: "reflections",
    CycleKind.EDIT: "corrected",
}
"""The field that counts what a cycle made. What observers made is counted by priority."""
_COUNTED_FIELDS = ("superseded", "reflections", "corrected")


@dataclass(frozen=True, slots=True)
class PeriodSummary:
    """How the memory changed in a week, month, quarter or year."""

    begin: date
    """The Monday of a week, or the first day of a month, quarter or year."""
    priorities: Mapping[str, int]
    """Observations learned from messages, by priority."""
    superseded: int
    """How many observations were replaced, condensed, found outdated or dropped."""
    reflections: int
    """How many observations a reflector made."""
    corrected: int
    """How many edits the user made."""
    active: Mapping[int, int]
    """How many observations were active or pending at the end, by generation."""

    @property
    def learned(self) -> int:
        """How many observations were learned from messages."""
        return sum(self.priorities.values())

    @property
    def is_quiet(self) -> bool:
        """Whether nothing changed."""
        return not (self.learned or self.superseded or self.reflections or self.corrected)


def timeline(ctx: Context) -> list[PeriodSummary]:
    """Return every week from the first in which something was learned to this one."""
    return weeks(note_history.spans(ctx.db), ctx.clock)


def weeks(spans: Iterable[Span], clock: Clock) -> list[PeriodSummary]:
    """Return every week from the first in which something was learned, oldest first."""
    counts: Counter[tuple[date, str]] = Counter()
    changes: Counter[tuple[date, int]] = Counter()
    for span in spans:
        made_in = _monday(span.since, clock)
        counts[made_in, _FIELD_OF_CYCLE.get(span.made_by, span.priority)] += 1
        changes[made_in, span.generation] += 1
        if span.until is not None:
            ended_in = _monday(span.until, clock)
            counts[ended_in, "superseded"] += 1
            changes[ended_in, span.generation] -= 1
    return _weekly(counts, changes, _monday_of(clock.today())) if changes else []


def bundled(
    periods: Sequence[PeriodSummary], max_lines: int
) -> tuple[PeriodUnit, list[PeriodSummary]]:
    """Group weeks by the smallest unit that needs at most `max_lines` lines, or by year."""
    for unit in PeriodUnit:
        bundles = _bundles(periods, unit)
        if len(folded(bundles)) <= max_lines:
            break
    return unit, bundles


def folded(periods: Iterable[PeriodSummary]) -> list[list[PeriodSummary]]:
    """Group periods into lines: consecutive quiet periods share one."""
    lines: list[list[PeriodSummary]] = []
    for period in periods:
        if period.is_quiet and lines and lines[-1][0].is_quiet:
            lines[-1].append(period)
        else:
            lines.append([period])
    return lines


def _bundles(periods: Sequence[PeriodSummary], unit: PeriodUnit) -> list[PeriodSummary]:
    groups = groupby(periods, lambda week: _begin(week.begin, unit))
    return [_sum(begin, list(part)) for begin, part in groups]


def _begin(monday: date, unit: PeriodUnit) -> date:
    match unit:
        case PeriodUnit.WEEK:
            return monday
        case PeriodUnit.MONTH:
            return monday.replace(day=1)
        case PeriodUnit.QUARTER:
            return monday.replace(month=monday.month - (monday.month - 1) % 3, day=1)
        case PeriodUnit.YEAR:
            return monday.replace(month=1, day=1)


def _sum(begin: date, weeks: Sequence[PeriodSummary]) -> PeriodSummary:
    priorities: Counter[str] = Counter()
    for week in weeks:
        priorities.update(week.priorities)
    sums = {name: sum(getattr(week, name) for week in weeks) for name in _COUNTED_FIELDS}
    return PeriodSummary(begin, priorities, **sums, active=weeks[-1].active)


def _weekly(
    counts: Counter[tuple[date, str]], changes: Counter[tuple[date, int]], this_monday: date
) -> list[PeriodSummary]:
    """Return a period for every week up to this one, and beyond it if anything is dated later.

    `counts` has the number of events by Monday and field or priority; `changes` has the
    change in the number of active or pending observations, by Monday and generation.
    """
    periods: list[PeriodSummary] = []
    mondays = [monday for monday, _ in changes]
    active: dict[int, int] = dict.fromkeys(sorted({generation for _, generation in changes}), 0)
    monday, last = min(mondays), max(this_monday, *mondays)
    while monday <= last:
        for generation in active:
            active[generation] += changes[monday, generation]
        priorities: dict[str, int] = {
            name: counts[monday, name] for name in Priority if counts[monday, name]
        }
        sums = {name: counts[monday, name] for name in _COUNTED_FIELDS}
        still_active = {generation: count for generation, count in active.items() if count}
        periods.append(PeriodSummary(monday, priorities, **sums, active=still_active))
        monday += _WEEK
    return periods


def _monday(moment: str, clock: Clock) -> date:
    return _monday_of(clock.local(from_text(moment)).date())


def _monday_of(day: date) -> date:
    return day - timedelta(days=day.weekday())
