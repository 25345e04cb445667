"""The reflector by rule, for when there is no worker model: it retires near-duplicates. Pure."""

from collections import defaultdict
from collections.abc import Sequence

from construct.memory.language.alike import is_of_a_day, same_fact, says_more
from construct.memory.language.dates import in_past
from construct.memory.language.terms import terms
from construct.memory.learning.proposals import ReflectionProposal
from construct.memory.shown.lines import PRIORITIES
from construct.store.records import Observation


def condense(observations: Sequence[Observation]) -> ReflectionProposal:
    """Return pairs of active observations that state the same fact: (the one to retire, the one that stays)."""
    staying = defaultdict[object, list[Observation]](list)
    same: list[tuple[int, int]] = []
    for one in sorted(observations, key=_precedence):
        alike = staying[one.stance, one.referenced_date, terms(one.content)]
        repeated = next((other for other in alike if _repeats(one, other)), None)
        if repeated is None or one.is_protected:
            alike.append(one)
        else:
            same.append((one.id, repeated.id))
    return ReflectionProposal(same=tuple(same))


def _precedence(one: Observation) -> tuple[bool, int, int, int]:
    """Return what sorts first what stays: the user's own and pinned, then the higher priority, then the later."""
    day = int(one.observation_date.replace("-", ""))
    return not one.is_protected, PRIORITIES.index(one.priority), -day, -one.id


def _repeats(one: Observation, other: Observation) -> bool:
    """Return whether an observation states the same fact as another, of the same time, with no detail more."""
    if not same_fact(one.content, other.content) or says_more(one.content, other.content):
        return False
    # What happened on two days happened twice.
    once = not any(in_past(o.content) or is_of_a_day(o.content) for o in (one, other))
    return once or one.observation_date == other.observation_date
