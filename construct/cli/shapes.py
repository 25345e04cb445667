"""What `--json` prints: records as the dictionaries of contract.md. Pure."""

from dataclasses import asdict
from typing import Any

from construct.clock import Clock
from construct.memory.inspection.timeline import Period
from construct.memory.inspection.trace import MemoryTrace, MessageTrace, ReplyTrace, Trace
from construct.memory.recall.search import Hit
from construct.repl.views.words import day
from construct.store.records import Conversation, Cycle, Memory, Message, Observation
from construct.store.talk import ConversationSummary


def observation(o: Observation) -> dict[str, Any]:
    """Return an observation."""
    return {
        "kind": "observation",
        "id": o.id,
        "conversation": o.conversation_id,
        "date": o.observation_date,
        "text": o.content,
        "generation": o.generation,
        "priority": o.priority,
        "stance": o.stance,
        "state": o.state,
        "referenced_date": o.referenced_date,
        "pinned": bool(o.pinned),
        "origin": o.origin,
        "withheld": bool(o.withheld),
    }


def memory(m: Memory, clock: Clock, conversation: int | None = None) -> dict[str, Any]:
    """Return a memory; the conversation is that of the observation it was promoted from."""
    return {
        "kind": "memory",
        "id": f"memory:{m.id}",
        "conversation": conversation,
        "date": str(day(m.created_at, clock)),
        "text": m.content,
        "state": "active" if m.superseded_at is None else "superseded",
        "category": m.category,
        "origin": m.origin,
        "observation": m.observation_id,
    }


def message(m: Message) -> dict[str, Any]:
    """Return a message as `memory show` has it."""
    return {
        "kind": "message",
        "id": f"message:{m.id}",
        "conversation": m.conversation_id,
        "date": m.created_at,
        "text": m.content,
        "role": m.role,
        "status": m.status,
    }


def source_message(m: Message) -> dict[str, Any]:
    """Return a message as `memory why` has it."""
    return {"id": m.id, "role": m.role, "content": m.content, "created_at": m.created_at}


def traced(found: Trace | MessageTrace | MemoryTrace | None) -> dict[str, Any]:
    """Return where something comes from, or what rests on a message, as `memory why` has it."""
    match found:
        case MemoryTrace():
            return traced(found.trace)
        case MessageTrace():
            return {
                "message": source_message(found.message),
                "observations": [observation(o) for o in found.observations],
            }
        case Trace():
            return {
                "observation": observation(found.observation),
                "sources": [observation(o) for o in found.sources],
                "messages": [source_message(m) for m in found.messages],
                "life": [asdict(event) for event in found.life],
            }
        case None:  # kept by hand: it rests on nothing
            return {"observation": None, "sources": [], "messages": []}


def reply(found: ReplyTrace, clock: Clock) -> dict[str, Any]:
    """Return what a reply was given, as `memory why last` has it."""
    return {
        "message": source_message(found.reply),
        "observations": {"blocks": found.blocks, "lines": found.lines},
        "given": [{"way": given.way} | _any(given.what, clock) for given in found.given],
    }


def _any(what: Observation | Memory | Message, clock: Clock) -> dict[str, Any]:
    match what:
        case Observation():
            return observation(what)
        case Memory():
            return memory(what, clock)
        case Message():
            return message(what)


def hit(h: Hit) -> dict[str, Any]:
    """Return something found."""
    shape: dict[str, Any] = {
        "kind": h.kind,
        "id": h.id if h.kind == "observation" else f"{h.kind}:{h.id}",
        "conversation": h.conversation,
        "date": h.created_at if h.kind == "message" else h.date,
        "text": h.text,
        "score": round(h.score, 6),
    }
    if h.match != "direct":
        shape["match"] = h.match
    if h.kind == "message":
        shape["role"] = h.role
    if h.kind == "memory":
        shape["state"] = h.state
    if h.kind == "observation":
        shape |= {"generation": h.generation, "priority": h.priority, "stance": h.stance, "state": h.state}
    return shape


def conversation(summary: ConversationSummary) -> dict[str, Any]:
    """Return a conversation of the list."""
    c = summary.conversation
    return _conversation(c) | {"messages": summary.messages, "last_at": summary.last_at}


def _conversation(c: Conversation) -> dict[str, Any]:
    return {
        "id": c.id,
        "title": c.title,
        "created_at": c.created_at,
        "parent": c.parent_id,
        "forked_at_message": c.forked_at_message_id,
        "current_task": c.current_task,
    }


def talk(c: Conversation, messages: list[Message]) -> dict[str, Any]:
    """Return a conversation with its messages."""
    return _conversation(c) | {
        "messages": [
            source_message(m) | {"status": m.status, "archived": bool(m.archived), "left_out": m.left_out}
            for m in messages
        ]
    }


def cycle(c: Cycle) -> dict[str, Any]:
    """Return a cycle of the audit trail."""
    return {
        "id": c.id,
        "kind": c.kind,
        "status": c.status,
        "conversation": c.conversation_id,
        "model": c.model,
        "started_at": c.started_at,
        "finished_at": c.finished_at,
        "attempts": c.attempts,
        "error": c.error,
    }


def week(one: Period) -> dict[str, Any]:
    """Return a week of the timeline."""
    return {
        "monday": one.begin.isoformat(),
        "learned": one.learned,
        "superseded": one.superseded,
        "reflections": one.reflections,
        "corrected": one.corrected,
        "active": dict(one.active),
    }
