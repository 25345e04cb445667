"""The agenda: what is ahead, what is today, and plans whose outcome is unknown.

Imports little, for `construct brief`.
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
    """As it is stored: `2026-03-05`, `2026-03` or `2026`."""
    days: Period
    state: AgendaState

    @property
    def is_vague(self) -> bool:
        """True if it does not name a single day."""
        return self.days.first != self.days.last


def read_agenda(db: sqlite3.Connection, today: date) -> list[AgendaItem]:
    """Return all items of the agenda, sorted by last day."""
    return agenda_items(dated_lines(db, today.isoformat()), today)


def agenda_items(lines: Iterable[DatedLine], today: date) -> list[AgendaItem]:
    """Return the agenda items among these lines, sorted by last day. No I/O.

    A month or a year is ahead through its last day. Of what has passed only plans stay.
    """
    found = []
    for line in lines:
        if not is_when(line.when):
            continue
        days = parse_when(line.when)
        if days.last >= today or line.stance == Stance.PLANNED:
            state = _state(days, today)
            found.append(AgendaItem(line.id, line.content, line.stance, line.when, days, state))
    return sorted(found, key=lambda item: (item.days.last, item.days.first, item.id))


def _state(days: Period, today: date) -> AgendaState:
    if days.last < today:
        return AgendaState.OUTCOME_UNKNOWN
    return AgendaState.TODAY if days.first == today == days.last else AgendaState.AHEAD
