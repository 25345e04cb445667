"""Queries for what waits for the user's decision. Imports little, for `construct brief`."""

from typing import NamedTuple

from construct.store.driver import Connection
from construct.store.flags import IN_FORCE
from construct.store.sql import column, scalar

_REVIEWED = "reviewed"
"""The name in `meta` of the newest observation that the user has gone through in a review."""
_ASKABLE = f"""
    FROM questions AS q LEFT JOIN observations AS o ON o.id = (
        SELECT observation_id FROM question_items AS item
        WHERE item.question_id = q.id AND kind IN ('doubtful', 'stand-in', 'new')
            AND (kind <> 'stand-in' OR q.noted_on IS NULL))
    WHERE q.answered_at IS NULL AND (
        kind IN ('list', 'proposal') AND text IS NOT NULL
        OR kind = 'stand-in' AND q.noted_on IS NOT NULL AND text IS NOT NULL
        OR o.superseded_at IS NULL AND o.withheld = 0 AND (kind <> 'doubtful' OR EXISTS (
            SELECT 1 FROM observation_flags
            WHERE observation_id = o.id AND flag = 'doubtful' AND {IN_FORCE}))
            AND (kind <> 'new' OR NOT EXISTS (
                SELECT 1 FROM question_items JOIN questions AS other ON other.id = question_id
                WHERE observation_id = o.id AND other.kind = 'stand-in'
                AND other.answered_at IS NULL)))"""
"""SQL: open questions that can be asked now (q), with the active note (o) they are about.

A lost line has a day, other stand-ins have none. A new stand-in is asked about once.
Requests to forget are read by questions.py.
"""
_CHANGED = """SELECT group_concat(content, ' / ') FROM (
    SELECT content FROM observations AS newer WHERE newer.cycle_id = q.cycle_id AND newer.id IN (
        SELECT observation_id FROM observation_borrowed WHERE lender_id = o.id
        UNION SELECT observation_id FROM observation_replaced
        WHERE observation_replaced.cycle_id = q.cycle_id) ORDER BY newer.id LIMIT 3)"""
"""SQL: what a cycle learned that made a note (o) doubtful."""
_ASKABLE_REQUESTS = """FROM questions AS q WHERE kind = 'forget' AND withheld_at IS NOT NULL
    AND answered_at IS NULL
    AND EXISTS (SELECT 1 FROM question_items WHERE question_id = q.id AND NOT along)"""


class OpenQuestion(NamedTuple):
    """A question that waits for an answer, other than a request to forget."""

    id: int
    kind: str
    text: str | None
    """What is proposed, or the line that was refused."""
    noted_on: str | None
    source: str | None
    created_at: str
    observation_id: int | None
    """The note it is about, if there is one."""
    content: str | None
    """The words of that note."""
    origin: str | None
    """Who wrote that note."""
    changed: str | None
    """What made a note doubtful: the words of newer ones, if they are still stored."""


def open_questions(db: Connection) -> list[OpenQuestion]:
    """Return the questions that can be asked now, oldest first, without requests to forget."""
    rows = db.execute(
        f"""SELECT q.id, kind, text, q.noted_on, source, q.created_at, o.id, o.content, o.origin,
                iif(kind = 'doubtful', ({_CHANGED}), NULL)
            {_ASKABLE} ORDER BY q.id"""
    )
    return [OpenQuestion(*row) for row in rows]


def count_waiting(db: Connection) -> int:
    """Return how many questions wait for an answer."""
    questions = scalar(db, f"SELECT count(*) {_ASKABLE}")
    return int(questions + scalar(db, f"SELECT count(*) {_ASKABLE_REQUESTS}"))


def messages_of(db: Connection, question_id: int) -> list[int]:
    """Return the ids of the messages that a question is about, oldest first."""
    query = """SELECT message_id FROM question_items
               WHERE question_id = ? AND message_id IS NOT NULL ORDER BY message_id"""
    return column(db, query, (question_id,))


def learned_since_review(db: Connection) -> list[int]:
    """Return the ids of active notes that were learned since the last review, oldest first.

    The user's own words are not among them, nor what is asked about by itself.
    """
    query = f"""SELECT id FROM observations
        WHERE id > :last AND superseded_at IS NULL AND withheld = 0 AND origin <> 'user'
        AND id NOT IN (SELECT o.id {_ASKABLE} AND o.id IS NOT NULL)
        ORDER BY id"""
    last = scalar(db, "SELECT value FROM meta WHERE name = ?", (_REVIEWED,))
    return column(db, query, {"last": int(last or 0)})


def newest_note(db: Connection) -> int:
    """Return the id of the newest observation, or 0."""
    return int(scalar(db, "SELECT ifnull(max(id), 0) FROM observations"))


def learned_since(db: Connection, observation_id: int) -> tuple[int, int]:
    """Return how many notes were learned after this one that still count, and how many are plans.

    Reflections are none: they only put other notes into fewer words.
    """
    query = """SELECT count(*), ifnull(sum(stance = 'planned'), 0) FROM observations
               WHERE id > ? AND superseded_at IS NULL AND generation = 0 AND origin <> 'user'"""
    notes, plans = db.execute(query, (observation_id,)).fetchone()
    return notes, plans


def mark_reviewed(db: Connection, observation_id: int) -> None:
    """Record that the user has gone through all notes up to this one."""
    db.execute(
        "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_REVIEWED, str(observation_id))
    )
