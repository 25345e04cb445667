"""`why`: where an observation or the last reply comes from."""

from dataclasses import dataclass

from construct.errors import NotFoundError
from construct.memory.shown.forks import descent
from construct.memory.trace import Trace, trace_observation
from construct.operations.context import Context
from construct.operations.memory import show
from construct.program import as_typed
from construct.references import Reference
from construct.store import note_links, observations
from construct.store.attachments import attachments_of
from construct.store.messages import get_message
from construct.store.note_history import without_reverted
from construct.store.records import Message, Observation, StoredAttachment
from construct.store.reply_context import ContextItem, get_reply_context, last_reply
from construct.store.shown import shown_ids
from construct.talk.notebook_replies import quoted_messages, with_text
from construct.vocabulary import ItemKind, Way


@dataclass(frozen=True, slots=True)
class MessageTrace:
    """A message and the observations made from it, lowest generation first."""

    message: Message
    observations: tuple[Observation, ...]
    attachments: tuple[StoredAttachment, ...] = ()


def why(ctx: Context, reference: Reference) -> Trace | MessageTrace:
    """Return what an observation comes from, or what was learned from a message.

    Raises NotFoundError if there is no such item.
    """
    kind, number = reference
    if kind == ItemKind.OBSERVATION:
        return trace_observation(ctx.db, number)
    message = _with_text(ctx, get_message(ctx.db, number))
    direct = [o.id for o in note_links.observations_from(ctx.db, [number])]
    derived = note_links.with_reflections(ctx.db, direct)
    return MessageTrace(
        message,
        tuple(without_reverted(ctx.db, derived)),
        tuple(attachments_of(ctx.db, [message])),
    )


@dataclass(frozen=True, slots=True)
class GivenItem:
    """One remembered item that was put into the prompt, and how it got there."""

    way: str
    """How it got there: a value of `Way`."""
    item: Observation | Message


@dataclass(frozen=True, slots=True)
class ReplyTrace:
    """What the model was given for a reply, besides the conversation itself.

    Items forgotten since are left out.
    """

    reply: Message
    blocks: int = 0
    """The number of blocks of observations that preceded the conversation."""
    lines: int = 0
    """The number of observations in these blocks."""
    still_shown: tuple[Observation, ...] = ()
    """Observations at the start of the prompt now that existed then, in the order shown.

    One that was pinned since may not have been shown then. None if there were no lines.
    """
    given: tuple[GivenItem, ...] = ()
    """Items given for this turn alone, such as passages found by recall."""


def why_last(ctx: Context) -> ReplyTrace:
    """Return what the model was given for the last reply in the user's conversation.

    In a fork without a reply, that is the last one before the fork. Raises
    NotFoundError if there is no reply, or no record of what the model was given.
    """
    reply_id = _last_reply(ctx)
    if reply_id is None:
        raise NotFoundError("There is no reply yet.")
    reply = get_message(ctx.db, reply_id)
    if reply.quotes is not None:
        given = tuple(GivenItem(Way.PASSAGE, message) for message in quoted_messages(ctx.db, reply))
        return ReplyTrace(_with_text(ctx, reply), given=given)
    context = get_reply_context(ctx.db, reply_id)
    if context is None:
        raise NotFoundError(
            f"What the model was given for the last reply (message:{reply_id}) was not recorded.\n"
            f"If a model replies, {as_typed('memory context')} shows what it would be given now."
        )
    shown_now = shown_ids(ctx.db, reply.conversation_id) if context.lines else ()
    shown = observations.observations(ctx.db, shown_now)
    return ReplyTrace(
        reply,
        context.blocks,
        context.lines,
        tuple(o for o in shown if o.committed_at and o.committed_at <= reply.created_at),
        tuple(GivenItem(item.way, _read(ctx, item)) for item in context.items),
    )


def _last_reply(ctx: Context) -> int | None:
    if ctx.conversation_id is None:
        return None
    for conversation_id, last_message_id in descent(ctx.db, ctx.conversation_id):
        if reply_id := last_reply(ctx.db, conversation_id, last_message_id):
            return reply_id
    return None


def _with_text(ctx: Context, message: Message) -> Message:
    return with_text(ctx.db, [message], ctx.clock)[0]


def _read(ctx: Context, item: ContextItem) -> Observation | Message:
    return show(ctx, (item.kind, item.id))
