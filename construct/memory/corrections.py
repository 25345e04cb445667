"""Apply the user's corrections to an observation: words, day, outcome and pin."""

import json
import re
from collections.abc import Sequence
from datetime import date

from construct.clock import Clock, to_text
from construct.errors import ConstructError, UsageError
from construct.language.clock_times import mentioned_time
from construct.language.dates import (
    arranging_words,
    is_past,
    mentioned_days,
    tenses,
)
from construct.language.index_words import index_words, root
from construct.language.named_periods import month_number, named_periods
from construct.language.periods import is_day
from construct.language.terms import opening_names, terms
from construct.language.wordlists import MONTHS
from construct.language.words import normal_form, tokens, words
from construct.memory.agenda import skipped_days
from construct.memory.shown.lines import NoteFields, line_tokens
from construct.program import as_typed
from construct.store import cycles, note_links, observations, succession
from construct.store.database import transaction
from construct.store.driver import Connection
from construct.store.records import Observation
from construct.text import one_line, storable
from construct.vocabulary import Origin, Replacement, Settled, Stance

# " (done)" in "Dentist (done)", and " (moved to 2026-03-05 09:30)"
_REMARK = re.compile(r" \((?:done|cancelled|moved to [0-9: -]+)\)$")
# "in June", "mid-June", "at the end of June"; not "this may hurt", "in June's room" or
# "in June 2026"
_MONTH_ALONE = re.compile(
    r"(?i)\b(?:in|until|till|by|before|around|next|this(?! (?-i:may|march)\b)|early|late|mid|"
    rf"(?:beginning|middle|end|month) of)[\s-]+({'|'.join(MONTHS)})\b(?!['’]|\s+\d)"
)
_YEAR_ALONE = re.compile(r"(?i)\b(?:in|until|till|by)\s+(20\d\d)\b")


def edit(db: Connection, observation_id: int, text: str, clock: Clock) -> int:
    """Replace an observation with the user's own words. Return the new observation's id.

    The new observation has all messages of the old one as sources, and no worker may
    overrule it. It keeps the day (or month, or year), unless the new words name another
    one (a year alone replaces only a year), and the time of day in the same way. It keeps
    repetition, label and reminder. A plan stays a plan, unless the new words are in the
    past tense; any other stance becomes stated. Raises UsageError for text without a word,
    ConstructError if the observation is superseded.
    """
    content = one_line(storable(text))
    if not words(content):
        raise UsageError(
            "An observation needs at least one word.\nTo take it out of memory, forget it."
        )
    with transaction(db):
        old = in_force(db, observation_id)
        is_plan = old.stance == Stance.PLANNED and tenses(content)[:1] != ["past"]
        day = _day_meant(old, content, clock.today())
        settled = cycles.settled_by(db, old.cycle_id) if day == old.referenced_date else None
        new = old._replace(
            content=content,
            stance=Stance.PLANNED if is_plan else Stance.STATED,
            referenced_date=day,
            referenced_time=_time_meant(old, content) if is_day(day) else None,
        )
        return _replace(db, old, [new], clock, settled)


def settle(db: Connection, observation_id: int, outcome: Settled, clock: Clock) -> int:
    """Mark a plan as done or cancelled, all of it if it comes again. Return the new id.

    This is an edit by the user. The observation keeps its day and is no longer due.
    Raises ConstructError if it is superseded.
    """
    with transaction(db):
        old = in_force(db, observation_id)
        new = old._replace(content=_with_remark(old.content, outcome), stance=Stance.STATED)
        return _replace(db, old, [new], clock, cycles.settled_notes(outcome))


def take_as_own(db: Connection, observation_id: int, stance: Stance, clock: Clock) -> int:
    """Let what only a text said be the user's own, with a stance. Return the new id.

    This is an edit by the user. Raises ConstructError if the observation is superseded.
    """
    with transaction(db):
        old = in_force(db, observation_id)
        return _replace(db, old, [old._replace(stance=stance)], clock)


def retract(db: Connection, observation_id: int, clock: Clock) -> int:
    """Take an observation out of what is believed: it is true no longer. Return the edit's id.

    Nothing replaces it. Raises ConstructError if it is superseded already.
    """
    with transaction(db):
        old = in_force(db, observation_id)
        now = to_text(clock.now())
        cycle_id = cycles.insert_edit(db, old.conversation_id, now)
        observations.supersede(db, [old.id], cycle_id, now)
        return cycle_id


def skip(db: Connection, observation_id: int, day: date, clock: Clock) -> int:
    """Settle what comes again for one day only. Return the new observation's id.

    This is an edit by the user. Raises ConstructError if the observation is superseded.
    """
    with transaction(db):
        old = in_force(db, observation_id)
        return _replace(db, old, [_without_day(old, day)], clock)


def move(db: Connection, observation_id: int, when: str, time: str | None, clock: Clock) -> int:
    """Move a plan, or all of what comes again. Return the new observation's id.

    `when` is a day, a month or a year; without a time the observation keeps its own. This
    is an edit by the user. Raises ConstructError if the observation is superseded.
    """
    with transaction(db):
        old = in_force(db, observation_id)
        return _replace(db, old, [_moved(old, when, time)], clock)


def move_one_day(
    db: Connection,
    observation_id: int,
    day: date,
    when: str,
    time: str | None,
    clock: Clock,
) -> int:
    """Move what comes again on one day, and leave its other days. Return the new plan's id.

    This is an edit by the user. Raises ConstructError if the observation is superseded.
    """
    with transaction(db):
        old = in_force(db, observation_id)
        once = _moved(old, when, time)._replace(recurs=None, recurs_except=None, remind_at=None)
        return _replace(db, old, [_without_day(old, day), once], clock)


def _without_day(old: Observation, day: date) -> Observation:
    """Return what comes again without one of its days."""
    days = sorted({*skipped_days(old.recurs_except), day})
    return old._replace(recurs_except=json.dumps([str(skipped) for skipped in days]))


def _moved(old: Observation, when: str, time: str | None) -> Observation:
    """Return an observation with another date. Its reminder moves by as many days."""
    new_time = (time or old.referenced_time) if is_day(when) else None
    moved_to = when if time is None else f"{when} {time}"
    return old._replace(
        content=_with_remark(old.content, f"moved to {moved_to}"),
        referenced_date=when,
        referenced_time=new_time,
        recurs_except=None,
        remind_at=_moved_reminder(old, when),
    )


def _moved_reminder(old: Observation, when: str) -> str | None:
    """Return when to remind of what moves to another day; None if either is no day."""
    if old.remind_at is None or not is_day(when) or not is_day(old.referenced_date):
        return None
    days = date.fromisoformat(when) - date.fromisoformat(str(old.referenced_date))
    try:
        day = date.fromisoformat(old.remind_at[:10]) + days
    except OverflowError:
        return None
    return f"{day}{old.remind_at[10:]}"


def take_over(
    db: Connection, old: Observation, note: NoteFields, category: str | None, clock: Clock
) -> int:
    """Put the user's own note in the place of one that says the same. Return its id.

    It is kept on request from then on. Runs in the caller's transaction.
    """
    new = old._replace(
        content=note.content,
        priority=note.priority,
        referenced_date=note.referenced_date or old.referenced_date,
        category=category or old.category,
        kept=1,
    )
    return _replace(db, old, [new], clock)


def _with_remark(content: str, remark: str) -> str:
    """Return the text with a remark such as "(done)" in place of an earlier one."""
    return f"{_REMARK.sub('', content)} ({remark})"


def _replace(
    db: Connection,
    old: Observation,
    changed: Sequence[Observation],
    clock: Clock,
    notes: str | None = None,
) -> int:
    """Replace an observation with others, as one edit by the user. Return the last new id."""
    now = to_text(clock.now())
    cycle_id = cycles.insert_edit(db, old.conversation_id, now, notes)
    new_ids = [_insert_edited(db, old, new, cycle_id, now) for new in changed]
    observations.supersede(db, [old.id], cycle_id, now)
    links = [(new_id, old.id) for new_id in new_ids]
    note_links.link_replaced(db, links, Replacement.EDIT, cycle_id)
    for new_id in new_ids:
        note_links.inherit_links(db, old.id, new_id)
    if old.committed_at is None:  # what is committed here replaces what the pending one was to
        committed = [o.id for o in observations.observations(db, new_ids) if o.committed_at]
        succession.apply_replacements(db, committed, now)
    return new_ids[-1]


def _insert_edited(
    db: Connection, old: Observation, changed: Observation, cycle_id: int, now: str
) -> int:
    """Store what an edit made of an observation, and return its id."""
    new = changed._replace(
        generation=0,
        cycle_id=cycle_id,
        created_at=now,
        committed_at=now if old.committed_at or changed.kept else None,
        origin=Origin.USER,
        withheld=0,
        graph_cycle_id=None,
        asked_at=old.asked_at if changed.referenced_date == old.referenced_date else None,
    )
    values = new._replace(token_count=line_tokens(new))._asdict()
    del values["id"], values["uid"]
    new_id = observations.insert_observation(db, values)
    assert new_id is not None  # no rule forbids the user's own words
    return new_id


def lost_terms(old: str, new: str) -> list[str]:
    """Return the names and numbers of the old text that the new one lacks."""
    missing = (terms(old) | opening_names(old)) - {*words(new), "user"}
    as_written: dict[str, str] = {}
    for match in tokens(old):
        word = normal_form(match.group())
        if word in missing:
            as_written.setdefault(word, match.group())
    return list(as_written.values())


def pin(db: Connection, observation_id: int, *, off: bool = False) -> Observation:
    """Pin an observation: no reflector changes it, and it comes first in the budget.

    `off` unpins it. Raises ConstructError if it is superseded.
    """
    with transaction(db):
        in_force(db, observation_id)
        observations.set_pinned(db, observation_id, pinned=not off)
        return observations.observation(db, observation_id)


def in_force(db: Connection, observation_id: int) -> Observation:
    """Return an observation that is active or pending.

    Raises ConstructError if it is superseded; the message names what replaced it, if
    anything did.
    """
    observation = observations.observation(db, observation_id)
    if observation.state != "superseded":
        return observation
    successors = succession.successors(db, observation, lambda o: o.state != "superseded")
    if successors:
        ids = ", ".join(str(i) for i in sorted(o.id for o in successors))
        instead = ids if len(successors) == 1 else "one of these"
        raise ConstructError(
            f"Observation {observation_id} was replaced by {ids}.\nUse {instead} instead."
        )
    raise ConstructError(
        f"Observation {observation_id} is no longer active: it was undone or dropped.\n"
        f"{as_typed('memory list')} shows those that are."
    )


def _day_meant(old: Observation, content: str, today: date) -> str | None:
    """Return the day, month or year that the new text refers to.

    That is the old one, unless the new text names another. A day that the old text named
    too is another one only if the new text leaves the old day out. Words such as "on
    Friday" that the old text had too keep their meaning from then.
    """
    observed_on = date.fromisoformat(old.observation_date)
    old_day = old.referenced_date
    new_days = _days_in(content, today)
    if not new_days:
        return _period_meant(old, content, today)
    if old_day in (*_days_in(content, observed_on), *new_days):
        return old_day
    other_days = _without_old_day(new_days, old_day, content)
    days_of_old_text = _days_in(old.content, observed_on)
    known_days = (*days_of_old_text, *_days_in(old.content, today))
    if others := [day for day in other_days if day not in known_days]:
        return others[0]
    if old_day in days_of_old_text and other_days == new_days:
        # The new text leaves the old day out, and names another that the old text named too.
        kept = [day for day in _days_in(content, observed_on) if day in days_of_old_text]
        return (kept or new_days)[0]
    return old_day


def _time_meant(old: Observation, content: str) -> str | None:
    """Return the time of day that the new text refers to: the old one, unless it names another."""
    named = mentioned_time(content)
    if named is None or named == mentioned_time(old.content):
        return old.referenced_time
    return f"{named:%H:%M}"


def _without_old_day(days: list[str], old_day: str | None, content: str) -> list[str]:
    """Return the days of a text without the old day in another year.

    "It was on 6 March", written before the old 6 March, means that one, though the tense
    would put it a year back. "On 6 March 2025" means what it says.
    """
    if old_day is None:
        return days
    other_days = [day for day in days if day[4:] != old_day[4:]]
    if other_days == days or old_day not in _days_in(content, date.fromisoformat(old_day)):
        return days
    return other_days


def _days_in(text: str, today: date) -> list[str]:
    """Return the days that a text written on `today` mentions."""
    return [day.isoformat() for day in mentioned_days(text, today)]


def _period_meant(old: Observation, content: str, today: date) -> str | None:
    """Return the time that the new text, which names no day, refers to.

    That is the old day, month or year, unless the new text names another month with its
    year; a year alone replaces only a year. If the old one is a day or month, "in June" is
    the next June or the last one, depending on the tense around it. A past "in June" or
    "in 2025" counts only if the text tells of nothing but the past, and not of an
    arrangement: "booked in January" does not say when a plan is due.
    """
    old_time = old.referenced_date
    months = [month for month in _months_in(content) if month not in _months_in(old.content)]
    if old_time is None:
        return next((month for month in months if month >= f"{today:%Y-%m}"), None)
    if others := [month for month in months if month != old_time[:7]]:
        return others[0]
    has_happened = set(tenses(content)) == {"past"} and not _is_arranged(old, content)
    names_years = len(old_time) == 4
    for named in (_YEAR_ALONE if names_years else _MONTH_ALONE).finditer(content):
        past = is_past(content, *named.span())
        if past and not has_happened:
            continue
        if names_years:
            if past or named[1] >= min(old_time, f"{today:%Y}"):
                return named[1]
            continue
        month = month_number(named[1])
        if old_time[5:7] == f"{month:02}":
            return old_time
        years_later = int(not past and month < today.month)
        years_before = int(past and month > today.month)
        return f"{today.year + years_later - years_before:04}-{month:02}"
    return old_time


def _is_arranged(old: Observation, content: str) -> bool:
    """Return whether the new text tells of arranging what the old text spoke of.

    "User moved to Porto" arranges nothing if the old text was "User moves to Porto".
    """
    old_words = {root(word) for word in index_words(old.content)}
    return any(root(word) not in old_words for word in arranging_words(content.casefold()))


def _months_in(text: str) -> list[str]:
    """Return the months with a year that a text names without a day, as `2026-03`."""
    months = [p for p in named_periods(text) if not p.yearly and 0 < (p.last - p.first).days < 31]
    return [p.first.isoformat()[:7] for p in months]
