"""What was learned by week, and what was spent by day."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from construct.clock import Clock
from construct.memory.inspection.survey import Survey
from construct.memory.inspection.timeline import Period, weeks
from construct.repl.views.words import day
from construct.report.charts import Chart, Column, days_between, stacked
from construct.store.books import Spent

PRIORITIES = ("high", "medium", "low")
PURPOSES = ("chat", "observer", "reflector", "graph", "other")
_MOST_WEEKS, _MOST_DAYS = 520, 120


@dataclass(frozen=True, slots=True)
class Day:
    """What was spent on a day; the cost is of the calls whose price is known, None when none is."""

    day: date
    calls: int
    tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Learned:
    """All weeks drawn, and those in which something was learned."""

    chart: Chart
    priorities: tuple[str, ...]
    weeks: tuple[Period, ...]


@dataclass(frozen=True, slots=True)
class Spending:
    """The days on which something was spent, and the last ones drawn: dollars, or tokens where no price is known."""

    chart: Chart
    in_dollars: bool
    purposes: tuple[str, ...]
    days: tuple[Day, ...]
    drawn: int
    """How many days the chart spans; the last ones, where there are more."""


def learned(found: Survey, clock: Clock) -> Learned | None:
    """Return what was learned by week; None when nothing was."""
    drawn = weeks(found.spans, clock)[-_MOST_WEEKS:]
    if not drawn:
        return None
    columns = [Column(week.begin, _week_title(week), week.priorities) for week in drawn]
    priorities = tuple(p for p in PRIORITIES if any(p in week.priorities for week in drawn))
    news = tuple(week for week in drawn if week.learned or week.reflections)
    return Learned(stacked(columns, priorities), priorities, news)


def _week_title(week: Period) -> str:
    words = ", ".join(f"{week.priorities[p]} {p}" for p in PRIORITIES if week.priorities.get(p))
    return f"Week of {week.begin}: {words or 'nothing'}"


def spending(spent: Sequence[Spent], clock: Clock) -> Spending | None:
    """Return what was spent by day; None when no model has been called."""
    by_day: dict[date, list[Spent]] = defaultdict(list)
    for one in spent:
        by_day[day(one.created_at, clock)].append(one)
    if not by_day:
        return None
    days = tuple(_sum(one, by_day[one]) for one in sorted(by_day))
    in_dollars = any(one.cost_usd for one in days)
    span = days_between(days[0].day, days[-1].day)[-_MOST_DAYS:]
    columns = [_column(one, by_day.get(one, []), in_dollars) for one in span]
    purposes = tuple(p for p in PURPOSES if any(c.parts.get(p) for c in columns))
    return Spending(stacked(columns, PURPOSES), in_dollars, purposes, days, len(span))


def _sum(day: date, spent: Sequence[Spent]) -> Day:
    known = [s.cost_usd for s in spent if s.cost_usd is not None]
    return Day(day, len(spent), sum(s.tokens for s in spent), sum(known) if known else None)


def _column(day: date, spent: Sequence[Spent], in_dollars: bool) -> Column:
    parts: Counter[str] = Counter()
    for s in spent:
        kind = s.purpose if s.purpose in PURPOSES else "other"
        parts[kind] += (s.cost_usd or 0.0) if in_dollars else s.tokens  # type: ignore[assignment]
    total = f"${sum(parts.values()):.4f}" if in_dollars else f"{sum(parts.values()):,} tokens"
    return Column(day, f"{day}: {total}", parts)
