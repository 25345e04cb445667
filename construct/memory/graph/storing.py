"""Store the relations a graph cycle found, revert it, and drop names that were forgotten.

Everything here runs inside the caller's transaction.
"""

from collections.abc import Iterable, Mapping
from itertools import chain

from construct.language.index_words import index_words, is_unspaced
from construct.memory.graph.answers import (
    GraphProposal,
    ProposedEntity,
    ProposedRelation,
    contains_name,
)
from construct.memory.graph.names import USER, is_user, key
from construct.store import graph
from construct.store.driver import Connection
from construct.store.forbidden import rules_of
from construct.store.graph import Entity
from construct.store.observations import all_observations
from construct.store.records import Observation
from construct.user_rules import Rules


def store_graph(
    db: Connection,
    cycle_id: int,
    note_ids: Mapping[str, int],
    proposal: GraphProposal,
    now: str,
) -> int:
    """Store a proposal and return how many relations the user's rules forbade.

    `note_ids`: the note that each anchor means. Notes superseded or deleted in the
    meantime get no relations.
    """
    active_ids = graph.mark_read(db, [note_ids[anchor] for anchor in proposal.read], cycle_id)
    proposed = [r for r in proposal.relations if note_ids[r.anchor] in active_ids]
    rules = rules_of(db)
    relations = [r for r in proposed if rules.forbidden_in(*_texts_of(r)) is None]
    ends = chain.from_iterable((r.subject, r.object) for r in relations)
    alone = (e for e in proposal.entities if rules.forbidden_in(*e.names, e.type) is None)
    ids = _store_entities(db, dict.fromkeys((*ends, *alone)), cycle_id, rules)
    for relation in relations:
        graph.insert_relation(
            db,
            ids[relation.subject],
            relation.predicate,
            ids[relation.object],
            note_ids[relation.anchor],
            cycle_id,
            now,
        )
    return len(proposed) - len(relations)


def _texts_of(relation: ProposedRelation) -> tuple[str | None, ...]:
    subject, object_ = relation.subject, relation.object
    return relation.predicate, *subject.names, subject.type, *object_.names, object_.type


def revert_graph(db: Connection, cycle_id: int) -> int:
    """Revert a graph cycle and return how many relations were deleted.

    The notes it read become unread, and are read again once there are new ones. An
    alias is kept if another note that has been read contains both names.
    """
    relations = graph.delete_relations_of(db, cycle_id)
    graph.mark_unread(db, cycle_id)
    graph.delete_unrelated(db, graph.made_by(db, cycle_id))
    for entity in graph.entities(db):
        kept = [alias for alias in entity.aliases if _is_known_as(db, entity.name, alias)]
        _rename(db, entity, [entity.name, *kept])
    graph.note_attempt(db)
    return relations


def drop_unsaid_names(db: Connection) -> int:
    """Drop the names that no note contains any more, after notes were deleted.

    Entities without a relation or a name go. Returns how many did.
    """
    unrelated = graph.unrelated(db)
    nameless = []
    for entity in graph.entities(db):
        if not (entity.aliases or entity.id in unrelated):
            continue
        names = [name for name in entity.names if _notes_with(db, name)]
        if names:
            _rename(db, entity, names)
        elif entity.id in unrelated:
            nameless.append(entity.id)
    return graph.delete_unrelated(db, nameless)


def _store_entities(
    db: Connection, entities: Iterable[ProposedEntity], cycle_id: int, rules: Rules
) -> dict[ProposedEntity, int]:
    """Find or store entities, add their new names, and return their ids."""
    known = {e.id: e for e in graph.entities(db)}
    ids: dict[ProposedEntity, int] = {}
    for proposed in entities:
        matches = _matches(proposed, known.values()) or [
            graph.insert_entity(db, proposed.names[0], proposed.type, cycle_id)
        ]
        main = matches[0]
        ids[proposed] = main.id
        # Two entities with a relation between them cannot be the same.
        same = [e for e in matches[1:] if not _are_related(db, main, e)]
        foreign_names = {key(e.name) for e in matches[1:] if e not in same}
        for entity in (main, *same):
            new_names = [
                name
                for name in (*proposed.names, *main.names)
                if key(name) not in foreign_names and rules.forbidden_in(name) is None
            ]
            known[entity.id] = _rename(db, entity, [*entity.names, *new_names])
    return ids


def _matches(proposed: ProposedEntity, known: Iterable[Entity]) -> list[Entity]:
    """Return the stored entities that may be the proposed one, best first.

    These have one of its names as their main name. If there are none, the first entity
    that has its main name as an alias.
    """
    keys = [key(name) for name in proposed.names]
    by_name = [e for e in known if key(e.name) in keys]
    if by_name:
        return sorted(by_name, key=lambda e: keys.index(key(e.name)))
    return [e for e in known if keys[0] in map(key, e.aliases)][:1]


def _are_related(db: Connection, a: Entity, b: Entity) -> bool:
    return any(
        b.id in (r.subject_id, r.object_id) for r in graph.relations_with(db, [a.id], past=True)
    )


def _rename(db: Connection, entity: Entity, names: Iterable[str]) -> Entity:
    """Store an entity under these names, the main one first, and return it.

    Unchanged if there are no names. The main name of the user stays.
    """
    by_key: dict[str, str] = {}
    for name in (USER, *names) if is_user(entity.name) else names:
        by_key.setdefault(key(name), name)
    distinct = tuple(by_key.values())
    if not distinct or distinct == entity.names:
        return entity
    main_name, *aliases = distinct
    graph.set_names(db, entity.id, main_name, aliases)
    return Entity(entity.id, main_name, entity.type, tuple(aliases))


def _is_known_as(db: Connection, name: str, alias: str) -> bool:
    """Return whether a note that has been read contains both the name and the alias."""
    return any(o.graph_cycle_id and contains_name(o.content, name) for o in _notes_with(db, alias))


def _notes_with(db: Connection, name: str) -> list[Observation]:
    if is_unspaced(name):  # the index stores text without spaces as one word
        candidates = all_observations(db)
    else:
        candidates = graph.notes_with(db, " ".join(index_words(name)))
    return [o for o in candidates if contains_name(o.content, name)]
