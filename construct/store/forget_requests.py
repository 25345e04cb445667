"""Queries for the user's requests to forget something, heard by the observer.

Such a request deletes nothing. Once the observations of the observer's cycle are
committed, what it is about is withheld from the model: an observation at once, a
message as soon as it has left the window. Then the user is asked once whether to forget
it for good.
"""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from construct.store.observations import observations
from construct.store.provenance import messages_behind, with_origins, with_reflections, with_sources
from construct.store.replies import replies_to
from construct.store.sql import ID_LIST, column, insert, json_ids, new_uid

_APPLIED = "SELECT {} FROM forget_requests WHERE withheld_at IS NOT NULL"
_UNANSWERED = """SELECT id FROM forget_requests
    WHERE withheld_at IS NOT NULL AND answered_at IS NULL AND cycle_id IS ?"""


class ForgetRequest(NamedTuple):
    """A withheld observation or message that the user is to be asked about."""

    cycle_id: int | None
    """The cycle that heard the request; None if it was deleted with its conversation."""
    observation_id: int | None
    message_id: int | None
    words: str


def add(
    db: sqlite3.Connection,
    cycle_id: int,
    observation_ids: Iterable[int],
    message_ids: Iterable[int],
) -> None:
    """Store the requests that a cycle heard, and what has to go along with them.

    An observation takes along its sources, other versions and repeats, the messages
    behind all of these, and the reflections made from it in the meantime. A message,
    named or taken along, takes along its replies. Any of them would bring the forgotten
    words back.
    """
    named, named_messages = set(observation_ids), set(message_ids)
    sources = with_sources(db, named) | _versions(db, named)
    reflections = observations(db, sorted(with_reflections(db, named)))
    affected = sources | {o.id for o in reflections if o.state != "superseded"}
    messages = named_messages | {m.id for m in messages_behind(db, sources)}
    messages |= {m.id for m in replies_to(db, messages)}
    requests = [{"observation_id": i, "along": i not in named} for i in sorted(affected)]
    requests += [{"message_id": i, "along": i not in named_messages} for i in sorted(messages)]
    for request in requests:
        insert(db, "forget_requests", {"uid": new_uid(), "cycle_id": cycle_id, **request})


def _versions(db: sqlite3.Connection, named: set[int]) -> set[int]:
    """Return the ids of other versions and repeats of these observations.

    Active ones count only if one of these has been replaced in the meantime. Otherwise,
    what once linked them was undone.
    """
    versions = observations(db, sorted(with_origins(db, named)))
    superseded = {o.id for o in versions if o.state == "superseded"}
    return superseded | with_origins(db, named & superseded)


def withhold_committed(db: sqlite3.Connection, conversation_id: int, now: str) -> None:
    """Apply the requests to forget that a conversation's committed cycles heard.

    What they are about is withheld from the model. A message that is still in its
    conversation's window is withheld from recall at once, from requests when it leaves
    the window.
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
            WHERE withheld = 0 AND id IN ({_APPLIED.format("observation_id")})"""
    )
    db.execute(
        f"""UPDATE messages SET withheld = 1
            WHERE withheld = 0 AND id IN ({_APPLIED.format("message_id")})
            AND (archived OR id <= ifnull((
                SELECT w.message_id FROM watermarks AS w
                WHERE w.conversation_id = messages.conversation_id AND w.name = 'window'), 0))"""
    )


def not_yet_withheld(db: sqlite3.Connection) -> frozenset[int]:
    """Return the ids of observations whose requests are not yet applied."""
    query = """SELECT observation_id FROM forget_requests
               WHERE withheld_at IS NULL AND observation_id IS NOT NULL"""
    return frozenset(column(db, query))


def messages_not_yet_withheld(db: sqlite3.Connection) -> frozenset[int]:
    """Return the ids of messages whose requests are not yet applied."""
    query = """SELECT message_id FROM forget_requests
               WHERE withheld_at IS NULL AND message_id IS NOT NULL"""
    return frozenset(column(db, query))


def unanswered(db: sqlite3.Connection) -> list[ForgetRequest]:
    """Return the applied requests that the user has not answered, ordered by cycle.

    What only goes along with something else is left out, such as the messages behind an
    observation that is listed.
    """
    rows = db.execute(
        """SELECT r.cycle_id, r.observation_id, r.message_id, coalesce(o.content, m.content)
           FROM forget_requests AS r LEFT JOIN observations AS o ON o.id = r.observation_id
           LEFT JOIN messages AS m ON m.id = r.message_id
           WHERE withheld_at IS NOT NULL AND answered_at IS NULL AND NOT along
           ORDER BY r.cycle_id, r.id"""
    )
    requests = [ForgetRequest(*row) for row in rows]
    named = [r.observation_id for r in requests if r.observation_id is not None]
    behind = {m.id for m in messages_behind(db, named)}
    return [r for r in requests if r.message_id not in behind]


def mark_answered(db: sqlite3.Connection, cycle_id: int | None, now: str) -> None:
    """Record that the user answered a cycle's requests; what they withhold stays withheld."""
    update = f"UPDATE forget_requests SET answered_at = ? WHERE id IN ({_UNANSWERED})"
    db.execute(update, (now, cycle_id))


def restore(db: sqlite3.Connection, cycle_id: int | None) -> None:
    """Drop a cycle's unanswered requests, and stop withholding what they withheld."""
    _drop(db, column(db, _UNANSWERED, (cycle_id,)))


def withheld_by(db: sqlite3.Connection, cycle_id: int) -> tuple[str, ...]:
    """Return the text of the observations and the user's messages that a cycle withholds."""
    query = """SELECT coalesce(o.content, m.content) FROM forget_requests AS r
               LEFT JOIN observations AS o ON o.id = r.observation_id
               LEFT JOIN messages AS m ON m.id = r.message_id
               WHERE r.cycle_id = ? AND withheld_at IS NOT NULL AND ifnull(m.role, 'user') = 'user'
               AND o.superseded_at IS NULL
               ORDER BY r.id"""
    return tuple(dict.fromkeys(column(db, query, (cycle_id,))))


def withdraw(db: sqlite3.Connection, cycle_id: int) -> None:
    """Drop all requests of an undone cycle, and stop withholding what they withheld."""
    _drop(db, column(db, "SELECT id FROM forget_requests WHERE cycle_id = ?", (cycle_id,)))


def _drop(db: sqlite3.Connection, request_ids: list[int]) -> None:
    """Delete requests, and stop withholding what no other request withholds.

    Messages forgotten for good stay withheld.
    """
    ids = (json_ids(request_ids),)
    observation_ids = column(
        db,
        f"""SELECT observation_id FROM forget_requests
            WHERE id IN {ID_LIST} AND observation_id IS NOT NULL""",
        ids,
    )
    message_ids = column(
        db,
        f"""SELECT message_id FROM forget_requests
            WHERE id IN {ID_LIST} AND message_id IS NOT NULL""",
        ids,
    )
    db.execute(f"DELETE FROM forget_requests WHERE id IN {ID_LIST}", ids)
    db.execute(
        f"""UPDATE observations SET withheld = 0 WHERE id IN {ID_LIST} AND NOT EXISTS (
                SELECT 1 FROM forget_requests
                WHERE observation_id = observations.id AND withheld_at IS NOT NULL)""",
        (json_ids(observation_ids),),
    )
    db.execute(
        f"""UPDATE messages SET withheld = 0 WHERE id IN {ID_LIST}
            AND uid NOT IN (SELECT message_uid FROM tombstones) AND NOT EXISTS (
                SELECT 1 FROM forget_requests
                WHERE message_id = messages.id AND withheld_at IS NOT NULL)""",
        (json_ids(message_ids),),
    )
