"""What the observer heard the user ask to forget: withheld from the main model until the user decides. Plain queries.

Nothing is deleted by it. A request waits for its cycle's observations to be committed, then its note is withheld, and
its message once it has left the window; the user is asked once.
"""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from construct.store import observations as rows
from construct.store.lineage import above, below, messages_below
from construct.store.remnants import replies
from construct.store.sql import GIVEN, column, given, insert
from construct.store.talk import new_uid

_ASKED = "SELECT {} FROM forget_requests WHERE withheld_at IS NOT NULL"
_OPEN = "SELECT id FROM forget_requests WHERE withheld_at <= ? AND answered_at IS NULL"


class ForgetRequest(NamedTuple):
    """One thing to be asked about: an observation or a message, with its words."""

    id: int
    observation_id: int | None
    message_id: int | None
    words: str


def add(db: sqlite3.Connection, cycle_id: int, observation_ids: Iterable[int], message_ids: Iterable[int]) -> None:
    """Keep requests with a cycle.

    With a note go those it was made of, the reflections made of it meanwhile, and the messages it comes from; with a
    message the replies to it: each would bring the words back.
    """
    named = set(observation_ids)
    standing = {o.id for o in rows.observations(db, sorted(above(db, named))) if o.state != "superseded"}
    notes = below(db, named) | standing
    messages = {*message_ids, *(m.id for m in messages_below(db, notes))}
    messages |= {m.id for m in replies(db, messages)}
    for observation_id in sorted(notes):
        insert(db, "forget_requests", {"uid": new_uid(), "cycle_id": cycle_id, "observation_id": observation_id})
    for message_id in sorted(messages):
        insert(db, "forget_requests", {"uid": new_uid(), "cycle_id": cycle_id, "message_id": message_id})


def withhold_committed(db: sqlite3.Connection, conversation_id: int, now: str) -> None:
    """Withhold what a conversation's observer cycles asked for, after a compaction.

    A message that its own conversation still shows raw waits until it has left that window.
    """
    db.execute(
        """UPDATE forget_requests SET withheld_at = ? WHERE withheld_at IS NULL AND cycle_id IN (
            SELECT id FROM cycles WHERE conversation_id = ? AND kind = 'observer' AND status = 'succeeded')""",
        (now, conversation_id),
    )
    db.execute(f"UPDATE observations SET withheld = 1 WHERE withheld = 0 AND id IN ({_ASKED.format('observation_id')})")
    db.execute(
        f"""UPDATE messages SET withheld = 1
            WHERE withheld = 0 AND id IN ({_ASKED.format("message_id")}) AND (archived OR id <= ifnull((
                SELECT w.message_id FROM watermarks AS w
                WHERE w.conversation_id = messages.conversation_id AND w.name = 'window'), 0))"""
    )


def waiting(db: sqlite3.Connection) -> frozenset[int]:
    """Return the observations that will be withheld once their request's cycle is committed."""
    query = "SELECT observation_id FROM forget_requests WHERE withheld_at IS NULL AND observation_id IS NOT NULL"
    return frozenset(column(db, query))


def unanswered(db: sqlite3.Connection) -> list[ForgetRequest]:
    """Return what is withheld and not asked about yet: notes, and the user's messages that none of these rests on."""
    rows = db.execute(
        """SELECT r.id, r.observation_id, r.message_id, coalesce(o.content, m.content)
           FROM forget_requests AS r LEFT JOIN observations AS o ON o.id = r.observation_id
           LEFT JOIN messages AS m ON m.id = r.message_id
           WHERE withheld_at IS NOT NULL AND answered_at IS NULL AND ifnull(m.role, 'user') = 'user'
           AND o.superseded_at IS NULL
           ORDER BY r.id"""
    )
    requests = [ForgetRequest(*row) for row in rows]
    beneath = {m.id for m in messages_below(db, [r.observation_id for r in requests if r.observation_id is not None])}
    return [r for r in requests if r.message_id not in beneath]


def leave(db: sqlite3.Connection, asked: str, now: str) -> None:
    """Note that the user was asked at that time: what was withheld by then stays so."""
    db.execute(f"UPDATE forget_requests SET answered_at = ? WHERE id IN ({_OPEN})", (now, asked))


def keep(db: sqlite3.Connection, asked: str) -> None:
    """Give back what the user was asked about at that time."""
    _give_back(db, column(db, _OPEN, (asked,)))


def take_back(db: sqlite3.Connection, cycle_id: int) -> None:
    """Give back what a cycle withheld, since it is undone."""
    _give_back(db, column(db, "SELECT id FROM forget_requests WHERE cycle_id = ?", (cycle_id,)))


def _give_back(db: sqlite3.Connection, request_ids: list[int]) -> None:
    """Delete requests and show again what they alone withheld; what was forgotten for good stays withheld."""
    chosen = given(request_ids)
    observations = column(db, f"SELECT observation_id FROM forget_requests WHERE id IN {GIVEN}", (chosen,))
    messages = column(db, f"SELECT message_id FROM forget_requests WHERE id IN {GIVEN}", (chosen,))
    db.execute(f"DELETE FROM forget_requests WHERE id IN {GIVEN}", (chosen,))
    db.execute(
        f"""UPDATE observations SET withheld = 0 WHERE id IN {GIVEN} AND NOT EXISTS (
                SELECT 1 FROM forget_requests WHERE observation_id = observations.id AND withheld_at IS NOT NULL)""",
        (given(i for i in observations if i is not None),),
    )
    db.execute(
        f"""UPDATE messages SET withheld = 0 WHERE id IN {GIVEN}
            AND uid NOT IN (SELECT message_uid FROM tombstones) AND NOT EXISTS (
                SELECT 1 FROM forget_requests WHERE message_id = messages.id AND withheld_at IS NOT NULL)""",
        (given(i for i in messages if i is not None),),
    )
