"""The graph cycle: memories that were not yet read go to the worker model, entities and relations come back.

With the extractive worker there is no graph. A cycle that failed or was undone is due again
only when new memories come.
"""

import asyncio
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from construct import tokens
from construct.llm.types import JsonRequest, Model
from construct.memory.graph.answers import Drawing, Named, Stated, drawing, is_user, key, one_at_a_time, says
from construct.memory.learning import schemas
from construct.memory.learning.asking import Account, ask
from construct.memory.shown.transcript import escape
from construct.prompts import prompt
from construct.store import curated, cycles
from construct.store import graph as rows
from construct.store.database import transaction
from construct.store.graph import Entity
from construct.store.records import Memory
from construct.text import one_line

BATCH = 40
_ENOUGH = 10
"""Memories stored by hand that are worth a call of their own; promoted ones show that a compaction has been."""
_ATTEMPTS = 2
_TOKENS = 6_000
_REPLY_TOKENS = 8_192
_ALIAS_NOTE = re.compile(r"“(.+)” is another name of “(.+)”")


@dataclass(frozen=True, slots=True)
class GraphLot:
    """The memories that a running graph cycle reads."""

    cycle_id: int
    memories: list[Memory]

    @property
    def texts(self) -> dict[int, str]:
        """What they say, by id, each in one line."""
        return {m.id: one_line(m.content) for m in self.memories}


def is_due(db: sqlite3.Connection, *, compacted: bool) -> bool:
    """Tell whether memories should be read now: after a compaction, or when enough have come together."""
    if not rows.has_unread(db, _held(db)):
        return False
    return compacted or rows.has_unread_promoted(db, _ENOUGH)


def begin(db: sqlite3.Connection, model: Model, now: str) -> GraphLot | None:
    """Store a running cycle over the next memories; None when there are none, or another process is at it."""
    with transaction(db):
        cycles.abandon_dead(db, now)
        last = cycles.last_cycle(db, "graph", None)
        # What has just failed may be at fault itself: newer ones do not wait for it.
        newest = last is not None and last.status == "failed"
        memories = _fitting(rows.unread(db, BATCH, newest=newest), model)
        cycle_id = cycles.start_cycle(db, "graph", None, now, model=model.name) if memories else None
        return None if cycle_id is None else GraphLot(cycle_id, memories)


async def draw(model: Model, lot: GraphLot, account: Account) -> Drawing | None:
    """Return what may be believed of what the model reads in the memories; None when every attempt failed."""
    for _ in range(_ATTEMPTS):
        data = await ask(model, _request(model, lot), account, part="relations")
        if data is not None:
            return await asyncio.to_thread(drawing, data, lot.texts)  # up to a tenth of a second
    return None


def store(db: sqlite3.Connection, lot: GraphLot, found: Drawing | None, now: str) -> list[str]:
    """Store what was drawn, inside the cycle's transaction, if anything; return notes for its record.

    What was taken out of force meanwhile, or is gone, gets no relations.
    """
    if found is None:
        rows.note_tried(db)
        return []
    live = rows.in_force_among(db, [m.id for m in lot.memories])
    relations = [r for r in found.relations if r.memory_id in live]
    ends = {key(end) for r in relations for end in (r.subject, r.object)}
    notes = list(found.notes)
    ids = _store_entities(db, [e for e in found.entities if key(e.name) in ends], relations, lot.cycle_id, notes)
    for r in relations:
        pair = ids[key(r.subject)], ids[key(r.object)]
        rows.insert_relation(db, pair, r.predicate, r.memory_id, lot.cycle_id, now)
    for subject_id in {ids[key(r.subject)] for r in relations}:
        _settle(db, subject_id, now)
    rows.mark_read(db, [m.id for m in lot.memories], lot.cycle_id)
    return notes


def revert_graph(db: sqlite3.Connection, cycle_id: int, now: str) -> int:
    """Take back what a graph cycle drew, inside the caller's transaction; return how many relations went.

    Its memories are unread again, and due with the next new one.
    """
    (count,) = db.execute("SELECT count(*) FROM relations WHERE cycle_id = ?", (cycle_id,)).fetchone()
    remaining = rows.take_back(db, cycle_id)
    _take_aliases_back(db, rows.notes_of(db, cycle_id))
    for entity_id in remaining:
        _settle(db, entity_id, now)
    rows.mark_unread(db, cycle_id)
    rows.note_tried(db)
    return int(count)


def drop_unsaid_names(db: sqlite3.Connection) -> None:
    """Take out of entities the names that no memory holds any more, after memories were deleted."""
    for e in rows.entities(db):
        if is_user(e.name):
            continue
        said = [n for n in e.names if _is_said(db, n)]
        if said and said != list(e.names):
            rows.set_names(db, e.id, said[0], said[1:])


def _held(db: sqlite3.Connection) -> int:
    """Return the memory above which another one must come before a graph cycle is due."""
    last = cycles.last_cycle(db, "graph", None)
    return 0 if last is None or last.status == "succeeded" else rows.tried(db)


def _fitting(memories: Sequence[Memory], model: Model) -> list[Memory]:
    """Return as many memories, one at least, as leave a small model room for its prompt and its answer."""
    room = max(200, min(_TOKENS, model.context_window // 4))
    sizes = accumulate(tokens.count(m.content) for m in memories)
    return [m for m, size in zip(memories, sizes, strict=True) if size <= room or m is memories[0]]


def _request(model: Model, lot: GraphLot) -> JsonRequest:
    lines = (f"[K{number}] {escape(text)}" for number, text in enumerate(lot.texts.values(), 1))
    return JsonRequest(
        system=prompt("graph"),
        user="<memories>\n" + "\n".join(lines) + "\n</memories>",
        schema=schemas.GRAPH,
        max_tokens=min(_REPLY_TOKENS, model.context_window // 3),
    )


def _store_entities(
    db: sqlite3.Connection, named: Sequence[Named], relations: Iterable[Stated], cycle_id: int, notes: list[str]
) -> dict[str, int]:
    """Find or store each entity, with its new names; return the ids by name."""
    known = rows.entities(db)
    apart = {frozenset((key(r.subject), key(r.object))) for r in relations}
    ids: dict[str, int] = {}
    for one in named:
        same = _same(one, known)
        home = same[0] if same else rows.insert_entity(db, one.name, one.type, cycle_id)
        known += [] if same else [home]
        ids[key(one.name)] = home.id
        others = [e for e in same[1:] if not _are_apart(db, home, e, apart)]
        strange = {key(e.name) for e in same[1:] if e not in others}
        names = [n for n in (*one.names, *home.names) if key(n) not in strange]
        for e in (home, *others):
            _add_names(db, e, names, known, notes)
    return ids


def _same(one: Named, known: Iterable[Entity]) -> list[Entity]:
    """Return the entities that this one is, the best first: of its name, of a name it says is its own, called so."""
    names = [key(n) for n in one.names]
    own = sorted((e for e in known if key(e.name) in names), key=lambda e: names.index(key(e.name)))
    called = [e for e in known if names[0] in map(key, e.aliases) and e not in own]
    # Two that are called Anna are not one for it.
    return own + called if len(called) == 1 else own or called[:1]


def _are_apart(db: sqlite3.Connection, a: Entity, b: Entity, apart: Iterable[frozenset[str]]) -> bool:
    """Tell whether a relation between two entities shows that they are not one."""
    if frozenset((key(a.name), key(b.name))) in apart:
        return True
    return any(b.id in (r.subject_id, r.object_id) for r in rows.relations_with(db, [a.id], past=True))


def _add_names(
    db: sqlite3.Connection, entity: Entity, names: Iterable[str], known: list[Entity], notes: list[str]
) -> None:
    """Add other names to an entity, and note them, so that undo finds them."""
    has = {key(n) for n in entity.names}
    new = list({key(n): n for n in names if key(n) not in has}.values())
    if not new or is_user(entity.name):
        return
    grown = Entity(entity.id, entity.name, entity.type, (*entity.aliases, *new))
    rows.set_names(db, grown.id, grown.name, grown.aliases)
    known[known.index(entity)] = grown
    notes += [f"“{n}” is another name of “{entity.name}”" for n in new]


def _take_aliases_back(db: sqlite3.Connection, notes: Iterable[str]) -> None:
    taken = {(key(m[2]), key(m[1])) for note in notes if (m := _ALIAS_NOTE.fullmatch(note))}
    for e in rows.entities(db) if taken else ():
        left = [a for a in e.aliases if (key(e.name), key(a)) not in taken]
        if len(left) < len(e.aliases):
            rows.set_names(db, e.id, e.name, left)


def _settle(db: sqlite3.Connection, subject_id: int, now: str) -> None:
    """Of relations of which a subject has one at a time, let the one said last be in force."""
    kinds: dict[str, list[tuple[str, rows.Relation, bool]]] = {}
    for r, live in rows.relations_from(db, subject_id):
        kind = one_at_a_time(r.predicate)
        if kind:
            said = curated.said_at(db, curated.memory(db, r.memory_id))
            kinds.setdefault(kind, []).append((said, r, live))
    for found in kinds.values():
        standing = [one for one in found if one[2]]
        if not standing:
            continue
        _, last, _ = max(standing, key=lambda one: (one[0], one[1].memory_id, one[1].id))
        for _, r, live in found:
            if live and (r.memory_id == last.memory_id or r.object_id == last.object_id):
                rows.set_superseded(db, r.id, None)
            elif r.superseded_at is None:
                rows.set_superseded(db, r.id, now)


def _is_said(db: sqlite3.Connection, name: str) -> bool:
    if rows.is_said(db, key(name)):
        return True
    return not name.isascii() and any(says(m.content, name) for m in curated.memories(db, include_superseded=True))
