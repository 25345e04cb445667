"""Stores what a graph cycle drew, takes it back, and drops names that are forgotten.

All of it runs inside the caller's transaction.
"""

import sqlite3
from collections.abc import Iterable, Mapping

from construct.language.index_words import index_words, is_unspaced
from construct.memory.graph.answers import (
    GraphProposal,
    ProposedEntity,
    ProposedRelation,
    contains_name,
)
from construct.memory.graph.names import is_user, key
from construct.store import graph as rows
from construct.store.forbidden import rules_of
from construct.store.graph import Entity
from construct.store.memories import list_memories
from construct.store.records import Memory
from construct.user_rules import Rules


def store_graph(
    db: sqlite3.Connection,
    cycle_id: int,
    memory_ids: Mapping[str, int],
    found: GraphProposal,
    now: str,
) -> int:
    """Store a proposal. `memory_ids` maps anchors to memories.

    Memories superseded or deleted meanwhile get no relations. Returns how many
    relations the user's rules forbade.
    """
    live = rows.mark_read(db, [memory_ids[anchor] for anchor in found.read], cycle_id)
    drawn = [r for r in found.relations if memory_ids[r.anchor] in live]
    rules = rules_of(db)
    relations = [r for r in drawn if rules.forbidden_in(*_said_by(r)) is None]
    ids = _store_entities(db, relations, cycle_id, rules)
    for r in relations:
        subject_id, object_id = ids[r.subject], ids[r.object]
        rows.insert_relation(
            db, subject_id, r.predicate, object_id, memory_ids[r.anchor], cycle_id, now
        )
    return len(drawn) - len(relations)


def _said_by(r: ProposedRelation) -> tuple[str | None, ...]:
    return r.predicate, *r.subject.names, r.subject.type, *r.object.names, r.object.type


def revert_graph(db: sqlite3.Connection, cycle_id: int) -> int:
    """Take back what a graph cycle drew; return how many relations went.

    Its memories are unread again, and due with the next new one. An alias stays where
    another memory that has been read says both names.
    """
    relations = rows.delete_relations_of(db, cycle_id)
    rows.mark_unread(db, cycle_id)
    for e in rows.entities(db):
        _rename(db, e, [e.name, *(a for a in e.aliases if _is_known_as(db, e.name, a))])
    rows.note_attempt(db)
    return relations


def drop_unsaid_names(db: sqlite3.Connection) -> None:
    """Drop the names that no memory holds any more, after memories were deleted."""
    for e in rows.entities(db):
        if e.aliases:
            _rename(db, e, [name for name in e.names if _memories_with(db, name)])


def _store_entities(
    db: sqlite3.Connection, relations: Iterable[ProposedRelation], cycle_id: int, rules: Rules
) -> dict[ProposedEntity, int]:
    """Find or store each entity that a relation names, with its new names.

    Return their ids.
    """
    known = {e.id: e for e in rows.entities(db)}
    ids: dict[ProposedEntity, int] = {}
    for proposed in dict.fromkeys(end for r in relations for end in (r.subject, r.object)):
        same = _same(proposed, known.values()) or [
            rows.insert_entity(db, proposed.names[0], proposed.type, cycle_id)
        ]
        home = same[0]
        ids[proposed] = home.id
        others = [e for e in same[1:] if not _are_apart(db, home, e)]
        strange = {key(e.name) for e in same[1:] if e not in others}
        for e in (home, *others):
            new = [n for n in (*proposed.names, *home.names) if key(n) not in strange]
            new = [n for n in new if rules.forbidden_in(n) is None]
            known[e.id] = _rename(db, e, [*e.names, *new])
    return ids


def _same(proposed: ProposedEntity, known: Iterable[Entity]) -> list[Entity]:
    """Return the stored entities that this one may be.

    Those whose own name it has, best first, else one with it as an alias.
    """
    names = [key(n) for n in proposed.names]
    own = sorted((e for e in known if key(e.name) in names), key=lambda e: names.index(key(e.name)))
    called = [e for e in known if names[0] in map(key, e.aliases)]
    return own or called[:1]


def _are_apart(db: sqlite3.Connection, a: Entity, b: Entity) -> bool:
    return any(
        b.id in (r.subject_id, r.object_id) for r in rows.relations_with(db, [a.id], past=True)
    )


def _rename(db: sqlite3.Connection, entity: Entity, names: Iterable[str]) -> Entity:
    """Give an entity these names, each once, store it and return it.

    One without names stays as it is.
    """
    by_key: dict[str, str] = {}
    for name in names:
        by_key.setdefault(key(name), name)
    kept = tuple(by_key.values())
    if not kept or kept == entity.names or is_user(entity.name):
        return entity
    rows.set_names(db, entity.id, kept[0], kept[1:])
    return Entity(entity.id, kept[0], entity.type, kept[1:])


def _is_known_as(db: sqlite3.Connection, name: str, alias: str) -> bool:
    return any(m.cycle_id and contains_name(m.content, name) for m in _memories_with(db, alias))


def _memories_with(db: sqlite3.Connection, name: str) -> list[Memory]:
    if is_unspaced(name):  # the index holds a run of such a script as one word
        found = list_memories(db, include_superseded=True)
    else:
        found = rows.memories_with(db, " ".join(index_words(name)))
    return [m for m in found if contains_name(m.content, name)]
