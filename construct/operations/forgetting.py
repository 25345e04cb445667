"""Forget, undo, and decide on what was asked to be forgotten in conversation."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from construct.clock import to_text
from construct.errors import NotFoundError
from construct.memory import forgetting
from construct.memory import undo as cycles
from construct.memory.forgetting import ForgetPlan, Forgotten
from construct.memory.promotion import promote
from construct.memory.undo import Undone
from construct.operations.context import Context
from construct.references import Reference
from construct.store import forget_requests
from construct.store.conversations import get_conversation
from construct.store.database import transaction
from construct.store.forget_requests import ForgetRequest
from construct.store.records import Message


def plan_forget(ctx: Context, reference: Reference, *, words: bool) -> ForgetPlan:
    """Return what forgetting would take along. Raises NotFoundError."""
    return forgetting.plan_forget(ctx.db, reference, words=words)


def forget(ctx: Context, reference: Reference, *, words: bool) -> Forgotten:
    """Delete what an id names, with all that rests on it. Raises NotFoundError."""
    return forgetting.forget(ctx.db, reference, ctx.clock, words=words)


@dataclass(frozen=True, slots=True)
class Undo:
    """What an undo takes back, or would."""

    changes: Undone
    title: str | None
    """Of the conversation whose cycle it is."""
    is_here: bool
    """Whether that is the conversation the user is in."""


def plan_undo(ctx: Context) -> Undo:
    """Return what `undo` would take back. Raises NotFoundError if there is nothing."""
    return _undo(ctx, cycles.plan_undo(ctx.db, ctx.clock))


def undo(ctx: Context, plan: Undo) -> Undo:
    """Take back what was planned. Raises ConstructError if memory has changed since."""
    return _undo(ctx, cycles.undo(ctx.db, ctx.clock, plan.changes))


def _undo(ctx: Context, changes: Undone) -> Undo:
    there = changes.cycle.conversation_id
    title = None if there is None else get_conversation(ctx.db, there).title
    return Undo(changes, title, there == ctx.conversation_id)


@dataclass(frozen=True, slots=True)
class ForgetQuestion:
    """What the user asked to forget in conversation, as one observer run heard it."""

    cycle_id: int | None
    requests: Sequence[ForgetRequest]
    emptied: Sequence[Message]
    """The messages that forgetting would empty beside those that were named."""


def next_question(ctx: Context) -> ForgetQuestion | None:
    """Return the oldest request to forget that the user has not been asked about."""
    unanswered = forget_requests.unanswered(ctx.db)
    if not unanswered:
        return None
    cycle_id = unanswered[0].cycle_id
    requests = [request for request in unanswered if request.cycle_id == cycle_id]
    named = {request.message_id for request in requests}
    emptied: dict[int, Message] = {}
    for request in requests:
        plan = plan_forget(ctx, _reference(request), words=True)
        emptied |= {m.id: m for m in (*plan.messages, *plan.replies) if m.id not in named}
    return ForgetQuestion(cycle_id, requests, [emptied[i] for i in sorted(emptied)])


def forget_requested(ctx: Context, question: ForgetQuestion) -> None:
    """Forget all that was asked for, with its words."""
    for request in question.requests:
        with suppress(NotFoundError):  # it went together with one before it
            forget(ctx, _reference(request), words=True)
    leave_withheld(ctx, question)


def keep_requested(ctx: Context, question: ForgetQuestion) -> None:
    """Show what was withheld to the model again."""
    with transaction(ctx.db):
        forget_requests.keep(ctx.db, question.cycle_id)
        promote(ctx.db, to_text(ctx.clock.now()))


def leave_withheld(ctx: Context, question: ForgetQuestion) -> None:
    """Note that the user was asked. What was withheld stays so."""
    forget_requests.leave(ctx.db, question.cycle_id, to_text(ctx.clock.now()))


def _reference(request: ForgetRequest) -> Reference:
    if request.observation_id is not None:
        return "observation", request.observation_id
    assert request.message_id is not None
    return "message", request.message_id
