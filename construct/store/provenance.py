"""Which observations rest on which, and on which messages, over all generations.

A note is tied to every note that it replaced by a row of `observation_replaced` under
its cycle: as an edit, because it made that outdated, or because both say the same. One
that was to be replaced but stands has a row of `observation_borrowed` instead: names
may have come from there. The rows stay when the cycle is undone, so that both are still
found when either is forgotten. Plain queries.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from construct.store.cycles import get_cycle
from construct.store.observations import BENEATH, observations
from construct.store.records import Cycle, Memory, Message, Observation
from construct.store.sql import GIVEN, column, given, select

_ABOVE = """WITH RECURSIVE above(id) AS (
    SELECT value FROM json_each(?) UNION
    SELECT observation_id FROM observation_sources JOIN above ON source_id = above.id)"""
_NOT_REVERTED = "(SELECT id FROM cycles WHERE status <> 'reverted')"


def with_sources(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    """Return these observations and all they were made of."""
    return set(column(db, f"{BENEATH} SELECT id FROM beneath", (given(ids),)))


def with_reflections(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    """Return these observations and all reflections that rest on them."""
    return set(column(db, f"{_ABOVE} SELECT id FROM above", (given(ids),)))


def with_origins(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    """Return these observations, their sources, and the edits and repeats of all."""
    query = """WITH RECURSIVE found(id) AS (
        SELECT value FROM json_each(?)
        UNION SELECT source_id FROM observation_sources JOIN found ON observation_id = found.id
        UNION SELECT replaced_id FROM observation_replaced JOIN found ON observation_id = found.id
            WHERE relation IN ('edit', 'same')
        UNION SELECT observation_id FROM observation_replaced JOIN found ON replaced_id = found.id
            WHERE relation IN ('edit', 'same')
    ) SELECT id FROM found"""
    return set(column(db, query, (given(ids),)))


def with_dependents(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    """Return these observations, all that rests on them, and all edits of both."""
    query = """WITH RECURSIVE found(id) AS (
        SELECT value FROM json_each(?)
        UNION SELECT observation_id FROM observation_sources JOIN found ON source_id = found.id
        UNION SELECT replaced_id FROM observation_replaced JOIN found ON observation_id = found.id
            WHERE relation = 'edit'
        UNION SELECT observation_id FROM observation_replaced JOIN found ON replaced_id = found.id
            WHERE relation = 'edit'
    ) SELECT id FROM found"""
    return set(column(db, query, (given(ids),)))


def reactivated_by(db: sqlite3.Connection, gone: Collection[int]) -> dict[int, set[int]]:
    """Return what was superseded only for the sake of `gone`, each with those of it."""
    query = f"""
        SELECT old.id, link.new_id FROM observations AS old JOIN (
            SELECT source_id AS old_id, new.id AS new_id, new.cycle_id FROM observation_sources
            JOIN observations AS new ON new.id = observation_id WHERE new.id IN {GIVEN}
            UNION SELECT replaced_id, observation_id, cycle_id FROM observation_replaced
            WHERE observation_id IN {GIVEN}
        ) AS link ON old.id = link.old_id
        WHERE old.superseded_by = link.cycle_id AND old.id NOT IN {GIVEN}"""
    found: dict[int, set[int]] = {}
    for old, new in db.execute(query, (given(gone),) * 3):
        found.setdefault(old, set()).add(new)
    return found


def link_replaced(
    db: sqlite3.Connection, pairs: Iterable[tuple[int, int]], relation: str, cycle_id: int
) -> None:
    """Tie the first observation of each pair to the second, which it replaces."""
    db.executemany(
        """INSERT OR IGNORE INTO observation_replaced
           (observation_id, replaced_id, relation, cycle_id) VALUES (?, ?, ?, ?)""",
        [(new, old, relation, cycle_id) for new, old in pairs],
    )


def link_borrowed(db: sqlite3.Connection, pairs: Iterable[tuple[int, int]]) -> None:
    """Note that the first observation of each pair may have names from the second."""
    db.executemany(
        "INSERT OR IGNORE INTO observation_borrowed (observation_id, lender_id) VALUES (?, ?)",
        pairs,
    )


def inherit_links(db: sqlite3.Connection, old: int, new: int) -> None:
    """Tie an edit to all that its first version was to replace, or took words from.

    The links name the first version's cycle.
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
    """Supersede what these observations replace, now that they are committed.

    What is superseded by then, or the user's own by now, is left as it is. What is only
    pending applies its own first.
    """
    pairs = db.execute(
        f"""SELECT r.observation_id, r.replaced_id, r.cycle_id,
                old.superseded_at IS NULL AND NOT old.pinned AND old.origin <> 'user',
                old.committed_at IS NULL
            FROM observation_replaced AS r JOIN observations AS new ON new.id = r.observation_id
            JOIN observations AS old ON old.id = r.replaced_id
            WHERE relation = 'outdated' AND (r.cycle_id = new.cycle_id OR new.origin = 'user')
            AND r.observation_id IN {GIVEN}""",
        (given(committed),),
    ).fetchall()
    for new, old, cycle_id, stands, is_pending in pairs:
        if not stands:
            db.execute(
                """DELETE FROM observation_replaced
                   WHERE observation_id = ? AND replaced_id = ? AND cycle_id = ?""",
                (new, old, cycle_id),
            )
            link_borrowed(db, [(new, old)])
            continue
        if is_pending:
            apply_replacements(db, [old], now)
        # A pending one is committed too, so that an undo brings an active line back.
        db.execute(
            """UPDATE observations
               SET committed_at = coalesce(committed_at, ?), superseded_at = ?, superseded_by = ?
               WHERE id = ? AND superseded_at IS NULL""",
            (now, now, cycle_id, old),
        )


def sources_nearest_first(db: sqlite3.Connection, observation_id: int) -> list[Observation]:
    """Return all that an observation was made of, the nearest first."""
    source = """(
        WITH RECURSIVE below(id, depth) AS (
            VALUES(?, 0) UNION
            SELECT source_id, depth + 1 FROM observation_sources
            JOIN below ON observation_id = below.id)
        SELECT id, min(depth) AS depth FROM below GROUP BY id
    ) JOIN observations AS o USING (id) WHERE depth > 0 ORDER BY depth, o.id"""
    return select(db, Observation, source, (observation_id,), "o")


def messages_behind(db: sqlite3.Connection, ids: Iterable[int]) -> list[Message]:
    """Return all messages that these observations rest on, oldest first.

    Through every generation.
    """
    source = f"""messages WHERE id IN (
        {BENEATH} SELECT message_id FROM observation_messages WHERE observation_id IN beneath
    ) ORDER BY created_at, id"""
    return select(db, Message, source, (given(ids),))


def source_links(db: sqlite3.Connection, ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return (observation, what it was made of) for these observations."""
    query = f"""SELECT observation_id, source_id FROM observation_sources
                WHERE observation_id IN {GIVEN} ORDER BY 1, 2"""
    return db.execute(query, (given(ids),)).fetchall()


def message_links(db: sqlite3.Connection, ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return (observation, message it comes from) for these observations."""
    query = f"""SELECT observation_id, message_id FROM observation_messages
                WHERE observation_id IN {GIVEN} ORDER BY 1, 2"""
    return db.execute(query, (given(ids),)).fetchall()


def replacement_links(db: sqlite3.Connection, ids: Iterable[int]) -> list[tuple[int, int, int]]:
    """Return (replaced, which of these replaced it, cycle), whatever the relation."""
    query = f"""SELECT replaced_id, observation_id, cycle_id FROM observation_replaced
                WHERE observation_id IN {GIVEN}"""
    return db.execute(query, (given(ids),)).fetchall()


def borrower_links(db: sqlite3.Connection, ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return (note, borrower) where another one replaced a note or took its words."""
    query = f"""SELECT replaced_id, observation_id FROM observation_replaced
                WHERE relation = 'outdated' AND replaced_id IN {GIVEN}
                UNION SELECT lender_id, observation_id FROM observation_borrowed
                WHERE lender_id IN {GIVEN}"""
    return db.execute(query, (given(ids), given(ids))).fetchall()


def observations_in(db: sqlite3.Connection, conversation_id: int) -> set[int]:
    """Return the observations of a conversation, and those that name its messages."""
    query = """SELECT id FROM observations WHERE conversation_id = :id
               UNION SELECT observation_id FROM observation_messages
               JOIN messages ON messages.id = message_id WHERE messages.conversation_id = :id"""
    return set(column(db, query, {"id": conversation_id}))


def observations_from(db: sqlite3.Connection, message_ids: Iterable[int]) -> list[Observation]:
    """Return the observations that name one of these messages as their source."""
    source = f"""observations WHERE id IN (
        SELECT observation_id FROM observation_messages WHERE message_id IN {GIVEN}) ORDER BY id"""
    return select(db, Observation, source, (given(message_ids),))


def without_reverted(db: sqlite3.Connection, ids: Collection[int]) -> list[Observation]:
    """Return those whose cycles were not undone, lowest generation first."""
    source = f"""observations WHERE id IN {GIVEN} AND cycle_id IN {_NOT_REVERTED}
                 ORDER BY generation, id"""
    return select(db, Observation, source, (given(ids),))


def direct_successors(
    db: sqlite3.Connection, old: Observation, *, outdating: bool = True
) -> list[Observation]:
    """Return what the cycle that superseded an observation put in its place.

    Without `outdating`, only what says it again: not what made it outdated.
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
    """What a cycle put in an observation's place, even if that was undone since."""

    relation: str
    """`source` of a reflection, or `edit`, `same` or `outdated`."""
    observation: Observation
    cycle: Cycle


def successor_history(db: sqlite3.Connection, observation_id: int) -> list[Successor]:
    """Return all that was ever put in an observation's place, by undone cycles too."""
    found = db.execute(
        """SELECT 'source', observation_id, o.cycle_id FROM observation_sources
           JOIN observations AS o ON o.id = observation_id WHERE source_id = :id
           UNION ALL SELECT relation, r.observation_id, r.cycle_id FROM observation_replaced AS r
           JOIN cycles ON cycles.id = r.cycle_id JOIN observations AS old ON old.id = r.replaced_id
           JOIN observations AS new ON new.id = r.observation_id
           WHERE replaced_id = :id AND (old.superseded_by = r.cycle_id OR status = 'reverted'
               AND (relation <> 'outdated' OR new.committed_at IS NOT NULL)) ORDER BY 3, 2""",
        {"id": observation_id},
    ).fetchall()
    by_id = {o.id: o for o in observations(db, [new for _, new, _ in found])}
    return [
        Successor(relation, by_id[new], get_cycle(db, cycle_id))
        for relation, new, cycle_id in found
    ]


def replaced_observations(db: sqlite3.Connection, observation_id: int) -> list[Observation]:
    """Return what an observation made outdated or says again, once that took effect."""
    source = """observations AS o WHERE id IN (
        SELECT replaced_id FROM observation_replaced AS r JOIN cycles ON cycles.id = cycle_id
        WHERE observation_id = ? AND relation <> 'edit' AND status = 'succeeded'
        AND o.superseded_by = r.cycle_id) ORDER BY id"""
    return select(db, Observation, source, (observation_id,), "o")


def checked_by(db: sqlite3.Connection, cycle_id: int) -> str | None:
    """Return the model that checked what a cycle made; None when none did."""
    row = db.execute(
        """SELECT model FROM usage WHERE cycle_id = ? AND purpose = 'verifier'
           ORDER BY id DESC LIMIT 1""",
        (cycle_id,),
    ).fetchone()
    return None if row is None else str(row[0])


def notes_on(db: sqlite3.Connection, content: str) -> list[tuple[str, str]]:
    """Return (when, what) of the cycles' notes that name this content as kept back."""
    rows = db.execute(
        """SELECT coalesce(finished_at, started_at), value FROM cycles, json_each(cycles.notes)
           WHERE kind IN ('observer', 'reflector') AND notes IS NOT NULL AND instr(value, ?)""",
        (f"“{content[:NOTED_LENGTH]}",),
    )
    return rows.fetchall()


def notes_of_reflections(db: sqlite3.Connection, limit: int) -> list[str]:
    """Return what the newest reflector cycles noted, refusals too, the newest first."""
    query = """SELECT value FROM (
        SELECT id, notes FROM cycles WHERE kind = 'reflector' AND notes IS NOT NULL
        ORDER BY id DESC LIMIT ?
    ) AS newest, json_each(newest.notes) ORDER BY newest.id DESC, key"""
    return column(db, query, (limit,))


NOTED_LENGTH = 80
"""Characters of an observation by which a cycle's notes name it."""


def withheld_at(db: sqlite3.Connection, observation_id: int) -> list[str]:
    """Return when an observation was withheld at the user's wish."""
    query = """SELECT withheld_at FROM forget_requests
               WHERE observation_id = ? AND withheld_at IS NOT NULL"""
    return column(db, query, (observation_id,))


def active_at(db: sqlite3.Connection, moment: str) -> list[Observation]:
    """Return what was active at a stored time, as it is now, oldest commit first."""
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
    """Return what stands in an observation's place at last, the nearest first.

    Through all that came in between; `outdating` as in `direct_successors`.
    """
    found: list[Observation] = []
    seen = {old.id}
    queue = [old]
    while queue:
        for new in direct_successors(db, queue.pop(0), outdating=outdating):
            if new.id not in seen:
                seen.add(new.id)
                (found if is_last(new) else queue).append(new)
    return found


def memories_from(db: sqlite3.Connection, observation_ids: Iterable[int]) -> list[Memory]:
    """Return the memories promoted from these observations."""
    return select(
        db,
        Memory,
        f"memories WHERE observation_id IN {GIVEN} ORDER BY id",
        (given(observation_ids),),
    )


@dataclass(frozen=True, slots=True)
class Span:
    """From when to when an observation held; `until` is None while it does."""

    generation: int
    priority: str
    since: str
    made_by: str
    """The kind of the cycle."""
    until: str | None
    ended_by: str | None


def spans(db: sqlite3.Connection) -> list[Span]:
    """Return the spans of all observations, oldest first.

    Cycles that were undone count as never run.
    """
    rows = db.execute(
        """SELECT generation, priority, o.created_at, made.kind, superseded_at, ended.kind
           FROM observations AS o JOIN cycles AS made ON made.id = o.cycle_id
           LEFT JOIN cycles AS ended ON ended.id = o.superseded_by
           WHERE made.status <> 'reverted' ORDER BY o.created_at, o.id"""
    )
    return [Span(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class Generation:
    """What there is of one generation."""

    number: int
    made: int
    active: int
    tokens: int
    """Of the active ones."""
    pending: int
    condensed: int
    """Those that live on in a later generation."""


def generations(db: sqlite3.Connection) -> list[Generation]:
    """Return all observations counted by generation.

    Cycles that were undone count as never run.
    """
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
