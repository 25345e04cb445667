"""The user's `never:` words, kept out of the memory where it is written.

Each function of the store that writes a part of the memory asks `is_forbidden`, so that
no writer can forget it. The connection knows which file the rules stand in. They are
read each time: a rule holds from the moment it is saved, in every process.
"""

import sqlite3
from pathlib import Path

from construct.store.sql import column, scalar
from construct.user_rules import Rules, read_rules

_COUNTED = "left out by your rules: "


def keep_to(db: sqlite3.Connection, file: Path | None) -> None:
    """Have what is written through a connection keep to the rules in a file."""
    name = None if file is None else str(file.absolute())
    db.create_function("memory_rules", 0, lambda: name)


def rules_of(db: sqlite3.Connection) -> Rules:
    """Return the rules as they are now.

    Raises ConstructError when their file cannot be read.
    """
    name = scalar(db, "SELECT memory_rules()")
    return read_rules(None if name is None else Path(name))


def is_forbidden(db: sqlite3.Connection, *texts: str | None) -> bool:
    """Return whether the rules keep one of these texts out of the memory."""
    return rules_of(db).forbidden_in(*texts) is not None


def left_out_note(count: int) -> str:
    """Return how a cycle's notes count what the rules left out: never by its words."""
    return f"{_COUNTED}{count}"


def count_left_out(db: sqlite3.Connection) -> int:
    """Return how much the rules have kept out of the memory, by the cycles' notes."""
    query = """SELECT value FROM cycles, json_each(cycles.notes)
               WHERE instr(notes, :counted) AND instr(value, :counted) = 1"""
    found = column(db, query, {"counted": _COUNTED})
    return sum(int(note.removeprefix(_COUNTED)) for note in found)
