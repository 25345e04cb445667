"""Queries for the history of the memory: what was active when, and what cycles noted."""

from collections.abc import Collection
from dataclasses import dataclass

from construct.store.driver import Connection
from construct.store.records import NOT_REVERTED_SQL, Observation
from construct.store.sql import ID_LIST, column, json_ids, scalar, select

NOTED_LENGTH = 80
"""A cycle's notes quote at least this many characters of an observation, or all of it."""
STAND_IN = "stand-in for "
"""How the note begins that names a refused line and the user's sentence in its place."""


def without_reverted(db: Connection, ids: Collection[int]) -> list[Observation]:
    """Return the observations among these whose cycle was not undone, by generation."""
    source = f"""observations WHERE id IN {ID_LIST} AND cycle_id IN {NOT_REVERTED_SQL}
                 ORDER BY generation, id"""
    return select(db, Observation, source, (json_ids(ids),))


def checked_by(db: Connection, cycle_id: int) -> str | None:
    """Return the model that verified the results of a cycle, or None."""
    query = """SELECT model FROM usage WHERE cycle_id = ? AND purpose = 'verifier'
               ORDER BY id DESC LIMIT 1"""
    return scalar(db, query, (cycle_id,))


def notes_quoting(db: Connection, content: str) -> list[tuple[str, str]]:
    """Return (time, note) for the notes of cycles that quote this content."""
    rows = db.execute(
        """SELECT coalesce(finished_at, started_at), value FROM cycles, json_each(cycles.notes)
           WHERE kind IN ('observer', 'reflector') AND notes IS NOT NULL AND instr(value, ?)""",
        (f"“{content}”"[: 1 + NOTED_LENGTH],),
    )
    return rows.fetchall()


def notes_of_reflections(db: Connection, limit: int) -> list[str]:
    """Return the notes of the newest reflector cycles, newest cycle first."""
    query = """SELECT value FROM (
        SELECT id, notes FROM cycles WHERE kind = 'reflector' AND notes IS NOT NULL
        ORDER BY id DESC LIMIT ?
    ) AS newest, json_each(newest.notes) ORDER BY newest.id DESC, key"""
    return column(db, query, (limit,))


def notes_of_stand_ins(db: Connection, limit: int) -> list[str]:
    """Return the newest notes of observer cycles on sentences that stand in for refused lines."""
    query = """SELECT value FROM cycles, json_each(cycles.notes)
               WHERE kind = 'observer' AND notes IS NOT NULL AND instr(value, ?) = 1
               ORDER BY cycles.id DESC, key LIMIT ?"""
    return column(db, query, (STAND_IN, limit))


def withheld_at(db: Connection, observation_id: int) -> list[str]:
    """Return the times when requests withheld an observation."""
    query = """SELECT withheld_at FROM question_items JOIN questions ON questions.id = question_id
               WHERE observation_id = ? AND withheld_at IS NOT NULL"""
    return column(db, query, (observation_id,))


def active_at(db: Connection, moment: str) -> list[Observation]:
    """Return the observations that were active at a stored time, oldest commit first.

    Cycles undone since count as if they had never run.
    """
    source = """observations AS o JOIN cycles ON cycles.id = o.cycle_id
        WHERE status <> 'reverted' AND committed_at <= :moment
        AND (superseded_at IS NULL OR superseded_at > :moment) ORDER BY committed_at, o.id"""
    return select(db, Observation, source, {"moment": moment}, "o")


@dataclass(frozen=True, slots=True)
class Span:
    """When an observation was made, and when it was superseded."""

    generation: int
    priority: str
    since: str
    made_by: str
    """The kind of cycle that made it; a note kept on request counts as observed."""
    until: str | None
    """None if it is not superseded."""


def spans(db: Connection) -> list[Span]:
    """Return the spans of all observations, oldest first, without those of undone cycles."""
    rows = db.execute(
        """SELECT generation, priority, o.created_at, iif(made.kind = 'edit' AND NOT EXISTS (
                   SELECT 1 FROM observation_replaced WHERE observation_id = o.id),
               'observer', made.kind), superseded_at
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


def generations(db: Connection) -> list[Generation]:
    """Count all observations by generation, without those of undone cycles."""
    rows = db.execute(
        f"""SELECT generation, count(*), sum(superseded_at IS NULL AND committed_at IS NOT NULL),
              sum(iif(superseded_at IS NULL AND committed_at IS NOT NULL, token_count, 0)),
              sum(superseded_at IS NULL AND committed_at IS NULL),
              sum(EXISTS (SELECT 1 FROM observation_sources
                          JOIN observations AS later ON later.id = observation_id
                          WHERE source_id = o.id AND later.cycle_id IN {NOT_REVERTED_SQL}))
            FROM observations AS o WHERE cycle_id IN {NOT_REVERTED_SQL}
            GROUP BY generation ORDER BY generation"""
    )
    return [Generation(*row) for row in rows]
