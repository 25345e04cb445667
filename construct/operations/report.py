"""Everything that the memory page shows, read in one snapshot.

Cycles that were undone count as never run.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from construct.operations.context import Context
from construct.store import cycles, graph, provenance
from construct.store import observations as rows
from construct.store.conversations import list_conversations
from construct.store.database import snapshot
from construct.store.graph import Entity, Relation
from construct.store.memories import list_memories
from construct.store.records import Cycle, Memory, Message, Observation
from construct.store.usage import Spent, UsageLine, spent_by_call, usage_lines
from construct.vocabulary import CycleStatus

_ALL = 1 << 62


@dataclass(frozen=True, slots=True)
class Report:
    """A whole memory. Every list is oldest first, by id."""

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


def report(context: Context) -> Report:
    """Return all that is remembered, with where it comes from and what it cost."""
    db = context.db
    with snapshot(db):
        observations = provenance.without_reverted(db, [o.id for o in rows.all_observations(db)])
        ids = {o.id for o in observations}
        entities = graph.entities(db)
        conversations = list_conversations(db)
        made_in = {c.id: c for c in cycles.cycles(db, _ALL)}
        return Report(
            titles={c.conversation.id: c.conversation.title for c in conversations},
            message_count=sum(c.messages for c in conversations),
            observations=tuple(sorted(observations, key=lambda o: o.id)),
            sources=tuple(pair for pair in provenance.source_links(db, ids) if pair[1] in ids),
            replaced=tuple(
                (newer, old)
                for old, newer, cycle in provenance.replacement_links(db, ids)
                if old in ids and made_in[cycle].status != CycleStatus.REVERTED
            ),
            message_links=tuple(provenance.message_links(db, ids)),
            messages={m.id: m for m in provenance.messages_behind(db, ids)},
            cycles=made_in,
            memories=tuple(list_memories(db)),
            entities=tuple(entities),
            relations=tuple(graph.relations_with(db, [e.id for e in entities], past=True)),
            usage=tuple(usage_lines(db)),
            spent=tuple(spent_by_call(db)),
        )
