"""`construct brief`: what is due, in a few lines for the start of a shell. Imports little."""

import sqlite3
from datetime import date
from pathlib import Path

from construct.errors import DatabaseUnusableError
from construct.memory.agenda import (
    MENTIONED_AFTER,
    AgendaItem,
    agenda_items,
    worth_mentioning,
)
from construct.store import faults
from construct.store.agenda import dated_notes
from construct.store.glance import glance

_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def brief(path: Path, today: date) -> list[AgendaItem]:
    """Return what is due in the next two days, then plans of the last two weeks.

    Empty if the database is missing, locked or from an earlier version. Raises
    DatabaseUnusableError if it is newer, damaged or not Construct's.
    """
    if path.exists() and not path.is_file():
        raise faults.cannot_open_error(path)
    try:
        with glance(path) as db:
            if db is None:
                return []
            notes = dated_notes(db, since=today - MENTIONED_AFTER)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "").startswith(_DAMAGED):
            raise faults.damaged_error(path) from error
        return []
    except OSError as error:
        raise DatabaseUnusableError(str(faults.cannot_open_error(path))) from error
    return worth_mentioning(agenda_items(notes, today), today)
