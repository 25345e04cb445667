"""Observations and their sources: plain queries."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from construct.errors import NotFoundError
from construct.store.dates import LAST_DAY_SQL
from construct.store.never import is_forbidden
from construct.store.records import SETTLED_SQL, Descent, Observation
from construct.store.sql import (
    GIVEN,
    column,
    exists,
    first,
    given,
    insert,
    new_uid,
    scalar,
    select,
)
from construct.vocabulary import MemoryOrigin, Priority, Stance

ACTIVE = "superseded_at IS NULL AND committed_at IS NOT NULL AND withheld = 0"
_UNSUPERSEDED = "superseded_at IS NULL AND withheld = 0"
_PENDING = "conversation_id = ? AND committed_at IS NULL AND superseded_at IS NULL"


def insert_observation(db: sqlite3.Connection, values: Mapping[str, object]) -> int | None:
    """Store an observation given by its columns and return its id.

    `uid` is made here. None, and nothing stored, where the user's rules forbid it; what
    the user wrote is stored.
    """
    if values.get("origin") != MemoryOrigin.USER and is_forbidden(db, str(values["content"])):
        return None
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
        raise NotFoundError(
            f"There is no observation {observation_id}.\n`construct memory list` shows them."
        )
    return found


def observations(db: sqlite3.Connection, ids: Sequence[int]) -> list[Observation]:
    """Return the observations of the ids that exist, in the order of the ids given."""
    found = {
        o.id: o for o in select(db, Observation, f"observations WHERE id IN {GIVEN}", (given(ids),))
    }
    return [found[i] for i in ids if i in found]


def active_in_scope(db: sqlite3.Connection, talk: Descent | None) -> list[Observation]:
    """Return the active observations, oldest commit first; of a talk, or of all."""
    where, values = scope_filter(talk)
    return select(
        db, Observation, f"observations WHERE {ACTIVE}{where} ORDER BY committed_at, id", values
    )


def in_scope(db: sqlite3.Connection, ids: Iterable[int], talk: Descent | None) -> list[int]:
    """Return those of the ids whose observations are in scope (see `scope_filter`)."""
    where, values = scope_filter(talk)
    query = f"SELECT id FROM observations WHERE id IN {GIVEN}{where}"
    return column(db, query, (given(ids), *values))


def by_urgency(db: sqlite3.Connection, talk: Descent | None) -> Iterator[tuple[int, int]]:
    """Yield (id, tokens) of the active observations: pinned, then by priority, then newest."""
    where, values = scope_filter(talk)
    yield from db.execute(
        f"""SELECT id, token_count FROM observations WHERE {ACTIVE}{where}
            ORDER BY pinned DESC, CASE priority WHEN 'high' THEN 1 WHEN 'medium' THEN 2 ELSE 3 END,
                observation_date DESC, id DESC""",
        values,
    )


def active_tokens(db: sqlite3.Connection, talk: Descent | None) -> int:
    """Return the tokens of the active observations in scope."""
    where, values = scope_filter(talk)
    return int(
        scalar(db, f"SELECT total(token_count) FROM observations WHERE {ACTIVE}{where}", values)
    )


def has_pending(db: sqlite3.Connection, conversation_id: int) -> bool:
    """Return whether a conversation has pending observations."""
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
        """UPDATE observations SET superseded_at = ?, superseded_by = ?
           WHERE id = ? AND superseded_at IS NULL""",
        [(now, cycle_id, i) for i in ids],
    )


def set_pinned(db: sqlite3.Connection, observation_id: int, *, pinned: bool) -> None:
    """Pin an observation, or take the pin away."""
    db.execute("UPDATE observations SET pinned = ? WHERE id = ?", (int(pinned), observation_id))


def sources_of(db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, list[int]]:
    """Return, per reflection, the observations that it was made of directly."""
    query = "SELECT source_id FROM observation_sources WHERE observation_id = ? ORDER BY source_id"
    return {i: column(db, query, (i,)) for i in ids}


def matching(
    db: sqlite3.Connection, expression: str, talk: Descent | None, limit: int
) -> list[Observation]:
    """Return active and pending observations that match an FTS5 expression, best first."""
    if not expression:
        return []
    where, values = scope_filter(talk)
    source = f"""(SELECT rowid AS found, rank FROM observations_fts WHERE observations_fts MATCH ?)
        JOIN observations ON id = found WHERE {_UNSUPERSEDED}{where}
        ORDER BY rank, id DESC LIMIT ?"""
    return select(db, Observation, source, (expression, *values, limit))


def newest(
    db: sqlite3.Connection,
    talk: Descent | None,
    limit: int,
    *,
    priority: Priority | None = None,
    stance: Stance | None = None,
) -> list[Observation]:
    """Return the newest active and pending observations, the newest first.

    With a priority or stance only those that have it.
    """
    where, values = scope_filter(talk)
    kind = "priority = ifnull(?, priority) AND stance = ifnull(?, stance)"
    source = f"observations WHERE {_UNSUPERSEDED} AND {kind}{where} ORDER BY id DESC LIMIT ?"
    return select(db, Observation, source, (priority, stance, *values, limit))


def last_said(db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, tuple[str, int]]:
    """Return, per observation, when its newest message was said, and that message's id.

    Through all generations; of messages said at once the one with the higher id is the
    newest. What the user wrote themselves was said when they wrote it, and what rests
    on nothing any more never.
    """
    query = f"""{BENEATH} SELECT m.created_at, m.id FROM observation_messages AS link
                JOIN messages AS m ON m.id = link.message_id WHERE link.observation_id IN beneath
                ORDER BY m.created_at DESC, m.id DESC LIMIT 1"""
    written = dict(
        db.execute(
            f"SELECT id, created_at FROM observations WHERE origin = 'user' AND id IN {GIVEN}",
            (given(ids),),
        )
    )
    found = {i: db.execute(query, (given([i]),)).fetchone() or ("", 0) for i in ids}
    return {i: (written[i], found[i][1]) if i in written else found[i] for i in found}


def newest_message_under(db: sqlite3.Connection, ids: Sequence[int]) -> dict[int, int]:
    """Return, per observation, the newest message it rests on, 0 when none is left.

    Through all generations.
    """
    query = f"""{BENEATH} SELECT ifnull(max(message_id), 0) FROM observation_messages
                WHERE observation_id IN beneath"""
    return {i: scalar(db, query, (given([i]),)) for i in ids}


BENEATH = """WITH RECURSIVE beneath(id) AS (
    SELECT value FROM json_each(?) UNION
    SELECT source_id FROM observation_sources JOIN beneath ON observation_id = beneath.id)"""
"""The given observations and all that they were made of, down to generation 0."""


def resting_in(
    db: sqlite3.Connection, ids: Iterable[int], conversation_ids: Iterable[int]
) -> frozenset[int]:
    """Return those of the observations that rest on a message of one of these conversations."""
    query = f"""{BENEATH} SELECT EXISTS (
        SELECT 1 FROM observation_messages JOIN messages ON messages.id = message_id
        WHERE observation_id IN beneath AND conversation_id IN {GIVEN})"""
    homes = given(conversation_ids)
    return frozenset(i for i in ids if scalar(db, query, (given([i]), homes)))


def note_asked(db: sqlite3.Connection, ids: Sequence[int], now: str) -> None:
    """Remember that the companion could ask how these plans turned out."""
    db.executemany(
        "UPDATE observations SET asked_at = ? WHERE id = ? AND asked_at IS NULL",
        [(now, i) for i in ids],
    )


def due(
    db: sqlite3.Connection,
    scope: Descent | None,
    *,
    today: str,
    since: str,
    until: str,
    asked_since: str,
    limit: int,
) -> list[tuple[int, str, str]]:
    """Return (id, content, last day) of active lines due between two days, the nearest first.

    What lies ahead comes before what has passed, and what is done or cancelled is not
    due. A plan that has passed is left out when it was first asked about before the time
    `asked_since`.
    """
    where, values = scope_filter(scope)
    last = LAST_DAY_SQL.format("referenced_date")
    found = db.execute(
        f"""SELECT id, content, {last} AS last_day FROM observations
            WHERE superseded_at IS NULL AND committed_at IS NOT NULL AND withheld = 0
              AND referenced_date IS NOT NULL AND last_day BETWEEN ? AND ?
              AND (last_day >= ?
                   OR (stance = 'planned' AND (asked_at IS NULL OR asked_at > ?)))
              AND stance IN ('stated', 'planned') AND last_day > observation_date
              AND NOT {SETTLED_SQL}{where}
            ORDER BY last_day < ?, abs(julianday(last_day) - julianday(?)), id LIMIT ?""",
        (since, until, today, asked_since, *values, today, today, limit),
    )
    return found.fetchall()


@dataclass(frozen=True, slots=True)
class Count:
    """How many observations, and of how many tokens."""

    count: int = 0
    tokens: int = 0

    def __add__(self, other: "Count") -> "Count":
        """Return both together."""
        return Count(self.count + other.count, self.tokens + other.tokens)


@dataclass(frozen=True, slots=True)
class StateCounts:
    """Observations by their state."""

    committed: Mapping[int, Count]
    """Active ones by generation, lowest first."""
    pending: Count
    superseded: int


def count_by_state(db: sqlite3.Connection, talk: Descent | None) -> StateCounts:
    """Return the counts of the observations in scope (see `scope_filter`)."""
    where, values = scope_filter(talk)
    found = db.execute(
        f"""SELECT superseded_at IS NOT NULL, committed_at IS NULL, generation,
                  count(*), coalesce(sum(token_count), 0)
            FROM observations WHERE 1{where} GROUP BY 1, 2, 3 ORDER BY generation""",
        values,
    )
    committed: dict[int, Count] = {}
    pending, superseded = Count(), 0
    for is_superseded, is_pending, generation, count, tokens in found:
        if is_superseded:
            superseded += count
        elif is_pending:
            pending += Count(count, tokens)
        else:
            committed[generation] = Count(count, tokens)
    return StateCounts(committed, pending, superseded)


def scope_filter(talk: Descent | None) -> tuple[str, tuple[int, ...]]:
    """Return a condition on `observations`, with " AND " before it, and its values.

    None for all talks.

    Of what a talk goes on from only that is in scope which rests on what was said
    before the fork: what the parent knew then, and what came of that since. A line that
    was condensed from several conversations (under scope `user`) is in scope where one
    of them is the talk itself.
    """
    if talk is None:
        return "", ()
    condition, values = in_descent(talk, "observations")
    return f" AND {condition}", values


def in_descent(talk: Descent, table: str) -> tuple[str, tuple[int, ...]]:
    """Return a condition that an observation of `table` is in a talk's scope, and its values.

    See `scope_filter`.
    """
    (own, _), *parents = talk
    parts = [f"{table}.conversation_id = ?"]
    parts += [f"({table}.conversation_id = ? AND {_rests_before(table)})" for _ in parents]
    parts.append(f"({table}.conversation_id IS NULL AND {_rests_on(table)})")
    return f"({' OR '.join(parts)})", (own, *(value for parent in parents for value in parent), own)


def _under(table: str) -> str:
    return f"""WITH RECURSIVE under(id) AS (
        SELECT {table}.id UNION
        SELECT source_id FROM observation_sources JOIN under ON observation_id = under.id)"""


def _rests_before(table: str) -> str:
    return f"""NOT EXISTS (
        {_under(table)} SELECT 1 FROM observation_messages
        WHERE observation_id IN under AND message_id > ?)"""


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
    source = f"observations WHERE generation > 0 AND {ACTIVE} ORDER BY id DESC LIMIT ?"
    return select(db, Observation, source, (limit,))[::-1]
