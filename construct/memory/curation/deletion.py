"""Deleting a conversation, with all that rests on what was said in it."""

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from construct.clock import Clock, to_text
from construct.memory.curation import forget
from construct.memory.curation.memories import promote
from construct.memory.graph.storing import drop_unsaid_names
from construct.memory.shown.escaping import escape
from construct.store import erase, lineage, remnants, talk
from construct.store import observations as rows
from construct.store.database import transaction
from construct.store.records import Conversation, Memory, Message, Observation

_LEAST_QUOTE = 12
"""Characters; what is shorter is no telling quotation."""
_MOST_COLONS = 4
"""That the head of a result can hold: `message 1, 2026-03-01 user (loose: only part of the words): …`."""


@dataclass(frozen=True, slots=True)
class DeletionPlan:
    """What deleting a conversation will take along."""

    conversation: Conversation
    messages: int
    observations: tuple[Observation, ...]
    """Its own, and reflections of several conversations that rest on it too."""
    reactivated: tuple[Observation, ...]
    """What those reflections were made of in other conversations: active again."""
    memories: tuple[Memory, ...]
    """Promoted from those observations."""
    forks: tuple[Conversation, ...]
    """Conversations forked from it: they go on without what they have from it."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """What was deleted."""

    conversation: int
    messages: int
    observations: int
    reactivated: int
    memories: int
    relations: int
    entities: int
    forks: tuple[int, ...]
    pending_erasure: bool
    """Its bytes are still in the file and are cleared out later (`erase.finish_erasure`).

    Another process reads the file, or the disk is full or failing.
    """


def plan_deletion(db: sqlite3.Connection, conversation_id: int) -> DeletionPlan:
    """Return what deleting a conversation will take along; raises NotFoundError."""
    conversation = talk.conversation(db, conversation_id)
    gone = _resting_on(db, conversation_id)
    (messages,) = db.execute("SELECT count(*) FROM messages WHERE conversation_id = ?", (conversation_id,)).fetchone()
    forks = db.execute("SELECT id FROM conversations WHERE parent_id = ? ORDER BY id", (conversation_id,)).fetchall()
    return DeletionPlan(
        conversation,
        messages,
        tuple(rows.observations(db, sorted(gone))),
        tuple(rows.observations(db, sorted(forget.freed(db, gone)))),
        tuple(lineage.memories_from(db, gone)),
        tuple(talk.conversation(db, row[0]) for row in forks),
    )


def delete_conversation(
    db: sqlite3.Connection, conversation_id: int, clock: Clock, *, wait: float = erase.WAIT_SECONDS
) -> Deleted:
    """Delete a conversation and clear its bytes out; raises NotFoundError."""
    with transaction(db):
        plan = plan_deletion(db, conversation_id)
        relations, entities = _carry_out(db, plan, to_text(clock.now()))
    return Deleted(
        conversation_id,
        plan.messages,
        len(plan.observations),
        len(plan.reactivated),
        len(plan.memories),
        relations,
        entities,
        tuple(c.id for c in plan.forks),
        pending_erasure=not erase.finish_erasure(db, wait),
    )


def _carry_out(db: sqlite3.Connection, plan: DeletionPlan, now: str) -> tuple[int, int]:
    gone = [o.id for o in plan.observations]
    texts = [o.content for o in plan.observations]
    remnants.abandon_readers(db, now)
    own = talk.messages_of(db, plan.conversation.id)
    remnants.drop_tool_rounds(db, _quoting(db, own))
    for thread in forget.threads_without(db, (), texts):
        remnants.store_thread(db, thread)
    forget.clear_notes(db, forget.noting_cycles(db, texts), texts)
    forget.withdraw(db, gone)
    counts = erase.delete_memories(db, [m.id for m in plan.memories])
    erase.delete_observations(db, gone)
    erase.delete_conversation(db, plan.conversation.id)
    promote(db, now)
    drop_unsaid_names(db)
    erase.begin_erasure(db)
    return counts


def _quoting(db: sqlite3.Connection, own: Sequence[Message]) -> list[int]:
    """Return the replies in other conversations of which a tool round quotes what was said in this one."""
    said = " ".join(" ".join(escape(m.content).split()) for m in own)
    return [
        i
        for i, blocks in remnants.tool_rounds(db, [m.id for m in own])
        if any(_quotes(line, said) for line in forget.strings(json.loads(blocks)))
    ]


def _quotes(line: str, said: str) -> bool:
    """Return whether a line of a tool's result, or what stands behind one of its first colons, was said there."""
    parts = " ".join(line.split()).split(": ", _MOST_COLONS)
    quoted = (": ".join(parts[at:]).strip(" …[]") for at in range(len(parts)))
    return any(len(text) >= _LEAST_QUOTE and text in said for text in quoted)


def _resting_on(db: sqlite3.Connection, conversation_id: int) -> Collection[int]:
    """Return all observations of a conversation, all that rest on its messages, and what took names from these."""
    found = {
        row[0]
        for row in db.execute(
            """SELECT id FROM observations WHERE conversation_id = :id
               UNION SELECT observation_id FROM observation_messages
               JOIN messages ON messages.id = message_id WHERE messages.conversation_id = :id""",
            {"id": conversation_id},
        )
    }
    while (grown := forget.risen(db, forget.borrowing(db, found))) != found:
        found = grown
    return found
