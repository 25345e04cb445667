"""Where something remembered comes from: down through every generation to the exact messages."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from construct.errors import NotFoundError
from construct.memory.inspection.life import LifeEvent, life_of
from construct.memory.shown.forks import descent
from construct.references import Reference
from construct.store import briefings, curated, lineage, talk
from construct.store import observations as rows
from construct.store.briefings import Told
from construct.store.records import Memory, Message, Observation


@dataclass(frozen=True, slots=True)
class Node:
    """An observation with what it was made of and the messages it names itself; shared where several rest on it."""

    observation: Observation
    messages: tuple[Message, ...]
    sources: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """All that an observation rests on, and what became of it."""

    observation: Observation
    sources: tuple[Observation, ...]
    """Observations of all generations below, nearest first."""
    messages: tuple[Message, ...]
    """All messages it rests on, through every generation, oldest first."""
    tree: Node
    life: tuple[LifeEvent, ...]
    """All that happened to it, oldest first."""


@dataclass(frozen=True, slots=True)
class MessageTrace:
    """What rests on a message, lowest generation first."""

    message: Message
    observations: tuple[Observation, ...]


@dataclass(frozen=True, slots=True)
class MemoryTrace:
    """Where a memory comes from: an observation, or directly from its `origin`."""

    memory: Memory
    trace: Trace | None


@dataclass(frozen=True, slots=True)
class Given:
    """Something of memory that the model was given, and how: `due`, `passage`, `recall` or `source`."""

    way: str
    what: Observation | Memory | Message


@dataclass(frozen=True, slots=True)
class ReplyTrace:
    """What the model was given for a reply, beside the talk itself; what was forgotten since is in it no more."""

    reply: Message
    blocks: int
    """Blocks of observations that stood before the talk."""
    lines: int
    given: tuple[Given, ...]


def why(db: sqlite3.Connection, observation_id: int) -> Trace:
    """Return what an observation rests on; raises NotFoundError."""
    found = rows.observation(db, observation_id)
    sources = lineage.nearest_first(db, observation_id)
    cycle, messages = lineage.cycle(db, found.cycle_id), lineage.messages_below(db, [observation_id])
    return Trace(
        found,
        tuple(sources),
        tuple(messages),
        _tree(db, [found, *sources]),
        life=tuple(life_of(db, found, cycle, messages)),
    )


def why_message(db: sqlite3.Connection, message_id: int) -> MessageTrace:
    """Return the observations of every generation that rest on a message; raises NotFoundError."""
    message = talk.message(db, message_id)
    resting = lineage.above(db, [o.id for o in lineage.resting_on(db, [message_id])])
    return MessageTrace(message, tuple(lineage.unreverted(db, resting)))


def why_memory(db: sqlite3.Connection, memory_id: int) -> MemoryTrace:
    """Return where a memory comes from; raises NotFoundError."""
    memory = curated.memory(db, memory_id)
    return MemoryTrace(memory, None if memory.observation_id is None else why(db, memory.observation_id))


def traced(db: sqlite3.Connection, reference: Reference) -> Trace | MessageTrace | MemoryTrace:
    """Return where what an id names comes from, or what rests on it; raises NotFoundError."""
    kind, number = reference
    if kind == "message":
        return why_message(db, number)
    return why_memory(db, number) if kind == "memory" else why(db, number)


def why_last(db: sqlite3.Connection, conversation_id: int | None) -> ReplyTrace:
    """Return what the last reply of a conversation, or of what it was forked from, was given; raises NotFoundError."""
    members = [] if conversation_id is None else descent(db, conversation_id)
    reply_id = next(filter(None, (briefings.last_reply(db, *one) for one in members)), None)
    if reply_id is None:
        raise NotFoundError("There is no reply yet.")
    reply, briefed = talk.message(db, reply_id), briefings.of_reply(db, reply_id)
    if briefed is None:
        raise NotFoundError(f"What the last reply, message:{reply_id}, was given has not been noted.")
    return ReplyTrace(reply, briefed.blocks, briefed.lines, tuple(Given(t.way, _read(db, t)) for t in briefed.told))


def _read(db: sqlite3.Connection, told: Told) -> Observation | Memory | Message:
    if told.kind == "message":
        return talk.message(db, told.id)
    return curated.memory(db, told.id) if told.kind == "memory" else rows.observation(db, told.id)


def drawn(tree: Node) -> Iterator[tuple[int, Node, bool]]:
    """Yield (depth, node, seen before) in the order of drawing; what was seen is not gone into again."""
    seen: set[int] = set()
    stack = [(0, tree)]
    while stack:
        depth, node = stack.pop()
        again = node.observation.id in seen
        yield depth, node, again
        if not again:
            seen.add(node.observation.id)
            stack += [(depth + 1, source) for source in reversed(node.sources)]


def _tree(db: sqlite3.Connection, members: Sequence[Observation]) -> Node:
    """Return the tree of the first of `members`, which are all that it needs; built from the lowest generation up."""
    ids = [o.id for o in members]
    links = lineage.message_links(db, ids)
    messages = {m.id: m for m in lineage.messages_below(db, ids)}
    named: dict[int, list[Message]] = {i: [] for i in ids}
    for observation_id, message_id in links:
        named[observation_id].append(messages[message_id])
    made_of: dict[int, list[int]] = {i: [] for i in ids}
    for observation_id, source_id in lineage.sources(db, ids):
        made_of[observation_id].append(source_id)
    nodes: dict[int, Node] = {}
    for o in sorted(members, key=lambda o: (o.generation, o.id)):
        below = tuple(nodes[i] for i in made_of[o.id] if i in nodes)
        nodes[o.id] = Node(o, tuple(named[o.id]), below)
    return nodes[members[0].id]
