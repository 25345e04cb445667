"""Forget, undo, and answer requests to forget that were made in conversation."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from construct.clock import to_text
from construct.errors import NotFoundError
from construct.memory import forgetting
from construct.memory import undo as memory_undo
from construct.memory.forgetting import ForgetPlan, Forgotten
from construct.memory.undo import Undone
from construct.operations.context import Context
from construct.references import Reference
from construct.store import purge, questions
from construct.store.conversations import get_conversation
from construct.store.database import transaction
from construct.store.questions import ForgetRequest
from construct.store.records import Message, Observation
from construct.vocabulary import Answer, CycleKind


def plan_forget(ctx: Context, reference: Reference, *, words: bool) -> ForgetPlan:
    """Return what forgetting an item would delete or change.

    `words` as in `forget`. Raises NotFoundError.
    """
    return forgetting.plan_forget(ctx.db, reference, words=words)


def forget(
    ctx: Context, reference: Reference, *, words: bool, shown: ForgetPlan | None = None
) -> Forgotten:
    """Delete what was learned and all that rests on it; withhold the messages behind it.

    `words` also deletes the text of those messages and of the replies to them. `shown` is
    the plan that the user has agreed to. Raises NotFoundError, and ConstructError if
    something else would go than was shown.
    """
    return forgetting.forget(ctx.db, reference, ctx.clock, words=words, shown=shown)


@dataclass(frozen=True, slots=True)
class Undo:
    """What an undo takes back, and in which conversation."""

    changes: Undone
    title: str | None
    """The title of the conversation that the undone cycle belongs to."""
    is_here: bool
    """Whether the user is in that conversation, or the cycle belongs to none."""
    is_of_archived: bool
    """Whether the observer had read messages that were imported, not said here."""
    learns: bool
    """Whether memory work is done at all. If it is, undone work may be done again."""


def plan_undo(ctx: Context) -> Undo:
    """Return what `undo` would take back. Raises NotFoundError if there is nothing."""
    return _described(ctx, memory_undo.plan_undo(ctx.db, ctx.clock))


def undo(ctx: Context, plan: Undo) -> Undo:
    """Carry out the planned undo. Raises ConstructError if the memory has changed since."""
    return _described(ctx, memory_undo.undo(ctx.db, ctx.clock, plan.changes))


def _described(ctx: Context, changes: Undone) -> Undo:
    conversation_id = changes.cycle.conversation_id
    title = None if conversation_id is None else get_conversation(ctx.db, conversation_id).title
    observed = changes.cycle.kind == CycleKind.OBSERVER
    return Undo(
        changes,
        title,
        is_here=conversation_id in {None, ctx.conversation_id},
        is_of_archived=observed and not memory_undo.moved_watermarks(ctx.db, changes.cycle),
        learns=ctx.settings.learns,
    )


@dataclass(frozen=True, slots=True)
class ForgetQuestion:
    """The requests to forget that one observer run found, and what else they would delete."""

    id: int
    requests: Sequence[ForgetRequest]
    deleted: Sequence[Observation]
    """The observations that would be deleted in addition to those asked for."""
    emptied: Sequence[Message]
    """The messages that would be emptied in addition to those asked for."""


def forget_question(ctx: Context, question_id: int) -> ForgetQuestion | None:
    """Return what a question asks to forget, and what would go with it. None if it is gone."""
    unanswered = questions.unanswered_requests(ctx.db)
    requests = [request for request in unanswered if request.question_id == question_id]
    if not requests:
        return None
    plans = [plan_forget(ctx, _reference(request), words=True) for request in requests]
    asked_for = {request.observation_id for request in requests}
    asked_for_messages = {request.message_id for request in requests}
    deleted = {o.id: o for plan in plans for o in plan.observations if o.id not in asked_for}
    emptied = {
        m.id: m
        for plan in plans
        for m in (*plan.messages, *plan.replies)
        if m.text and m.id not in asked_for_messages
    }
    return ForgetQuestion(
        question_id,
        requests,
        deleted=[deleted[i] for i in sorted(deleted)],
        emptied=[emptied[i] for i in sorted(emptied)],
    )


def forget_requested(ctx: Context, question: ForgetQuestion) -> None:
    """Forget everything that was asked for, the messages behind it included."""
    for request in question.requests:
        with suppress(NotFoundError):  # an earlier request may already have deleted it
            forget(ctx, _reference(request), words=True)
    questions.answer(ctx.db, question.id, Answer.FORGET, to_text(ctx.clock.now()))


def forget_text(ctx: Context, question_id: int) -> None:
    """Delete the text that a question is about, and clear out its bytes."""
    with transaction(ctx.db):
        questions.forget_text(ctx.db, question_id, to_text(ctx.clock.now()))
        purge.begin_erasure(ctx.db)
    purge.finish_erasure(ctx.db)


def _reference(request: ForgetRequest) -> Reference:
    if request.observation_id is not None:
        return "observation", request.observation_id
    assert request.message_id is not None
    return "message", request.message_id
