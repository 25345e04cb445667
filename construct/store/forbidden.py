"""The user's `never:` rules, applied to what workers and models write to the memory.

The functions that store observations and the notes of cycles call `is_forbidden`
themselves, so that no caller can forget to. For titles, tasks and the graph, the callers
check (memory/cycles/commit.py, memory/graph/storing.py). Each connection knows the path
of the rules file. The file is read on every call, so a rule applies as soon as it is
saved, in every process.
"""

from construct.store.connection import FileConnection
from construct.store.driver import Connection
from construct.store.sql import column
from construct.user_rules import Rules, read_rules

_NOTE_PREFIX = "left out by your rules: "


def rules_of(db: Connection) -> Rules:
    """Return the current rules. Raises ConstructError if their file cannot be read."""
    return read_rules(db.rules_file if isinstance(db, FileConnection) else None)


def is_forbidden(db: Connection, *texts: str | None) -> bool:
    """Return whether the rules forbid storing any of these texts."""
    return rules_of(db).forbidden_in(*texts) is not None


def left_out_note(count: int) -> str:
    """Return the note of a cycle that says how many texts the rules left out."""
    return f"{_NOTE_PREFIX}{count}"


def count_left_out(db: Connection) -> int:
    """Return how many observations the rules have kept out, from the cycles' notes."""
    query = """SELECT value FROM cycles, json_each(cycles.notes)
               WHERE kind <> 'graph' AND instr(notes, :prefix) AND instr(value, :prefix) = 1"""
    notes = column(db, query, {"prefix": _NOTE_PREFIX})
    return sum(int(note.removeprefix(_NOTE_PREFIX)) for note in notes)
