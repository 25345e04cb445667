"""Queries for embedding vectors of messages and observations, by model.

Vectors are derived data. Triggers (migration 6) delete those of rows that are deleted,
changed or undone, and of messages that are withheld. If there are several models, the
one chosen last is used.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from construct.store.driver import Connection
from construct.store.records import REMOVED
from construct.store.search import KINDS
from construct.store.sql import exists, scalar

_ENTRIES = {
    "message": f"""messages AS m
        WHERE m.withheld = 0 AND m.retried = 0 AND m.content NOT IN ('', '{REMOVED}')""",
    "observation": """observations AS m JOIN cycles AS c ON c.id = m.cycle_id
        WHERE c.status <> 'reverted'""",
}
_HAS_NO_VECTOR = (
    "NOT EXISTS (SELECT 1 FROM vectors WHERE model = ? AND kind = ? AND entry_id = m.id)"
)


@dataclass(frozen=True, slots=True)
class EntryText:
    """The text of a message or observation to make vectors from."""

    kind: str
    id: int
    content: str


def model_of(db: Connection, name: str) -> int | None:
    """Return the id of a model, or None if it has none."""
    return scalar(db, "SELECT id FROM vector_models WHERE name = ?", (name,))


def chosen(db: Connection) -> str | None:
    """Return the name of the model chosen for this database, or None."""
    return scalar(db, "SELECT name FROM vector_models ORDER BY id DESC LIMIT 1")


def choose(db: Connection, name: str) -> None:
    """Choose the model that makes this database's vectors from now on.

    Runs in the caller's transaction.
    """
    if chosen(db) == name:
        return
    # Vectors may be left over from when the model was chosen before.
    db.execute("DELETE FROM vectors WHERE model = ?", (model_of(db, name),))
    db.execute("DELETE FROM vector_models WHERE name = ?", (name,))
    db.execute("INSERT INTO vector_models (name) VALUES (?)", (name,))


def highest_id(db: Connection, name: str, kind: str) -> int:
    """Return the highest id of a kind that has a vector of this model, or 0."""
    query = "SELECT max(entry_id) FROM vectors WHERE model = ? AND kind = ?"
    return scalar(db, query, (model_of(db, name), kind)) or 0


def entries_without(
    db: Connection, name: str, kind: str, after: int, limit: int
) -> list[EntryText]:
    """Return the entries of a kind above an id that have no vector, lowest id first."""
    rows = db.execute(
        f"""SELECT m.id, m.content FROM {_ENTRIES[kind]} AND m.id > ? AND {_HAS_NO_VECTOR}
            ORDER BY m.id LIMIT ?""",
        (after, model_of(db, name), kind, limit),
    )
    return [EntryText(kind, *row) for row in rows]


def count_without(db: Connection, name: str) -> int:
    """Return how many entries of all kinds have no vector of this model."""
    model = model_of(db, name)
    counts = {kind: f"SELECT count(*) FROM {_ENTRIES[kind]} AND {_HAS_NO_VECTOR}" for kind in KINDS}
    return sum(scalar(db, query, (model, kind)) for kind, query in counts.items())


def add(db: Connection, name: str, encoded: Iterable[tuple[EntryText, Sequence[bytes]]]) -> None:
    """Store vectors of the chosen model for entries whose text has not changed in the meantime.

    `encoded` gives the vectors of each text, one per part. Runs in the caller's transaction.
    """
    model = model_of(db, name)
    for text, parts in encoded:
        db.executemany(
            f"""INSERT OR REPLACE INTO vectors (model, kind, entry_id, part, vector)
                SELECT ?, ?, m.id, ?, ? FROM {_ENTRIES[text.kind]}
                AND m.id = ? AND m.content = ?""",
            [
                (model, text.kind, part, vector, text.id, text.content)
                for part, vector in enumerate(parts)
            ],
        )


def newest(
    db: Connection, model: int, kind: str, after: int, limit: int
) -> list[tuple[int, bytes]]:
    """Return (entry id, vector) of a kind's newest entries above an id, lowest id first."""
    rows = db.execute(
        """SELECT entry_id, vector FROM vectors WHERE model = ? AND kind = ? AND entry_id > ?
           ORDER BY entry_id DESC LIMIT ?""",
        (model, kind, after, limit),
    )
    return rows.fetchall()[::-1]


def has_other_models(db: Connection, name: str) -> bool:
    """Return whether there may still be vectors of other models."""
    return exists(db, "vector_models WHERE name <> ?", (name,))


def drop_other_models(db: Connection, name: str, limit: int) -> None:
    """Delete up to `limit` vectors of other models; if they have none left, delete those models."""
    others = "SELECT id FROM vector_models WHERE name <> ?"
    deleted = db.execute(
        f"""DELETE FROM vectors WHERE (model, kind, entry_id, part) IN (
               SELECT model, kind, entry_id, part FROM vectors
               WHERE model IN ({others}) LIMIT ?)""",
        (name, limit),
    ).rowcount
    if not deleted:
        db.execute("DELETE FROM vector_models WHERE name <> ?", (name,))
