"""Which row a uid in the file stands for, kept in a temporary table: a file may be larger than memory."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from construct.store.transfer.format import SqlValue


@dataclass(frozen=True, slots=True)
class Arrived:
    """A row that a line stands for; without an id it was left out, since it was forgotten here."""

    id: int | None
    fresh: bool
    """Stored by this import."""

    @property
    def row(self) -> int:
        """The id of a row that is there."""
        assert self.id is not None
        return self.id


class Arrivals:
    """The rows that the lines so far stand for."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._latest: tuple[tuple[str, SqlValue], Arrived] | None = None
        """What was found last: a hundred messages in a row name one conversation."""
        db.execute("DROP TABLE IF EXISTS temp.arrived")
        db.execute(
            "CREATE TEMP TABLE arrived (kind TEXT, uid TEXT, id INTEGER, fresh INTEGER, PRIMARY KEY (kind, uid))"
            " WITHOUT ROWID"
        )

    def add(self, kind: str, uid: SqlValue, row_id: int | None, *, fresh: bool = False) -> None:
        """Keep what a line stands for; raises ValueError when its uid has been there before."""
        try:
            self._db.execute("INSERT INTO arrived VALUES (?, ?, ?, ?)", (kind, uid, row_id, fresh))
        except sqlite3.IntegrityError:
            raise ValueError(f"the uid {uid} stands there twice") from None

    def find(self, kind: str, uid: SqlValue) -> Arrived | None:
        """Return what a uid stands for, None when no line so far has it."""
        if self._latest is None or self._latest[0] != (kind, uid):
            row = self._db.execute("SELECT id, fresh FROM arrived WHERE kind = ? AND uid = ?", (kind, uid)).fetchone()
            if row is None:
                return None
            self._latest = (kind, uid), Arrived(row[0], bool(row[1]))
        return self._latest[1]

    def get(self, kind: str, values: Mapping[str, SqlValue], key: str = "") -> Arrived:
        """Return what the uid under a key (named as the kind unless told otherwise) stands for."""
        key = key or kind
        found = self.find(kind, values[key])
        if found is None:
            raise ValueError(f'"{key}" names {values[key]}, and no {kind} above has that uid')
        return found

    def drop(self) -> None:
        """Forget all."""
        self._db.execute("DROP TABLE temp.arrived")
