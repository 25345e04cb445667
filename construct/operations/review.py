"""A review: all that waits for the user's decision, one at a time, and what was learned."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from construct.errors import UsageError
from construct.memory import answering
from construct.memory.agenda import agenda_items
from construct.memory.forgetting import ForgetPlan
from construct.memory.review import Rows, Waiting, learned_list, waiting_list
from construct.operations import forgetting
from construct.operations.context import Context
from construct.operations.forgetting import ForgetQuestion
from construct.store import note_links, questions, reminders, review
from construct.store.agenda import dated_notes
from construct.store.messages import get_message
from construct.store.observations import observations
from construct.store.records import Message, Observation
from construct.store.review import mark_reviewed
from construct.talk.notebook_replies import with_text
from construct.vocabulary import Answer, ItemKind, WaitingKind

_FAILED_WITHIN = timedelta(days=14)
"""How long reminders that could not be delivered are asked about."""
_MAX_WORDS = 4
"""The most messages that an item is shown with."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something that waits, with what the user needs to decide on it."""

    waiting: Waiting
    note: Observation | None = None
    """The note it is about."""
    messages: Sequence[Message] = ()
    """The words that it rests on, the newest."""
    request: ForgetQuestion | None = None
    """What the user asked to forget, and what goes with it."""


def waiting(ctx: Context) -> list[Waiting]:
    """Return all that waits for the user's decision, in the order of a review."""
    today = ctx.clock.today()
    return waiting_list(
        Rows(
            requests=questions.unanswered_requests(ctx.db),
            questions=review.open_questions(ctx.db),
            agenda=agenda_items(dated_notes(ctx.db), today),
            failed=reminders.failed_reminders(ctx.db, today - _FAILED_WITHIN),
        )
    )


def learned(ctx: Context) -> list[Waiting]:
    """Return what was learned since the last review, oldest first."""
    return learned_list(observations(ctx.db, review.learned_since_review(ctx.db)))


def next_item(
    ctx: Context, passed: Collection[tuple[WaitingKind, int]], *, of_learned: bool = False
) -> Item | None:
    """Return the first thing that waits and was not passed in this review; None at the end."""
    found = learned(ctx) if of_learned else waiting(ctx)
    return next((_item(ctx, one) for one in found if one.key not in passed), None)


def next_request(ctx: Context) -> Item | None:
    """Return the oldest request to forget that the user has not been asked about.

    It runs before each prompt, so it reads nothing else where there is none.
    """
    requests = questions.unanswered_requests(ctx.db)
    unasked = [request for request in requests if request.asked_at is None]
    if not unasked:
        return None
    oldest = [r for r in requests if r.question_id == unasked[0].question_id]
    return _item(ctx, waiting_list(Rows(requests=oldest))[0])


def _item(ctx: Context, one: Waiting) -> Item:
    if one.kind == WaitingKind.FORGET:
        return Item(one, request=forgetting.forget_question(ctx, one.id))
    if one.observation_id is not None:
        found = note_links.messages_behind(ctx.db, [one.observation_id])
        note = next(iter(observations(ctx.db, [one.observation_id])), None)
    else:
        found = [get_message(ctx.db, i) for i in review.messages_of(ctx.db, one.id)]
        note = None
    said = [m for m in with_text(ctx.db, found, ctx.clock) if m.text]
    return Item(one, note, said[-_MAX_WORDS:])


def answer(ctx: Context, item: Item, how: Answer, text: str = "") -> Observation | None:
    """Carry out the user's answer, and return the note that stays or is made, if there is one.

    `text`: the user's own words, to edit. Each answer but forget, pin and later is an edit
    that undo takes back. Raises ConstructError.
    """
    one = item.waiting
    if how not in one.answers:
        raise UsageError(f"Not an answer to this: {how}.")
    done: Observation | None = None
    if how == Answer.FORGET:
        _forget(ctx, item)
    elif how == Answer.EDIT:
        done = answering.edit(ctx.db, one, text, ctx.clock)
    else:
        done = answering.CARRY_OUT[how](ctx.db, one, ctx.clock)
    if one.kind == WaitingKind.LEARNED:
        mark_reviewed(ctx.db, one.id)
    return done


def forget_plan(ctx: Context, item: Item) -> ForgetPlan | None:
    """Return what forgetting a note would delete; None where there is nothing to confirm."""
    note_id = item.waiting.observation_id
    if note_id is None:
        return None
    return forgetting.plan_forget(ctx, (ItemKind.OBSERVATION, note_id), words=False)


def count_like(ctx: Context, item: Item) -> int:
    """Return how many of the same kind wait."""
    return sum(one.kind == item.waiting.kind for one in waiting(ctx))


def _forget(ctx: Context, item: Item) -> None:
    one = item.waiting
    if item.request is not None:
        forgetting.forget_requested(ctx, item.request)
    elif one.observation_id is not None:
        forgetting.forget(ctx, (ItemKind.OBSERVATION, one.observation_id), words=False)
    else:
        forgetting.forget_text(ctx, one.id)


@dataclass(frozen=True, slots=True)
class Evening:
    """What a chat leaves behind."""

    notes: int
    """Notes that were learned, without plans."""
    plans: int
    waiting: int
    """Questions that wait for the user."""


def evening(ctx: Context, newest_before: int) -> Evening:
    """Return what was learned after an observation, and how much waits for the user."""
    learned_count, plans = review.learned_since(ctx.db, newest_before)
    return Evening(learned_count - plans, plans, review.count_waiting(ctx.db))


def count_waiting(ctx: Context) -> int:
    """Return how many questions wait for an answer."""
    return review.count_waiting(ctx.db)
