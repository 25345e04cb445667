"""The agenda: what is ahead and what became of it, also as a calendar."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from construct.clock import Clock
from construct.errors import NotFoundError, UsageError
from construct.language.dates import mentioned_days, named_periods
from construct.language.periods import Period, is_when, period
from construct.memory import corrections
from construct.memory.agenda import AgendaItem, read_agenda
from construct.operations.context import Context
from construct.operations.memory import correctable
from construct.references import Reference
from construct.store import agenda as rows
from construct.store.observations import observation
from construct.store.records import Observation
from construct.vocabulary import Settled

_DIGEST = 16


@dataclass(frozen=True, slots=True)
class Agenda:
    """All that stands on the agenda, by last day."""

    items: Sequence[AgendaItem]
    today: date


@dataclass(frozen=True, slots=True)
class CalendarEvent:
    """Something on the agenda as calendars know it."""

    uid: str
    """The same through edits, moves and reflections."""
    revised_at: str
    item: AgendaItem


def agenda(ctx: Context) -> Agenda:
    """Return what is ahead, of all conversations, and plans whose outcome is unknown."""
    today = ctx.clock.today()
    return Agenda(read_agenda(ctx.db, today), today)


def calendar(ctx: Context) -> list[CalendarEvent]:
    """Return the same as events. No two have the same uid."""
    seen: dict[str, int] = {}
    events = []
    for item in sorted(agenda(ctx).items, key=lambda item: item.id):
        began = rows.origin(ctx.db, item.id)
        digest = hashlib.sha256(began.wording.encode()).hexdigest()[:_DIGEST]
        uid = f"{began.message_uid}-{digest}"
        seen[uid] = seen.get(uid, 0) + 1
        unique = uid if seen[uid] == 1 else f"{uid}-{seen[uid]}"
        events.append(CalendarEvent(unique, rows.revised_at(ctx.db, item.id), item))
    return events


def agenda_item(ctx: Context, reference: Reference) -> AgendaItem:
    """Return what an id names on the agenda. Raises ConstructError."""
    wanted = corrections.in_force(ctx.db, correctable(ctx, reference).id).id
    found = next((item for item in agenda(ctx).items if item.id == wanted), None)
    if found is None:
        raise NotFoundError(
            f"Observation {wanted} is not on the agenda.\n`construct agenda` shows what is."
        )
    return found


def settle(ctx: Context, reference: Reference, how: Settled) -> Observation:
    """Say that something on the agenda was done or cancelled. Raises ConstructError."""
    item = agenda_item(ctx, reference)
    return observation(ctx.db, corrections.settle(ctx.db, item.id, how, ctx.clock))


def move(ctx: Context, reference: Reference, day: str) -> Observation:
    """Move something on the agenda. Raises ConstructError, UsageError for no day."""
    when = parse_day(day, ctx.clock)
    item = agenda_item(ctx, reference)
    return observation(ctx.db, corrections.move(ctx.db, item.id, when, ctx.clock))


def parse_day(text: str, clock: Clock) -> str:
    """Return the day, month or year that a person means, as it is stored.

    `2026-03-05`, `2026-03`, `2026`, `friday`, `in 3 days`, `May 2027`. Raises UsageError.
    """
    words = " ".join(text.split())
    if is_when(words):
        return words
    if days := mentioned_days(words, clock.today()) or mentioned_days(
        f"on {words.capitalize()}", clock.today()
    ):
        return days[0].isoformat()
    for named in named_periods(f"in {words}", clock.today()):
        if not named.yearly and named.last >= clock.today():
            return _stored(named)
    raise UsageError(
        f"Not a date: {words[:40]}\n"
        "Give a day (2026-03-05, friday, in 3 days) or a month (2026-03)."
    )


def _stored(named: Period) -> str:
    """Return a period as a month or a year is stored, else its first day."""
    first = named.first
    if named == period(first.year, first.month):
        return first.isoformat()[:7]
    return first.isoformat()[:4] if named == period(first.year) else first.isoformat()
