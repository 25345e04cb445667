"""Choose the blocks of observations that a conversation's model is shown.

While the prompt cache is warm, the blocks do not change between compactions, with two
exceptions. If an observation in them is no longer in sight (superseded elsewhere, edited,
withheld, shelved), the prefix has to change anyway, so they are chosen again; if one is deleted,
only its line goes. And what an undo or a deletion makes active again is added.
"""

from collections.abc import Iterable, Mapping, Sequence

from construct.memory.shown.forks import hidden_from, reach
from construct.memory.shown.frame import Frame
from construct.store import shown
from construct.store.acceptance import unaccepted
from construct.store.driver import Connection
from construct.store.observations import by_urgency, in_scope
from construct.store.records import Observation
from construct.store.shown import ShownLine
from construct.vocabulary import Scope

_PACK_TO = 0.75
"""Share of the budget that packing fills, so that it is not exceeded again soon."""

Blocks = tuple[tuple[Observation | ShownLine, ...], ...]


def current_blocks(db: Connection, conversation_id: int, frame: Frame) -> Blocks:
    """Return the shown blocks, or choose them again if an observation in them left the sight."""
    current = shown.shown(db, conversation_id)
    hidden = hidden_from(db, conversation_id)
    is_current = current.all_active and not any(
        line.id in hidden for block in current.blocks for line in block
    )
    return current.blocks if is_current else take_in(db, conversation_id, frame)


def take_in(db: Connection, conversation_id: int, frame: Frame) -> Blocks:
    """Choose the blocks again: what is shown and still in sight, and new ones in a last block.

    Plans whose day is long past leave here. If the rest exceeds the budget, all observations
    in scope and sight are packed again, including those left out earlier. Returns the blocks.
    """
    descent = reach(db, frame.scope, conversation_id)
    old_blocks = shown.shown_blocks(db, conversation_id)
    hidden = hidden_from(db, conversation_id)
    plans_from = frame.plans_from
    still_active = _without(hidden, shown.shown_in_scope(db, conversation_id, descent, plans_from))
    new = _without(
        hidden, shown.not_taken_in(db, conversation_id, frame.scope, descent, plans_from)
    )
    blocks = with_new({i: old_blocks[i] for i in still_active}, new)
    if sum(still_active.values()) + sum(new.values()) > frame.budget:
        urgent = _without(hidden, dict(by_urgency(db, descent, plans_from)))
        blocks = repacked(blocks, packed(urgent.items(), frame.budget))
    shown.store_take_in(db, conversation_id, frame.scope, blocks)
    return shown.shown(db, conversation_id).blocks


def show_again(db: Connection, ids: Sequence[int]) -> None:
    """Show observations that are active again, in each conversation's last block.

    Conversations that show nothing yet, or left them out for the budget, are unchanged.
    """
    for conversation_id, scope in shown.scopes(db).items():
        allowed_ids = in_scope(db, ids, reach(db, scope, conversation_id))
        hidden = hidden_from(db, conversation_id)
        allowed_ids = [i for i in allowed_ids if i not in hidden]
        shown.add_to_last_block(db, conversation_id, allowed_ids)


def opening_blocks(db: Connection, frame: Frame) -> Blocks:
    """Return the blocks that a new conversation would be shown."""
    if frame.scope != Scope.USER:
        return ()
    in_sight = _without(unaccepted(db), dict(by_urgency(db, None, frame.plans_from)))
    kept = list(in_sight)
    if sum(in_sight.values()) > frame.budget:
        kept = packed(in_sight.items(), frame.budget)
    return (shown.lines(db, kept),) if kept else ()


def _without(hidden: frozenset[int], tokens: Mapping[int, int]) -> dict[int, int]:
    """Return tokens by observation id, without the hidden ones."""
    return {i: size for i, size in tokens.items() if i not in hidden}


def with_new(blocks: Mapping[int, int], new: Iterable[int]) -> dict[int, int]:
    """Return block numbers by observation id: the given ones, and the new in a last block."""
    last = max(blocks.values(), default=0)
    return {**blocks, **dict.fromkeys(new, last + 1)}


def repacked(blocks: Mapping[int, int], kept: Iterable[int]) -> dict[int, int]:
    """Return the block numbers of the ids in `kept`. Those not in a block join the last."""
    last = max(blocks.values())
    return {i: blocks.get(i, last) for i in kept}


def packed(observations: Iterable[tuple[int, int]], budget: int) -> list[int]:
    """Return the ids that fit three quarters of the budget.

    `observations`: (id, tokens), the most important first.
    """
    tokens_left = int(budget * _PACK_TO)
    kept = []
    for observation_id, tokens in observations:
        if tokens <= tokens_left:
            tokens_left -= tokens
            kept.append(observation_id)
    return kept
