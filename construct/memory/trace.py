"""Trace an observation to its messages through every generation, and list its history."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from construct.store import cycles, flags, note_history, note_links, observations
from construct.store.attachments import attachments_of
from construct.store.driver import Connection
from construct.store.records import Cycle, Message, Observation, StoredAttachment
from construct.store.succession import Successor, replaced_observations, successor_history
from construct.vocabulary import EXTRACTIVE, CycleKind, CycleStatus, Flag, Origin, Replacement

_MAX_MESSAGES = 12
"""The most messages that the history of an observation lists."""


@dataclass(frozen=True, slots=True)
class TraceNode:
    """An observation, the messages it cites directly, and what it was condensed from.

    If several were condensed from the same observation, they share its node.
    """

    observation: Observation
    messages: tuple[Message, ...]
    sources: tuple["TraceNode", ...]


@dataclass(frozen=True, slots=True)
class LifeEvent:
    """One thing that happened to an observation; `at` is a stored time."""

    at: str
    event: str
    """`said`, `noted`, `joined`, `edited`, `checked`, `replaced`, `repeated`, `kept`,
    `stand-in`, `shelved`, `in sight`, `unsure`, `settled`, `withheld`, `dropped` or `undone`."""
    text: str


@dataclass(frozen=True, slots=True)
class Trace:
    """The sources of an observation and its history."""

    observation: Observation
    sources: tuple[Observation, ...]
    """The observations it was condensed from, through every generation, nearest first."""
    messages: tuple[Message, ...]
    """All messages behind it, through every generation, oldest first."""
    tree: TraceNode
    life: tuple[LifeEvent, ...]
    """Its history, oldest first."""
    attachments: tuple[StoredAttachment, ...] = ()
    """The files that came with the messages."""


def trace_observation(db: Connection, observation_id: int) -> Trace:
    """Return the sources of an observation and its history.

    Raises NotFoundError if there is no such observation.
    """
    observation = observations.observation(db, observation_id)
    sources = note_links.sources_nearest_first(db, observation_id)
    messages = note_links.messages_behind(db, [observation_id])
    history = [
        *_origin_events(db, observation, messages),
        *_later_events(db, observation),
    ]
    return Trace(
        observation,
        tuple(sources),
        tuple(messages),
        _tree(db, [observation, *sources]),
        life=tuple(sorted(history, key=lambda event: event.at)),
        attachments=tuple(attachments_of(db, messages)),
    )


def nodes_in_order(root: TraceNode) -> Iterator[tuple[int, TraceNode, bool]]:
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


def _tree(db: Connection, observations: Sequence[Observation]) -> TraceNode:
    """Return the node of the first observation; the others are all its sources."""
    ids = [o.id for o in observations]
    messages = {m.id: m for m in note_links.messages_behind(db, ids)}
    cited: dict[int, list[Message]] = {i: [] for i in ids}
    for observation_id, message_id in note_links.message_links(db, ids):
        cited[observation_id].append(messages[message_id])
    source_ids: dict[int, list[int]] = {i: [] for i in ids}
    for observation_id, source_id in note_links.source_links(db, ids):
        source_ids[observation_id].append(source_id)
    nodes: dict[int, TraceNode] = {}
    for o in sorted(observations, key=lambda o: (o.generation, o.id)):  # sources come first
        below = tuple(nodes[i] for i in source_ids[o.id] if i in nodes)
        nodes[o.id] = TraceNode(o, tuple(cited[o.id]), below)
    return nodes[observations[0].id]


def _origin_events(
    db: Connection, o: Observation, messages: Sequence[Message]
) -> Iterator[LifeEvent]:
    """Yield how an observation came about: what was said, and who noted and checked it."""
    cycle = cycles.get_cycle(db, o.cycle_id)
    for m in messages[:_MAX_MESSAGES]:
        yield LifeEvent(m.created_at, "said", f"message:{m.id} {m.role}: {m.text}")
    source_ids = [str(source_id) for _, source_id in note_links.source_links(db, [o.id])]
    if o.origin == Origin.USER:
        event = "kept" if o.kept else "edited"
        yield LifeEvent(o.created_at, event, f"you wrote: {o.content}")
    elif o.origin == Origin.ASSISTANT:
        yield LifeEvent(o.created_at, "kept", f"by the assistant: {o.content}")
    elif source_ids:
        text = f"from {', '.join(source_ids)} by {_cycle_name(cycle)}"
        yield LifeEvent(o.created_at, "joined", text)
    else:
        yield LifeEvent(o.created_at, "noted", f"by {_cycle_name(cycle)}")
    checked_cycles = {cycle.id: cycle} if o.generation else {}
    for old in replaced_observations(db, o.id):
        assert old.superseded_at is not None
        assert old.superseded_by is not None
        yield LifeEvent(old.superseded_at, "replaced", f"{old.id}: {old.content}")
        checked_cycles[old.superseded_by] = cycles.get_cycle(db, old.superseded_by)
    for checked in checked_cycles.values():
        if verifier := note_history.checked_by(db, checked.id):
            yield LifeEvent(_ended_at(checked), "checked", f"by {verifier}")


def _later_events(db: Connection, o: Observation) -> Iterator[LifeEvent]:
    """Yield what happened to an observation after it was made."""
    successors = successor_history(db, o.id)
    for successor in successors:
        yield _succession_event(successor)
    for cycle in {s.cycle.id: s.cycle for s in successors}.values():
        if cycle.status == CycleStatus.REVERTED and cycle.reverted_at:
            yield LifeEvent(cycle.reverted_at, "undone", _taken_back(cycle))
    for at, note in note_history.notes_quoting(db, o.content):
        yield LifeEvent(at, _event_of(note), note)
    yield from _flag_events(db, o)
    for at in note_history.withheld_at(db, o.id):
        yield LifeEvent(at, "withheld", "you asked to forget it")
    if not o.superseded_at or o.superseded_by is None:
        return
    cycle = cycles.get_cycle(db, o.superseded_by)
    if o.superseded_by == o.cycle_id:
        yield LifeEvent(o.superseded_at, "undone", _taken_back(cycle))
    elif all(o.superseded_by != successor.cycle.id for successor in successors):
        text = f"by {_cycle_name(cycle)}, as no longer of use"
        yield LifeEvent(o.superseded_at, "dropped", text)


def _flag_events(db: Connection, o: Observation) -> Iterator[LifeEvent]:
    """Yield when an observation left the sight or became doubtful, and when that ended."""
    for change in flags.flag_history(db, o.id):
        cycle = cycles.get_cycle(db, change.cycle_id)
        event, text = _FLAG_EVENTS[Flag(change.flag), bool(change.is_end)]
        yield LifeEvent(change.at, event, f"by {_cycle_name(cycle)}, {text}")
        if change.reverted_at:
            yield LifeEvent(change.reverted_at, "undone", _taken_back(cycle))


_FLAG_EVENTS: Mapping[tuple[Flag, bool], tuple[str, str]] = {
    (Flag.SHELVED, False): ("shelved", "as still true and not needed in sight"),
    (Flag.SHELVED, True): ("in sight", "as recall brought it back often"),
    (Flag.DOUBTFUL, False): ("unsure", "as a later change may have made it untrue"),
    (Flag.DOUBTFUL, True): ("settled", "as still true"),
}


def _event_of(note: str) -> str:
    """Return what a cycle's note on an observation tells of."""
    return "stand-in" if note.startswith(note_history.STAND_IN) else "kept"


def _succession_event(successor: Successor) -> LifeEvent:
    """Return how an observation was replaced by its successor."""
    at = _ended_at(successor.cycle)
    newer = f"{successor.observation.id}: {successor.observation.content}"
    match successor.relation:
        case Replacement.EDIT:
            return LifeEvent(at, "edited", f"into {newer}")
        case Replacement.SAME:
            return LifeEvent(at, "repeated", f"by {newer}")
        case Replacement.OUTDATED:
            return LifeEvent(at, "replaced", f"by {newer}")
    return LifeEvent(at, "joined", f"into {newer}")


_WORKERS = {
    CycleKind.OBSERVER: "the observer",
    CycleKind.REFLECTOR: "the reflector",
    CycleKind.EDIT: "your edit",
    CycleKind.GRAPH: "the graph",
}


def _ended_at(cycle: Cycle) -> str:
    return cycle.finished_at or cycle.started_at


def _taken_back(cycle: Cycle) -> str:
    is_edit = cycle.kind == CycleKind.EDIT
    work = _cycle_name(cycle) if is_edit else f"the work of {_cycle_name(cycle)}"
    return f"{work} was taken back"


def _cycle_name(cycle: Cycle) -> str:
    """Return who ran a cycle, such as "the observer (claude-haiku-5)"."""
    worker = _WORKERS[CycleKind(cycle.kind)]
    if cycle.kind == CycleKind.EDIT and cycle.model:
        by = "without a model" if cycle.model == EXTRACTIVE else cycle.model
        return f"reading it again ({by})"
    if cycle.kind == CycleKind.EDIT or not cycle.model:
        return worker
    model = "without a model" if cycle.model == EXTRACTIVE else cycle.model
    return f"{worker} ({model})"
