"""What a user can do with conversations: list, read, find, rename, fork, delete."""

from dataclasses import dataclass

from construct.clock import to_text
from construct.errors import NotFoundError, UsageError
from construct.memory import forgetting
from construct.memory.cycles.commit import compact
from construct.memory.forgetting import Deleted, DeletionPlan
from construct.memory.shown import forks
from construct.operations.context import Context
from construct.store.attachments import attachments_of
from construct.store.conversations import (
    ConversationSummary,
    conversation_summary,
    create_conversation,
    enter_conversation,
    get_conversation,
    list_conversations,
    note_fork_by_sync,
    rename_conversation,
)
from construct.store.database import transaction
from construct.store.messages import is_small_model_noted, messages_of, note_small_model
from construct.store.records import REMOVED, Conversation, Message, StoredAttachment
from construct.store.sync.machines import writer_of
from construct.talk.notebook_replies import with_text
from construct.text import one_line, shorten

_EXCHANGE = 2
"""Messages in an exchange: one of the user's and the reply to it."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation with all its messages."""

    summary: ConversationSummary
    messages: tuple[Message, ...]
    attachments: tuple[StoredAttachment, ...] = ()


@dataclass(frozen=True, slots=True)
class DeletionPreview:
    """A conversation, and what would be deleted with it."""

    summary: ConversationSummary
    plan: DeletionPlan


def conversations(ctx: Context, limit: int | None = None) -> list[ConversationSummary]:
    """Return the conversations, the one with the newest message first."""
    return list_conversations(ctx.db, limit)


def conversation(ctx: Context, conversation_id: int) -> ConversationSummary:
    """Return the summary of one conversation; raises NotFoundError."""
    return conversation_summary(ctx.db, conversation_id)


def transcript(ctx: Context, conversation_id: int) -> Transcript:
    """Return a conversation with its messages; raises NotFoundError."""
    summary = conversation_summary(ctx.db, conversation_id)
    messages = with_text(ctx.db, messages_of(ctx.db, conversation_id), ctx.clock)
    return Transcript(summary, tuple(messages), tuple(attachments_of(ctx.db, messages)))


def last_messages(ctx: Context, conversation_id: int, limit: int) -> list[Message]:
    """Return the newest messages of a conversation, oldest first."""
    return with_text(ctx.db, forks.last_said(ctx.db, conversation_id, limit), ctx.clock)


def last_exchange(ctx: Context) -> list[Message]:
    """Return the last two messages of the user's conversation, usually a message and its reply.

    Without those that were forgotten with their words.
    """
    here = ctx.conversation_id
    newest = [] if here is None else last_messages(ctx, here, _EXCHANGE)
    return [message for message in newest if message.content != REMOVED]


def small_model_is_news(ctx: Context) -> bool:
    """Return whether to tell the user that the former built-in model is gone.

    True at most once, and only if that model wrote a reply stored here.
    """
    if is_small_model_noted(ctx.db):
        return False
    with transaction(ctx.db):
        return note_small_model(ctx.db)


def find_conversation(ctx: Context, wanted: str) -> ConversationSummary:
    """Return the conversation with this number, or else with these words in its name.

    Of several matches it is the one with the newest message, and the one the user is in
    only if there is no other, since a fork may have its parent's name. Raises
    NotFoundError.
    """
    summaries = list_conversations(ctx.db)
    for summary in summaries:
        if str(summary.conversation.id) == wanted.lstrip("0"):
            return summary
    summaries.sort(key=lambda summary: summary.conversation.id == ctx.conversation_id)
    words = wanted.casefold().split()
    for summary in summaries:
        title = summary.name.casefold()
        if all(word in title for word in words):
            return summary
    raise NotFoundError(
        f"No conversation matches {shorten(wanted, 40)!r}. /conversations lists them."
    )


def rename(ctx: Context, conversation_id: int, title: str) -> Conversation:
    """Give a conversation a title, which the observer then keeps.

    Raises UsageError, NotFoundError.
    """
    cleaned = one_line(title)
    if not cleaned:
        raise UsageError("A title needs at least one character.")
    with transaction(ctx.db):
        get_conversation(ctx.db, conversation_id)
        rename_conversation(ctx.db, conversation_id, cleaned)
        return get_conversation(ctx.db, conversation_id)


def create(ctx: Context) -> Conversation:
    """Create a conversation."""
    with transaction(ctx.db):
        return get_conversation(ctx.db, create_conversation(ctx.db, to_text(ctx.clock.now())))


def enter(ctx: Context, conversation_id: int) -> None:
    """Make a conversation the current one, which the next start continues."""
    with transaction(ctx.db):
        enter_conversation(ctx.db, conversation_id)


def fork(ctx: Context, conversation_id: int, title: str = "") -> Conversation:
    """Fork a conversation at its end and enter the fork; raises NotFoundError."""
    new_id = forks.fork(ctx.db, conversation_id, ctx.clock, one_line(title) or None)
    enter(ctx, new_id)
    return get_conversation(ctx.db, new_id)


@dataclass(frozen=True, slots=True)
class Continued:
    """The conversation to speak in, after one was chosen to go on with."""

    conversation_id: int
    writer: str | None = None
    """The machine that writes the chosen one, so that this is a fork of it."""


def continue_here(ctx: Context, conversation_id: int) -> Continued:
    """Return the conversation to speak in: a fork, if another machine writes the chosen one."""
    writer = writer_of(ctx.db, conversation_id)
    if writer is None:
        return Continued(conversation_id)
    memory = ctx.memory
    with transaction(ctx.db):
        # Here it has no window yet: what is known of it stands for all but the newest messages.
        compact(ctx.db, conversation_id, memory.retained, memory.frame, memory.clock)
    fork_id = forks.fork(ctx.db, conversation_id, ctx.clock)
    with transaction(ctx.db):
        note_fork_by_sync(ctx.db, fork_id)
        enter_conversation(ctx.db, fork_id)
    return Continued(fork_id, writer)


def preview_deletion(ctx: Context, conversation_id: int) -> DeletionPreview:
    """Return what deleting a conversation would delete with it; raises NotFoundError."""
    summary = conversation_summary(ctx.db, conversation_id)
    return DeletionPreview(summary, forgetting.plan_deletion(ctx.db, conversation_id))


def delete(ctx: Context, conversation_id: int, shown: DeletionPreview | None = None) -> Deleted:
    """Delete a conversation and what was learned from it.

    `shown` is what the user has agreed to. Raises NotFoundError, and ConstructError if
    something else would go than was shown.
    """
    plan = None if shown is None else shown.plan
    return forgetting.delete_conversation(ctx.db, conversation_id, ctx.clock, shown=plan)
