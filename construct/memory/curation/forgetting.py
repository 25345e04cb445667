"""Forgetting what a person names by its id: an observation, a memory or a message."""

import sqlite3

from construct.clock import Clock
from construct.memory.curation import forget
from construct.memory.curation.forget import ForgetPlan, Forgotten
from construct.references import Reference

_PLANS = {
    "observation": forget.plan_forget,
    "memory": forget.plan_forget_memory,
    "message": forget.plan_forget_message,
}
_DEEDS = {"observation": forget.forget, "memory": forget.forget_memory, "message": forget.forget_message}


def plan_forget_named(db: sqlite3.Connection, reference: Reference, *, words: bool) -> ForgetPlan:
    """Return what forgetting it will take along; raises NotFoundError."""
    kind, number = reference
    return _PLANS[kind](db, number, words=words)


def forget_named(db: sqlite3.Connection, reference: Reference, clock: Clock, *, words: bool) -> Forgotten:
    """Delete it and all that rests on it; raises NotFoundError."""
    kind, number = reference
    return _DEEDS[kind](db, number, clock, words=words)
