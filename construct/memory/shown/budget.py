"""Which observations a conversation is shown, in which block. Pure.

What is shown is kept as the block of each observation, so that the blocks, and with
them the prompt cache, stay as they were.
"""

from collections.abc import Iterable, Mapping

_PACK_TO = 0.75


def with_new(blocks: Mapping[int, int], new: Iterable[int]) -> dict[int, int]:
    """Return what is shown with one block more, of what is new."""
    last = max(blocks.values(), default=0)
    return {**blocks, **dict.fromkeys(new, last + 1)}


def repacked(blocks: Mapping[int, int], kept: Iterable[int]) -> dict[int, int]:
    """Return what is shown of `kept`: what stays keeps its place, what comes back comes last."""
    last = max(blocks.values())
    return {i: blocks.get(i, last) for i in kept}


def packed(observations: Iterable[tuple[int, int]], budget: int) -> list[int]:
    """Return what is kept of (id, tokens), the most urgent first, when the budget is exceeded.

    Greedily, down to three quarters of the budget: so it lasts for a while.
    """
    left = int(budget * _PACK_TO)
    kept = []
    for observation_id, tokens in observations:
        if tokens <= left:
            left -= tokens
            kept.append(observation_id)
    return kept
