"""All that the memory page shows, read in one snapshot.

Cycles that were undone count as never run.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from construct.store import books, curated, cycles, graph, lineage, talk
from construct.store import observations as rows
from construct.store.books import Spent, UsageLine
from construct.store.database import snapshot
from construct.store.graph import Entity, Relation
from construct.store.records import Cycle, Memory, Message, Observation

_ALL = 1 << 62


@dataclass(frozen=True, slots=True)
class Survey:
    """A whole memory. Everything is oldest first, by id."""

    titles: Mapping[int, str | None]
    """Of all conversations."""
    message_count: int
    """Of all conversations."""
    observations: tuple[Observation, ...]
    """Superseded and withheld ones too."""
    sources: tuple[tuple[int, int], ...]
    """(reflection, what it was made of)"""
    replaced: tuple[tuple[int, int], ...]
    """(observation, what it made outdated, or was edited from)"""
    message_links: tuple[tuple[int, int], ...]
    """(observation, message it comes from)"""
    messages: Mapping[int, Message]
    """Those that observations come from."""
    cycles: Mapping[int, Cycle]
    memories: tuple[Memory, ...]
    """Those in force."""
    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    """Superseded ones too."""
    usage: tuple[UsageLine, ...]
    spent: tuple[Spent, ...]


def survey(db: sqlite3.Connection) -> Survey:
    """Return all that is remembered, with where it comes from and what it cost."""
    with snapshot(db):
        return _read(db)


def _read(db: sqlite3.Connection) -> Survey:
    observations = lineage.unreverted(db, [o.id for o in rows.all_observations(db)])
    ids = {o.id for o in observations}
    entities = graph.entities(db)
    talks = talk.conversations(db)
    made_in = {c.id: c for c in cycles.cycles(db, _ALL)}
    return Survey(
        titles={line.conversation.id: line.conversation.title for line in talks},
        message_count=sum(line.messages for line in talks),
        observations=tuple(sorted(observations, key=lambda o: o.id)),
        sources=tuple(pair for pair in lineage.sources(db, ids) if pair[1] in ids),
        replaced=tuple(
            (by, old)
            for old, by, cycle in lineage.replaced_by(db, ids)
            if old in ids and made_in[cycle].status != "reverted"
        ),
        message_links=tuple(lineage.message_links(db, ids)),
        messages={m.id: m for m in lineage.messages_below(db, ids)},
        cycles=made_in,
        memories=tuple(curated.memories(db)),
        entities=tuple(entities),
        relations=tuple(graph.relations_with(db, [e.id for e in entities], past=True)),
        usage=tuple(books.usage_lines(db)),
        spent=tuple(books.spent(db)),
    )
