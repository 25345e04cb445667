"""What the user says of an observation: how it should read, and that it is to stay as it is."""

import sqlite3
from datetime import date

from construct.clock import Clock, to_text
from construct.errors import ConstructError, UsageError
from construct.memory.curation.memories import promote
from construct.memory.language.dates import referenced_date
from construct.memory.language.terms import fold, opening_names, terms, tokens, words
from construct.memory.shown.lines import line_tokens
from construct.store import cycles, lineage
from construct.store import observations as rows
from construct.store.database import transaction
from construct.store.records import Observation
from construct.text import one_line, storable


def edit(db: sqlite3.Connection, observation_id: int, text: str, clock: Clock) -> int:
    """Replace an observation by the user's own words, in one cycle, and return the new one's id.

    The new one rests on all messages the old one rested on; no worker may overrule it.
    Raises UsageError for blank text, ConstructError for what was replaced already.
    """
    content = one_line(storable(text))
    if not content:
        raise UsageError("An observation needs at least one word.\nTo take it out of memory, forget it.")
    with transaction(db):
        old = _in_force(db, observation_id)
        now = to_text(clock.now())
        cycle_id = cycles.insert_edit(db, old.conversation_id, now)
        new_id = rows.insert_observation(
            db, _edited(old, content, _day_meant(old, content, clock.today()), cycle_id, now)
        )
        rows.link_messages(db, new_id, [m.id for m in lineage.messages_below(db, [old.id])])
        rows.supersede(db, [old.id], cycle_id, now)
        lineage.link_replaced(db, [(new_id, old.id)], "edit", cycle_id)
        lineage.take_over(db, old.id, new_id)
        promote(db, now)
    return new_id


def lost_terms(old: str, new: str) -> list[str]:
    """Return the names and numbers of an observation's words, as they are written there, that new words do not have."""
    kept = set(words(new))
    lost: dict[str, str] = {}
    named = terms(old) | opening_names(old)
    for match in tokens(old):
        word = fold(match.group())
        if word in named - kept:
            lost.setdefault(word, match.group())
    lost.pop("user", None)
    return list(lost.values())


def pin(db: sqlite3.Connection, observation_id: int) -> Observation:
    """Keep an observation out of the reflector's hands and first in the budget."""
    return _set_pinned(db, observation_id, 1)


def unpin(db: sqlite3.Connection, observation_id: int) -> Observation:
    """Take the pin away."""
    return _set_pinned(db, observation_id, 0)


def _set_pinned(db: sqlite3.Connection, observation_id: int, pinned: int) -> Observation:
    with transaction(db):
        _in_force(db, observation_id)
        db.execute("UPDATE observations SET pinned = ? WHERE id = ?", (pinned, observation_id))
        return rows.observation(db, observation_id)


def _in_force(db: sqlite3.Connection, observation_id: int) -> Observation:
    """Return an observation that is active or pending; else say what stands in its place."""
    found = rows.observation(db, observation_id)
    if found.state != "superseded":
        return found
    instead = sorted(o.id for o in lineage.heirs(db, found, lambda o: o.state != "superseded"))
    if instead:
        listed = ", ".join(map(str, instead))
        raise ConstructError(f"Observation {observation_id} was replaced by {listed}.\nName that one instead.")
    raise ConstructError(
        f"Observation {observation_id} is no longer in force: it was undone or let go.\n"
        "`construct memory list` shows what is."
    )


def _day_meant(old: Observation, content: str, today: date) -> str | None:
    """Return the day the new words speak of; with none in them the old one, unless the old words spoke of it."""
    if day := referenced_date(content, today):
        return day.isoformat()
    if old.referenced_date is None or (year := old.referenced_date[:4]) in content:
        return old.referenced_date
    said = referenced_date(old.content, date.fromisoformat(old.observation_date))
    spoken_of = year in old.content or (said is not None and said.isoformat() == old.referenced_date)
    return None if spoken_of else old.referenced_date


def _edited(old: Observation, content: str, day: str | None, cycle_id: int, now: str) -> dict[str, object]:
    """Return the columns of the new observation: the old one's, but for what the edit changes."""
    new = old._replace(
        content=content, stance="stated", referenced_date=day, generation=0, cycle_id=cycle_id, created_at=now,
        committed_at=now if old.committed_at else None, origin="user", withheld=0,
    )  # fmt: skip
    values = new._replace(token_count=line_tokens(new))._asdict()
    del values["id"], values["uid"]
    return values
