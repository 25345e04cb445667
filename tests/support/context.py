"""What operations work with, made of a database alone."""

import sqlite3
from pathlib import Path

from construct.clock import Clock
from construct.config import Settings, Thresholds
from construct.memory.config import MemoryConfig
from construct.operations.context import Context


def context(
    db: sqlite3.Connection,
    clock: Clock = Clock(),
    *,
    here: int | None = None,
    thresholds: Thresholds = Thresholds(),
    worker: str = "m",
) -> Context:
    """Return the context of a user who is in the conversation `here`."""
    config = MemoryConfig(thresholds, "user", clock, daily_usd=1.0)
    return Context(db, Settings(Path("unused"), Path("unused"), clock=clock), config, here, worker)
