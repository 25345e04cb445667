"""Decide what is on the agenda on a given day, and what is worth bringing up. No I/O.

Agenda, brief, calendar, chat, filters and the memory page all ask here. Imports little,
so that `construct brief` starts fast.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from construct.language.periods import Period, is_when, parse_when, relative_words
from construct.language.recurrence import next_occurrence
from construct.store.agenda import DatedNote
from construct.store.records import Observation
from construct.vocabulary import AgendaState, Recurrence, Stance

_MENTIONED_AHEAD = timedelta(days=2)
"""How far ahead an item is worth bringing up."""
MENTIONED_AFTER = timedelta(days=14)
"""How long ago a plan of unknown outcome may have been due to be worth bringing up."""
_LISTED_AFTER = timedelta(days=60)
"""How long ago a plan of unknown outcome may have been due to be listed without asking."""
_ON_THE_AGENDA = frozenset({Stance.STATED, Stance.PLANNED, Stance.QUOTED})


@dataclass(frozen=True, slots=True)
class AgendaItem:
    """Something that is stated, planned or quoted for a day, a month or a year."""

    note: DatedNote
    when: str
    """`2026-03-05`, `2026-03` or `2026`; of what comes again, its next day."""
    days: Period
    """The first and the last day of that time."""
    state: AgendaState

    @property
    def id(self) -> int:
        """The id of its observation."""
        return self.note.id

    @property
    def text(self) -> str:
        """Its label, else the fact; what only a text says says so."""
        return short_text(self.note)

    @property
    def whole_text(self) -> str:
        """The fact; what only a text says says so."""
        return _marked(self.note.content, self.note)

    @property
    def time(self) -> str | None:
        """Its time of day as `HH:MM`; None for a whole day."""
        return None if self.is_vague else self.note.referenced_time

    @property
    def recurs(self) -> Recurrence | None:
        """How often it comes again, if it does."""
        comes_again = self.note.recurs is not None and not self.is_vague
        return Recurrence(str(self.note.recurs)) if comes_again else None

    @property
    def is_vague(self) -> bool:
        """Whether its time is a month or a year rather than a single day."""
        return self.days.first != self.days.last

    @property
    def is_asked(self) -> bool:
        """Whether the companion has asked how it turned out."""
        return self.note.asked_at is not None


def short_text(note: DatedNote) -> str:
    """Return a note's label, else the fact; what only a text says says so."""
    return _marked(note.label or note.content, note)


def _marked(words: str, note: DatedNote) -> str:
    return f"{words} (from a text)" if note.stance == Stance.QUOTED else words


def skipped_days(recurs_except: str | None) -> frozenset[date]:
    """Return the days on which something does not come again, from their JSON list."""
    return frozenset(map(date.fromisoformat, json.loads(recurs_except or "[]")))


def when_on(today: date, note: DatedNote | Observation) -> str | None:
    """Return the day, month or year that a note refers to; of what comes again, the next day.

    None if it refers to none, or does not come again.
    """
    when = note.referenced_date
    if when is None or not is_when(when):
        return None
    days = parse_when(when)
    if note.recurs is None or days.first != days.last:
        return when
    skipped = skipped_days(note.recurs_except)
    day = next_occurrence(days.first, Recurrence(note.recurs), today, skipped)
    return None if day is None else day.isoformat()


def state_on(today: date, stance: str, when: str | None) -> AgendaState | None:
    """Return the state of a note with this stance and date; None if it is not on the agenda.

    It is ahead through the last day of its date. After that only a plan stays: nobody
    knows how it turned out.
    """
    if when is None or stance not in _ON_THE_AGENDA:
        return None
    days = parse_when(when)
    if days.last < today:
        return AgendaState.OUTCOME_UNKNOWN if stance == Stance.PLANNED else None
    return AgendaState.TODAY if days.first == today == days.last else AgendaState.AHEAD


def outcome_unknown(o: Observation, today: date) -> bool:
    """Return whether an observation is a plan of unknown outcome that is still in force."""
    state = state_on(today, o.stance, when_on(today, o))
    return o.superseded_at is None and state is AgendaState.OUTCOME_UNKNOWN


def plans_in_sight_from(today: date) -> date:
    """Return the first day of which plans are still in sight: a plan leaves two weeks after."""
    return today - MENTIONED_AFTER + timedelta(days=1)


def has_left_sight(o: Observation, plans_from: str) -> bool:
    """Return whether an observation is a plan for a time before the day `plans_from`."""
    when = o.referenced_date
    is_single_plan = o.stance == Stance.PLANNED and o.recurs is None
    return is_single_plan and when is not None and when < plans_from[: len(when)]


def stays_whole(o: Observation, now: str) -> bool:
    """Return whether an observation comes again or has a reminder ahead: it is not condensed.

    `now` is what the clock on the wall shows: `2026-03-05 09:30`.
    """
    return o.recurs is not None or (o.remind_at or "") > now


def agenda_items(notes: Iterable[DatedNote], today: date) -> list[AgendaItem]:
    """Return the agenda items among these notes, sorted by last day, then by time."""
    items = []
    for note in notes:
        when = when_on(today, note)
        state = state_on(today, note.stance, when)
        if when is not None and state is not None:
            items.append(AgendaItem(note, when, parse_when(when), state))
    return sorted(items, key=lambda i: (i.days.last, i.days.first, i.time or "", i.id))


def recent(items: Iterable[AgendaItem], today: date) -> list[AgendaItem]:
    """Return the items without plans that have been of unknown outcome for over 60 days."""
    return [item for item in items if item.days.last >= today - _LISTED_AFTER]


def worth_mentioning(items: Sequence[AgendaItem], today: date) -> list[AgendaItem]:
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
    """Return when something ahead is due: "today at 09:30", "within 3 days", "by tomorrow"."""
    words = relative_words(item.days.last, today)
    if not item.is_vague:
        return f"{words} at {item.time}" if item.time else words
    return f"within {words.removeprefix('in ')}" if words.startswith("in ") else f"by {words}"


def due_words(item: AgendaItem, today: date) -> str:
    """Return "Due tomorrow", or "Outcome unknown (2 days ago)"."""
    if item.state is AgendaState.OUTCOME_UNKNOWN:
        return f"Outcome unknown ({relative_words(item.days.last, today)})"
    return f"Due {day_words(item, today)}"
