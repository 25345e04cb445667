"""The graph cycle: one call reads all memories that are unread, and stores entities and relations.

The extractive worker draws no graph. After a cycle that failed or was undone, the memories it
had read are due again only together with new ones.
"""

import asyncio
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from construct.llm.types import Model
from construct.memory.graph.answers import (
    GraphProposal,
    ProposedEntity,
    ProposedRelation,
    UnreadableAnswerError,
    contains_name,
    is_user,
    key,
    names_by_key,
    one_at_a_time,
    read_answer,
)
from construct.memory.graph.request import graph_request, known_names, memories_that_fit
from construct.memory.learning.asking import Account, ask
from construct.store import curated, cycles
from construct.store import graph as rows
from construct.store.database import transaction
from construct.store.graph import Entity
from construct.store.records import Memory
from construct.text import one_line


class GraphOccasion(Enum):
    """When the worker asks whether the graph is due."""

    BETWEEN_TURNS = auto()
    AFTER_REFLECTION = auto()
    LEAVING = auto()
    ON_REQUEST = auto()
    """The user asked for /compact."""


_ENOUGH_BETWEEN_TURNS = 20
"""Unread memories that are worth a call of their own."""
_MOST = 200
"""Memories for one call, whatever their length: more relations than these give do not fit the answer."""
_MOST_AFTER_FAILURE = 40
_ATTEMPTS = 2
_ALIAS_NOTE = re.compile(r"“(.+)” is another name of “(.+)”")


@dataclass(frozen=True, slots=True)
class GraphBatch:
    """The memories that a running graph cycle reads, and what was known when it began."""

    cycle_id: int
    memories: list[Memory]
    known: Mapping[str, Sequence[str]]
    """All names of each stored entity, by the key of each of them."""
    names: list[str]
    """Known names and predicates to show the model, the most relevant first."""

    @property
    def by_anchor(self) -> dict[str, Memory]:
        """The memories under P1, P2 …."""
        return {f"P{number}": memory for number, memory in enumerate(self.memories, 1)}

    @property
    def texts(self) -> dict[str, str]:
        """What the memories say, each as one line."""
        return {anchor: one_line(memory.content) for anchor, memory in self.by_anchor.items()}


def is_due(db: sqlite3.Connection, occasion: GraphOccasion) -> bool:
    """Return whether the unread memories are worth a call now."""
    enough = _ENOUGH_BETWEEN_TURNS if occasion is GraphOccasion.BETWEEN_TURNS else 1
    return rows.count_unread(db, after=_held(db)) >= enough


def begin(db: sqlite3.Connection, model: Model, now: str) -> GraphBatch | None:
    """Start a cycle over the unread memories. None: there are none, or another process runs one."""
    with transaction(db):
        cycles.abandon_dead(db, now)
        last = cycles.last_cycle(db, "graph", None)
        # A memory may be what made the last cycle fail, so the newest go first: in time without it.
        failed = last is not None and last.status == "failed"
        unread = rows.unread(db, _MOST_AFTER_FAILURE if failed else _MOST, newest=failed)
        memories = memories_that_fit(unread, model)
        if not memories:
            return None
        cycle_id = cycles.start_cycle(db, "graph", None, now, model=model.name)
        if cycle_id is None:
            return None
        entities, predicates = rows.entities(db), rows.predicates(db)
    known = names_by_key(entity.names for entity in entities)
    names = known_names(entities, predicates, [memory.content for memory in memories])
    return GraphBatch(cycle_id, memories, known, names)


async def draw(model: Model, batch: GraphBatch, account: Account) -> GraphProposal | None:
    """Return what may be stored of the model's answer. None: no attempt could be read."""
    request = graph_request(model, batch.memories, batch.names)
    broken_off = None
    for _ in range(_ATTEMPTS):
        reply = await ask(model, request, account)
        if reply is None:
            continue
        try:
            found = await asyncio.to_thread(read_answer, reply.text, batch.texts, batch.known)
        except UnreadableAnswerError as error:
            account.problems.append(str(error))
            continue
        if found.is_whole:
            return found
        account.problems.append("the answer broke off")
        broken_off = found
    return broken_off


def store(db: sqlite3.Connection, batch: GraphBatch, found: GraphProposal | None, now: str) -> list[str]:
    """Store a proposal inside the cycle's transaction and return notes for its record.

    Memories that were superseded or deleted meanwhile get no relations.
    """
    if found is None:
        rows.note_tried(db)
        return []
    memory_ids = {anchor: memory.id for anchor, memory in batch.by_anchor.items()}
    live = rows.in_force_among(db, memory_ids.values())
    relations = [r for r in found.relations if memory_ids[r.anchor] in live]
    ends = {key(r.subject) for r in relations} | {key(r.object) for r in relations}
    entities = [entity for entity in found.entities if key(entity.name) in ends]
    notes = list(found.notes)
    ids = _store_entities(db, entities, relations, batch.cycle_id, notes)
    for r in relations:
        pair = ids[key(r.subject)], ids[key(r.object)]
        rows.insert_relation(db, pair, r.predicate, memory_ids[r.anchor], batch.cycle_id, now)
    for subject_id in {ids[key(r.subject)] for r in relations}:
        _settle(db, subject_id, now)
    rows.mark_read(db, [memory_ids[anchor] for anchor in found.read], batch.cycle_id)
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


def _store_entities(
    db: sqlite3.Connection,
    proposed: Sequence[ProposedEntity],
    relations: Iterable[ProposedRelation],
    cycle_id: int,
    notes: list[str],
) -> dict[str, int]:
    """Find or store each entity, with its new names; return the ids by name."""
    known = rows.entities(db)
    apart = {frozenset((key(r.subject), key(r.object))) for r in relations}
    ids: dict[str, int] = {}
    for one in proposed:
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


def _same(one: ProposedEntity, known: Iterable[Entity]) -> list[Entity]:
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
    db: sqlite3.Connection,
    entity: Entity,
    names: Iterable[str],
    known: list[Entity],
    notes: list[str],
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
    return not name.isascii() and any(
        contains_name(m.content, name) for m in curated.memories(db, include_superseded=True)
    )
