"""How memory changed: between two moments, by week, from generation to generation.

Reverted cycles count as never run.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Literal

from construct.clock import Clock, from_text, to_text
from construct.errors import UsageError
from construct.operations.context import Context
from construct.operations.moments import parse_moment
from construct.store import observations, provenance
from construct.store.never import count_left_out
from construct.store.provenance import Generation, Span
from construct.store.records import Observation
from construct.vocabulary import CycleKind, Priority

_NEWEST_REFLECTIONS = 5


@dataclass(frozen=True, slots=True)
class Diff:
    """How what was believed at two moments differs."""

    learned: tuple[Observation, ...]
    """Believed at the second moment, and replacing nothing believed at the first."""
    changed: tuple[tuple[Observation, Observation], ...]
    """What was believed at the first moment, and what replaces it at the second."""
    gone: tuple[Observation, ...]
    """Believed at the first moment, with nothing in its place at the second."""
    since: datetime
    until: datetime | None = None
    """None: until now."""
    known_before: int = 0
    known_after: int = 0
    """How many observations were known at either moment."""


def diff(ctx: Context, since: str, until: str | None = None) -> Diff:
    """Return what changed in memory between two moments, as people write them.

    Raises UsageError, also when the second is before the first.
    """
    start = parse_moment(since, ctx.clock)
    end = None if until is None else parse_moment(until, ctx.clock, end_of_day=True)
    last = end or ctx.clock.now()
    if start > last:
        raise UsageError("The first moment is after the second.\nGive the earlier one first.")
    before = _known_at(ctx, to_text(start))
    after = {o.id: o for o in _known_at(ctx, to_text(last))}
    known = {o.id for o in before}
    changed: list[tuple[Observation, Observation]] = []
    gone: list[Observation] = []
    for old in before:
        if old.id in after:
            continue
        successors = provenance.successors(ctx.db, old, lambda o: o.id in after)
        changed += [(old, new) for new in sorted(successors, key=lambda o: o.id)]
        gone += [] if successors else [old]
    replacing = {new.id for _, new in changed}
    learned = tuple(o for o in after.values() if o.id not in known and o.id not in replacing)
    return Diff(
        learned,
        tuple(changed),
        tuple(gone),
        start,
        end,
        known_before=len(before),
        known_after=len(after),
    )


def _known_at(ctx: Context, moment: str) -> list[Observation]:
    pending = (o for o in observations.unsuperseded(ctx.db) if o.committed_at is None)
    return [
        *provenance.active_at(ctx.db, moment),
        *(o for o in pending if o.created_at <= moment),
    ]


@dataclass(frozen=True, slots=True)
class Generations:
    """How observations were condensed, generation by generation."""

    levels: tuple[Generation, ...]
    newest: tuple[Observation, ...]
    """The newest reflections."""
    sources: Mapping[int, Sequence[int]]
    """What each of them was made of."""
    kept_back: tuple[str, ...]
    """What the newest reflector runs proposed and did not do, each with its reason."""
    left_out: int = 0
    """What the user's rules have kept out of the memory."""


def generations(ctx: Context) -> Generations:
    """Return all observations counted by generation, and the newest reflections."""
    newest = observations.newest_reflections(ctx.db, _NEWEST_REFLECTIONS)
    return Generations(
        levels=tuple(provenance.generations(ctx.db)),
        newest=tuple(newest),
        sources=observations.sources_of(ctx.db, [o.id for o in newest]),
        kept_back=tuple(provenance.notes_of_reflections(ctx.db, _NEWEST_REFLECTIONS)),
        left_out=count_left_out(ctx.db),
    )


Unit = Literal["week", "month", "quarter", "year"]

_UNITS: tuple[Unit, ...] = ("week", "month", "quarter", "year")
_WEEK = timedelta(weeks=1)
_CAME: Mapping[str, str] = {CycleKind.REFLECTOR: "reflections", CycleKind.EDIT: "corrected"}
_SUMS = ("superseded", "reflections", "corrected")


@dataclass(frozen=True, slots=True)
class Period:
    """A week, or a bundle of weeks: what came, what went, and what was left."""

    begin: date
    """A Monday; of a bundle, the first day of its month, quarter or year."""
    priorities: Mapping[str, int]
    """Observations learned from messages, by priority."""
    superseded: int
    """Observations that a reflector condensed, dropped or found outdated."""
    reflections: int
    """Observations that a reflector made."""
    corrected: int
    """Edits by the user."""
    active: Mapping[int, int]
    """Active and pending observations at the end, by generation."""

    @property
    def learned(self) -> int:
        """Observations learned from messages."""
        return sum(self.priorities.values())

    @property
    def is_quiet(self) -> bool:
        """Whether nothing changed."""
        return not (self.learned or self.superseded or self.reflections or self.corrected)


def timeline(ctx: Context) -> list[Period]:
    """Return every week from the first in which something was learned to this one."""
    return weeks(provenance.spans(ctx.db), ctx.clock)


def weeks(spans: Iterable[Span], clock: Clock) -> list[Period]:
    """Return every week from the first in which something was learned, oldest first."""
    counts: Counter[tuple[date, str]] = Counter()
    changes: Counter[tuple[date, int]] = Counter()
    for span in spans:
        made = _monday(span.since, clock)
        counts[made, _CAME.get(span.made_by, span.priority)] += 1
        changes[made, span.generation] += 1
        if span.until is not None:
            ended = _monday(span.until, clock)
            counts[ended, "superseded"] += span.ended_by == CycleKind.REFLECTOR
            changes[ended, span.generation] -= 1
    return _in_order(counts, changes, _monday_of(clock.today())) if changes else []


def bundled(found: Sequence[Period], most: int) -> tuple[Unit, list[Period]]:
    """Return weeks in the smallest bundles that take `most` lines, or in years."""
    for unit in _UNITS:
        periods = _bundles(found, unit)
        if len(folded(periods)) <= most:
            break
    return unit, periods


def folded(periods: Iterable[Period]) -> list[list[Period]]:
    """Return periods as lines: quiet ones in a row share one."""
    lines: list[list[Period]] = []
    for period in periods:
        if period.is_quiet and lines and lines[-1][0].is_quiet:
            lines[-1].append(period)
        else:
            lines.append([period])
    return lines


def _bundles(found: Sequence[Period], unit: Unit) -> list[Period]:
    groups = groupby(found, lambda week: _begin(week.begin, unit))
    return [_sum(begin, list(part)) for begin, part in groups]


def _begin(monday: date, unit: Unit) -> date:
    match unit:
        case "week":
            return monday
        case "month":
            return monday.replace(day=1)
        case "quarter":
            return monday.replace(month=monday.month - (monday.month - 1) % 3, day=1)
        case "year":
            return monday.replace(month=1, day=1)


def _sum(begin: date, found: Sequence[Period]) -> Period:
    priorities: Counter[str] = Counter()
    for week in found:
        priorities.update(week.priorities)
    sums = {name: sum(getattr(week, name) for week in found) for name in _SUMS}
    return Period(begin, priorities, **sums, active=found[-1].active)


def _in_order(
    counts: Counter[tuple[date, str]], changes: Counter[tuple[date, int]], now: date
) -> list[Period]:
    found: list[Period] = []
    active: dict[int, int] = dict.fromkeys(sorted({generation for _, generation in changes}), 0)
    monday, last = min(day for day, _ in changes), max(now, *(day for day, _ in changes))
    while monday <= last:
        for generation in active:
            active[generation] += changes[monday, generation]
        priorities: dict[str, int] = {
            name: counts[monday, name] for name in Priority if counts[monday, name]
        }
        sums = {name: counts[monday, name] for name in _SUMS}
        found.append(
            Period(monday, priorities, active={g: n for g, n in active.items() if n}, **sums)
        )
        monday += _WEEK
    return found


def _monday(moment: str, clock: Clock) -> date:
    return _monday_of(clock.local(from_text(moment)).date())


def _monday_of(day: date) -> date:
    return day - timedelta(days=day.weekday())
