"""Apply the user's corrections to an observation: words, day, outcome and pin."""

import re
import sqlite3
from datetime import date

from construct.clock import Clock, to_text
from construct.errors import ConstructError, UsageError
from construct.language.dates import in_past, mentioned_days
from construct.language.named_periods import named_periods
from construct.language.terms import normal_form, opening_names, terms, tokens, words
from construct.memory.promotion import promote
from construct.memory.shown.lines import line_tokens
from construct.store import cycles, provenance
from construct.store import observations as rows
from construct.store.database import transaction
from construct.store.records import Observation
from construct.text import one_line, storable
from construct.vocabulary import Relation, Settled, Stance

_REMARK = re.compile(r" \((?:done|cancelled|moved to [0-9-]+)\)$")


def edit(db: sqlite3.Connection, observation_id: int, text: str, clock: Clock) -> int:
    """Replace an observation by the user's own words. Return the new observation's id.

    It has all messages of the old one as sources, and no worker may overrule it. It
    keeps the day, unless the new words name another one, and a plan stays a plan,
    unless the new words are in the past tense. Raises UsageError for blank text,
    ConstructError if the observation has been replaced already.
    """
    content = one_line(storable(text))
    if not content:
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


def settle(db: sqlite3.Connection, observation_id: int, how: Settled, clock: Clock) -> int:
    """Mark a plan as done or cancelled. Return the new observation's id.

    This is an edit by the user. The observation keeps its day and is no longer due.
    Raises ConstructError if it has been replaced already.
    """
    with transaction(db):
        old = in_force(db, observation_id)
        new = old._replace(content=_remarked(old.content, how), stance=Stance.STATED)
        return _replace(db, old, new, clock, cycles.settled_notes(how))


def move(db: sqlite3.Connection, observation_id: int, when: str, clock: Clock) -> int:
    """Move a plan to another day, month or year. Return the new observation's id.

    This is an edit by the user. Raises ConstructError if the observation has been
    replaced already.
    """
    with transaction(db):
        old = in_force(db, observation_id)
        content = _remarked(old.content, f"moved to {when}")
        new = old._replace(content=content, referenced_date=when)
        return _replace(db, old, new, clock)


def _remarked(content: str, remark: str) -> str:
    """Return the text with a remark such as "(done)" at its end.

    It replaces an earlier remark.
    """
    return f"{_REMARK.sub('', content)} ({remark})"


def _replace(
    db: sqlite3.Connection,
    old: Observation,
    changed: Observation,
    clock: Clock,
    notes: str | None = None,
) -> int:
    """Replace an observation by `changed`, as an edit by the user. Return the new id."""
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
    new_id = rows.insert_observation(db, values)
    assert new_id is not None  # no rule forbids the user's own words
    rows.link_messages(db, new_id, [m.id for m in provenance.messages_behind(db, [old.id])])
    rows.supersede(db, [old.id], cycle_id, now)
    provenance.link_replaced(db, [(new_id, old.id)], Relation.EDIT, cycle_id)
    provenance.inherit_links(db, old.id, new_id)
    promote(db, now)
    return new_id


def lost_terms(old: str, new: str) -> list[str]:
    """Return the names and numbers of the old text that the new one lacks."""
    wanted = (terms(old) | opening_names(old)) - {*words(new), "user"}
    lost: dict[str, str] = {}
    for match in tokens(old):
        word = normal_form(match.group())
        if word in wanted:
            lost.setdefault(word, match.group())
    return list(lost.values())


def pin(db: sqlite3.Connection, observation_id: int, *, off: bool = False) -> Observation:
    """Pin an observation: no reflector changes it, and it comes first in the budget.

    `off` unpins it. Raises ConstructError if it has been replaced already.
    """
    with transaction(db):
        in_force(db, observation_id)
        rows.set_pinned(db, observation_id, pinned=not off)
        return rows.observation(db, observation_id)


def in_force(db: sqlite3.Connection, observation_id: int) -> Observation:
    """Return an observation that is active or pending.

    Raises ConstructError if it is not, with what replaced it.
    """
    found = rows.observation(db, observation_id)
    if found.state != "superseded":
        return found
    instead = provenance.successors(db, found, lambda o: o.state != "superseded")
    if instead:
        listed = ", ".join(str(o.id) for o in sorted(instead, key=lambda o: o.id))
        raise ConstructError(
            f"Observation {observation_id} was replaced by {listed}.\nName that one instead."
        )
    raise ConstructError(
        f"Observation {observation_id} is no longer active: it was undone or dropped.\n"
        "`construct memory list` shows those that are."
    )


def _day_meant(old: Observation, content: str, today: date) -> str | None:
    """Return the day that the new text refers to: the old day, unless it names another.

    A day that the old text named too is not another one, even if "on Friday" would mean
    a different day by now.
    """
    said = date.fromisoformat(old.observation_date)
    kept = old.referenced_date
    if kept in {day.isoformat() for day in mentioned_days(content, said)}:
        return kept
    named = [day.isoformat() for day in mentioned_days(content, today)]
    before = [day.isoformat() for day in mentioned_days(old.content, said)]
    before_today = [day.isoformat() for day in mentioned_days(old.content, today)]
    if new := [day for day in named if day not in (*before, *before_today)]:
        return new[0]
    if named and kept in before:  # the new words leave it out, and name another that stood there
        return named[0]
    if kept and not named:
        months = _months(content)
        return next((m for m in months if m not in (*_months(old.content), kept[:7])), kept)
    return kept


def _months(text: str) -> list[str]:
    months = [p for p in named_periods(text) if not p.yearly and 0 < (p.last - p.first).days < 31]
    return [p.first.isoformat()[:7] for p in months]
