"""Which observations a conversation is shown, in which block. Pure.

What is shown is kept as (observation id, block) so that the blocks, and with them the prompt
cache, stay as they were; block 0 holds what fell off the budget.
"""

from collections.abc import Collection, Mapping

from construct.store.observations import Weighed
from construct.store.records import Observation

Shown = list[tuple[int, int]]
FELL_OFF = 0
_PACK_TO = 0.75
_RANK = {"high": 0, "medium": 1, "low": 2}


def without_gone(shown: Shown, active: Collection[int]) -> Shown:
    """Return what is shown without what is no longer active."""
    return [(i, block) for i, block in shown if i in active]


def with_new(shown: Shown, active: Collection[int]) -> Shown:
    """Return what is shown with a block more, of the active observations that are not shown yet."""
    known = {i for i, _ in shown}
    block = max((block for _, block in shown), default=FELL_OFF) + 1
    return shown + [(i, block) for i in active if i not in known]


def within_budget(shown: Shown, by_id: Mapping[int, Observation | Weighed], budget: int) -> Shown:
    """Return what is shown, repacked when it exceeds the budget.

    By pinned, priority, then newest first, greedily down to three quarters of the budget; what
    survives keeps its place. What fell off earlier gets another chance.
    """
    if sum(by_id[i].token_count for i, block in shown if block != FELL_OFF) <= budget:
        return shown
    left = int(budget * _PACK_TO)
    kept = set()
    for o in sorted((by_id[i] for i, _ in shown), key=_urgency, reverse=True):
        if o.token_count <= left:
            left -= o.token_count
            kept.add(o.id)
    last = max(block for _, block in shown)
    return [(i, (block or last) if i in kept else FELL_OFF) for i, block in shown]


def in_blocks(shown: Shown, by_id: Mapping[int, Observation]) -> tuple[tuple[Observation, ...], ...]:
    """Return the observations shown, block by block, in order of commit."""
    blocks: dict[int, list[Observation]] = {}
    for i, block in sorted(shown, key=lambda row: (row[1], row[0])):
        if block != FELL_OFF:
            blocks.setdefault(block, []).append(by_id[i])
    return tuple(tuple(block) for _, block in sorted(blocks.items()))


def _urgency(o: Observation | Weighed) -> tuple[int, int, str, int]:
    return (o.pinned, -_RANK[o.priority], o.observation_date, o.id)
