"""How many notes of each generation became what, and what was spent month by month."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from construct.clock import Clock
from construct.memory.inspection.survey import Survey
from construct.repl.views.words import day
from construct.store.books import Spent

FATES = ("active", "pending", "withheld", "condensed", "replaced", "dropped")


@dataclass(slots=True)
class MonthSpent:
    """What a month's calls took."""

    calls: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    """By "chat" and "memory"."""
    dollars: Counter[str] = field(default_factory=Counter)
    """The same, of the calls whose price is known."""


def generations(found: Survey) -> dict[int, Counter[str]]:
    """Return how many notes of each generation became what, by FATES."""
    condensed = {source for _, source in found.sources}
    replaced = {old for _, old in found.replaced}
    counts: dict[int, Counter[str]] = {}
    for o in sorted(found.observations, key=lambda o: o.generation):
        if o.superseded_at is None:
            fate = "withheld" if o.withheld else o.state
        elif o.id in replaced:
            fate = "replaced"
        else:
            fate = "condensed" if o.id in condensed else "dropped"
        counts.setdefault(o.generation, Counter())[fate] += 1
    return counts


def spent_by_month(spent: Sequence[Spent], clock: Clock) -> dict[date, MonthSpent]:
    """Return what was spent by the first day of each of the user's months, newest first."""
    months: dict[date, MonthSpent] = {}
    for call in sorted(spent, key=lambda s: s.created_at, reverse=True):
        month = months.setdefault(day(call.created_at, clock).replace(day=1), MonthSpent())
        purpose = "chat" if call.purpose == "chat" else "memory"
        month.calls += 1
        month.tokens[purpose] += call.tokens
        if call.cost_usd is not None:
            month.dollars[purpose] += call.cost_usd  # type: ignore[assignment]
    return months
