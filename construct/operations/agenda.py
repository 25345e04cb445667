"""The agenda: list what is ahead, mark it as done or cancelled, move it, export a calendar."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from construct.clock import Clock
from construct.errors import NotFoundError, UsageError
from construct.language.dates import mentioned_days
from construct.language.named_periods import whole_period
from construct.language.periods import Period, is_when, period
from construct.memory import corrections
from construct.memory.agenda import AgendaItem, agenda_items
from construct.operations.context import Context
from construct.operations.memory import correctable
from construct.program import in_shell
from construct.references import Reference
from construct.store.agenda import dated_notes, first_wording, revised_at
from construct.store.conversations import get_watermarks
from construct.store.cycles import settled_by
from construct.store.messages import live_ids
from construct.store.observations import observation
from construct.store.records import Observation
from construct.vocabulary import Settled

_DIGEST_LENGTH = 16
_BEFORE_PERIOD = re.compile(r"(?i)^(?:to|in) ")


@dataclass(frozen=True, slots=True)
class Agenda:
    """All items on the agenda, sorted by last day."""

    items: Sequence[AgendaItem]
    today: date
    not_compacted: int = 0
    """Messages of the current conversation whose plans are not among the items yet.

    0 while nothing is learned, since their plans would never be added.
    """


@dataclass(frozen=True, slots=True)
class CalendarEvent:
    """An agenda item in the form that calendars need."""

    uid: str
    """Comes from the oldest observation behind it: edits, moves and most reflections keep it."""
    revised_at: str
    item: AgendaItem


def agenda(ctx: Context) -> Agenda:
    """Return what is ahead and plans of unknown outcome, from all conversations."""
    today = ctx.clock.today()
    not_compacted = 0
    if ctx.conversation_id is not None and ctx.settings.learns:
        compacted = get_watermarks(ctx.db, ctx.conversation_id).compacted
        not_compacted = len(live_ids(ctx.db, ctx.conversation_id, compacted))
    return Agenda(agenda_items(dated_notes(ctx.db), today), today, not_compacted)


def calendar(ctx: Context) -> list[CalendarEvent]:
    """Return the agenda as calendar events, each with a uid of its own."""
    uses: Counter[str] = Counter()
    events = []
    for item in sorted(agenda(ctx).items, key=lambda item: item.id):
        first = first_wording(ctx.db, item.id)
        digest = hashlib.sha256(first.wording.encode()).hexdigest()[:_DIGEST_LENGTH]
        uid = f"{first.message_uid}-{digest}"
        uses[uid] += 1
        if uses[uid] > 1:
            uid = f"{uid}-{uses[uid]}"
        events.append(CalendarEvent(uid, revised_at(ctx.db, item.id), item))
    return events


def agenda_item(ctx: Context, reference: Reference) -> AgendaItem:
    """Return the agenda item with this id. Raises ConstructError."""
    wanted = corrections.in_force(ctx.db, correctable(ctx, reference).id)
    for item in agenda(ctx).items:
        if item.id == wanted.id:
            return item
    is_settled = settled_by(ctx.db, wanted.cycle_id) is not None
    why = "is already marked as done or cancelled" if is_settled else "is not on the agenda"
    raise NotFoundError(
        f"Observation {wanted.id} {why}.\n{in_shell('agenda')} shows what is on the agenda."
    )


def settle(ctx: Context, reference: Reference, how: Settled) -> Observation:
    """Mark an agenda item as done or cancelled. Raises ConstructError."""
    item = agenda_item(ctx, reference)
    return observation(ctx.db, corrections.settle(ctx.db, item.id, how, ctx.clock))


def move(ctx: Context, reference: Reference, day: str) -> Observation:
    """Move an agenda item to another day, month or year.

    Raises ConstructError, and UsageError if `day` is not a date.
    """
    when = parse_day(day, ctx.clock)
    item = agenda_item(ctx, reference)
    return observation(ctx.db, corrections.move(ctx.db, item.id, when, ctx.clock))


def parse_day(text: str, clock: Clock) -> str:
    """Return a day, month or year as it is stored: `2026-03-05`, `2026-03` or `2026`.

    Also reads `friday`, `in 3 days` and `May 2027`. Raises UsageError.
    """
    words = " ".join(text.split())
    if is_when(words):
        return words
    today = clock.today()
    # The readers expect sentences: a bare "friday" is understood as "on Friday".
    days = mentioned_days(words, today) or mentioned_days(f"on {words.capitalize()}", today)
    if days:
        return days[0].isoformat()
    named = whole_period(_BEFORE_PERIOD.sub("", words), today)
    if named is not None and not named.yearly and named.last >= today:
        return _stored(named, today)
    raise UsageError(
        f"Not a date: {words[:40]}\n"
        "Give a day (2026-03-05, friday, in 3 days), a month (2026-03) or a year."
    )


def _stored(named: Period, today: date) -> str:
    """Return a month as `2026-03`, a year as `2026`, else the first day that is not past."""
    first = named.first
    if named == period(first.year, first.month):
        return first.isoformat()[:7]
    return f"{first.year:04}" if named == period(first.year) else max(first, today).isoformat()
