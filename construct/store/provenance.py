"""Queries for where observations come from, and what came of them, across generations.

A row of `observation_replaced` links an observation to one that it replaces, with the
cycle and the relation: `edit`, `outdated` (it made the old one outdated) or `same` (both
say the same). If an observation was to be replaced but was not, there is a row of
`observation_borrowed` instead, since the new one may have taken names from it. These
links remain when the cycle is undone, so that forgetting either one finds the other.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from construct.store.cycles import get_cycle
from construct.store.observations import BENEATH, observation, observations
from construct.store.records import Cycle, Memory, Message, Observation
from construct.store.sql import ID_LIST, column, json_ids, scalar, select

_WITH_REFLECTIONS = """WITH RECURSIVE above(id) AS (
    SELECT value FROM json_each(?) UNION
    SELECT observation_id FROM observation_sources JOIN above ON source_id = above.id)"""
_NOT_REVERTED = "(SELECT id FROM cycles WHERE status <> 'reverted')"


def with_sources(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    """Return the ids of these observations and all their sources."""
    return set(column(db, f"{BENEATH} SELECT id FROM beneath", (json_ids(ids),)))


def with_reflections(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    """Return the ids of these observations and all reflections made from them."""
    return set(column(db, f"{_WITH_REFLECTIONS} SELECT id FROM above", (json_ids(ids),)))


def with_origins(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    """Return the ids of these observations and their sources, with all versions and repeats."""
    query = """WITH RECURSIVE related(id) AS (
        SELECT value FROM json_each(?)
        UNION SELECT source_id FROM observation_sources JOIN related ON observation_id = related.id
        UNION SELECT replaced_id FROM observation_replaced
            JOIN related ON observation_id = related.id
            WHERE relation IN ('edit', 'same')
        UNION SELECT observation_id FROM observation_replaced
            JOIN related ON replaced_id = related.id
            WHERE relation IN ('edit', 'same')
    ) SELECT id FROM related"""
    return set(column(db, query, (json_ids(ids),)))


def with_dependents(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    """Return the ids of these observations and their reflections, with all versions of both."""
    query = """WITH RECURSIVE related(id) AS (
        SELECT value FROM json_each(?)
        UNION SELECT observation_id FROM observation_sources JOIN related ON source_id = related.id
        UNION SELECT replaced_id FROM observation_replaced
            JOIN related ON observation_id = related.id
            WHERE relation = 'edit'
        UNION SELECT observation_id FROM observation_replaced
            JOIN related ON replaced_id = related.id
            WHERE relation = 'edit'
    ) SELECT id FROM related"""
    return set(column(db, query, (json_ids(ids),)))


def reactivated_by(db: sqlite3.Connection, deleted: Collection[int]) -> dict[int, set[int]]:
    """Return the observations to reactivate when those in `deleted` are deleted.

    The keys are their ids, the values the ids among `deleted` that had replaced them.
    """
    query = f"""
        SELECT old.id, link.new_id FROM observations AS old JOIN (
            SELECT source_id AS old_id, new.id AS new_id, new.cycle_id FROM observation_sources
            JOIN observations AS new ON new.id = observation_id WHERE new.id IN {ID_LIST}
            UNION SELECT replaced_id, observation_id, cycle_id FROM observation_replaced
            WHERE observation_id IN {ID_LIST}
        ) AS link ON old.id = link.old_id
        WHERE old.superseded_by = link.cycle_id AND old.id NOT IN {ID_LIST}"""
    replaced: dict[int, set[int]] = {}
    for old, new in db.execute(query, (json_ids(deleted),) * 3):
        replaced.setdefault(old, set()).add(new)
    return replaced


def link_replaced(
    db: sqlite3.Connection, pairs: Iterable[tuple[int, int]], relation: str, cycle_id: int
) -> None:
    """Store that the first observation of each pair replaces the second."""
    db.executemany(
        """INSERT OR IGNORE INTO observation_replaced
           (observation_id, replaced_id, relation, cycle_id) VALUES (?, ?, ?, ?)""",
        [(new, old, relation, cycle_id) for new, old in pairs],
    )


def link_borrowed(db: sqlite3.Connection, pairs: Iterable[tuple[int, int]]) -> None:
    """Store that the first observation of each pair may have taken names from the second."""
    db.executemany(
        "INSERT OR IGNORE INTO observation_borrowed (observation_id, lender_id) VALUES (?, ?)",
        pairs,
    )


def inherit_links(db: sqlite3.Connection, old: int, new: int) -> None:
    """Copy the links of an observation to its edit.

    These are what it borrowed from and, while it is pending, what it is to replace. The
    links keep the cycle of the first version.
    """
    db.execute(
        """INSERT INTO observation_replaced (observation_id, replaced_id, relation, cycle_id)
           SELECT ?, replaced_id, relation, r.cycle_id FROM observation_replaced AS r
           JOIN observations AS o ON o.id = observation_id
           WHERE o.id = ? AND relation = 'outdated' AND o.committed_at IS NULL""",
        (new, old),
    )
    db.execute(
        """INSERT INTO observation_borrowed
           SELECT ?, lender_id FROM observation_borrowed WHERE observation_id = ?""",
        (new, old),
    )


def apply_replacements(db: sqlite3.Connection, committed: Iterable[int], now: str) -> None:
    """Supersede the observations that newly committed ones made outdated.

    An observation that has been superseded, pinned or edited by the user in the meantime is
    left alone. A pending one first applies its own replacements.
    """
    pairs = db.execute(
        f"""SELECT r.observation_id, r.replaced_id, r.cycle_id,
                old.superseded_at IS NULL AND NOT old.pinned AND old.origin <> 'user'
                    AND r.cycle_id IN {_NOT_REVERTED},
                old.committed_at IS NULL
            FROM observation_replaced AS r JOIN observations AS new ON new.id = r.observation_id
            JOIN observations AS old ON old.id = r.replaced_id
            WHERE relation = 'outdated' AND (r.cycle_id = new.cycle_id OR new.origin = 'user')
            AND r.observation_id IN {ID_LIST}""",
        (json_ids(committed),),
    ).fetchall()
    for new, old, cycle_id, is_replaceable, is_pending in pairs:
        if not is_replaceable:
            db.execute(
                """DELETE FROM observation_replaced
                   WHERE observation_id = ? AND replaced_id = ? AND cycle_id = ?""",
                (new, old, cycle_id),
            )
            link_borrowed(db, [(new, old)])
            continue
        if is_pending:
            apply_replacements(db, [old], now)
        # A pending one is committed too, so that an undo makes it active.
        db.execute(
            """UPDATE observations
               SET committed_at = coalesce(committed_at, ?), superseded_at = ?, superseded_by = ?
               WHERE id = ? AND superseded_at IS NULL""",
            (now, now, cycle_id, old),
        )


def sources_nearest_first(db: sqlite3.Connection, observation_id: int) -> list[Observation]:
    """Return all direct and indirect sources of an observation, the nearest first."""
    source = """(
        WITH RECURSIVE below(id, depth) AS (
            VALUES(?, 0) UNION
            SELECT source_id, depth + 1 FROM observation_sources
            JOIN below ON observation_id = below.id)
        SELECT id, min(depth) AS depth FROM below GROUP BY id
    ) JOIN observations AS o USING (id) WHERE depth > 0 ORDER BY depth, o.id"""
    return select(db, Observation, source, (observation_id,), "o")


def messages_behind(db: sqlite3.Connection, ids: Iterable[int]) -> list[Message]:
    """Return the messages behind these observations, oldest first.

    Sources of all generations count.
    """
    source = f"""messages WHERE id IN (
        {BENEATH} SELECT message_id FROM observation_messages WHERE observation_id IN beneath
    ) ORDER BY created_at, id"""
    return select(db, Message, source, (json_ids(ids),))


def source_links(db: sqlite3.Connection, ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return (observation id, source id) for the direct sources of these observations."""
    query = f"""SELECT observation_id, source_id FROM observation_sources
                WHERE observation_id IN {ID_LIST} ORDER BY 1, 2"""
    return db.execute(query, (json_ids(ids),)).fetchall()


def message_links(db: sqlite3.Connection, ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return (observation id, message id) for the messages these were drawn from."""
    query = f"""SELECT observation_id, message_id FROM observation_messages
                WHERE observation_id IN {ID_LIST} ORDER BY 1, 2"""
    return db.execute(query, (json_ids(ids),)).fetchall()


def corrections_of(
    db: sqlite3.Connection, message_ids: Iterable[int]
) -> list[tuple[int, Observation]]:
    """Return the active and pending observations that correct what these messages said.

    Each comes with the id of the message that it corrects: it was edited from an
    observation of that message, or from one that said the same, or made it outdated. If a
    reflection took in the correction, the reflection is returned instead.
    """
    # A link counts only while the old observation is superseded by the link's cycle: links
    # remain after an undo.
    query = f"""WITH RECURSIVE said(message_id, id, corrected) AS (
            SELECT message_id, observation_id, 0 FROM observation_messages
            WHERE message_id IN {ID_LIST}
            UNION SELECT message_id, observation_id, corrected OR relation <> 'same' FROM said
            JOIN observations AS old ON old.id = said.id
            JOIN observation_replaced AS r ON replaced_id = old.id AND r.cycle_id = superseded_by
            UNION SELECT message_id, new.id, 1 FROM said
            JOIN observations AS old ON old.id = said.id
            JOIN observation_sources ON source_id = old.id
            JOIN observations AS new ON new.id = observation_id
                AND new.cycle_id = old.superseded_by
            WHERE corrected)
        SELECT message_id, said.id FROM said JOIN observations AS o ON o.id = said.id
        WHERE corrected AND superseded_at IS NULL AND NOT withheld ORDER BY 1, 2"""
    pairs = db.execute(query, (json_ids(message_ids),)).fetchall()
    return [(message_id, observation(db, i)) for message_id, i in pairs]


def replacement_links(db: sqlite3.Connection, ids: Iterable[int]) -> list[tuple[int, int, int]]:
    """Return (replaced id, observation id, cycle id) for all that these replaced."""
    query = f"""SELECT replaced_id, observation_id, cycle_id FROM observation_replaced
                WHERE observation_id IN {ID_LIST}"""
    return db.execute(query, (json_ids(ids),)).fetchall()


def borrower_links(db: sqlite3.Connection, ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return (id, newer id) for each of these and each that outdated it or borrowed from it."""
    query = f"""SELECT replaced_id, observation_id FROM observation_replaced
                WHERE relation = 'outdated' AND replaced_id IN {ID_LIST}
                UNION SELECT lender_id, observation_id FROM observation_borrowed
                WHERE lender_id IN {ID_LIST}"""
    return db.execute(query, (json_ids(ids), json_ids(ids))).fetchall()


def observations_in(db: sqlite3.Connection, conversation_id: int) -> set[int]:
    """Return the ids of a conversation's observations and all others drawn from its messages."""
    query = """SELECT id FROM observations WHERE conversation_id = :id
               UNION SELECT observation_id FROM observation_messages
               JOIN messages ON messages.id = message_id WHERE messages.conversation_id = :id"""
    return set(column(db, query, {"id": conversation_id}))


def observations_from(db: sqlite3.Connection, message_ids: Iterable[int]) -> list[Observation]:
    """Return the observations drawn from any of these messages."""
    source = f"""observations WHERE id IN (
        SELECT observation_id FROM observation_messages WHERE message_id IN {ID_LIST})
        ORDER BY id"""
    return select(db, Observation, source, (json_ids(message_ids),))


def without_reverted(db: sqlite3.Connection, ids: Collection[int]) -> list[Observation]:
    """Return the observations among these whose cycle was not undone, by generation."""
    source = f"""observations WHERE id IN {ID_LIST} AND cycle_id IN {_NOT_REVERTED}
                 ORDER BY generation, id"""
    return select(db, Observation, source, (json_ids(ids),))


def direct_successors(
    db: sqlite3.Connection, old: Observation, *, outdating: bool = True
) -> list[Observation]:
    """Return what the cycle that superseded an observation replaced it with.

    `outdating=False` leaves out observations that made it outdated: the rest are its edits,
    reflections made from it, and observations that repeat it.
    """
    source = """observations WHERE id <> :old AND (
        id IN (SELECT observation_id FROM observation_replaced
               WHERE replaced_id = :old AND cycle_id = :cycle)
        OR cycle_id = :cycle
            AND id IN (SELECT observation_id FROM observation_sources WHERE source_id = :old)
    ) AND (:outdating OR id NOT IN (
        SELECT observation_id FROM observation_replaced JOIN cycles ON cycles.id = cycle_id
        WHERE replaced_id = :old AND relation = 'outdated' AND status <> 'reverted'
    )) ORDER BY id"""
    values = {"old": old.id, "cycle": old.superseded_by, "outdating": outdating}
    return select(db, Observation, source, values)


@dataclass(frozen=True, slots=True)
class Successor:
    """An observation that replaced another, even if that was undone."""

    relation: str
    """`source` if it is a reflection, otherwise `edit`, `same` or `outdated`."""
    observation: Observation
    cycle: Cycle


def successor_history(db: sqlite3.Connection, observation_id: int) -> list[Successor]:
    """Return all that ever replaced an observation, in undone cycles too."""
    rows = db.execute(
        """SELECT 'source', observation_id, o.cycle_id FROM observation_sources
           JOIN observations AS o ON o.id = observation_id WHERE source_id = :id
           UNION ALL SELECT relation, r.observation_id, r.cycle_id FROM observation_replaced AS r
           JOIN cycles ON cycles.id = r.cycle_id JOIN observations AS old ON old.id = r.replaced_id
           JOIN observations AS new ON new.id = r.observation_id
           WHERE replaced_id = :id AND (old.superseded_by = r.cycle_id OR status = 'reverted'
               AND (relation <> 'outdated' OR new.committed_at IS NOT NULL)) ORDER BY 3, 2""",
        {"id": observation_id},
    ).fetchall()
    by_id = {o.id: o for o in observations(db, [new for _, new, _ in rows])}
    return [
        Successor(relation, by_id[new], get_cycle(db, cycle_id)) for relation, new, cycle_id in rows
    ]


def replaced_observations(db: sqlite3.Connection, observation_id: int) -> list[Observation]:
    """Return the observations that this one replaced, because it outdates or repeats them."""
    source = """observations AS o WHERE id IN (
        SELECT replaced_id FROM observation_replaced AS r JOIN cycles ON cycles.id = cycle_id
        WHERE observation_id = ? AND relation <> 'edit' AND status = 'succeeded'
        AND o.superseded_by = r.cycle_id) ORDER BY id"""
    return select(db, Observation, source, (observation_id,), "o")


def checked_by(db: sqlite3.Connection, cycle_id: int) -> str | None:
    """Return the model that verified the results of a cycle, or None."""
    query = """SELECT model FROM usage WHERE cycle_id = ? AND purpose = 'verifier'
               ORDER BY id DESC LIMIT 1"""
    return scalar(db, query, (cycle_id,))


def notes_quoting(db: sqlite3.Connection, content: str) -> list[tuple[str, str]]:
    """Return (time, note) for the notes of cycles that quote this content."""
    rows = db.execute(
        """SELECT coalesce(finished_at, started_at), value FROM cycles, json_each(cycles.notes)
           WHERE kind IN ('observer', 'reflector') AND notes IS NOT NULL AND instr(value, ?)""",
        (f"“{content}”"[: 1 + NOTED_LENGTH],),
    )
    return rows.fetchall()


def notes_of_reflections(db: sqlite3.Connection, limit: int) -> list[str]:
    """Return the notes of the newest reflector cycles, newest cycle first."""
    query = """SELECT value FROM (
        SELECT id, notes FROM cycles WHERE kind = 'reflector' AND notes IS NOT NULL
        ORDER BY id DESC LIMIT ?
    ) AS newest, json_each(newest.notes) ORDER BY newest.id DESC, key"""
    return column(db, query, (limit,))


NOTED_LENGTH = 80
"""A cycle's notes quote at least this many characters of an observation, or all of it."""


def withheld_at(db: sqlite3.Connection, observation_id: int) -> list[str]:
    """Return the times when requests withheld an observation."""
    query = """SELECT withheld_at FROM forget_requests
               WHERE observation_id = ? AND withheld_at IS NOT NULL"""
    return column(db, query, (observation_id,))


def active_at(db: sqlite3.Connection, moment: str) -> list[Observation]:
    """Return the observations that were active at a stored time, oldest commit first.

    Cycles undone since count as if they had never run.
    """
    source = """observations AS o JOIN cycles ON cycles.id = o.cycle_id
        WHERE status <> 'reverted' AND committed_at <= :moment
        AND (superseded_at IS NULL OR superseded_at > :moment) ORDER BY committed_at, o.id"""
    return select(db, Observation, source, {"moment": moment}, "o")


def successors(
    db: sqlite3.Connection,
    old: Observation,
    is_last: Callable[[Observation], bool],
    *,
    outdating: bool = True,
) -> list[Observation]:
    """Return the last successors of an observation, the nearest first.

    Follows direct successors until `is_last` is true for one. `outdating` is as in
    `direct_successors`.
    """
    last: list[Observation] = []
    seen = {old.id}
    queue = [old]
    while queue:
        for new in direct_successors(db, queue.pop(0), outdating=outdating):
            if new.id not in seen:
                seen.add(new.id)
                (last if is_last(new) else queue).append(new)
    return last


def memories_from(db: sqlite3.Connection, observation_ids: Iterable[int]) -> list[Memory]:
    """Return the memories promoted from these observations."""
    return select(
        db,
        Memory,
        f"memories WHERE observation_id IN {ID_LIST} ORDER BY id",
        (json_ids(observation_ids),),
    )


def memories_not_undone(db: sqlite3.Connection) -> list[Memory]:
    """Return all memories but those promoted from what was undone, oldest first."""
    source = f"""memories AS m WHERE observation_id IS NULL OR (
        SELECT cycle_id FROM observations AS o WHERE o.id = m.observation_id
    ) IN {_NOT_REVERTED} ORDER BY m.id"""
    return select(db, Memory, source, table="m")


@dataclass(frozen=True, slots=True)
class Span:
    """When an observation was made, and when it was superseded."""

    generation: int
    priority: str
    since: str
    made_by: str
    """The kind of cycle that made it."""
    until: str | None
    """None if it is not superseded."""


def spans(db: sqlite3.Connection) -> list[Span]:
    """Return the spans of all observations, oldest first, without those of undone cycles."""
    rows = db.execute(
        """SELECT generation, priority, o.created_at, made.kind, superseded_at
           FROM observations AS o JOIN cycles AS made ON made.id = o.cycle_id
           WHERE made.status <> 'reverted' ORDER BY o.created_at, o.id"""
    )
    return [Span(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class Generation:
    """How many observations there are of one generation, by state."""

    number: int
    made: int
    active: int
    tokens: int
    """Total tokens of the active ones."""
    pending: int
    condensed: int
    """Sources of a reflection of a later generation."""


def generations(db: sqlite3.Connection) -> list[Generation]:
    """Count all observations by generation, without those of undone cycles."""
    rows = db.execute(
        f"""SELECT generation, count(*), sum(superseded_at IS NULL AND committed_at IS NOT NULL),
              sum(iif(superseded_at IS NULL AND committed_at IS NOT NULL, token_count, 0)),
              sum(superseded_at IS NULL AND committed_at IS NULL),
              sum(EXISTS (SELECT 1 FROM observation_sources
                          JOIN observations AS later ON later.id = observation_id
                          WHERE source_id = o.id AND later.cycle_id IN {_NOT_REVERTED}))
            FROM observations AS o WHERE cycle_id IN {_NOT_REVERTED}
            GROUP BY generation ORDER BY generation"""
    )
    return [Generation(*row) for row in rows]
