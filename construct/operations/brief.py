"""What is worth a few lines when a shell starts. Imports little."""

import sqlite3
from datetime import date, timedelta
from pathlib import Path

from construct.errors import DatabaseUnusableError
from construct.memory.agenda import AgendaItem, read_agenda
from construct.store import faults
from construct.store.glance import glance
from construct.vocabulary import AgendaState

_AHEAD = timedelta(days=2)
_BEHIND = timedelta(days=14)
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def brief(path: Path, today: date) -> list[AgendaItem]:
    """Return what is due: today, in two days, then plans of the last fortnight.

    Nothing where the file cannot be read at once. Raises DatabaseUnusableError for a
    file that is newer, damaged or not ours.
    """
    if path.exists() and not path.is_file():
        raise faults.unopened(path)
    try:
        with glance(path) as db:
            return [] if db is None else worth_saying(read_agenda(db, today), today)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "").startswith(_DAMAGED):
            raise faults.damaged(path) from error
        return []
    except OSError as error:
        raise DatabaseUnusableError(str(faults.unopened(path))) from error


def worth_saying(items: list[AgendaItem], today: date) -> list[AgendaItem]:
    """Return those of the items that are due, what is ahead first, then the newest. Pure."""
    ahead = [i for i in items if today <= i.days.last <= today + _AHEAD]
    passed = [
        i
        for i in items
        if i.state is AgendaState.OUTCOME_UNKNOWN and i.days.last >= today - _BEHIND
    ]
    return ahead + passed[::-1]
