"""What a conversation's model is shown of the observations: read, refreshed when needed, stored.

The blocks stay put between compactions; they are redone only when something shown is gone
(superseded elsewhere, edited, forgotten), since then the prefix has changed anyway.
"""

import sqlite3
from dataclasses import dataclass

from construct.memory.shown import budget
from construct.memory.shown.forks import reach
from construct.store import observations as rows
from construct.store.observations import Line
from construct.store.records import Observation

Blocks = tuple[tuple[Observation | Line, ...], ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """What decides which observations may be shown, and how many."""

    scope: str
    budget: int


def current_blocks(db: sqlite3.Connection, conversation_id: int, frame: Frame) -> Blocks:
    """Return what is shown, taking in what replaced a line that is gone."""
    shown = rows.shown(db, conversation_id)
    return shown.blocks if shown.all_active else take_in(db, conversation_id, frame)


def take_in(db: sqlite3.Connection, conversation_id: int, frame: Frame) -> Blocks:
    """Show all active observations in scope, new ones in a block of their own; return what is shown."""
    by_id = {o.id: o for o in rows.weighed_in_scope(db, reach(db, frame.scope, conversation_id))}
    before = rows.shown_blocks(db, conversation_id)
    after = budget.with_new(budget.without_gone(before, by_id), by_id)
    after = budget.within_budget(after, by_id, frame.budget)
    if sorted(after) != sorted(before):
        rows.replace_shown(db, conversation_id, after)
    return rows.shown(db, conversation_id).blocks


def opening_blocks(db: sqlite3.Connection, frame: Frame) -> Blocks:
    """Return what a conversation that does not exist yet would be shown."""
    if frame.scope != "user":
        return ()
    by_id = {o.id: o for o in rows.active_in_scope(db, None)}
    return budget.in_blocks(budget.within_budget(budget.with_new([], list(by_id)), by_id, frame.budget), by_id)
