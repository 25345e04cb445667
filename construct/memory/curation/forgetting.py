"""Forgetting what a person names by its id: an observation or a memory."""

import sqlite3

from construct.clock import Clock
from construct.errors import NotFoundError
from construct.memory.curation.forget import (
    ForgetPlan,
    Forgotten,
    forget,
    forget_memory,
    plan_forget,
    plan_forget_memory,
)
from construct.references import Reference


def plan_forget_named(db: sqlite3.Connection, reference: Reference, *, words: bool) -> ForgetPlan:
    """Return what forgetting it will take along; raises NotFoundError, for a message too."""
    kind, number = reference
    if kind == "memory":
        return plan_forget_memory(db, number, words=words)
    return plan_forget(db, _observation(reference), words=words)


def forget_named(db: sqlite3.Connection, reference: Reference, clock: Clock, *, words: bool) -> Forgotten:
    """Delete it and all that rests on it; raises NotFoundError, for a message too."""
    kind, number = reference
    if kind == "memory":
        return forget_memory(db, number, clock, words=words)
    return forget(db, _observation(reference), clock, words=words)


def _observation(reference: Reference) -> int:
    kind, number = reference
    if kind != "observation":
        raise NotFoundError(
            f"{kind}:{number} is what was said itself: forget the observations that rest on it, which `why` shows."
        )
    return number
