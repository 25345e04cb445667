"""Which observations rest on which, and on which messages: plain queries over all generations.

An edit is tied to what it replaced by a row of `outdated` under its cycle; that row stays when
the edit is undone, so that both are still found when either is forgotten.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from construct.store.observations import BENEATH
from construct.store.records import Cycle, Memory, Message, Observation
from construct.store.sql import GIVEN, column, first, given, select

_ABOVE = """WITH RECURSIVE above(id) AS (
    SELECT value FROM json_each(?) UNION
    SELECT observation_id FROM observation_sources JOIN above ON source_id = above.id)"""
_NOT_REVERTED = "(SELECT id FROM cycles WHERE status <> 'reverted')"


def below(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    """Return these observations and all they were made of, through every generation."""
    return set(column(db, f"{BENEATH} SELECT id FROM beneath", (given(ids),)))


def above(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    """Return these observations and all reflections that rest on them, through every generation."""
    return set(column(db, f"{_ABOVE} SELECT id FROM above", (given(ids),)))


def edited(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    """Return these observations and their nearest edits, before and after, undone ones too."""
    known = set(ids)
    rows = db.execute(
        f"""SELECT old_id, by_id FROM outdated JOIN cycles ON cycles.id = cycle_id
            WHERE kind = 'edit' AND (old_id IN {GIVEN} OR by_id IN {GIVEN})""",
        (given(known), given(known)),
    )
    return known.union(*rows)


def nearest_first(db: sqlite3.Connection, observation_id: int) -> list[Observation]:
    """Return all an observation was made of, of every generation, the nearest first."""
    source = """(
        WITH RECURSIVE below(id, depth) AS (
            VALUES(?, 0) UNION
            SELECT source_id, depth + 1 FROM observation_sources JOIN below ON observation_id = below.id)
        SELECT id, min(depth) AS depth FROM below GROUP BY id
    ) JOIN observations AS o USING (id) WHERE depth > 0 ORDER BY depth, o.id"""
    return select(db, Observation, source, (observation_id,), "o")


def messages_below(db: sqlite3.Connection, ids: Iterable[int]) -> list[Message]:
    """Return all messages that these observations rest on, through every generation, oldest first."""
    source = f"""messages WHERE id IN (
        {BENEATH} SELECT message_id FROM observation_messages WHERE observation_id IN beneath
    ) ORDER BY created_at, id"""
    return select(db, Message, source, (given(ids),))


def sources(db: sqlite3.Connection, ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return (observation, what it was made of) for these observations."""
    query = f"SELECT observation_id, source_id FROM observation_sources WHERE observation_id IN {GIVEN} ORDER BY 1, 2"
    return db.execute(query, (given(ids),)).fetchall()


def message_links(db: sqlite3.Connection, ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return (observation, message it comes from) for these observations."""
    query = f"SELECT observation_id, message_id FROM observation_messages WHERE observation_id IN {GIVEN} ORDER BY 1, 2"
    return db.execute(query, (given(ids),)).fetchall()


def outdated_by(db: sqlite3.Connection, ids: Iterable[int]) -> list[tuple[int, int, int]]:
    """Return (old, by, cycle) for what these observations replaced: made outdated, or as edits."""
    return db.execute(f"SELECT old_id, by_id, cycle_id FROM outdated WHERE by_id IN {GIVEN}", (given(ids),)).fetchall()


def resting_on(db: sqlite3.Connection, message_ids: Iterable[int]) -> list[Observation]:
    """Return the observations that name one of these messages as their source."""
    source = f"""observations WHERE id IN (
        SELECT observation_id FROM observation_messages WHERE message_id IN {GIVEN}) ORDER BY id"""
    return select(db, Observation, source, (given(message_ids),))


def unreverted(db: sqlite3.Connection, ids: Collection[int]) -> list[Observation]:
    """Return those of the observations that were made by cycles which count, lowest generation first."""
    source = f"observations WHERE id IN {GIVEN} AND cycle_id IN {_NOT_REVERTED} ORDER BY generation, id"
    return select(db, Observation, source, (given(ids),))


def partners(db: sqlite3.Connection, observation_id: int, *, newer: bool, edits: bool) -> list[Observation]:
    """Return what made an observation outdated (`newer`), or what it made so; by edits, or by others that count."""
    mine, theirs = ("old_id", "by_id") if newer else ("by_id", "old_id")
    source = f"""observations WHERE id IN (
        SELECT {theirs} FROM outdated JOIN cycles ON cycles.id = cycle_id
        WHERE {mine} = ? AND status <> 'reverted' AND (kind = 'edit') = ?) ORDER BY id"""
    return select(db, Observation, source, (observation_id, edits))


def successors(db: sqlite3.Connection, old: Observation) -> list[Observation]:
    """Return what the cycle that superseded an observation put in its place."""
    source = """observations WHERE id <> :old AND (
        id IN (SELECT by_id FROM outdated WHERE old_id = :old AND cycle_id = :cycle)
        OR cycle_id = :cycle AND id IN (SELECT observation_id FROM observation_sources WHERE source_id = :old)
    ) ORDER BY id"""
    return select(db, Observation, source, {"old": old.id, "cycle": old.superseded_by})


def heirs(
    db: sqlite3.Connection,
    old: Observation,
    is_last: Callable[[Observation], bool],
    follows: Callable[[Observation, Observation], bool] = lambda new, old: True,
) -> list[Observation]:
    """Return what stands in an observation's place at last, through all that came in between, the nearest first.

    `follows`: whether the way leads from an old one to a new one.
    """
    found: list[Observation] = []
    seen = {old.id}
    open_ = [old]
    while open_:
        o = open_.pop(0)
        for new in successors(db, o):
            if new.id not in seen and follows(new, o):
                seen.add(new.id)
                (found if is_last(new) else open_).append(new)
    return found


def made_of_it(db: sqlite3.Connection, observation_id: int) -> list[Observation]:
    """Return the reflections made directly of an observation, by cycles that count."""
    source = f"""observations WHERE cycle_id IN {_NOT_REVERTED} AND id IN (
        SELECT observation_id FROM observation_sources WHERE source_id = ?) ORDER BY id"""
    return select(db, Observation, source, (observation_id,))


def cycle(db: sqlite3.Connection, cycle_id: int) -> Cycle:
    """Return the cycle of an id that a row names."""
    found = first(db, Cycle, "cycles WHERE id = ?", (cycle_id,))
    assert found is not None
    return found


def memories_from(db: sqlite3.Connection, observation_ids: Iterable[int]) -> list[Memory]:
    """Return the memories promoted from these observations."""
    return select(db, Memory, f"memories WHERE observation_id IN {GIVEN} ORDER BY id", (given(observation_ids),))


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
    """Return the spans of all observations, oldest first; cycles that were undone count as never run."""
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
    """Return all observations counted by generation; cycles that were undone count as never run."""
    rows = db.execute(
        f"""SELECT generation, count(*), sum(superseded_at IS NULL AND committed_at IS NOT NULL),
              sum(iif(superseded_at IS NULL AND committed_at IS NOT NULL, token_count, 0)),
              sum(superseded_at IS NULL AND committed_at IS NULL),
              sum(EXISTS (SELECT 1 FROM observation_sources JOIN observations AS later ON later.id = observation_id
                          WHERE source_id = o.id AND later.cycle_id IN {_NOT_REVERTED}))
            FROM observations AS o WHERE cycle_id IN {_NOT_REVERTED} GROUP BY generation ORDER BY generation"""
    )
    return [Generation(*row) for row in rows]
