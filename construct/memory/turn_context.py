"""Gather and render the context of one turn: the time, due plans, recalled passages.

It comes after the cache mark on the user's newest message, in `<ambient>…</ambient>`,
and is never stored (docs/memory.md, "What the model sees").
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import pairwise

from construct.clock import from_text, gap_words
from construct.language.names import shares_a_word
from construct.language.periods import relative_words
from construct.language.sentences import is_question, split_sentences
from construct.language.wordlists import (
    INTENDING,
    MONTHS,
    NOTE_STOP_WORDS,
    STOP_WORDS,
    TIME_WORDS,
    WEEKDAYS,
)
from construct.memory.agenda import (
    MENTIONED_AFTER,
    AgendaItem,
    agenda_items,
    due_words,
    worth_mentioning,
)
from construct.memory.config import MemoryConfig
from construct.memory.learning.whose_words import own_words
from construct.memory.recall.passages import passages
from construct.memory.recall.search import Hit
from construct.memory.shown import forks
from construct.memory.shown.escaping import inline
from construct.store import observations
from construct.store.agenda import dated_notes
from construct.store.conversations import get_conversation, get_watermarks
from construct.store.driver import Connection
from construct.store.messages import LAST, get_message, is_readable, live_ids, live_messages
from construct.store.outside_text import any_from_outside, window_holds_outside_text
from construct.store.reply_context import ContextItem, forgotten_items
from construct.store.search import Filters
from construct.store.shown import shown_ids
from construct.vocabulary import AgendaState, ItemKind, Outside, Role, Way

_MAX_ITEMS = 3
_WORD = re.compile(r"[^\W\d_]+")
_FILLERS = NOTE_STOP_WORDS.union(*STOP_WORDS.values(), INTENDING, TIME_WORDS, MONTHS, WEEKDAYS)
"""Words of a plan that do not say what it is about."""
_MIN_PAUSE = timedelta(hours=1)
"""Shorter pauses in a conversation are not mentioned."""
_PASSAGE_LABELS = {"user": "They said", "assistant": "You said"}
"""How a passage begins, by the role or else the kind of what it was cut from."""


@dataclass(frozen=True, slots=True)
class TurnContext:
    """The content of the ambient block."""

    now: datetime
    """The user's wall clock."""
    pause: timedelta | None = None
    """The time since the last message, if there is one."""
    due: Sequence[AgendaItem] = ()
    passages: Sequence[Hit] = ()
    task: str | None = None
    """What the conversation was about, once messages have left the window."""
    left_open: str | None = None
    """What was promised or left open, in the first turn after a pause."""


def gather(
    db: Connection,
    conversation_id: int,
    text: str,
    config: MemoryConfig,
    answering: tuple[int, ...] = (),
) -> TurnContext:
    """Return the context for a turn that begins with `text`.

    `answering`: ids of messages that must not come back as passages. When a message is
    answered again, these are the message itself and the replies it had.
    """
    clock = config.clock
    conversation = get_conversation(db, conversation_id)
    marks = get_watermarks(db, conversation_id)
    # A message that is answered again is stored already.
    until = min(answering) - 1 if answering else LAST
    last_messages = forks.last_messages(db, conversation_id, 2, until)
    recalled: list[Hit] = []
    if text.strip():
        window = live_ids(db, conversation_id, marks.window)
        window += [m.id for m in forks.inherited_window(db, conversation)]
        in_sight: set[tuple[str, int]] = {(ItemKind.MESSAGE, i) for i in window}
        in_sight |= {(ItemKind.OBSERVATION, i) for i in shown_ids(db, conversation_id)}
        recalled = passages(
            db,
            text,
            next((m.content for m in reversed(last_messages) if m.role == Role.USER), ""),
            in_sight,
            today=clock.today(),
            filters=Filters(
                descent=forks.reach(db, config.scope, conversation_id),
                exclude=answering,
                hidden=forks.hidden_from(db, conversation_id),
                zone=clock.zone,
                for_model=True,
            ),
            meaning=config.meaning,
        )
    pause = clock.now() - from_text(last_messages[-1].created_at) if last_messages else None
    is_back = pause is not None and pause >= _MIN_PAUSE
    is_told = not is_back or _was_back_before(db, conversation_id, marks.observed, until)
    return TurnContext(
        now=clock.local(clock.now()),
        pause=pause,
        due=due_items(db, conversation_id, config, text, until),
        passages=recalled,
        task=conversation.current_task if marks.window else None,
        left_open=None if is_told else conversation.suggested_response,
    )


def _was_back_before(db: Connection, conversation_id: int, observed: int, until: int) -> bool:
    """Return whether a pause has ended since an observer last read the conversation.

    What it noted as left open was mentioned then.
    """
    first = [get_message(db, observed)] if observed else []
    times = [
        from_text(m.created_at)
        for m in [*first, *live_messages(db, conversation_id, observed, until)]
    ]
    return any(later - earlier >= _MIN_PAUSE for earlier, later in pairwise(times))


def without_forgotten(db: Connection, conversation_id: int, context: TurnContext) -> TurnContext:
    """Return a context without the items that were forgotten since it was gathered.

    The task and what was left open are left out if they have changed since.
    """
    forgotten = {(item.kind, item.id) for item in forgotten_items(db, context_items(context))}
    conversation = get_conversation(db, conversation_id)
    left_open = conversation.suggested_response
    return replace(
        context,
        due=[item for item in context.due if (ItemKind.OBSERVATION, item.id) not in forgotten],
        passages=[p for p in context.passages if (p.kind, p.id) not in forgotten],
        task=context.task if context.task == conversation.current_task else None,
        left_open=context.left_open if context.left_open == left_open else None,
    )


def due_items(
    db: Connection,
    conversation_id: int,
    config: MemoryConfig,
    text: str = "",
    until: int = LAST,
) -> list[AgendaItem]:
    """Return up to three items to bring up: those due soon, then plans of unknown outcome.

    The outcome of a plan is asked about once only, and not if the user seems to have told it
    in `text`, or in a message up to `until` that no observer has read yet.
    """
    today = config.clock.today()
    items = agenda_items(dated_notes(db, since=today - MENTIONED_AFTER), today)
    wanted = [item for item in worth_mentioning(items, today) if not _was_asked_about(item)]
    if any(item.state is AgendaState.OUTCOME_UNKNOWN for item in wanted):
        said = [(today, text), *_unread_words(db, conversation_id, config, until)]
        wanted = [item for item in wanted if not _is_told(item, said)]
    reach = forks.reach(db, config.scope, conversation_id)
    in_scope = set(observations.in_scope(db, [item.id for item in wanted], reach))
    return [item for item in wanted if item.id in in_scope][:_MAX_ITEMS]


def _was_asked_about(item: AgendaItem) -> bool:
    return item.state is AgendaState.OUTCOME_UNKNOWN and item.is_asked


def _unread_words(
    db: Connection, conversation_id: int, config: MemoryConfig, until: int
) -> list[tuple[date, str]]:
    """Return what the user said that no observer has read yet, each with its day."""
    observed = get_watermarks(db, conversation_id).observed
    messages = live_messages(db, conversation_id, observed, until)
    return [(m.written(config.clock).date(), own_words(m)) for m in messages if is_readable(m)]


def _is_told(item: AgendaItem, said: Iterable[tuple[date, str]]) -> bool:
    """Return whether something said since a plan's day speaks of it, other than a question."""
    if item.state is not AgendaState.OUTCOME_UNKNOWN:
        return False
    words = _WORD.findall(item.note.content)
    subject = " ".join(word for word in words if word.casefold() not in _FILLERS)
    return any(
        shares_a_word(subject, sentence)
        for day, text in said
        if day >= item.days.first
        for sentence in split_sentences(text)
        if not is_question(sentence)
    )


def render(context: TurnContext) -> str:
    """Return the `<ambient>` block, the only part of a request with dates relative to now."""
    today = context.now.date()
    lines = [f"Now: {context.now:%A %Y-%m-%d %H:%M}"]
    if context.pause and context.pause >= _MIN_PAUSE:
        lines.append(f"Last message: {gap_words(context.pause)} ago")
    lines += [f"{due_words(item, today)}: {inline(item.whole_text)}" for item in context.due]
    for passage in context.passages:
        when = date.fromisoformat(passage.date)
        label = _PASSAGE_LABELS.get(passage.role or passage.kind, "Noted")
        label = "They pasted" if passage.is_pasted else label
        lines.append(f"{label}, {when} ({relative_words(when, today)}): {inline(passage.text)}")
    if context.task:
        lines.append(f"The conversation was about: {inline(context.task)}")
    if context.left_open:
        lines.append(f"Left open before the pause: {inline(context.left_open)}")
    return "\n".join(["<ambient>", *lines, "</ambient>"])


def holds_outside_text(db: Connection, conversation_id: int, items: Sequence[ContextItem]) -> bool:
    """Return whether a request holds words that are not the user's own.

    They are in the window, in what a fork is shown of its parent, or in memory items.
    """
    inherited = forks.inherited_window(db, get_conversation(db, conversation_id))
    return (
        window_holds_outside_text(db, conversation_id)
        or any(m.pasted or m.attached or m.outside == Outside.RESULT for m in inherited)
        or any_from_outside(db, items)
    )


def context_items(context: TurnContext) -> tuple[ContextItem, ...]:
    """Return the remembered items in the block, in its order."""
    due = [ContextItem(Way.DUE, ItemKind.OBSERVATION, item.id) for item in context.due]
    return (*due, *(ContextItem(Way.PASSAGE, p.kind, p.id) for p in context.passages))
