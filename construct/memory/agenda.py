"""Read the agenda: what is ahead, what is today, and plans whose outcome is unknown.

Imports little, so that `construct brief` starts fast.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from construct.language.periods import Period, is_when, parse_when
from construct.store.agenda import DatedLine, dated_lines
from construct.vocabulary import AgendaState, Stance


@dataclass(frozen=True, slots=True)
class AgendaItem:
    """Something that is stated or planned for a day, a month or a year."""

    id: int
    content: str
    stance: str
    when: str
    """The time as it is stored: `2026-03-05`, `2026-03` or `2026`."""
    days: Period
    """The first and the last day of that time."""
    state: AgendaState

    @property
    def is_vague(self) -> bool:
        """Whether its time is a month or a year rather than a single day."""
        return self.days.first != self.days.last


def read_agenda(db: sqlite3.Connection, today: date) -> list[AgendaItem]:
    """Return all items of the agenda, sorted by last day."""
    return agenda_items(dated_lines(db, today.isoformat()), today)


def agenda_items(lines: Iterable[DatedLine], today: date) -> list[AgendaItem]:
    """Return the agenda items among these lines, sorted by last day. No I/O.

    A month or a year is ahead through its last day. Once an item's time has passed, only
    plans stay.
    """
    items = []
    for line in lines:
        if not is_when(line.when):
            continue
        days = parse_when(line.when)
        if days.last >= today or line.stance == Stance.PLANNED:
            state = _state(days, today)
            items.append(AgendaItem(line.id, line.content, line.stance, line.when, days, state))
    return sorted(items, key=lambda item: (item.days.last, item.days.first, item.id))


def _state(days: Period, today: date) -> AgendaState:
    if days.last < today:
        return AgendaState.OUTCOME_UNKNOWN
    return AgendaState.TODAY if days.first == today == days.last else AgendaState.AHEAD
