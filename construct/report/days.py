"""What is remembered by month and day, newest first, and the plans in it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from construct.memory.inspection.narrow import outcome_unknown
from construct.memory.language.when import last_day
from construct.report.provenance import Node
from construct.store.records import Observation


@dataclass(frozen=True, slots=True)
class Month:
    """The days of a month, newest first, each with its notes in the order they were made."""

    first: date
    days: tuple[tuple[date, tuple[Node, ...]], ...]
    priorities: Counter[str]
    """How many notes there are of each priority."""


@dataclass(frozen=True, slots=True)
class Plans:
    """Plans ahead, the next one first, and plans of unknown outcome, the latest first."""

    ahead: tuple[Observation, ...]
    unknown: tuple[Observation, ...]


def months(nodes: Sequence[Node]) -> list[Month]:
    """Group notes by month and day."""
    ordered = sorted(nodes, key=lambda n: n.observation.id)
    ordered.sort(key=lambda n: n.observation.observation_date, reverse=True)
    found = []
    for month, notes in groupby(ordered, key=lambda n: n.observation.observation_date[:7]):
        by_day = groupby(notes, key=lambda n: n.observation.observation_date)
        days = tuple((date.fromisoformat(day), tuple(group)) for day, group in by_day)
        priorities = Counter(n.observation.priority for _, group in days for n in group)
        found.append(Month(date.fromisoformat(f"{month}-01"), days, priorities))
    return found


def plans(observations: Sequence[Observation], today: date) -> Plans:
    """Return the plans among the notes that stand; what is withheld is none."""
    dated = [
        (last_day(o.referenced_date), o.id, o)
        for o in observations
        if o.referenced_date and o.superseded_at is None and not o.withheld
    ]
    dated.sort()
    return Plans(
        tuple(o for day, _, o in dated if day >= today and o.stance in {"stated", "planned"}),
        tuple(o for _, _, o in reversed(dated) if outcome_unknown(o, today)),
    )
