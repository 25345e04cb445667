"""The agenda: list what is ahead, mark it as done or cancelled, move it, export a calendar."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from construct.clock import Clock
from construct.errors import NotFoundError, UsageError
from construct.language.clock_times import read_time
from construct.language.dates import mentioned_days
from construct.language.named_periods import whole_period
from construct.language.periods import Period, is_day, is_when, period
from construct.memory import corrections
from construct.memory.agenda import AgendaItem, agenda_items, recent
from construct.operations.context import Context
from construct.operations.memory import correctable
from construct.program import as_typed
from construct.references import Reference
from construct.store.agenda import (
    DatedNote,
    dated_notes,
    first_wording,
    revised_at,
    undated_plans,
)
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
    """Items on the agenda, sorted by last day."""

    items: Sequence[AgendaItem]
    today: date
    undated: Sequence[DatedNote] = ()
    """Plans without a day."""
    left_out: int = 0
    """Plans that are not listed: those without a day, and those long of unknown outcome."""
    not_compacted: int = 0
    """Messages of the current conversation whose plans are not among the items yet.

    0 while nothing is learned, since their plans would never be added.
    """

    def shortened(self) -> "Agenda":
        """Return the agenda without plans that have no day, or are 60 days past theirs."""
        items = recent(self.items, self.today)
        left_out = len(self.items) - len(items) + len(self.undated)
        return replace(self, items=items, undated=(), left_out=left_out)


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
    items = agenda_items(dated_notes(ctx.db), today)
    return Agenda(items, today, undated_plans(ctx.db), not_compacted=not_compacted)


def calendar(ctx: Context, items: Sequence[AgendaItem]) -> list[CalendarEvent]:
    """Return agenda items as calendar events, each with a uid of its own."""
    uses: Counter[str] = Counter()
    events = []
    for item in sorted(items, key=lambda item: item.id):
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
    raise _not_on_agenda(ctx, wanted)


def _on_agenda(ctx: Context, reference: Reference) -> tuple[int, AgendaItem | None]:
    """Return the id of what is on the agenda, and the item; None for a plan without a day.

    Raises ConstructError.
    """
    wanted = corrections.in_force(ctx.db, correctable(ctx, reference).id)
    if any(note.id == wanted.id for note in undated_plans(ctx.db)):
        return wanted.id, None
    return wanted.id, agenda_item(ctx, reference)


def _not_on_agenda(ctx: Context, wanted: Observation) -> NotFoundError:
    is_settled = settled_by(ctx.db, wanted.cycle_id) is not None
    why = "is already marked as done or cancelled" if is_settled else "is not on the agenda"
    return NotFoundError(
        f"Observation {wanted.id} {why}.\n{as_typed('agenda --all')} shows what is on the agenda."
    )


@dataclass(frozen=True, slots=True)
class Settlement:
    """An observation after the user settled or moved it."""

    observation: Observation
    day: str | None = None
    """Of what comes again: the only day for which it was settled or moved."""


def settle(
    ctx: Context, reference: Reference, how: Settled, *, whole_series: bool = False
) -> Settlement:
    """Mark an agenda item as done or cancelled; of what comes again, only its next day.

    With `whole_series`, all its days. Raises ConstructError.
    """
    observation_id, item = _on_agenda(ctx, reference)
    if item is not None and item.recurs is not None and not whole_series:
        new_id = corrections.skip(ctx.db, observation_id, item.days.first, ctx.clock)
        return Settlement(observation(ctx.db, new_id), item.when)
    new_id = corrections.settle(ctx.db, observation_id, how, ctx.clock)
    return Settlement(observation(ctx.db, new_id))


def move(
    ctx: Context, reference: Reference, text: str, *, whole_series: bool = False
) -> Settlement:
    """Move an agenda item to another day, month or year, or only to another time of day.

    Of what comes again, only its next day moves; with `whole_series`, all of them do.
    Raises ConstructError, and UsageError if `text` is no date.
    """
    observation_id, item = _on_agenda(ctx, reference)
    when, time = parse_day_and_time(text, ctx.clock)
    if when is None:
        if item is None or item.is_vague:
            raise UsageError(f"Observation {observation_id} has no day. Give one before the time.")
        when = item.when
    if item is not None and item.recurs is not None:
        if not is_day(when):
            raise UsageError(f"What comes again needs a day, not {when}.")
        if not whole_series:
            day = item.days.first
            new_id = corrections.move_one_day(ctx.db, observation_id, day, when, time, ctx.clock)
            return Settlement(observation(ctx.db, new_id), item.when)
    new_id = corrections.move(ctx.db, observation_id, when, time, ctx.clock)
    return Settlement(observation(ctx.db, new_id))


def parse_day_and_time(text: str, clock: Clock) -> tuple[str | None, str | None]:
    """Return a date as it is stored, and a time of day such as `09:30`; either may be missing.

    Reads `friday`, `friday at 9:30`, `2026-03-05 18h30`, `in 3 days` and `18:30`. Raises
    UsageError.
    """
    words = text.split()
    for time_words in range(min(3, len(words)), 0, -1):
        time = read_time(" ".join(words[-time_words:]))
        if time is not None:
            rest = " ".join(words[:-time_words])
            when = parse_day(rest, clock) if rest else None
            if when is not None and not is_day(when):
                raise UsageError(f"A time of day needs a day, not {when}.")
            return when, f"{time:%H:%M}"
    return parse_day(text, clock), None


def parse_day(text: str, clock: Clock) -> str:
    """Return a day, month or year as it is stored: `2026-03-05`, `2026-03` or `2026`.

    Also reads `friday`, `in 3 days` and `May 2027`. Raises UsageError.
    """
    words = " ".join(text.split())
    if is_when(words):
        return words
    if is_when(words.split(" ")[0]):
        raise UsageError(
            f"Not a time of day: {words.partition(' ')[2][:40]}\nWrite it like 18:30 or 6pm."
        )
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
