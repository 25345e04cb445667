"""Why what a model should have read was read by rule."""

import json
import sqlite3

from construct.llm.providers import EXTRACTIVE
from construct.memory.cycles.situation import Terms
from construct.memory.cycles.spending import is_over_limit
from construct.store import cycles


def newest_observer(db: sqlite3.Connection, conversation_id: int) -> int:
    """Return the id of the newest observer cycle that succeeded, 0 where there is none."""
    cycle = cycles.last_cycle(db, "observer", conversation_id, ("succeeded",))
    return 0 if cycle is None else cycle.id


def trouble(db: sqlite3.Connection, conversation_id: int, terms: Terms, since: int = 0) -> str | None:
    """Return why the worker model was of no use for the newest batch; None when it was, or none is newer than `since`.

    Only to be asked where a model is the worker.
    """
    cycle = cycles.last_cycle(db, "observer", conversation_id, ("succeeded",))
    if cycle is None or cycle.id <= since or cycle.model != EXTRACTIVE:
        return None
    if is_over_limit(db, terms):
        return "the money for it is spent, and the end of that conversation was read by rule"
    why = json.loads(cycle.notes)[-1].rstrip(".") if cycle.notes else "it gave no usable answer"
    return f"the worker model failed, and the last batch was read by rule ({why})"
