"""All that a page about one's memory shows, read in one state of the database; what was undone counts as never run."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from construct.config import Settings
from construct.memory.cycles.situation import Terms
from construct.memory.inspection.status import status
from construct.store import books, curated, cycles, graph, lineage, talk
from construct.store import observations as rows
from construct.store.books import Spent, UsageLine
from construct.store.database import snapshot
from construct.store.graph import Entity, Relation
from construct.store.lineage import Span
from construct.store.records import Conversation, Cycle, Memory, Message, Observation

_ALL = 1 << 62


@dataclass(frozen=True, slots=True)
class Survey:
    """A whole memory. Everything is oldest first, by id."""

    panel: Mapping[str, Any]
    """The figures of `construct status`, of the latest conversation."""
    conversation: Conversation | None
    """The latest one."""
    live: tuple[int, ...]
    """The ids of its messages that are not archived."""
    titles: Mapping[int, str | None]
    """All conversations."""
    said: int
    """How many messages there are in all."""
    observations: tuple[Observation, ...]
    """Superseded ones too."""
    spans: tuple[Span, ...]
    """From when to when each of them held."""
    sources: tuple[tuple[int, int], ...]
    """(reflection, what it was made of)"""
    replaced: tuple[tuple[int, int], ...]
    """(observation, what it made outdated, or was edited from)"""
    words: tuple[tuple[int, int], ...]
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


def survey(db: sqlite3.Connection, settings: Settings, terms: Terms) -> Survey:
    """Return all that is remembered, with where it comes from and what it cost."""
    with snapshot(db):
        return _read(db, settings, terms)


def _read(db: sqlite3.Connection, settings: Settings, terms: Terms) -> Survey:
    here = talk.latest_conversation(db)
    observations = lineage.unreverted(db, [o.id for o in rows.all_observations(db)])
    ids = {o.id for o in observations}
    entities = graph.entities(db)
    talks = talk.conversations(db)
    made_in = {c.id: c for c in cycles.cycles(db, _ALL)}
    return Survey(
        panel=status(db, here, settings, terms),
        conversation=None if here is None else talk.conversation(db, here),
        live=() if here is None else tuple(m.id for m in talk.live_messages(db, here, 0)),
        titles={line.conversation.id: line.conversation.title for line in talks},
        said=sum(line.messages for line in talks),
        observations=tuple(sorted(observations, key=lambda o: o.id)),
        spans=tuple(lineage.spans(db)),
        sources=tuple(pair for pair in lineage.sources(db, ids) if pair[1] in ids),
        replaced=tuple(
            (by, old)
            for old, by, cycle in lineage.replaced_by(db, ids)
            if old in ids and made_in[cycle].status != "reverted"
        ),
        words=tuple(lineage.message_links(db, ids)),
        messages={m.id: m for m in lineage.messages_below(db, ids)},
        cycles=made_in,
        memories=tuple(curated.memories(db)),
        entities=tuple(entities),
        relations=tuple(graph.relations_with(db, [e.id for e in entities], past=True)),
        usage=tuple(books.usage_lines(db)),
        spent=tuple(books.spent(db)),
    )
