"""`construct brief`: what is due, in a few lines for the start of a shell. Imports little."""

import sqlite3
from datetime import date, timedelta
from pathlib import Path

from construct.errors import DatabaseUnusableError
from construct.memory.agenda import AgendaItem, read_agenda
from construct.store import faults
from construct.store.glance import glance
from construct.vocabulary import AgendaState

_AHEAD = timedelta(days=2)
"""How far ahead an item is worth mentioning."""
_BEHIND = timedelta(days=14)
"""How long ago a plan of unknown outcome may have been due."""
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
            return [] if db is None else worth_saying(read_agenda(db, today), today)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "").startswith(_DAMAGED):
            raise faults.damaged_error(path) from error
        return []
    except OSError as error:
        raise DatabaseUnusableError(str(faults.cannot_open_error(path))) from error


def worth_saying(items: list[AgendaItem], today: date) -> list[AgendaItem]:
    """Return the items that are due: those ahead, then those passed, newest first."""
    ahead = [i for i in items if today <= i.days.last <= today + _AHEAD]
    passed = [
        i
        for i in items
        if i.state is AgendaState.OUTCOME_UNKNOWN and i.days.last >= today - _BEHIND
    ]
    return ahead + passed[::-1]
