"""Observations, their sources, and what a conversation is shown of them: plain queries."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple
from weakref import WeakKeyDictionary

from construct.errors import NotFoundError
from construct.store.records import Descent, Observation
from construct.store.sql import GIVEN, column, columns, exists, first, given, insert, scalar, select
from construct.store.talk import new_uid

_ACTIVE = "superseded_at IS NULL AND committed_at IS NOT NULL AND withheld = 0"
_UNSUPERSEDED = "superseded_at IS NULL AND withheld = 0"
_PENDING = "conversation_id = ? AND committed_at IS NULL AND superseded_at IS NULL"


def insert_observation(db: sqlite3.Connection, values: Mapping[str, object]) -> int:
    """Store an observation given by its columns and return its id; `uid` is made here."""
    return insert(db, "observations", {"uid": new_uid(), **values})


def link_messages(db: sqlite3.Connection, observation_id: int, message_ids: Iterable[int]) -> None:
    """Say which messages an observation comes from."""
    db.executemany(
        "INSERT OR IGNORE INTO observation_messages (observation_id, message_id) VALUES (?, ?)",
        [(observation_id, message_id) for message_id in message_ids],
    )


def link_sources(db: sqlite3.Connection, observation_id: int, source_ids: Iterable[int]) -> None:
    """Say which observations a reflection was made of."""
    db.executemany(
        "INSERT OR IGNORE INTO observation_sources (observation_id, source_id) VALUES (?, ?)",
        [(observation_id, source_id) for source_id in source_ids],
    )


def observation(db: sqlite3.Connection, observation_id: int) -> Observation:
    """Return an observation; raises NotFoundError."""
    found = first(db, Observation, "observations WHERE id = ?", (observation_id,))
    if found is None:
        raise NotFoundError(f"There is no observation {observation_id}.\n`construct memory list` shows them.")
    return found


def observations(db: sqlite3.Connection, ids: Sequence[int]) -> list[Observation]:
    """Return the observations of the ids that exist, in the order of the ids given."""
    found = {o.id: o for o in select(db, Observation, f"observations WHERE id IN {GIVEN}", (given(ids),))}
    return [found[i] for i in ids if i in found]


def active_in_scope(db: sqlite3.Connection, talk: Descent | None) -> list[Observation]:
    """Return the active observations, oldest commit first; of a talk, or of all."""
    where, values = scope_filter(talk)
    return select(db, Observation, f"observations WHERE {_ACTIVE}{where} ORDER BY committed_at, id", values)


class Weighed(NamedTuple):
    """What decides whether an observation is shown."""

    id: int
    priority: str
    observation_date: str
    token_count: int
    pinned: int


def weighed_in_scope(db: sqlite3.Connection, talk: Descent | None) -> list[Weighed]:
    """Return the same without their words, in no order: there are ever more of them."""
    where, values = scope_filter(talk)
    return select(db, Weighed, f"observations WHERE {_ACTIVE}{where}", values)


def active_tokens(db: sqlite3.Connection, talk: Descent | None) -> int:
    """Return the tokens of the active observations in scope."""
    where, values = scope_filter(talk)
    return int(scalar(db, f"SELECT total(token_count) FROM observations WHERE {_ACTIVE}{where}", values))


def has_pending(db: sqlite3.Connection, conversation_id: int) -> bool:
    """Tell whether a conversation has pending observations."""
    return exists(db, f"observations WHERE {_PENDING}", (conversation_id,))


def pending(db: sqlite3.Connection, conversation_id: int) -> list[Observation]:
    """Return a conversation's pending observations, oldest first."""
    return select(db, Observation, f"observations WHERE {_PENDING} ORDER BY id", (conversation_id,))


def commit_pending(db: sqlite3.Connection, conversation_id: int, now: str) -> int:
    """Commit a conversation's pending observations and return how many."""
    update = f"UPDATE observations SET committed_at = ? WHERE {_PENDING}"
    return db.execute(update, (now, conversation_id)).rowcount


def supersede(db: sqlite3.Connection, ids: Iterable[int], cycle_id: int, now: str) -> None:
    """Mark observations as superseded by a cycle."""
    db.executemany(
        "UPDATE observations SET superseded_at = ?, superseded_by = ? WHERE id = ? AND superseded_at IS NULL",
        [(now, cycle_id, i) for i in ids],
    )


def sources_of(db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, list[int]]:
    """Return, per reflection, the observations that it was made of directly."""
    query = "SELECT source_id FROM observation_sources WHERE observation_id = ? ORDER BY source_id"
    return {i: column(db, query, (i,)) for i in ids}


def matching(db: sqlite3.Connection, expression: str, talk: Descent | None, limit: int) -> list[Observation]:
    """Return the active and pending observations that match an FTS5 expression, best first; none for an empty one."""
    if not expression:
        return []
    where, values = scope_filter(talk)
    source = f"""(SELECT rowid AS found, rank FROM observations_fts WHERE observations_fts MATCH ?)
        JOIN observations ON id = found WHERE {_UNSUPERSEDED}{where} ORDER BY rank, id DESC LIMIT ?"""
    return select(db, Observation, source, (expression, *values, limit))


def newest(db: sqlite3.Connection, talk: Descent | None, limit: int, *, high_only: bool = False) -> list[Observation]:
    """Return the newest active and pending observations, the newest first."""
    where, values = scope_filter(talk)
    high = " AND priority = 'high'" if high_only else ""
    source = f"observations WHERE {_UNSUPERSEDED}{high}{where} ORDER BY id DESC LIMIT ?"
    return select(db, Observation, source, (*values, limit))


def last_said(db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, tuple[str, int]]:
    """Return, per observation, when the newest message it rests on was said, and that message's id.

    Through all generations; of messages said at once the one with the higher id is the newest. What the user wrote
    themselves was said when they wrote it, and what rests on nothing any more never.
    """
    query = f"""{BENEATH} SELECT m.created_at, m.id FROM observation_messages AS link
                JOIN messages AS m ON m.id = link.message_id WHERE link.observation_id IN beneath
                ORDER BY m.created_at DESC, m.id DESC LIMIT 1"""
    written = dict(
        db.execute(f"SELECT id, created_at FROM observations WHERE origin = 'user' AND id IN {GIVEN}", (given(ids),))
    )
    found = {i: db.execute(query, (given([i]),)).fetchone() or ("", 0) for i in ids}
    return {i: (written[i], found[i][1]) if i in written else found[i] for i in found}


def newest_message_under(db: sqlite3.Connection, ids: Sequence[int]) -> dict[int, int]:
    """Return, per observation, the newest message it rests on through all generations (0 when none is left)."""
    query = f"""{BENEATH} SELECT ifnull(max(message_id), 0) FROM observation_messages
                WHERE observation_id IN beneath"""
    return {i: scalar(db, query, (given([i]),)) for i in ids}


BENEATH = """WITH RECURSIVE beneath(id) AS (
    SELECT value FROM json_each(?) UNION
    SELECT source_id FROM observation_sources JOIN beneath ON observation_id = beneath.id)"""
"""The given observations and all that they were made of, down to generation 0."""


def resting_in(db: sqlite3.Connection, ids: Iterable[int], conversation_ids: Iterable[int]) -> frozenset[int]:
    """Return those of the observations that rest on a message of one of these conversations."""
    query = f"""{BENEATH} SELECT EXISTS (
        SELECT 1 FROM observation_messages JOIN messages ON messages.id = message_id
        WHERE observation_id IN beneath AND conversation_id IN {GIVEN})"""
    homes = given(conversation_ids)
    return frozenset(i for i in ids if scalar(db, query, (given([i]), homes)))


def note_asked(db: sqlite3.Connection, ids: Sequence[int], now: str) -> None:
    """Remember that the companion could ask how these plans turned out."""
    db.executemany("UPDATE observations SET asked_at = ? WHERE id = ? AND asked_at IS NULL", [(now, i) for i in ids])


def shown_blocks(db: sqlite3.Connection, conversation_id: int) -> list[tuple[int, int]]:
    """Return (observation id, block) as the conversation is shown them, in order; block 0 fell off the budget."""
    return db.execute(
        "SELECT observation_id, block FROM shown WHERE conversation_id = ? ORDER BY block, observation_id",
        (conversation_id,),
    ).fetchall()


def count_shown(db: sqlite3.Connection, conversation_id: int) -> tuple[int, int]:
    """Return how many blocks and how many lines a conversation is shown."""
    blocks, lines = db.execute(
        "SELECT count(DISTINCT block), count(*) FROM shown WHERE conversation_id = ? AND block > 0", (conversation_id,)
    ).fetchone()
    return blocks, lines


class Line(NamedTuple):
    """What is shown of an observation; it never changes, since an edit makes another observation."""

    id: int
    uid: str
    content: str
    priority: str
    stance: str
    observation_date: str
    referenced_date: str | None
    first_date: str | None
    token_count: int


@dataclass(frozen=True, slots=True)
class Shown:
    """What a conversation is shown, in order, without what fell off the budget."""

    blocks: tuple[tuple[Line, ...], ...]
    all_active: bool


def shown(db: sqlite3.Connection, conversation_id: int) -> Shown:
    """Return what the conversation is shown; it is read anew only when it is not what was shown last time."""
    uids, all_active = db.execute(
        f"""SELECT json_group_array(block || ' ' || uid), min({_ACTIVE})
            FROM {_SHOWN}""",
        (conversation_id,),
    ).fetchone()
    last, found = _last_shown.get(db, (None, Shown((), all_active=True)))
    if last != (now := (conversation_id, uids, all_active)):
        found = Shown(_read_blocks(db, conversation_id), all_active=all_active != 0)
        _last_shown[db] = now, found
    return found


def _read_blocks(db: sqlite3.Connection, conversation_id: int) -> tuple[tuple[Line, ...], ...]:
    rows = db.execute(
        f"SELECT block, {columns(Line, 'o')} FROM {_SHOWN} ORDER BY block, observation_id", (conversation_id,)
    )
    return tuple(tuple(Line._make(line) for _, *line in block) for _, block in groupby(rows, key=itemgetter(0)))


_SHOWN = "shown JOIN observations AS o ON o.id = observation_id WHERE shown.conversation_id = ? AND block > 0"
_last_shown: WeakKeyDictionary[sqlite3.Connection, tuple[tuple[object, ...], Shown]] = WeakKeyDictionary()
"""Known by uids: an id may come again, after a transaction that was taken back."""


def shown_ids(db: sqlite3.Connection, conversation_id: int) -> list[int]:
    """Return the observations that a conversation is shown."""
    return column(db, "SELECT observation_id FROM shown WHERE conversation_id = ? AND block > 0", (conversation_id,))


def replace_shown(db: sqlite3.Connection, conversation_id: int, rows: Iterable[tuple[int, int]]) -> None:
    """Store what a conversation is shown: (observation id, block). Written is what differs: most stays as it was."""
    before, after = dict(shown_blocks(db, conversation_id)), dict(rows)
    db.executemany(
        "DELETE FROM shown WHERE conversation_id = ? AND observation_id = ?",
        [(conversation_id, i) for i in before.keys() - after.keys()],
    )
    db.executemany(
        "INSERT OR REPLACE INTO shown (conversation_id, observation_id, block) VALUES (?, ?, ?)",
        [(conversation_id, i, block) for i, block in after.items() - before.items()],
    )


def add_shown(db: sqlite3.Connection, ids: Iterable[int], conversation_id: int | None) -> None:
    """Show observations in the last block of a conversation that is shown something (None: of each such one)."""
    blocks = db.execute(
        "SELECT conversation_id, max(block) FROM shown WHERE ? IS NULL OR conversation_id = ? GROUP BY conversation_id",
        (conversation_id, conversation_id),
    ).fetchall()
    db.executemany(
        "INSERT OR IGNORE INTO shown (conversation_id, observation_id, block) VALUES (?, ?, ?)",
        [(here, i, max(block, 1)) for here, block in blocks for i in ids],
    )


def scope_filter(talk: Descent | None) -> tuple[str, tuple[int, ...]]:
    """Return a condition on `observations`, with " AND " before it, and its values; none for all talks.

    Of what a talk goes on from only that is in scope which rests on what was said before the fork: what the parent
    knew then, and what came of that since. A line that was condensed from several conversations (under scope `user`)
    is in scope where one of them is the talk itself.
    """
    if talk is None:
        return "", ()
    condition, values = in_descent(talk, "observations")
    return f" AND {condition}", values


def in_descent(talk: Descent, table: str) -> tuple[str, tuple[int, ...]]:
    """Return a condition that an observation of `table` is in scope of a talk (see `scope_filter`), and its values."""
    (own, _), *parents = talk
    parts = [f"{table}.conversation_id = ?"]
    parts += [f"({table}.conversation_id = ? AND {_rests_before(table)})" for _ in parents]
    parts.append(f"({table}.conversation_id IS NULL AND {_rests_on(table)})")
    return f"({' OR '.join(parts)})", (own, *(value for parent in parents for value in parent), own)


def _under(table: str) -> str:
    return f"""WITH RECURSIVE under(id) AS (
        SELECT {table}.id UNION SELECT source_id FROM observation_sources JOIN under ON observation_id = under.id)"""


def _rests_before(table: str) -> str:
    return f"""NOT EXISTS (
        {_under(table)} SELECT 1 FROM observation_messages WHERE observation_id IN under AND message_id > ?)"""


def _rests_on(table: str) -> str:
    return f"""EXISTS (
        {_under(table)} SELECT 1 FROM observation_messages JOIN messages ON messages.id = message_id
        WHERE observation_id IN under AND messages.conversation_id = ?)"""


def unsuperseded(db: sqlite3.Connection) -> list[Observation]:
    """Return the active and the pending observations of all conversations, oldest first."""
    return select(db, Observation, "observations WHERE superseded_at IS NULL ORDER BY id")


def all_observations(db: sqlite3.Connection) -> list[Observation]:
    """Return every observation, superseded ones too, oldest first."""
    return select(db, Observation, "observations ORDER BY id")


def newest_reflections(db: sqlite3.Connection, limit: int) -> list[Observation]:
    """Return the newest active reflections, oldest first."""
    source = f"observations WHERE generation > 0 AND {_ACTIVE} ORDER BY id DESC LIMIT ?"
    return select(db, Observation, source, (limit,))[::-1]
