"""What is remembered by month and day, the newest first; and the plans in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from construct.memory.inspection.narrow import outcome_unknown
from construct.memory.language.when import last_day
from construct.report.provenance import Node
from construct.store.records import Observation


@dataclass(frozen=True, slots=True)
class Day:
    """What was learned of one day, in the order of learning."""

    day: date
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Month:
    """The days of a month, the newest first."""

    first: date
    days: tuple[Day, ...]

    @property
    def count(self) -> int:
        """Return how many observations it has."""
        return sum(len(day.nodes) for day in self.days)


@dataclass(frozen=True, slots=True)
class Plan:
    """Something with a day of its own."""

    day: date
    observation: Observation


@dataclass(frozen=True, slots=True)
class Plans:
    """What lies ahead, the next first; and whose outcome is unknown, the latest first."""

    ahead: tuple[Plan, ...]
    unknown: tuple[Plan, ...]


def months(nodes: Sequence[Node]) -> tuple[Month, ...]:
    """Group observations by month and day."""
    ordered = sorted(nodes, key=lambda n: n.observation.id)
    ordered.sort(key=lambda n: n.observation.observation_date, reverse=True)
    days = [
        Day(date.fromisoformat(day), tuple(group))
        for day, group in groupby(ordered, key=lambda n: n.observation.observation_date)
    ]
    return tuple(Month(first, tuple(group)) for first, group in groupby(days, key=lambda d: d.day.replace(day=1)))


def plans(observations: Sequence[Observation], today: date) -> Plans:
    """Return the plans among observations that stand."""
    dated = [
        Plan(last_day(o.referenced_date), o) for o in observations if o.referenced_date and o.superseded_at is None
    ]
    dated.sort(key=lambda p: (p.day, p.observation.id))
    ahead = [p for p in dated if p.day >= today and p.observation.stance in {"stated", "planned"}]
    unknown = [p for p in dated if outcome_unknown(p.observation, today)]
    return Plans(tuple(ahead), tuple(reversed(unknown)))
