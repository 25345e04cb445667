"""Memories: what is kept by itself, stored by hand or promoted from observations, each fact once.

A memory stored by hand stands until the user forgets it. A promoted memory follows its
observation: it is out of force while the observation is superseded or withheld, and the memory of
what the observation was condensed, edited or merged into takes over. `promote` settles that for
all memories, whatever happened since, and may be called as often as one likes: it takes 20 ms
where there are 20,000.
"""

import re
import sqlite3
from collections.abc import Hashable
from datetime import date

from construct.errors import UsageError
from construct.memory.language.dates import referenced_date
from construct.memory.language.paraphrase import fact_key
from construct.memory.language.stem import words
from construct.memory.language.terms import STOP_WORDS
from construct.store import curated, lineage
from construct.store import observations as rows
from construct.store.curated import NewMemory
from construct.store.records import Memory, Observation
from construct.text import one_line, storable

_CANDIDATES = 40
_MOST_WORDS = 60
_CATEGORY_SIGNS = {
    "health": r"allerg\w+|asthma|diabet\w+|doctor|dentist|medic\w+|surgery|pregnan\w+|intoleran\w+|vegan|"
    r"vegetarian|ill",
    "plan": r"will|plans? to|going to|appointment|booked|flight|meeting|deadline|tomorrow",
    "preference": r"likes?|loves?|hates?|dislikes?|prefers?|enjoys?|favou?rite|rather",
    "work": r"works?|job|boss|colleagues?|employer|salary|company|office|project|teaches",
    "person": r"wife|husband|partner|mother|mum|mom|father|dad|parents?|sisters?|brothers?|sons?|daughters?|child\w*|"
    r"kids?|friends?|married|name is|called|birthday",
    "place": r"lives? in|lives? at|moved to|address|born in|based in|house|flat|apartment",
}


def remember(db: sqlite3.Connection, content: str, category: str | None, origin: str, now: str) -> Memory:
    """Store what the user or the main model wants kept, and return it, or the memory that says the same already.

    Inside the caller's transaction. Raises UsageError for blank content.
    """
    text = one_line(storable(content))
    if not text:
        raise UsageError("A memory needs at least one word.")
    new = NewMemory(text, one_line(storable(category or "")) or _category_of(text), origin)
    same = _same_in_force(db, new, now)
    if same is not None and same.origin != "observation":
        return same
    memory_id = curated.insert_memory(db, new, now)
    if same is not None:
        curated.supersede_memory(db, same.id, now, memory_id)
    return curated.memory(db, memory_id)


def promote(db: sqlite3.Connection, now: str) -> None:
    """Make promoted memories agree with the observations that are active now, inside the caller's transaction."""
    _hand_on(db, now)
    _bring_back(db)
    for o in curated.unpromoted(db):
        _promote(db, o, now)


def _promote(db: sqlite3.Connection, o: Observation, now: str, category: str | None = None) -> int:
    """Give an observation its memory, out of force where another one says the same; return its id."""
    label = category or ("plan" if o.stance == "planned" else _category_of(o.content))
    new = NewMemory(o.content, label, "observation", o.id)
    same = _same_in_force(db, new, now)
    memory_id = curated.insert_memory(db, new, now)
    if same is not None:
        curated.supersede_memory(db, memory_id, now, same.id)
    return memory_id


def _same_in_force(db: sqlite3.Connection, one: NewMemory | Memory, stored_at: str) -> Memory | None:
    """Return the memory in force that states the same fact."""
    fact = _fact_of(db, one, stored_at)
    said = words(one.content)
    telling = [word for word in said if word not in STOP_WORDS] or said
    near = curated.in_force_like(db, " OR ".join(f'"{word}"' for word in telling[:_MOST_WORDS]), _CANDIDATES)
    return next((m for m in near if _fact_of(db, m, m.created_at) == fact), None)


def _fact_of(db: sqlite3.Connection, one: NewMemory | Memory, stored_at: str) -> Hashable:
    if one.observation_id is not None:
        o = rows.observation(db, one.observation_id)
        return fact_key(one.content, o.observation_date, o.referenced_date)
    said_on = stored_at[:10]
    day = referenced_date(one.content, date.fromisoformat(said_on))
    return fact_key(one.content, said_on, day.isoformat() if day else None)


def _hand_on(db: sqlite3.Connection, now: str) -> None:
    """Take memories out of force with their observations, and name the memory that takes over."""
    behind = curated.left_behind(db)
    for m, o in behind:
        curated.supersede_memory(db, m.id, o.superseded_at or now)
    for m, o in behind:
        for heir in _heirs(db, o)[:1]:
            known = curated.of_observation(db, heir.id)
            by = _promote(db, heir, now, m.category) if known is None else known.id
            curated.replace_by(db, m.id, by)


def _heirs(db: sqlite3.Connection, old: Observation) -> list[Observation]:
    """Return the active observations that a superseded one was condensed, edited or merged into at last."""

    def says_it_again(new: Observation, o: Observation) -> bool:
        return new not in lineage.partners(db, o.id, "outdated", newer=True)

    found = lineage.heirs(db, old, lambda o: o.state != "superseded", says_it_again)
    return [o for o in found if o.state == "active" and not o.withheld]


def _bring_back(db: sqlite3.Connection) -> None:
    """Let memories stand again whose observation is active, unless another one says the same."""
    for m in curated.left_out(db):
        same = _same_in_force(db, m, m.created_at)
        if same is None:
            curated.revive_memory(db, m.id)
        else:
            curated.replace_by(db, m.id, same.id)


def _category_of(content: str) -> str:
    """Return the category that a sentence seems to belong to, guessed by a few plain words."""
    found = (category for category, signs in _CATEGORY_SIGNS.items() if re.search(rf"(?i)\b(?:{signs})\b", content))
    return next(found, "other")
