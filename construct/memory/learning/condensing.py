"""The reflector by rule, for when there is no worker model: it retires near-duplicates. Pure."""

from collections.abc import Hashable, Sequence

from construct.memory.language.paraphrase import fact_key
from construct.memory.learning.proposals import ReflectionProposal
from construct.memory.shown.lines import PRIORITIES
from construct.store.records import Observation


def condense(observations: Sequence[Observation]) -> ReflectionProposal:
    """Return pairs of active observations that state the same fact: (the one to retire, the one that stays)."""
    staying: dict[Hashable, int] = {}
    same: list[tuple[int, int]] = []
    for o in sorted(observations, key=_precedence):
        fact = o.stance, fact_key(o.content, o.observation_date, o.referenced_date)
        stays = staying.setdefault(fact, o.id)
        if stays != o.id and not o.is_protected:
            same.append((o.id, stays))
    return ReflectionProposal(same=tuple(same))


def _precedence(o: Observation) -> tuple[bool, int, int, int]:
    """Return what sorts first what stays: the user's own and pinned, then the higher priority, then the later."""
    day = int(o.observation_date.replace("-", ""))
    return not o.is_protected, PRIORITIES.index(o.priority), -day, -o.id
