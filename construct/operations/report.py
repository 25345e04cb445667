"""Read everything that the memory page shows, in one snapshot.

The observations and replacements of reverted cycles are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from construct.operations.context import Context
from construct.store import cycles, graph, note_links, observations
from construct.store.agenda import DatedNote, dated_notes
from construct.store.conversations import list_conversations
from construct.store.database import snapshot
from construct.store.graph import Entity, Relation
from construct.store.note_history import without_reverted
from construct.store.records import Cycle, Message, Observation
from construct.store.succession import replacement_links
from construct.store.usage import Spent, UsageLine, spent_by_call, usage_lines

_NO_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True)
class Report:
    """The whole memory. Observations and entities are ordered by id."""

    titles: Mapping[int, str | None]
    """The title of every conversation, by its id."""
    message_count: int
    """How many messages all conversations have together."""
    observations: tuple[Observation, ...]
    """All observations, superseded and withheld ones included."""
    dated: tuple[DatedNote, ...]
    """What may be on the agenda."""
    sources: tuple[tuple[int, int], ...]
    """Pairs of ids: a reflection and an observation it condenses."""
    replaced: tuple[tuple[int, int], ...]
    """Pairs of ids: an observation and one that it replaced."""
    message_links: tuple[tuple[int, int], ...]
    """Pairs of ids: an observation and a message it comes from."""
    messages: Mapping[int, Message]
    """The messages that observations come from, by id."""
    cycles: Mapping[int, Cycle]
    """All cycles by id, reverted ones included."""
    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    """All relations, superseded ones included."""
    usage: tuple[UsageLine, ...]
    spent: tuple[Spent, ...]


def report(context: Context) -> Report:
    """Return everything that is remembered, where it comes from, and what it cost."""
    db = context.db
    with snapshot(db):
        known = without_reverted(db, [o.id for o in observations.all_observations(db)])
        by_id = {o.id: o for o in known}
        ids = by_id.keys()
        entities = graph.entities(db)
        conversations = list_conversations(db)
        all_cycles = {c.id: c for c in cycles.cycles(db, _NO_LIMIT)}
        return Report(
            titles={c.conversation.id: c.conversation.title for c in conversations},
            message_count=sum(c.messages for c in conversations),
            observations=tuple(sorted(known, key=lambda o: o.id)),
            dated=tuple(dated_notes(db)),
            sources=tuple(pair for pair in note_links.source_links(db, ids) if pair[1] in ids),
            replaced=tuple(
                (newer, old)
                for old, newer, cycle in replacement_links(db, ids)
                if old in ids and by_id[old].superseded_by == cycle
            ),
            message_links=tuple(note_links.message_links(db, ids)),
            messages={m.id: m for m in note_links.messages_behind(db, ids)},
            cycles=all_cycles,
            entities=tuple(entities),
            relations=tuple(graph.relations_with(db, [e.id for e in entities], past=True)),
            usage=tuple(usage_lines(db)),
            spent=tuple(spent_by_call(db)),
        )
