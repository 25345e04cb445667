"""Trace an observation to its messages through every generation, and list its history.

The history says when it was said, noted, joined, checked, kept back, replaced, edited or
undone.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from construct.store import cycles, observations, provenance
from construct.store.attachments import attachments_of
from construct.store.provenance import Successor
from construct.store.records import Cycle, Message, Observation, StoredAttachment
from construct.vocabulary import CycleKind, CycleStatus

_MAX_MESSAGES = 12
"""Messages that the history of an observation lists."""


@dataclass(frozen=True, slots=True)
class Node:
    """An observation, the messages it cites directly, and what it was condensed from.

    If several were condensed from the same observation, they share its node.
    """

    observation: Observation
    messages: tuple[Message, ...]
    sources: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class LifeEvent:
    """One thing that happened to an observation; `at` is a stored time."""

    at: str
    event: str
    """`said`, `noted`, `joined`, `edited`, `checked`, `replaced`, `repeated`, `kept
    back`, `withheld`, `dropped` or `undone`."""
    text: str


@dataclass(frozen=True, slots=True)
class Trace:
    """The sources of an observation and its history."""

    observation: Observation
    sources: tuple[Observation, ...]
    """The observations it was condensed from, through every generation, nearest first."""
    messages: tuple[Message, ...]
    """All messages behind it, through every generation, oldest first."""
    tree: Node
    life: tuple[LifeEvent, ...]
    """Its history, oldest first."""
    attachments: tuple[StoredAttachment, ...] = ()
    """The files that came with the messages."""


def why(db: sqlite3.Connection, observation_id: int) -> Trace:
    """Return the sources of an observation and its history.

    Raises NotFoundError if there is no such observation.
    """
    found = observations.observation(db, observation_id)
    sources = provenance.sources_nearest_first(db, observation_id)
    messages = provenance.messages_behind(db, [observation_id])
    return Trace(
        found,
        tuple(sources),
        tuple(messages),
        _tree(db, [found, *sources]),
        life=tuple(sorted(_life(db, found, messages), key=lambda event: event.at)),
        attachments=tuple(attachments_of(db, messages)),
    )


def nodes_in_order(root: Node) -> Iterator[tuple[int, Node, bool]]:
    """Yield (depth, node, whether it was seen before), from the root downwards.

    What is below a node that was seen before is not yielded again.
    """
    seen: set[int] = set()
    stack = [(0, root)]
    while stack:
        depth, node = stack.pop()
        is_repeated = node.observation.id in seen
        yield depth, node, is_repeated
        if not is_repeated:
            seen.add(node.observation.id)
            stack += [(depth + 1, source) for source in reversed(node.sources)]


def _tree(db: sqlite3.Connection, members: Sequence[Observation]) -> Node:
    """Return the node of the first of `members`.

    `members` are that observation and all that it was condensed from.
    """
    ids = [o.id for o in members]
    messages = {m.id: m for m in provenance.messages_behind(db, ids)}
    cited: dict[int, list[Message]] = {i: [] for i in ids}
    for observation_id, message_id in provenance.message_links(db, ids):
        cited[observation_id].append(messages[message_id])
    source_ids: dict[int, list[int]] = {i: [] for i in ids}
    for observation_id, source_id in provenance.source_links(db, ids):
        source_ids[observation_id].append(source_id)
    nodes: dict[int, Node] = {}
    for o in sorted(members, key=lambda o: (o.generation, o.id)):  # sources come first
        below = tuple(nodes[i] for i in source_ids[o.id] if i in nodes)
        nodes[o.id] = Node(o, tuple(cited[o.id]), below)
    return nodes[members[0].id]


def _life(
    db: sqlite3.Connection, o: Observation, messages: Sequence[Message]
) -> Iterator[LifeEvent]:
    cycle = cycles.get_cycle(db, o.cycle_id)
    yield from _beginnings(db, o, cycle, messages)
    successors = provenance.successor_history(db, o.id)
    for one in successors:
        yield from _succession(one)
    for at, note in provenance.notes_quoting(db, o.content):
        yield LifeEvent(at, "kept back", note)
    for at in provenance.withheld_at(db, o.id):
        yield LifeEvent(at, "withheld", "you asked to forget it")
    if not o.superseded_at or o.superseded_by is None:
        return
    if o.superseded_by == o.cycle_id:
        yield LifeEvent(o.superseded_at, "undone", f"{_named(cycle)} was taken back")
    elif o.superseded_by not in {one.cycle.id for one in successors}:
        ended = cycles.get_cycle(db, o.superseded_by)
        yield LifeEvent(o.superseded_at, "dropped", f"by {_named(ended)}: no longer of use")


def _beginnings(
    db: sqlite3.Connection, o: Observation, cycle: Cycle, messages: Sequence[Message]
) -> Iterator[LifeEvent]:
    for m in messages[:_MAX_MESSAGES]:
        yield LifeEvent(m.created_at, "said", f"message:{m.id} {m.role}: {m.text}")
    sources = [str(source) for _, source in provenance.source_links(db, [o.id])]
    if o.origin == "user":
        yield LifeEvent(o.created_at, "edited", f"you wrote: {o.content}")
    elif sources:
        made = f"from {', '.join(sources)} by {_named(cycle)}"
        yield LifeEvent(o.created_at, "joined", made)
    else:
        yield LifeEvent(o.created_at, "noted", f"by {_named(cycle)}")
    replaced = provenance.replaced_observations(db, o.id)
    for old in replaced:
        words = f"took the place of {old.id}: {old.content}"
        yield LifeEvent(o.committed_at or o.created_at, "replaced", words)
    checker = provenance.checked_by(db, cycle.id)
    if checker and (o.generation or replaced):
        yield LifeEvent(o.created_at, "checked", f"by {checker}")


_SUCCESSION = {
    "edit": ("edited", "into"),
    "same": ("repeated", "by"),
    "outdated": ("replaced", "by"),
    "source": ("joined", "into"),
}
"""What became of an observation, by the relation to what took its place."""


def _succession(one: Successor) -> Iterator[LifeEvent]:
    event, how = _SUCCESSION[one.relation]
    at = one.cycle.finished_at or one.cycle.started_at
    yield LifeEvent(at, event, f"{how} {one.observation.id}: {one.observation.content}")
    if one.cycle.status == CycleStatus.REVERTED and one.cycle.reverted_at:
        yield LifeEvent(one.cycle.reverted_at, "undone", f"{_named(one.cycle)} was taken back")


_CYCLES = {
    CycleKind.OBSERVER: "the observer",
    CycleKind.REFLECTOR: "the reflector",
    CycleKind.EDIT: "your edit",
    CycleKind.GRAPH: "the graph",
}


def _named(cycle: Cycle) -> str:
    kind = CycleKind(cycle.kind)
    if kind is CycleKind.EDIT or not cycle.model:
        return _CYCLES[kind]
    return f"{_CYCLES[kind]} ({'without a model' if cycle.model == 'extractive' else cycle.model})"
