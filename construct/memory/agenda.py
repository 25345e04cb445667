"""Decide what is on the agenda on a given day, and what is worth bringing up. No I/O.

Agenda, brief, calendar, chat, filters and the memory page all ask here. Imports little,
so that `construct brief` starts fast.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from construct.language.periods import Period, is_when, parse_when, relative_words
from construct.store.agenda import DatedNote
from construct.store.records import Observation
from construct.vocabulary import AgendaState, Stance

_MENTIONED_AHEAD = timedelta(days=2)
"""How far ahead an item is worth bringing up."""
MENTIONED_AFTER = timedelta(days=14)
"""How long ago a plan of unknown outcome may have been due to be worth bringing up."""


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
    is_asked: bool = False
    """Whether the companion has asked how it turned out."""

    @property
    def is_vague(self) -> bool:
        """Whether its time is a month or a year rather than a single day."""
        return self.days.first != self.days.last


def state_on(today: date, stance: str, when: str | None) -> AgendaState | None:
    """Return the state of a note with this stance and date; None if it is not on the agenda.

    What is stated or planned is ahead through the last day of its date. After that only a
    plan stays: nobody knows how it turned out.
    """
    if when is None or stance not in {Stance.STATED, Stance.PLANNED} or not is_when(when):
        return None
    days = parse_when(when)
    if days.last < today:
        return AgendaState.OUTCOME_UNKNOWN if stance == Stance.PLANNED else None
    return AgendaState.TODAY if days.first == today == days.last else AgendaState.AHEAD


def outcome_unknown(o: Observation, today: date) -> bool:
    """Return whether an observation is a plan of unknown outcome that is still in force."""
    state = state_on(today, o.stance, o.referenced_date)
    return o.superseded_at is None and state is AgendaState.OUTCOME_UNKNOWN


def agenda_items(notes: Iterable[DatedNote], today: date) -> list[AgendaItem]:
    """Return the agenda items among these notes, sorted by last day."""
    items = []
    for note in notes:
        state = state_on(today, note.stance, note.when)
        if state is not None:
            days, is_asked = parse_when(note.when), note.asked_at is not None
            items.append(
                AgendaItem(note.id, note.content, note.stance, note.when, days, state, is_asked)
            )
    return sorted(items, key=lambda item: (item.days.last, item.days.first, item.id))


def worth_mentioning(items: Iterable[AgendaItem], today: date) -> list[AgendaItem]:
    """Return what is due in the next two days, then plans of the last two weeks, newest first.

    The items must be sorted by last day.
    """
    ahead, passed = [], []
    for item in items:
        if item.state is AgendaState.OUTCOME_UNKNOWN:
            if item.days.last >= today - MENTIONED_AFTER:
                passed.append(item)
        elif item.days.last <= today + _MENTIONED_AHEAD:
            ahead.append(item)
    return ahead + passed[::-1]


def day_words(item: AgendaItem, today: date) -> str:
    """Return when something ahead is due: "today", "within 3 days", "by tomorrow"."""
    words = relative_words(item.days.last, today)
    if not item.is_vague:
        return words
    return f"within {words.removeprefix('in ')}" if words.startswith("in ") else f"by {words}"


def due_words(item: AgendaItem, today: date) -> str:
    """Return "Due tomorrow", or "Outcome unknown (2 days ago)"."""
    if item.state is AgendaState.OUTCOME_UNKNOWN:
        return f"Outcome unknown ({relative_words(item.days.last, today)})"
    return f"Due {day_words(item, today)}"
