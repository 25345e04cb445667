"""What the observer heard the user ask to forget: withheld until the user decides.

Nothing is deleted by it. A request waits for its cycle's observations to be committed,
then its note is withheld, and its message once it has left the window; the user is
asked once. Plain queries.
"""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from construct.store import observations as rows
from construct.store.provenance import messages_behind, with_reflections, with_sources
from construct.store.references import replies
from construct.store.sql import GIVEN, column, given, insert, new_uid

_ASKED = "SELECT {} FROM forget_requests WHERE withheld_at IS NOT NULL"
_OPEN = """SELECT id FROM forget_requests
    WHERE withheld_at IS NOT NULL AND answered_at IS NULL AND cycle_id IS ?"""


class ForgetRequest(NamedTuple):
    """One thing to be asked about: an observation or a message, with its words."""

    cycle_id: int | None
    """Of the run that heard it; None when its conversation was deleted."""
    observation_id: int | None
    message_id: int | None
    words: str


def add(
    db: sqlite3.Connection,
    cycle_id: int,
    observation_ids: Iterable[int],
    message_ids: Iterable[int],
) -> None:
    """Store the requests that a cycle heard.

    With a note go those it was made of, the reflections made of it meanwhile, and the
    messages it comes from; with a message the replies to it: each would bring the words
    back.
    """
    notes, messages = set(observation_ids), set(message_ids)
    beneath = with_sources(db, notes)
    standing = {
        o.id
        for o in rows.observations(db, sorted(with_reflections(db, notes)))
        if o.state != "superseded"
    }
    said = messages | {m.id for m in messages_behind(db, beneath)}
    said |= {m.id for m in replies(db, said)}
    requests = [{"observation_id": i, "along": i not in notes} for i in sorted(beneath | standing)]
    requests += [{"message_id": i, "along": i not in messages} for i in sorted(said)]
    for request in requests:
        insert(db, "forget_requests", {"uid": new_uid(), "cycle_id": cycle_id, **request})


def withhold_committed(db: sqlite3.Connection, conversation_id: int, now: str) -> None:
    """Withhold what a conversation's committed observer cycles heard requests for.

    A message that its own conversation still shows raw waits until it has left that
    window.
    """
    db.execute(
        """UPDATE forget_requests SET withheld_at = ?
           WHERE withheld_at IS NULL AND cycle_id IN (
               SELECT id FROM cycles
               WHERE conversation_id = ? AND kind = 'observer' AND status = 'succeeded')""",
        (now, conversation_id),
    )
    db.execute(
        f"""UPDATE observations SET withheld = 1
            WHERE withheld = 0 AND id IN ({_ASKED.format("observation_id")})"""
    )
    db.execute(
        f"""UPDATE messages SET withheld = 1
            WHERE withheld = 0 AND id IN ({_ASKED.format("message_id")})
            AND (archived OR id <= ifnull((
                SELECT w.message_id FROM watermarks AS w
                WHERE w.conversation_id = messages.conversation_id AND w.name = 'window'), 0))"""
    )


def waiting(db: sqlite3.Connection) -> frozenset[int]:
    """Return the observations to be withheld once their request is committed."""
    query = """SELECT observation_id FROM forget_requests
               WHERE withheld_at IS NULL AND observation_id IS NOT NULL"""
    return frozenset(column(db, query))


def unanswered(db: sqlite3.Connection) -> list[ForgetRequest]:
    """Return what is withheld and not asked about yet, run by run.

    Those are the notes and messages that were named, without the messages that such a
    note rests on: they go with it.
    """
    found = db.execute(
        """SELECT r.cycle_id, r.observation_id, r.message_id, coalesce(o.content, m.content)
           FROM forget_requests AS r LEFT JOIN observations AS o ON o.id = r.observation_id
           LEFT JOIN messages AS m ON m.id = r.message_id
           WHERE withheld_at IS NOT NULL AND answered_at IS NULL AND NOT along
           ORDER BY r.cycle_id, r.id"""
    )
    requests = [ForgetRequest(*row) for row in found]
    notes = [r.observation_id for r in requests if r.observation_id is not None]
    beneath = {m.id for m in messages_behind(db, notes)}
    return [r for r in requests if r.message_id not in beneath]


def leave(db: sqlite3.Connection, cycle_id: int | None, now: str) -> None:
    """Note that the user was asked about what a cycle withheld: it stays so."""
    db.execute(f"UPDATE forget_requests SET answered_at = ? WHERE id IN ({_OPEN})", (now, cycle_id))


def keep(db: sqlite3.Connection, cycle_id: int | None) -> None:
    """Give back what a cycle withheld and the user was asked about."""
    _give_back(db, column(db, _OPEN, (cycle_id,)))


def withheld_by(db: sqlite3.Connection, cycle_id: int) -> tuple[str, ...]:
    """Return the words of the notes and messages that a cycle withholds."""
    query = """SELECT coalesce(o.content, m.content) FROM forget_requests AS r
               LEFT JOIN observations AS o ON o.id = r.observation_id
               LEFT JOIN messages AS m ON m.id = r.message_id
               WHERE r.cycle_id = ? AND withheld_at IS NOT NULL AND ifnull(m.role, 'user') = 'user'
               ORDER BY r.id"""
    return tuple(column(db, query, (cycle_id,)))


def take_back(db: sqlite3.Connection, cycle_id: int) -> None:
    """Stop withholding what an undone cycle withheld."""
    _give_back(db, column(db, "SELECT id FROM forget_requests WHERE cycle_id = ?", (cycle_id,)))


def _give_back(db: sqlite3.Connection, request_ids: list[int]) -> None:
    """Delete requests and show again what they alone withheld.

    What was forgotten for good stays withheld.
    """
    chosen = (given(request_ids),)
    observations = column(
        db,
        f"""SELECT observation_id FROM forget_requests
            WHERE id IN {GIVEN} AND observation_id IS NOT NULL""",
        chosen,
    )
    messages = column(
        db,
        f"""SELECT message_id FROM forget_requests
            WHERE id IN {GIVEN} AND message_id IS NOT NULL""",
        chosen,
    )
    db.execute(f"DELETE FROM forget_requests WHERE id IN {GIVEN}", chosen)
    db.execute(
        f"""UPDATE observations SET withheld = 0 WHERE id IN {GIVEN} AND NOT EXISTS (
                SELECT 1 FROM forget_requests
                WHERE observation_id = observations.id AND withheld_at IS NOT NULL)""",
        (given(observations),),
    )
    db.execute(
        f"""UPDATE messages SET withheld = 0 WHERE id IN {GIVEN}
            AND uid NOT IN (SELECT message_uid FROM tombstones) AND NOT EXISTS (
                SELECT 1 FROM forget_requests
                WHERE message_id = messages.id AND withheld_at IS NOT NULL)""",
        (given(messages),),
    )
