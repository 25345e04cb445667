"""Where something comes from: an observation, a memory, a message, the last reply."""

from dataclasses import dataclass

from construct.errors import NotFoundError
from construct.memory.provenance import Trace
from construct.memory.provenance import why as trace_of
from construct.memory.shown.forks import descent
from construct.notebook import quoted, with_words
from construct.operations.context import Context
from construct.operations.memory import StoredMemory, show
from construct.references import Reference
from construct.store import observations, provenance
from construct.store.attachments import attached_to
from construct.store.memories import get_memory
from construct.store.messages import get_message
from construct.store.records import Attached, Memory, Message, Observation
from construct.store.reply_context import ContextItem, get_reply_context, last_reply
from construct.store.shown import shown_ids
from construct.vocabulary import ItemKind, Way


@dataclass(frozen=True, slots=True)
class MessageTrace:
    """A message and the observations drawn from it, lowest generation first."""

    message: Message
    observations: tuple[Observation, ...]
    attachments: tuple[Attached, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryTrace:
    """Where a memory comes from: an observation, or else its `origin` itself."""

    memory: Memory
    trace: Trace | None


def why(ctx: Context, reference: Reference) -> Trace | MessageTrace | MemoryTrace:
    """Return what something rests on, or what rests on a message.

    Raises NotFoundError.
    """
    kind, number = reference
    if kind == ItemKind.OBSERVATION:
        return trace_of(ctx.db, number)
    if kind == ItemKind.MEMORY:
        memory = get_memory(ctx.db, number)
        behind = memory.observation_id
        return MemoryTrace(memory, None if behind is None else trace_of(ctx.db, behind))
    message = _with_words(ctx, get_message(ctx.db, number))
    direct = [o.id for o in provenance.observations_from(ctx.db, [number])]
    resting = provenance.with_reflections(ctx.db, direct)
    return MessageTrace(
        message,
        tuple(provenance.without_reverted(ctx.db, resting)),
        tuple(attached_to(ctx.db, [message])),
    )


@dataclass(frozen=True, slots=True)
class Given:
    """One remembered item that was put into the prompt, and how it got there."""

    way: str
    what: Observation | Memory | Message


@dataclass(frozen=True, slots=True)
class ReplyTrace:
    """What the model was given for a reply, besides the conversation itself.

    What was forgotten since is left out.
    """

    reply: Message
    blocks: int
    """Blocks of observations that stood before the conversation."""
    lines: int
    standing: tuple[Observation, ...]
    """Of those lines, the ones that are still shown, oldest first."""
    given: tuple[Given, ...]


def why_last(ctx: Context) -> ReplyTrace:
    """Return what the last reply here was given.

    In a fork that has no reply yet, the last one before the fork. Raises NotFoundError.
    """
    here = ctx.conversation_id
    members = [] if here is None else descent(ctx.db, here)
    replies = (last_reply(ctx.db, *member) for member in members)
    reply_id = next((reply for reply in replies if reply), None)
    if reply_id is None:
        raise NotFoundError("There is no reply yet.")
    reply = get_message(ctx.db, reply_id)
    if reply.quotes is not None:
        given = tuple(Given(Way.PASSAGE, message) for message in quoted(ctx.db, reply))
        return ReplyTrace(_with_words(ctx, reply), 0, 0, (), given)
    context = get_reply_context(ctx.db, reply_id)
    if context is None:
        raise NotFoundError(f"It was not noted what the last reply, message:{reply_id}, was given.")
    shown = observations.observations(ctx.db, shown_ids(ctx.db, reply.conversation_id))
    return ReplyTrace(
        reply,
        context.blocks,
        context.lines,
        tuple(o for o in shown if o.committed_at and o.committed_at <= reply.created_at),
        tuple(Given(item.way, _read(ctx, item)) for item in context.items),
    )


def _with_words(ctx: Context, message: Message) -> Message:
    return with_words(ctx.db, [message], ctx.clock)[0]


def _read(ctx: Context, item: ContextItem) -> Observation | Memory | Message:
    found = show(ctx, (item.kind, item.id))
    return found.memory if isinstance(found, StoredMemory) else found
