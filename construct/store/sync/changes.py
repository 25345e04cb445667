"""Find what changed here since it was last published: by comparing the rows with checksums.

The checksums are the only record of what was published. They are written in the
transaction in which the segment is, so that nothing can be published twice or not at all.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from construct.clock import to_text
from construct.store.driver import Connection
from construct.store.sync.records import Record, Stamp
from construct.store.sync.tables import SYNC_KINDS, SyncKind, changed_keys

_STANDING = "(SELECT id FROM cycles WHERE status = 'succeeded')"


def find_changes(db: Connection, stamp: Stamp, self_id: int) -> list[Record]:
    """Return what changed here, and note it as published with this stamp.

    A row that is gone leaves a tombstone, which is published too. Runs in the caller's
    transaction.
    """
    _note_claims(db)
    _note_deleted(db, stamp)
    records: list[Record] = []
    for kind in SYNC_KINDS.values():
        records += _changes_of(db, kind, stamp, self_id)
    return records


def _note_claims(db: Connection) -> None:
    """Note which cycles superseded what since the last time, and what came back."""
    db.execute(
        f"""UPDATE sync_claims SET superseded_at = NULL, counts = 0
            WHERE counts AND superseded_at IS NOT NULL AND cycle_id IN {_STANDING}
            AND cycle_id IS NOT (
                SELECT superseded_by FROM observations WHERE id = sync_claims.observation_id)"""
    )
    db.execute(
        """INSERT INTO sync_claims (observation_id, cycle_id, superseded_at, counts)
           SELECT o.id, superseded_by, superseded_at, 1 FROM observations AS o
           JOIN cycles ON cycles.id = superseded_by AND status <> 'running'
           WHERE superseded_at IS NOT NULL AND superseded_by <> cycle_id AND NOT EXISTS (
               SELECT 1 FROM sync_claims AS known WHERE known.observation_id = o.id
               AND known.cycle_id = superseded_by AND known.superseded_at IS NOT NULL)
           ON CONFLICT DO UPDATE SET superseded_at = excluded.superseded_at, counts = 1"""
    )


def _note_deleted(db: Connection, stamp: Stamp) -> None:
    """Leave tombstones for published rows that are gone; forget what was published of them."""
    now = _iso(stamp.at)
    for kind in SYNC_KINDS.values():
        if kind.type == "tombstone":
            continue
        gone = f"""kind = '{kind.type}' AND uid NOT IN (
            SELECT {kind.uid} FROM {kind.table} AS t WHERE {kind.uid} IS NOT NULL)"""
        if kind.is_keyed:
            db.execute(
                f"""INSERT INTO tombstones (message_uid, created_at, is_deleted)
                    SELECT uid, ?, 1 FROM sync_rows WHERE {gone}
                    ON CONFLICT DO UPDATE SET is_deleted = 1""",
                (now,),
            )
        db.execute(f"DELETE FROM sync_rows WHERE {gone}")


def _iso(at: int) -> str:
    return to_text(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at))


def _changes_of(db: Connection, kind: SyncKind, stamp: Stamp, self_id: int) -> Iterator[Record]:
    told = ", ".join(field.told for field in kind.fields)
    rows = db.execute(
        f"""SELECT {kind.uid} AS named, {kind.checksums}, s.fields, s.stamps, {told}
            FROM {kind.table} AS t LEFT JOIN sync_rows AS s
                ON s.kind = '{kind.type}' AND s.uid = {kind.uid}
            WHERE {kind.where} AND s.fields IS NOT {kind.checksums} AND named IS NOT NULL
            ORDER BY {kind.order}"""
    ).fetchall()
    needed = [field.key for field in kind.fields if field.is_needed]
    for uid, now, before, stamps, *values_now in rows:
        values = dict(zip(kind.keys, values_now, strict=True))
        if any(values[key] is None for key in needed):
            continue
        if before is None:
            _insert(db, kind.type, uid, stamp, self_id, now)
            yield Record(kind.type, uid, values, stamp, stamp)
            continue
        keys = changed_keys(kind, before, now)
        known = json.loads(stamps or "{}") | dict.fromkeys(keys, (stamp.at, self_id))
        db.execute(
            "UPDATE sync_rows SET fields = ?, stamps = ? WHERE kind = ? AND uid = ?",
            (now, json.dumps(known), kind.type, uid),
        )
        yield Record(kind.type, uid, {key: values[key] for key in keys}, stamp)


def _insert(db: Connection, kind: str, uid: str, stamp: Stamp, self_id: int, fields: bytes) -> None:
    db.execute(
        "INSERT INTO sync_rows VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
        (kind, uid, stamp.at, self_id, stamp.at, self_id, fields),
    )


def full_state(db: Connection, self_id: int | None) -> Iterator[Record]:
    """Yield every row that a machine made or changed, whole, as it is now; None: every row.

    Call it when nothing is left to publish.
    """
    uids = dict(db.execute("SELECT id, uid FROM sync_machines").fetchall())
    involved = """:id IS NULL OR born_by = :id OR changed_by = :id OR EXISTS (
        SELECT 1 FROM json_each(s.stamps) WHERE json_extract(value, '$[1]') = :id)"""
    for kind in SYNC_KINDS.values():
        told = ", ".join(field.told for field in kind.fields)
        rows = db.execute(
            f"""SELECT s.uid, born_at, born_by, changed_at, changed_by, stamps, {told}
                FROM {kind.table} AS t JOIN sync_rows AS s
                    ON s.kind = '{kind.type}' AND s.uid = {kind.uid}
                WHERE {kind.where} AND ({involved}) ORDER BY {kind.order}""",
            {"id": self_id},
        )
        for uid, born_at, born_by, changed_at, changed_by, stamps, *values in rows:
            yield Record(
                kind.type,
                uid,
                dict(zip(kind.keys, values, strict=True)),
                Stamp(changed_at, uids[changed_by]),
                Stamp(born_at, uids[born_by]),
                {k: Stamp(at, uids[by]) for k, (at, by) in json.loads(stamps or "{}").items()},
            )


def refresh_checksums(db: Connection, kind: SyncKind, uids: str = "") -> None:
    """Note rows as published as they are now, without telling anybody: others know it."""
    chosen = "AND s.uid IN (SELECT value FROM json_each(?))" if uids else ""
    rows = db.execute(
        f"""SELECT {kind.checksums}, s.kind, s.uid FROM {kind.table} AS t
            JOIN sync_rows AS s ON s.kind = '{kind.type}' AND s.uid = {kind.uid}
            WHERE s.fields IS NOT {kind.checksums} {chosen}""",
        (uids,) if uids else (),
    ).fetchall()
    db.executemany("UPDATE sync_rows SET fields = ? WHERE kind = ? AND uid = ?", rows)
