"""`construct brief`: what is due, in a few lines for the start of a shell. Imports little."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from construct.clock import Clock
from construct.memory.agenda import (
    MENTIONED_AFTER,
    AgendaItem,
    agenda_items,
    worth_mentioning,
)
from construct.store.agenda import dated_notes
from construct.store.driver import Connection
from construct.store.glance import read_at_a_glance
from construct.store.reminders import FailedReminder, failed_reminders
from construct.store.review import count_waiting


@dataclass(frozen=True, slots=True)
class Brief:
    """What is worth saying at the start of a shell."""

    items: Sequence[AgendaItem] = ()
    """What is due in the next two days, then plans of the last two weeks."""
    failed: Sequence[FailedReminder] = ()
    """Reminders of the last two weeks that could not be delivered."""
    waiting: int = 0
    """How many questions wait for the user."""


def brief(path: Path, clock: Clock) -> Brief:
    """Return what is due. Empty if the database is missing, locked or from an earlier version.

    Raises DatabaseUnusableError if it is newer, damaged or not Construct's.
    """
    today = clock.today()
    since = today - MENTIONED_AFTER

    def read(db: Connection) -> Brief:
        items = agenda_items(dated_notes(db, since=since), today)
        failed = failed_reminders(db, since)
        return Brief(worth_mentioning(items, today), failed, count_waiting(db))

    return read_at_a_glance(path, read, Brief())
