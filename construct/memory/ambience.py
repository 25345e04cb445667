"""Gathering what the ambient block says: due plans, recalled passages, what the talk is at."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

from construct.clock import from_text, to_text
from construct.memory.cycles.situation import Terms
from construct.memory.recall.passages import passages
from construct.memory.shown import forks
from construct.memory.shown.ambient import Ambience, DuePlan, Passage, told
from construct.store import observations as rows
from construct.store import talk
from construct.store.briefings import forgotten
from construct.store.dates import LAST_DAY_SQL
from construct.store.records import Conversation, Message, Watermarks
from construct.store.search import Filters

AHEAD = timedelta(days=2)
BEHIND = timedelta(days=14)
ASK_FOR = timedelta(hours=12)
"""So long a plan of unknown outcome is brought up, from the first turn that did so."""
_MOST_PLANS = 3
_SPEAKER = {"user": "They said", "assistant": "You said", "memory": "Kept"}


def gather(
    db: sqlite3.Connection, conversation_id: int, text: str, terms: Terms, answering: tuple[int, ...] = ()
) -> Ambience:
    """Return what holds for a turn that begins with `text`.

    `answering` are the messages that are answered anew, where they are stored already, with the replies they had.
    """
    clock = terms.clock
    here = talk.conversation(db, conversation_id)
    marks = talk.watermarks(db, conversation_id)
    before = forks.last_messages(db, conversation_id, 2)
    pause = clock.now() - from_text(before[-1].created_at) if before else None
    within = forks.reach(db, terms.scope, conversation_id)
    filters = Filters(talk=within, without=answering, zone=clock.zone, for_model=True)
    return Ambience(
        now=clock.local(clock.now()),
        pause=pause,
        due=due_plans(db, conversation_id, terms),
        passages=_passages(db, text, before, _in_sight(db, here, marks), filters, terms) if text.strip() else (),
        task=here.current_task if marks.window else None,
    )


def without_forgotten(db: sqlite3.Connection, conversation_id: int, gathered: Ambience) -> Ambience:
    """Return what was gathered a while ago without what has been forgotten since."""
    gone = {(one.kind, one.id) for one in forgotten(db, told(gathered))}
    here = talk.conversation(db, conversation_id)
    return replace(
        gathered,
        due=[plan for plan in gathered.due if ("observation", plan.observation_id) not in gone],
        passages=[passage for passage in gathered.passages if (passage.kind, passage.id) not in gone],
        task=gathered.task if gathered.task == here.current_task else None,
    )


def due_plans(db: sqlite3.Connection, conversation_id: int, terms: Terms) -> list[DuePlan]:
    """Return active plans due within two days, and those whose day passed in the last fortnight.

    The latter until they could have been asked about: once is enough.
    """
    today = terms.clock.today()
    lately = to_text(terms.clock.now() - ASK_FOR)
    where, values = rows.scope_filter(forks.reach(db, terms.scope, conversation_id))
    last = LAST_DAY_SQL.format("referenced_date")
    found = db.execute(
        f"""SELECT id, content, {last} AS last_day FROM observations
            WHERE superseded_at IS NULL AND committed_at IS NOT NULL AND withheld = 0
              AND referenced_date IS NOT NULL AND last_day BETWEEN ? AND ?
              AND (last_day >= ? OR (stance = 'planned' AND (asked_at IS NULL OR asked_at > ?)))
              AND stance IN ('stated', 'planned') AND last_day > observation_date{where}
            ORDER BY last_day < ?, abs(julianday(last_day) - julianday(?)), id LIMIT ?""",
        (
            (today - BEHIND).isoformat(), (today + AHEAD).isoformat(), today.isoformat(), lately, *values,
            today.isoformat(), today.isoformat(), _MOST_PLANS,
        ),
    )  # fmt: skip
    return [DuePlan(row[0], row[1], date.fromisoformat(row[2])) for row in found]


def _in_sight(db: sqlite3.Connection, here: Conversation, marks: Watermarks) -> set[tuple[str, int]]:
    """Return (kind, id) of what the model sees anyway."""
    window = [*talk.live_ids(db, here.id, marks.window), *(m.id for m in forks.inherited_window(db, here))]
    return {("message", i) for i in window} | {("observation", i) for i in rows.shown_ids(db, here.id)}


def _passages(
    db: sqlite3.Connection,
    text: str,
    before: Sequence[Message],
    in_sight: set[tuple[str, int]],
    filters: Filters,
    terms: Terms,
) -> list[Passage]:
    """Return what recall brings back by itself for these words."""
    previous = next((m.content for m in reversed(before) if m.role == "user"), "")
    today, meaning = terms.clock.today(), terms.meaning
    found = passages(db, text, previous, in_sight, today=today, filters=filters, meaning=meaning)
    return [
        Passage(
            hit.kind, hit.id, date.fromisoformat(hit.date[:10]), _SPEAKER.get(hit.role or hit.kind, "Noted"), hit.text
        )
        for hit in found
    ]
