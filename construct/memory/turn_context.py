"""The context of one turn only: the time, due plans and recalled passages.

It stands behind the last cache mark of the request, in `<ambient>…</ambient>`, and is
never stored (docs/memory.md, "What the model sees").
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from construct.clock import from_text, gap_words, to_text
from construct.language.periods import relative_words
from construct.memory.config import MemoryConfig
from construct.memory.recall.passages import passages
from construct.memory.recall.search import Hit
from construct.memory.shown import forks
from construct.memory.shown.escaping import inline
from construct.store import observations
from construct.store.conversations import get_conversation, get_watermarks
from construct.store.messages import live_ids
from construct.store.records import Message
from construct.store.reply_context import ContextItem, forgotten_items
from construct.store.search import Filters
from construct.store.shown import shown_ids
from construct.vocabulary import ItemKind, Role, Way

_AHEAD = timedelta(days=2)
_BEHIND = timedelta(days=14)
ASK_FOR = timedelta(hours=12)
"""How long a plan of unknown outcome is brought up after the first turn that did so."""
_MAX_PLANS = 3
_PAUSE_WORTH_SAYING = timedelta(hours=1)
_SPEAKER = {"user": "They said", "assistant": "You said", "memory": "Kept"}


@dataclass(frozen=True, slots=True)
class DuePlan:
    """Something that lies ahead, or whose day has passed with its outcome unknown."""

    observation_id: int
    content: str
    day: date


@dataclass(frozen=True, slots=True)
class TurnContext:
    """The content of the ambient block."""

    now: datetime
    """The user's wall clock."""
    pause: timedelta | None = None
    due: Sequence[DuePlan] = ()
    passages: Sequence[Hit] = ()
    task: str | None = None


def gather(
    db: sqlite3.Connection,
    conversation_id: int,
    text: str,
    config: MemoryConfig,
    answering: tuple[int, ...] = (),
) -> TurnContext:
    """Return the context for a turn that begins with `text`.

    `answering` are messages that must not come back as passages: where a message is
    answered anew, the message itself and the replies it had.
    """
    clock = config.clock
    here = get_conversation(db, conversation_id)
    marks = get_watermarks(db, conversation_id)
    before = forks.last_messages(db, conversation_id, 2)
    found: list[Hit] = []
    if text.strip():
        window = live_ids(db, here.id, marks.window)
        window += [m.id for m in forks.inherited_window(db, here)]
        in_sight: set[tuple[str, int]] = {(ItemKind.MESSAGE, i) for i in window}
        in_sight |= {(ItemKind.OBSERVATION, i) for i in shown_ids(db, here.id)}
        found = _passages(db, text, before, in_sight, conversation_id, config, answering)
    return TurnContext(
        now=clock.local(clock.now()),
        pause=clock.now() - from_text(before[-1].created_at) if before else None,
        due=due_plans(db, conversation_id, config),
        passages=found,
        task=here.current_task if marks.window else None,
    )


def without_forgotten(
    db: sqlite3.Connection, conversation_id: int, gathered: TurnContext
) -> TurnContext:
    """Return a context without the items that were forgotten since it was gathered."""
    gone = {(item.kind, item.id) for item in forgotten_items(db, context_items(gathered))}
    task = get_conversation(db, conversation_id).current_task
    return replace(
        gathered,
        due=[p for p in gathered.due if (ItemKind.OBSERVATION, p.observation_id) not in gone],
        passages=[p for p in gathered.passages if (p.kind, p.id) not in gone],
        task=gathered.task if gathered.task == task else None,
    )


def due_plans(db: sqlite3.Connection, conversation_id: int, config: MemoryConfig) -> list[DuePlan]:
    """Return what is due within two days, and plans of the last fortnight.

    A plan of unknown outcome is brought up for `ASK_FOR` only: asking once is enough.
    """
    today = config.clock.today()
    found = observations.due(
        db,
        forks.reach(db, config.scope, conversation_id),
        today=today.isoformat(),
        since=(today - _BEHIND).isoformat(),
        until=(today + _AHEAD).isoformat(),
        asked_since=to_text(config.clock.now() - ASK_FOR),
        limit=_MAX_PLANS,
    )
    return [DuePlan(id, content, date.fromisoformat(day)) for id, content, day in found]


def _passages(
    db: sqlite3.Connection,
    text: str,
    before: Sequence[Message],
    in_sight: set[tuple[str, int]],
    conversation_id: int,
    config: MemoryConfig,
    answering: tuple[int, ...],
) -> list[Hit]:
    previous = next((m.content for m in reversed(before) if m.role == Role.USER), "")
    within = forks.reach(db, config.scope, conversation_id)
    filters = Filters(descent=within, exclude=answering, zone=config.clock.zone, for_model=True)
    today = config.clock.today()
    return passages(
        db, text, previous, in_sight, today=today, filters=filters, meaning=config.meaning
    )


def render(context: TurnContext) -> str:
    """Return the `<ambient>` block; relative dates belong here and nowhere else."""
    today = context.now.date()
    lines = [f"Now: {context.now:%A %Y-%m-%d %H:%M}"]
    if context.pause and context.pause >= _PAUSE_WORTH_SAYING:
        lines.append(f"Last message: {gap_words(context.pause)} ago")
    lines += [f"{due_words(plan, today)}: {inline(plan.content)}" for plan in context.due]
    for passage in context.passages:
        when = date.fromisoformat(passage.date)
        who = _SPEAKER.get(passage.role or passage.kind, "Noted")
        lines.append(f"{who}, {when} ({relative_words(when, today)}): {inline(passage.text)}")
    if context.task:
        lines.append(f"The talk was about: {inline(context.task)}")
    return "\n".join(["<ambient>", *lines, "</ambient>"])


def context_items(context: TurnContext) -> tuple[ContextItem, ...]:
    """Return the remembered items in the block, in its order."""
    due = [ContextItem(Way.DUE, ItemKind.OBSERVATION, plan.observation_id) for plan in context.due]
    return (*due, *(ContextItem(Way.PASSAGE, p.kind, p.id) for p in context.passages))


def due_words(plan: DuePlan, today: date) -> str:
    """Return "Due tomorrow", or that a plan's outcome is unknown."""
    words = relative_words(plan.day, today)
    return f"Outcome unknown ({words})" if plan.day < today else f"Due {words}"
