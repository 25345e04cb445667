"""Memories: what is kept by itself, stored by hand or promoted from observations, each fact once.

A promoted memory follows its observation. `promote` settles that for all of them, whatever
happened since, and may be called as often as one likes: it looks at active observations and
memories in force only. `promote_committed` looks at what a compaction has just committed.
"""

import sqlite3
from collections.abc import Iterable

from construct.errors import UsageError
from construct.memory.curation.categories import category_of
from construct.memory.language.alike import is_of_a_day, same_fact, says_more
from construct.memory.language.dates import in_past
from construct.memory.language.stem import stem, words
from construct.memory.language.terms import STOP_WORDS
from construct.memory.language.values import newer_value, says_no_more, sought
from construct.store import curated, lineage, retract
from construct.store import observations as rows
from construct.store.curated import NewMemory
from construct.store.records import Memory, Observation
from construct.store.search import frequencies
from construct.text import one_line, storable

_CANDIDATES = 40
_MOST_WORDS = 60
_RAREST = 3


def remember(db: sqlite3.Connection, content: str, category: str | None, origin: str, now: str) -> Memory:
    """Store what the user or the main model wants kept, and return it, or the memory that says the same already.

    Inside the caller's transaction. Raises UsageError for blank content.
    """
    text = one_line(storable(content))
    if not text:
        raise UsageError("A memory needs at least one word.")
    label = one_line(storable(category or "")) or category_of(text)
    return curated.memory(db, _store(db, NewMemory(text, label, origin), None, now))


def promote_committed(db: sqlite3.Connection, observation_ids: Iterable[int], now: str) -> None:
    """Promote those of these observations that are worth a memory."""
    for o in curated.unpromoted(db, observation_ids):
        _promote(db, o, now)


def promote(db: sqlite3.Connection, now: str) -> None:
    """Make promoted memories agree with the observations that are active now, inside the caller's transaction."""
    _hand_on(db, now)
    _bring_back(db, now)
    for o in curated.unpromoted(db):
        _promote(db, o, now)


def _promote(db: sqlite3.Connection, o: Observation, now: str, category: str | None = None) -> None:
    """Give an observation its memory."""
    label = category or ("plan" if o.stance == "planned" else category_of(o.content))
    _store(db, NewMemory(o.content, label, "observation", o.id), o, now)


def _store(db: sqlite3.Connection, new: NewMemory, o: Observation | None, now: str) -> int:
    """Store a memory, or find that it is one already; return the one in force."""
    same = next((m for m in _near(db, new.content) if _same(db, m, new, o, now)), None)
    if same is not None and o is None and not _is_better(new, same):
        return same.id
    others = [] if o is not None and o.stance != "stated" else _other_values(db, new.content)
    memory_id = curated.insert_memory(db, new, now)
    if same is not None:
        if not _is_better(new, same):
            retract.supersede_memory(db, memory_id, now, same.id)
            return same.id
        retract.supersede_memory(db, same.id, now, memory_id)
    return _settle_values(db, curated.memory(db, memory_id), others, o, now)


def _near(db: sqlite3.Connection, content: str) -> list[Memory]:
    """Return the memories in force that could say the same as a sentence."""
    return curated.in_force_like(db, _any(_rarest(db, content)), _CANDIDATES)


def _other_values(db: sqlite3.Connection, content: str) -> list[Memory]:
    """Return the memories in force that give another value for what a sentence gives one for."""
    asked = sought(content)
    if asked is None:
        return []
    all_of, one_of = asked
    parts = [_any([w]) for w in all_of] + ([_any(one_of)] if one_of else [])
    near = curated.in_force_like(db, " AND ".join(parts), _CANDIDATES)
    return [m for m in near if newer_value(m.content, content) and says_no_more(m.content)]


def _rarest(db: sqlite3.Connection, content: str) -> list[str]:
    """Return the words of a sentence that the fewest memories hold: whatever says the same holds one of them."""
    telling = [w for w in words(content) if w not in STOP_WORDS] or words(content)
    stems = {w: stem(w) for w in telling[:_MOST_WORDS]}
    held = frequencies(db, "memory", list(stems.values()))
    return sorted((w for w in stems if held[stems[w]]), key=lambda w: held[stems[w]])[:_RAREST]


def _any(one_of: Iterable[str]) -> str:
    """Return the FTS5 expression for any of these words; "" for none."""
    either = " OR ".join(f'"{w}"' for w in one_of)
    return f"({either})" if either else ""


def _same(db: sqlite3.Connection, m: Memory, new: NewMemory, o: Observation | None, now: str) -> bool:
    """Tell whether a memory says what the new one does, of the same time where that makes a difference."""
    if not same_fact(m.content, new.content):
        return False
    behind = None if m.observation_id is None else rows.observation(db, m.observation_id)
    if o is not None and behind is not None and o.referenced_date != behind.referenced_date:
        return False
    day = now[:10] if o is None else o.observation_date
    its_day = m.created_at[:10] if behind is None else behind.observation_date
    both_observed = o is not None and behind is not None
    passing = is_of_a_day(new.content) or (both_observed and in_past(new.content))
    return day == its_day or not passing


def _is_better(new: NewMemory, same: Memory) -> bool:
    """Tell whether, of two that say the same, the new one should stand: stored by hand, or saying more."""
    by_hand, was_by_hand = new.origin != "observation", same.origin != "observation"
    return by_hand if by_hand != was_by_hand else says_more(new.content, same.content)


def _settle_values(
    db: sqlite3.Connection, new: Memory, others: Iterable[Memory], o: Observation | None, now: str
) -> int:
    """Supersede other values by a new memory, or it by one that was said later; return which stands."""
    for m in others:
        if o is not None and curated.said_at(db, m) > curated.said_at(db, new):
            retract.supersede_memory(db, new.id, now, m.id)
            return m.id
        retract.supersede_memory(db, m.id, now, new.id)
    return new.id


def _hand_on(db: sqlite3.Connection, now: str) -> None:
    """Take memories out of force with their observations, and let what those were merged or edited into take over."""
    behind = curated.left_behind(db)
    for m, o in behind:
        retract.supersede_memory(db, m.id, o.superseded_at or now)
    for m, o in behind:
        for heir in _heirs(db, o):
            known = curated.of_observation(db, heir.id)
            if known is None:
                _promote(db, heir, now, m.category)
                known = curated.of_observation(db, heir.id)
            if known is not None and curated.in_force_of(db, known.id) is not None:
                curated.replace_by(db, m.id, known.id)
                break


def _heirs(db: sqlite3.Connection, old: Observation) -> list[Observation]:
    """Return the active observations that say again what a superseded one said, through all that came in between."""
    found = lineage.heirs(db, old, lambda o: o.state != "superseded", lambda new, o: _holds(db, new, o))
    return [o for o in found if o.state == "active"]


def _holds(db: sqlite3.Connection, successor: Observation, o: Observation) -> bool:
    """Return whether a successor says again what an observation said, and has not merely made it outdated."""
    edited = successor.origin == "user" and successor.cycle_id == o.superseded_by
    if edited or o.id in rows.sources_of(db, [successor.id])[successor.id]:
        return True
    return any(same.id == successor.id for same in lineage.partners(db, o.id, "same", newer=True))


def _bring_back(db: sqlite3.Connection, now: str) -> None:
    """Let memories stand again when what took their place is out of force, and nothing else stands for them."""
    for m in sorted(curated.left_out(db), key=lambda m: curated.said_at(db, m), reverse=True):
        if curated.in_force_of(db, m.superseded_by) is not None:
            continue
        instead = _instead_of(db, m)
        if instead is None:
            retract.revive_memory(db, m.id)
            for earlier in _other_values(db, m.content):
                retract.supersede_memory(db, earlier.id, now, m.id)
        else:
            curated.replace_by(db, m.id, instead.id)


def _instead_of(db: sqlite3.Connection, m: Memory) -> Memory | None:
    """Return a memory in force that says the same as a superseded one, or another value that was said later."""
    o = None if m.observation_id is None else rows.observation(db, m.observation_id)
    new = NewMemory(m.content, m.category, m.origin, m.observation_id)
    same = (n for n in _near(db, m.content) if _same(db, n, new, o, m.created_at))
    said = curated.said_at(db, m)
    later = (n for n in _other_values(db, m.content) if curated.said_at(db, n) >= said)
    return next(same, None) or next(later, None)
