"""Apply the user's corrections to an observation: words, day, outcome and pin."""

import re
import sqlite3
from datetime import date

from construct.clock import Clock, to_text
from construct.errors import ConstructError, UsageError
from construct.language.dates import in_past, mentioned_days
from construct.language.named_periods import named_periods
from construct.language.terms import opening_names, terms
from construct.language.words import normal_form, tokens, words
from construct.memory.promotion import promote
from construct.memory.shown.lines import line_tokens
from construct.store import cycles, observations, provenance
from construct.store.database import transaction
from construct.store.records import Observation
from construct.text import one_line, storable
from construct.vocabulary import Replacement, Settled, Stance

# " (done)" in "Dentist (done)", and " (moved to 2026-03-05)"
_REMARK = re.compile(r" \((?:done|cancelled|moved to [0-9-]+)\)$")


def edit(db: sqlite3.Connection, observation_id: int, text: str, clock: Clock) -> int:
    """Replace an observation with the user's own words. Return the new observation's id.

    The new observation has all messages of the old one as sources, and no worker may
    overrule it. It keeps the day (or month, or year), unless the new words name another
    one, and a plan stays a plan, unless the new words are in the past tense. Any other
    stance becomes stated. Raises UsageError for text without a word, ConstructError if
    the observation is superseded.
    """
    content = one_line(storable(text))
    if not words(content):
        raise UsageError(
            "An observation needs at least one word.\nTo take it out of memory, forget it."
        )
    with transaction(db):
        old = in_force(db, observation_id)
        is_plan = old.stance == Stance.PLANNED and not in_past(content)
        day = _day_meant(old, content, clock.today())
        settled = cycles.settled_by(db, old.cycle_id) if day == old.referenced_date else None
        new = old._replace(
            content=content,
            stance=Stance.PLANNED if is_plan else Stance.STATED,
            referenced_date=day,
        )
        return _replace(db, old, new, clock, settled)


def settle(db: sqlite3.Connection, observation_id: int, outcome: Settled, clock: Clock) -> int:
    """Mark a plan as done or cancelled. Return the new observation's id.

    This is an edit by the user. The observation keeps its day and is no longer due.
    Raises ConstructError if it is superseded.
    """
    with transaction(db):
        old = in_force(db, observation_id)
        new = old._replace(content=_with_remark(old.content, outcome), stance=Stance.STATED)
        return _replace(db, old, new, clock, cycles.settled_notes(outcome))


def move(db: sqlite3.Connection, observation_id: int, when: str, clock: Clock) -> int:
    """Move a plan to another day, month or year. Return the new observation's id.

    This is an edit by the user. Raises ConstructError if the observation is
    superseded.
    """
    with transaction(db):
        old = in_force(db, observation_id)
        content = _with_remark(old.content, f"moved to {when}")
        new = old._replace(content=content, referenced_date=when)
        return _replace(db, old, new, clock)


def _with_remark(content: str, remark: str) -> str:
    """Return the text with a remark such as "(done)" in place of an earlier one."""
    return f"{_REMARK.sub('', content)} ({remark})"


def _replace(
    db: sqlite3.Connection,
    old: Observation,
    changed: Observation,
    clock: Clock,
    notes: str | None = None,
) -> int:
    """Replace an observation with `changed`, as an edit by the user. Return the new id."""
    now = to_text(clock.now())
    cycle_id = cycles.insert_edit(db, old.conversation_id, now, notes)
    new = changed._replace(
        generation=0,
        cycle_id=cycle_id,
        created_at=now,
        committed_at=now if old.committed_at else None,
        origin="user",
        withheld=0,
    )
    values = new._replace(token_count=line_tokens(new))._asdict()
    del values["id"], values["uid"]
    new_id = observations.insert_observation(db, values)
    assert new_id is not None  # no rule forbids the user's own words
    observations.link_messages(db, new_id, [m.id for m in provenance.messages_behind(db, [old.id])])
    observations.supersede(db, [old.id], cycle_id, now)
    provenance.link_replaced(db, [(new_id, old.id)], Replacement.EDIT, cycle_id)
    provenance.inherit_links(db, old.id, new_id)
    promote(db, clock)
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


def pin(db: sqlite3.Connection, observation_id: int, *, off: bool = False) -> Observation:
    """Pin an observation: no reflector changes it, and it comes first in the budget.

    `off` unpins it. Raises ConstructError if it is superseded.
    """
    with transaction(db):
        in_force(db, observation_id)
        observations.set_pinned(db, observation_id, pinned=not off)
        return observations.observation(db, observation_id)


def in_force(db: sqlite3.Connection, observation_id: int) -> Observation:
    """Return an observation that is active or pending.

    Raises ConstructError if it is superseded; the message names what replaced it, if
    anything did.
    """
    observation = observations.observation(db, observation_id)
    if observation.state != "superseded":
        return observation
    successors = provenance.successors(db, observation, lambda o: o.state != "superseded")
    if successors:
        ids = ", ".join(str(i) for i in sorted(o.id for o in successors))
        instead = ids if len(successors) == 1 else "one of these"
        raise ConstructError(
            f"Observation {observation_id} was replaced by {ids}.\nUse {instead} instead."
        )
    raise ConstructError(
        f"Observation {observation_id} is no longer active: it was undone or dropped.\n"
        "`construct memory list` shows those that are."
    )


def _day_meant(old: Observation, content: str, today: date) -> str | None:
    """Return the day, month or year that the new text refers to.

    That is the old one, unless the new text names another. One that the old text named too
    is another only if the new text leaves the old one out. Words such as "on Friday" that
    the old text had too keep their meaning from then.
    """
    observed_on = date.fromisoformat(old.observation_date)
    old_day = old.referenced_date
    read_as_then = _named(content, observed_on, old_day)
    if old_day and any(old_day.startswith(when) for when in read_as_then):
        return old_day
    of_old_text = _named(old.content, observed_on, old_day)
    known = (*of_old_text, *_named(old.content, today, old_day))
    new = _named(content, today, old_day)
    if others := [when for when in new if when not in known]:
        return others[0]
    if new and old_day in of_old_text:
        # The new text leaves the old day out, and names another that the old text named too.
        kept = [when for when in read_as_then if when in of_old_text]
        return (kept or new)[0]
    return old_day


def _named(text: str, written_on: date, old_day: str | None) -> list[str]:
    """Return the days that a text names; if there are none, its months, or else its years.

    A month without a year counts only in place of an old day, and a year only in place of
    a year: elsewhere, "in June" or "2019" may be no date of the fact.
    """
    if days := mentioned_days(text, written_on):
        return [day.isoformat() for day in days]
    months: list[str] = []
    years: list[str] = []
    for period in named_periods(text):
        first, length = period.first, (period.last - period.first).days
        if length > 31 and old_day and len(old_day) == 4:
            years.append(f"{first.year:04}")
        elif 0 < length < 31 and not period.yearly:
            months.append(first.isoformat()[:7])
        elif 0 < length < 31 and old_day:
            months.append(_month_meant(first.month, written_on, old_day))
    return months or years


def _month_meant(month: int, written_on: date, old_day: str) -> str:
    """Return the month meant by "in June".

    It is the old one if that is a June. Else it is the next June if the old day is ahead,
    and the last one if it is past.
    """
    if old_day[5:7] == f"{month:02}":
        return old_day[:7]
    year = written_on.year
    if old_day >= written_on.isoformat()[: len(old_day)]:
        year += month < written_on.month
    else:
        year -= month > written_on.month
    return f"{year:04}-{month:02}"
