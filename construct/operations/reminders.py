"""`construct remind`: deliver what is due, each reminder once, and list what is to come.

Imports little: it runs every five minutes, and mostly nothing is due.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from construct.clock import to_text
from construct.config import Settings
from construct.errors import ConstructError
from construct.memory.reminders import (
    KEPT_DUE,
    Reminder,
    due_reminders,
    next_reminders,
)
from construct.store import reminders
from construct.store.driver import Connection
from construct.store.glance import read_at_a_glance
from construct.store.reminders import FailedReminder

if TYPE_CHECKING:
    from construct.operations.context import Context

_KEY_SECONDS = 600.0
"""How long after the last key in a chat reminders are shown there."""
_CHAT_HAS = timedelta(minutes=3)
"""A reminder that no chat has shown by then is delivered elsewhere."""


@dataclass(frozen=True, slots=True)
class Reminders:
    """What is due, what could not be delivered, and what is to come."""

    due: Sequence[Reminder] = ()
    failed: Sequence[FailedReminder] = ()
    ahead: Sequence[Reminder] = ()
    """The next reminder of each note, the soonest first."""


def due(settings: Settings) -> list[Reminder]:
    """Return the reminders that are due and not delivered yet, the oldest first.

    Only reads the file, and never waits. Empty if it is missing, locked or from an earlier
    version. Raises DatabaseUnusableError if it is newer, damaged or not Construct's.
    """
    return read_at_a_glance(settings.db, lambda db: _due(db, settings), [])


def listed(settings: Settings) -> Reminders:
    """Return all reminders, as `due` reads them."""
    return read_at_a_glance(settings.db, lambda db: _listed(db, settings), Reminders())


def listed_in(ctx: "Context") -> Reminders:
    """Return all reminders of an open database."""
    return _listed(ctx.db, ctx.settings)


def _listed(db: Connection, settings: Settings) -> Reminders:
    today = settings.clock.today()
    notes = reminders.reminding_notes(db, today)
    return Reminders(
        _due(db, settings),
        reminders.failed_reminders(db, today - timedelta(days=14)),
        next_reminders(notes, settings.clock, settings.remind_at),
    )


def deliver(
    settings: Settings, wanted: Sequence[Reminder], send: Callable[[Reminder], None]
) -> list[ConstructError]:
    """Send reminders, and record which were delivered. Return what `send` raised.

    What could not be sent stays due. One that another process sends at the same time is
    left to it.
    """
    from construct.store.database import open_database, transaction

    errors = []
    with closing(open_database(settings.db)) as db:
        for reminder in wanted:
            note_id, now = reminder.note.id, to_text(settings.clock.now())
            with transaction(db):
                is_claimed = reminders.claim(db, note_id, reminder.due, time.time())
            if not is_claimed:
                continue
            try:
                send(reminder)
            except ConstructError as error:
                errors.append(error)
                reminders.note_failed(db, note_id, reminder.due, now)
            else:
                reminders.note_delivered(db, note_id, reminder.due, now)
    return errors


def without_those_for_a_chat(settings: Settings, wanted: Sequence[Reminder]) -> list[Reminder]:
    """Return the reminders that are not for a chat at which the user is now."""
    from construct.store.cycles import is_user_at_a_chat

    since = time.time() - _KEY_SECONDS
    if not read_at_a_glance(settings.db, lambda db: is_user_at_a_chat(db, since), nothing=False):
        return list(wanted)
    now = settings.clock.wall()
    return [reminder for reminder in wanted if now - reminder.due_at > _CHAT_HAS]


def take_for_chat(
    db: Connection, settings: Settings, session_id: int, seconds_since_key: float
) -> list[Reminder]:
    """Return what is due, to be shown at once in a chat at which the user is.

    It is recorded as delivered. Nothing is if no key was pressed there for a while.
    """
    from construct.store.cycles import note_key
    from construct.store.database import transaction

    if seconds_since_key > _KEY_SECONDS:
        return []
    note_key(db, session_id, time.time() - seconds_since_key)
    now = to_text(settings.clock.now())
    with transaction(db):
        taken = [
            reminder
            for reminder in _due(db, settings)
            if reminders.claim(db, reminder.note.id, reminder.due, time.time())
        ]
        for reminder in taken:
            reminders.note_delivered(db, reminder.note.id, reminder.due, now)
    return taken


def _due(db: Connection, settings: Settings) -> list[Reminder]:
    since = (settings.clock.wall() - KEPT_DUE).date()
    notes = reminders.reminding_notes(db, since)
    found = due_reminders(notes, settings.clock, settings.remind_at)
    return [r for r in found if not reminders.was_delivered(db, r.note.id, r.due)]
