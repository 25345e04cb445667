"""Queries for observations.

Here, active observations are those that the model may be shown: withheld ones do not count.
`Observation.state`, and `active_at` and `generations` in note_history.py, count them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from construct.errors import NotFoundError
from construct.program import as_typed
from construct.store.driver import Connection
from construct.store.forbidden import is_forbidden
from construct.store.records import Descent, Observation
from construct.store.sql import (
    ID_LIST,
    column,
    exists,
    first,
    insert,
    json_ids,
    new_uid,
    scalar,
    select,
)
from construct.vocabulary import Origin, Priority

ACTIVE = "superseded_at IS NULL AND committed_at IS NOT NULL AND withheld = 0"
"""SQL condition: active, and not withheld from the model."""
UNSHELVED = f"{ACTIVE} AND (shelved = 0 OR pinned)"
"""SQL condition: active, not withheld, and not shelved."""
IN_SIGHT = f"""{UNSHELVED} AND NOT (stance = 'planned' AND recurs IS NULL
    AND ifnull(referenced_date < substr(?, 1, length(referenced_date)), 0))"""
"""SQL condition: unshelved, and no plan whose day is before the first parameter."""
_ACTIVE_OR_PENDING = "superseded_at IS NULL AND withheld = 0"
_PENDING = "conversation_id = ? AND committed_at IS NULL AND superseded_at IS NULL"


def insert_observation(db: Connection, values: Mapping[str, object]) -> int | None:
    """Store an observation with a new uid and return its id.

    If the user's rules forbid the content, nothing is stored and the result is None. A
    forbidden label is left out. What the user wrote themselves is always stored.
    """
    if values.get("origin") != Origin.USER:
        if is_forbidden(db, str(values["content"])):
            return None
        if is_forbidden(db, str(values.get("label") or "")):
            values = {**values, "label": None}
    return insert(db, "observations", {"uid": new_uid(), **values})


def observation(db: Connection, observation_id: int) -> Observation:
    """Return an observation; raises NotFoundError."""
    record = first(db, Observation, "observations WHERE id = ?", (observation_id,))
    if record is None:
        raise NotFoundError(
            f"There is no observation {observation_id}.\n{as_typed('memory list')} shows the ids."
        )
    return record


def observations(db: Connection, ids: Sequence[int]) -> list[Observation]:
    """Return the observations with these ids, in the same order, skipping missing ones."""
    stored = select(db, Observation, f"observations WHERE id IN {ID_LIST}", (json_ids(ids),))
    by_id = {o.id: o for o in stored}
    return [by_id[i] for i in ids if i in by_id]


def kept_by_model(db: Connection, message_ids: Sequence[int]) -> list[tuple[int, int]]:
    """Return (id, message id) of active notes that the main model kept of these messages.

    Without those that the user has pinned.
    """
    query = f"""SELECT id, message_id FROM observations
                JOIN observation_messages ON observation_id = id AND direct
                WHERE {ACTIVE} AND kept AND origin = ? AND pinned = 0 AND message_id IN {ID_LIST}
                ORDER BY id, message_id"""
    return db.execute(query, (Origin.ASSISTANT, json_ids(message_ids))).fetchall()


def active_in_scope(db: Connection, descent: Descent | None) -> list[Observation]:
    """Return the active observations in scope, oldest commit first (see `scope_filter`)."""
    where, values = scope_filter(descent)
    return select(
        db, Observation, f"observations WHERE {ACTIVE}{where} ORDER BY committed_at, id", values
    )


def in_scope(db: Connection, ids: Iterable[int], descent: Descent | None) -> list[int]:
    """Return those of the ids whose observations are in scope (see `scope_filter`)."""
    where, values = scope_filter(descent)
    query = f"SELECT id FROM observations WHERE id IN {ID_LIST}{where}"
    return column(db, query, (json_ids(ids), *values))


def by_urgency(
    db: Connection, descent: Descent | None, plans_from: str = ""
) -> Iterator[tuple[int, int]]:
    """Yield (id, tokens) of the observations in scope and in sight, most urgent first.

    Pinned ones come first, then higher priorities, then newer ones. Plans for a time before
    the day `plans_from` are out of sight.
    """
    where, values = scope_filter(descent)
    yield from db.execute(
        f"""SELECT id, token_count FROM observations WHERE {IN_SIGHT}{where}
            ORDER BY pinned DESC, CASE priority WHEN 'high' THEN 1 WHEN 'medium' THEN 2 ELSE 3 END,
                observation_date DESC, id DESC""",
        (plans_from, *values),
    )


def tokens_in_sight(db: Connection, descent: Descent | None, plans_from: str = "") -> int:
    """Return the total tokens of the observations in scope and in sight (see `by_urgency`)."""
    where, values = scope_filter(descent)
    query = f"SELECT total(token_count) FROM observations WHERE {IN_SIGHT}{where}"
    return int(scalar(db, query, (plans_from, *values)))


def has_pending(db: Connection, conversation_id: int) -> bool:
    """Return whether a conversation has pending observations."""
    return exists(db, f"observations WHERE {_PENDING}", (conversation_id,))


def pending(db: Connection, conversation_id: int) -> list[Observation]:
    """Return a conversation's pending observations, oldest first."""
    return select(db, Observation, f"observations WHERE {_PENDING} ORDER BY id", (conversation_id,))


def commit_pending(db: Connection, conversation_id: int, now: str) -> int:
    """Commit a conversation's pending observations and return how many there were."""
    update = f"UPDATE observations SET committed_at = ? WHERE {_PENDING}"
    return db.execute(update, (now, conversation_id)).rowcount


def supersede(db: Connection, ids: Iterable[int], cycle_id: int, now: str) -> None:
    """Mark observations as superseded by a cycle."""
    db.executemany(
        """UPDATE observations SET superseded_at = ?, superseded_by = ?
           WHERE id = ? AND superseded_at IS NULL""",
        [(now, cycle_id, i) for i in ids],
    )


def set_pinned(db: Connection, observation_id: int, *, pinned: bool) -> None:
    """Pin or unpin an observation."""
    db.execute("UPDATE observations SET pinned = ? WHERE id = ?", (int(pinned), observation_id))


def matching(
    db: Connection, expression: str, descent: Descent | None, limit: int
) -> list[Observation]:
    """Return active and pending observations that match an FTS5 expression, best first."""
    if not expression:
        return []
    where, values = scope_filter(descent)
    source = f"""(
            SELECT rowid AS match_id, rank FROM observations_fts WHERE observations_fts MATCH ?)
        JOIN observations ON id = match_id WHERE {_ACTIVE_OR_PENDING}{where}
        ORDER BY rank, id DESC LIMIT ?"""
    return select(db, Observation, source, (expression, *values, limit))


def newest(
    db: Connection,
    descent: Descent | None,
    limit: int,
    *,
    priority: Priority | None = None,
) -> list[Observation]:
    """Return the newest active and pending observations in scope, newest first.

    A priority narrows the result to observations that have it.
    """
    where, values = scope_filter(descent)
    source = f"""observations WHERE {_ACTIVE_OR_PENDING} AND priority = ifnull(?, priority){where}
        ORDER BY id DESC LIMIT ?"""
    return select(db, Observation, source, (priority, *values, limit))


def high_with_day_ahead(
    db: Connection, descent: Descent | None, today: str, limit: int
) -> list[Observation]:
    """Return active and pending observations of high priority with a day ahead, nearest first."""
    where, values = scope_filter(descent)
    source = f"""observations WHERE {_ACTIVE_OR_PENDING} AND priority = 'high'
        AND referenced_date >= substr(?, 1, length(referenced_date)){where}
        ORDER BY referenced_date, id LIMIT ?"""
    return select(db, Observation, source, (today, *values, limit))


def to_be_replaced(db: Connection) -> frozenset[int]:
    """Return the ids of observations that a pending one will replace once it is committed."""
    query = """SELECT replaced_id FROM observation_replaced
               JOIN observations ON observations.id = observation_id
               WHERE relation = 'outdated' AND committed_at IS NULL AND superseded_at IS NULL"""
    return frozenset(column(db, query))


def note_asked(db: Connection, ids: Sequence[int], now: str) -> None:
    """Record that the model was told to ask how these plans turned out, if not yet recorded."""
    db.executemany(
        "UPDATE observations SET asked_at = ? WHERE id = ? AND asked_at IS NULL",
        [(now, i) for i in ids],
    )


@dataclass(frozen=True, slots=True)
class Count:
    """A number of observations and their total tokens."""

    count: int = 0
    tokens: int = 0

    def __add__(self, other: "Count") -> "Count":
        """Return the sum of both."""
        return Count(self.count + other.count, self.tokens + other.tokens)


@dataclass(frozen=True, slots=True)
class StateCounts:
    """How many observations are in each state."""

    committed: Mapping[int, Count]
    """Observations in sight, and withheld ones, by generation, lowest first."""
    pending: Count
    superseded: int
    shelved: int = 0
    past_plans: int = 0
    """Plans that have left the sight, since their day is long past."""


def count_by_state(db: Connection, descent: Descent | None, plans_from: str = "") -> StateCounts:
    """Count the observations in scope by state (see `scope_filter` and `by_urgency`)."""
    where, values = scope_filter(descent)
    rows = db.execute(
        f"""SELECT CASE WHEN superseded_at IS NOT NULL THEN 'superseded'
                       WHEN committed_at IS NULL THEN 'pending'
                       WHEN shelved AND NOT pinned THEN 'shelved'
                       WHEN withheld OR {IN_SIGHT} THEN 'committed' ELSE 'past' END,
                   generation, count(*), coalesce(sum(token_count), 0)
            FROM observations WHERE 1{where} GROUP BY 1, 2 ORDER BY generation""",
        (plans_from, *values),
    )
    by_state: defaultdict[str, dict[int, Count]] = defaultdict(dict)
    for state, generation, count, tokens in rows:
        by_state[state][generation] = Count(count, tokens)
    totals = {state: sum(counts.values(), Count()) for state, counts in by_state.items()}
    none = Count()
    return StateCounts(
        committed=by_state["committed"],
        pending=totals.get("pending", none),
        superseded=totals.get("superseded", none).count,
        shelved=totals.get("shelved", none).count,
        past_plans=totals.get("past", none).count,
    )


def scope_filter(descent: Descent | None) -> tuple[str, tuple[int, ...]]:
    """Return the SQL condition for the observations in scope, and its values.

    The condition begins with " AND ". Without a line of descent it is empty: everything
    is in scope.

    A conversation's own observations are in its scope. An ancestor's observation is too if
    every message behind it was said before the fork. A reflection over several
    conversations (made under scope `user`) is in scope if this conversation is one of
    them. What was kept on request is in every scope.
    """
    if descent is None:
        return "", ()
    condition, values = in_descent(descent, "observations")
    return f" AND {condition}", values


def in_descent(descent: Descent, table: str) -> tuple[str, tuple[int, ...]]:
    """Return the condition of `scope_filter` for rows of `table`, and its values."""
    (own, _), *ancestors = descent
    parts = [f"{table}.conversation_id = ?"]
    parts += [f"({table}.conversation_id = ? AND {_rests_before(table)})" for _ in ancestors]
    parts.append(f"({table}.conversation_id IS NULL AND {_rests_on(table)})")
    parts.append(f"{table}.kept")
    return f"({' OR '.join(parts)})", (own, *chain.from_iterable(ancestors), own)


def _rests_before(table: str) -> str:
    """Return the condition that all messages behind an observation were said before a fork."""
    return f"""NOT EXISTS (
        SELECT 1 FROM observation_messages
        WHERE observation_id = {table}.id AND message_id > ?
        AND (direct OR {table}.generation > 0))"""


def _rests_on(table: str) -> str:
    """Return the condition that a message of one conversation is behind an observation."""
    return f"""EXISTS (
        SELECT 1 FROM observation_messages JOIN messages ON messages.id = message_id
        WHERE observation_id = {table}.id AND messages.conversation_id = ?)"""


def unsuperseded(db: Connection, descent: Descent | None = None) -> list[Observation]:
    """Return the observations in scope that are not superseded, oldest first.

    They are the active, pending and withheld ones (see `scope_filter`).
    """
    where, values = scope_filter(descent)
    source = f"observations WHERE superseded_at IS NULL{where} ORDER BY id"
    return select(db, Observation, source, values)


def all_observations(db: Connection) -> list[Observation]:
    """Return every observation, superseded ones too, oldest first."""
    return select(db, Observation, "observations ORDER BY id")


def newest_reflections(db: Connection, limit: int) -> list[Observation]:
    """Return the newest active reflections, oldest first."""
    source = f"observations WHERE generation > 0 AND {ACTIVE} ORDER BY id DESC LIMIT ?"
    return select(db, Observation, source, (limit,))[::-1]


def kept_on_request(db: Connection) -> list[Observation]:
    """Return the notes kept on request that are not superseded, oldest first."""
    return select(db, Observation, "observations WHERE kept AND superseded_at IS NULL ORDER BY id")
