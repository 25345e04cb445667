"""What the user corrects: the words of an observation, and that it stays as it is."""

import sqlite3
from datetime import date

from construct.clock import Clock, to_text
from construct.errors import ConstructError, UsageError
from construct.language.dates import referenced_date
from construct.language.terms import normal_form, opening_names, terms, tokens, words
from construct.memory.promotion import promote
from construct.memory.shown.lines import line_tokens
from construct.store import cycles, provenance
from construct.store import observations as rows
from construct.store.database import transaction
from construct.store.records import Observation
from construct.text import one_line, storable
from construct.vocabulary import Relation, Stance


def edit(db: sqlite3.Connection, observation_id: int, text: str, clock: Clock) -> int:
    """Replace an observation by the user's own words, and return the new one's id.

    The new one rests on all messages the old one rested on; no worker may overrule it.
    Raises UsageError for blank text, ConstructError for what was replaced already.
    """
    content = one_line(storable(text))
    if not content:
        raise UsageError(
            "An observation needs at least one word.\nTo take it out of memory, forget it."
        )
    with transaction(db):
        old = _in_force(db, observation_id)
        now = to_text(clock.now())
        cycle_id = cycles.insert_edit(db, old.conversation_id, now)
        new = old._replace(
            content=content,
            stance=Stance.STATED,
            referenced_date=_day_meant(old, content, clock.today()),
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
        rows.link_messages(db, new_id, [m.id for m in provenance.messages_behind(db, [old.id])])
        rows.supersede(db, [old.id], cycle_id, now)
        provenance.link_replaced(db, [(new_id, old.id)], Relation.EDIT, cycle_id)
        provenance.inherit_links(db, old.id, new_id)
        promote(db, now)
    return new_id


def lost_terms(old: str, new: str) -> list[str]:
    """Return the names and numbers of the old words that are not in the new ones."""
    wanted = (terms(old) | opening_names(old)) - {*words(new), "user"}
    lost: dict[str, str] = {}
    for match in tokens(old):
        word = normal_form(match.group())
        if word in wanted:
            lost.setdefault(word, match.group())
    return list(lost.values())


def pin(db: sqlite3.Connection, observation_id: int, *, off: bool = False) -> Observation:
    """Keep an observation out of the reflector's hands and first in the budget.

    With `off`, no longer. Raises ConstructError for what was replaced already.
    """
    with transaction(db):
        _in_force(db, observation_id)
        rows.set_pinned(db, observation_id, pinned=not off)
        return rows.observation(db, observation_id)


def _in_force(db: sqlite3.Connection, observation_id: int) -> Observation:
    """Return an observation that is active or pending.

    Raises ConstructError that says what stands in its place otherwise.
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
        f"Observation {observation_id} is no longer in force: it was undone or let go.\n"
        "`construct memory list` shows what is."
    )


def _day_meant(old: Observation, content: str, today: date) -> str | None:
    """Return the day the new words speak of.

    With none in them the old one, unless the old words spoke of it.
    """
    if day := referenced_date(content, today):
        return day.isoformat()
    if old.referenced_date is None or (year := old.referenced_date[:4]) in content:
        return old.referenced_date
    said = referenced_date(old.content, date.fromisoformat(old.observation_date))
    spoken_of = year in old.content or (
        said is not None and said.isoformat() == old.referenced_date
    )
    return None if spoken_of else old.referenced_date
