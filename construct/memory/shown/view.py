"""The blocks of observations that a conversation's model is shown.

The blocks do not change between compactions, to keep the prompt cache. They change
earlier only if an observation in them is gone (superseded elsewhere, edited,
forgotten), since the prefix has changed then anyway.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from construct.memory.shown.forks import reach
from construct.memory.shown.frame import Frame
from construct.store import observations as rows
from construct.store import shown
from construct.store.records import Observation
from construct.store.shown import Line
from construct.vocabulary import Scope

_PACK_TO = 0.75

Blocks = tuple[tuple[Observation | Line, ...], ...]


def current_blocks(db: sqlite3.Connection, conversation_id: int, frame: Frame) -> Blocks:
    """Return the shown blocks, with replacements for lines that are gone."""
    found = shown.shown(db, conversation_id)
    return found.blocks if found.all_active else take_in(db, conversation_id, frame)


def take_in(db: sqlite3.Connection, conversation_id: int, frame: Frame) -> Blocks:
    """Show all active observations in scope, new ones in a block of their own.

    If they exceed the budget, all are packed again, including those left out earlier.
    Returns the blocks.
    """
    talk = reach(db, frame.scope, conversation_id)
    before = shown.shown_blocks(db, conversation_id)
    standing = shown.shown_in_scope(db, conversation_id, talk)
    new = shown.not_taken_in(db, conversation_id, frame.scope, talk)
    after = with_new({i: before[i] for i in standing}, new)
    if sum(standing.values()) + sum(new.values()) > frame.budget:
        kept = packed(rows.by_urgency(db, talk), frame.budget)
        after = repacked(after, kept)
    shown.store_take_in(db, conversation_id, frame.scope, after)
    return shown.shown(db, conversation_id).blocks


def show_again(db: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Show observations that are active again, in each conversation's last block.

    Not in conversations that show nothing yet or left them out for the budget.
    """
    for conversation_id, scope in shown.scopes(db).items():
        in_scope = rows.in_scope(db, ids, reach(db, scope, conversation_id))
        shown.add_to_last_block(db, conversation_id, in_scope)


def opening_blocks(db: sqlite3.Connection, frame: Frame) -> Blocks:
    """Return the blocks that a new conversation would be shown."""
    if frame.scope != Scope.USER:
        return ()
    active = dict(rows.by_urgency(db, None))
    kept = list(active)
    if sum(active.values()) > frame.budget:
        kept = packed(active.items(), frame.budget)
    return (shown.lines(db, kept),) if kept else ()


def with_new(blocks: Mapping[int, int], new: Iterable[int]) -> dict[int, int]:
    """Return the shown blocks and one more block with the new observations."""
    last = max(blocks.values(), default=0)
    return {**blocks, **dict.fromkeys(new, last + 1)}


def repacked(blocks: Mapping[int, int], kept: Iterable[int]) -> dict[int, int]:
    """Return the blocks reduced to `kept`. Observations that were not shown come last."""
    last = max(blocks.values())
    return {i: blocks.get(i, last) for i in kept}


def packed(observations: Iterable[tuple[int, int]], budget: int) -> list[int]:
    """Return the ids that fit, given (id, tokens) with the most important first.

    Fills three quarters of the budget, so that it is not exceeded again soon.
    """
    left = int(budget * _PACK_TO)
    kept = []
    for observation_id, tokens in observations:
        if tokens <= left:
            left -= tokens
            kept.append(observation_id)
    return kept
