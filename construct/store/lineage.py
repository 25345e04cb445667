"""Which observations rest on which, and on which messages: plain queries over all generations.

A note is tied to every note that it replaced by a row of `observation_replaced` under its cycle: as an edit, because
it made that outdated, or because both say the same. One that was to be replaced but stands has a row of
`observation_borrowed` instead: names may have come from there. The rows stay when the cycle is undone, so that both are
still found when either is forgotten.
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
    return known.union(*_linked(db, known, "edit"))


def repeated(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    """Return these observations and those retired as saying the same as one of them, or that one of them repeats."""
    known = set(ids)
    return known.union(*_linked(db, known, "same"))


def _linked(db: sqlite3.Connection, ids: Iterable[int], relation: str) -> list[tuple[int, int]]:
    return db.execute(
        f"""SELECT observation_id, replaced_id FROM observation_replaced
            WHERE relation = ? AND (observation_id IN {GIVEN} OR replaced_id IN {GIVEN})""",
        (relation, given(ids), given(ids)),
    ).fetchall()


def link_replaced(db: sqlite3.Connection, pairs: Iterable[tuple[int, int]], relation: str, cycle_id: int) -> None:
    """Tie each first observation of the pairs to the second by a cycle: `outdated`, `same` or `edit`."""
    db.executemany(
        """INSERT OR IGNORE INTO observation_replaced (observation_id, replaced_id, relation, cycle_id)
           VALUES (?, ?, ?, ?)""",
        [(new, old, relation, cycle_id) for new, old in pairs],
    )


def link_borrowed(db: sqlite3.Connection, pairs: Iterable[tuple[int, int]]) -> None:
    """Say that each first observation of the pairs may have names from the second, which stands beside it."""
    db.executemany("INSERT OR IGNORE INTO observation_borrowed (observation_id, lender_id) VALUES (?, ?)", pairs)


def take_over(db: sqlite3.Connection, old: int, new: int) -> None:
    """Tie an edit to all that its first version was to replace, or took words from, under that version's cycle."""
    db.execute(
        """INSERT INTO observation_replaced (observation_id, replaced_id, relation, cycle_id)
           SELECT ?, replaced_id, relation, r.cycle_id FROM observation_replaced AS r
           JOIN observations AS o ON o.id = observation_id
           WHERE o.id = ? AND relation = 'outdated' AND o.committed_at IS NULL""",
        (new, old),
    )
    db.execute(
        "INSERT INTO observation_borrowed SELECT ?, lender_id FROM observation_borrowed WHERE observation_id = ?",
        (new, old),
    )


def apply_replacements(db: sqlite3.Connection, committed: Iterable[int], now: str) -> None:
    """Supersede what these observations replace, now that they are committed.

    What is superseded by then, or the user's own by now, is left as it is. What is only pending applies its own first.
    """
    pairs = db.execute(
        f"""SELECT r.observation_id, r.replaced_id, r.cycle_id,
                old.superseded_at IS NULL AND NOT old.pinned AND old.origin <> 'user', old.committed_at IS NULL
            FROM observation_replaced AS r JOIN observations AS new ON new.id = r.observation_id
            JOIN observations AS old ON old.id = r.replaced_id
            WHERE relation = 'outdated' AND (r.cycle_id = new.cycle_id OR new.origin = 'user')
            AND r.observation_id IN {GIVEN}""",
        (given(committed),),
    ).fetchall()
    for new, old, cycle_id, stands, is_pending in pairs:
        if not stands:
            db.execute(
                "DELETE FROM observation_replaced WHERE observation_id = ? AND replaced_id = ? AND cycle_id = ?",
                (new, old, cycle_id),
            )
            link_borrowed(db, [(new, old)])
            continue
        if is_pending:
            apply_replacements(db, [old], now)
        # A pending one counts as committed too, so that an undo later brings back an active line.
        db.execute(
            """UPDATE observations SET committed_at = coalesce(committed_at, ?), superseded_at = ?, superseded_by = ?
               WHERE id = ? AND superseded_at IS NULL""",
            (now, now, cycle_id, old),
        )


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


def replaced_by(db: sqlite3.Connection, ids: Iterable[int]) -> list[tuple[int, int, int]]:
    """Return (replaced, by which of these observations, cycle), whatever the relation."""
    query = f"SELECT replaced_id, observation_id, cycle_id FROM observation_replaced WHERE observation_id IN {GIVEN}"
    return db.execute(query, (given(ids),)).fetchall()


def replacing(db: sqlite3.Connection, ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return (note, which other) for those of these that another made outdated, or took words from."""
    query = f"""SELECT replaced_id, observation_id FROM observation_replaced
                WHERE relation = 'outdated' AND replaced_id IN {GIVEN}
                UNION SELECT lender_id, observation_id FROM observation_borrowed WHERE lender_id IN {GIVEN}"""
    return db.execute(query, (given(ids), given(ids))).fetchall()


def resting_on(db: sqlite3.Connection, message_ids: Iterable[int]) -> list[Observation]:
    """Return the observations that name one of these messages as their source."""
    source = f"""observations WHERE id IN (
        SELECT observation_id FROM observation_messages WHERE message_id IN {GIVEN}) ORDER BY id"""
    return select(db, Observation, source, (given(message_ids),))


def unreverted(db: sqlite3.Connection, ids: Collection[int]) -> list[Observation]:
    """Return those of the observations that were made by cycles which count, lowest generation first."""
    source = f"observations WHERE id IN {GIVEN} AND cycle_id IN {_NOT_REVERTED} ORDER BY generation, id"
    return select(db, Observation, source, (given(ids),))


def partners(db: sqlite3.Connection, observation_id: int, relation: str, *, newer: bool) -> list[Observation]:
    """Return what replaced an observation in a relation (`newer`), or what it replaced so, by cycles that count."""
    mine, theirs = ("replaced_id", "observation_id") if newer else ("observation_id", "replaced_id")
    source = f"""observations WHERE id IN (
        SELECT {theirs} FROM observation_replaced JOIN cycles ON cycles.id = cycle_id
        WHERE {mine} = ? AND status <> 'reverted' AND relation = ?) ORDER BY id"""
    return select(db, Observation, source, (observation_id, relation))


def successors(db: sqlite3.Connection, old: Observation) -> list[Observation]:
    """Return what the cycle that superseded an observation put in its place."""
    source = """observations WHERE id <> :old AND (
        id IN (SELECT observation_id FROM observation_replaced WHERE replaced_id = :old AND cycle_id = :cycle)
        OR cycle_id = :cycle AND id IN (SELECT observation_id FROM observation_sources WHERE source_id = :old)
    ) ORDER BY id"""
    return select(db, Observation, source, {"old": old.id, "cycle": old.superseded_by})


@dataclass(frozen=True, slots=True)
class Successor:
    """What a cycle put in an observation's place, whether that was undone since or not."""

    relation: str
    """`source` of a reflection, or `edit`, `same` or `outdated`."""
    observation: Observation
    cycle: Cycle


def all_successors(db: sqlite3.Connection, observation_id: int) -> list[Successor]:
    """Return everything that was ever put in an observation's place, by cycles that were undone too."""
    found = db.execute(
        """SELECT 'source', observation_id, o.cycle_id FROM observation_sources
           JOIN observations AS o ON o.id = observation_id WHERE source_id = :id
           UNION ALL SELECT relation, r.observation_id, r.cycle_id FROM observation_replaced AS r
           JOIN cycles ON cycles.id = r.cycle_id JOIN observations AS old ON old.id = r.replaced_id
           JOIN observations AS new ON new.id = r.observation_id
           WHERE replaced_id = :id AND (old.superseded_by = r.cycle_id
               OR status = 'reverted' AND (relation <> 'outdated' OR new.committed_at IS NOT NULL)) ORDER BY 3, 2""",
        {"id": observation_id},
    ).fetchall()
    by_id = {
        o.id: o for o in select(db, Observation, f"observations WHERE id IN {GIVEN}", (given(f[1] for f in found),))
    }
    return [Successor(relation, by_id[new], cycle(db, cycle_id)) for relation, new, cycle_id in found]


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
        "SELECT model FROM usage WHERE cycle_id = ? AND purpose = 'verifier' ORDER BY id DESC LIMIT 1", (cycle_id,)
    ).fetchone()
    return None if row is None else str(row[0])


def notes_on(db: sqlite3.Connection, content: str) -> list[tuple[str, str]]:
    """Return (when, what) of the notes of cycles that kept back an observation with this content."""
    rows = db.execute(
        """SELECT coalesce(finished_at, started_at), value FROM cycles, json_each(cycles.notes)
           WHERE kind IN ('observer', 'reflector') AND notes IS NOT NULL AND instr(value, ?)""",
        (f"“{content[:NOTED_LENGTH]}",),
    )
    return rows.fetchall()


def notes_of_reflections(db: sqlite3.Connection, limit: int) -> list[str]:
    """Return what the newest reflector cycles noted, refusals with their reasons among it, the newest cycle first."""
    query = """SELECT value FROM (
        SELECT id, notes FROM cycles WHERE kind = 'reflector' AND notes IS NOT NULL ORDER BY id DESC LIMIT ?
    ) AS newest, json_each(newest.notes) ORDER BY newest.id DESC, key"""
    return column(db, query, (limit,))


NOTED_LENGTH = 80
"""Characters of an observation by which a cycle's notes name it."""


def withheld_at(db: sqlite3.Connection, observation_id: int) -> list[str]:
    """Return when an observation was withheld at the user's wish."""
    query = "SELECT withheld_at FROM forget_requests WHERE observation_id = ? AND withheld_at IS NOT NULL"
    return column(db, query, (observation_id,))


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
