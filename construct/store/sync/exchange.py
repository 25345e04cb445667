"""What a database notes of machines and segments, and the writing of one's own segments."""

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from construct.store.driver import Connection
from construct.store.sql import scalar
from construct.store.sync.changes import full_state
from construct.store.sync.folder import Segment, SegmentList, write_segment
from construct.store.sync.machines import (
    Machine,
    add_machine,
    machine_ids,
    machines,
    this_machine,
)
from construct.store.sync.planning import Fetched, Reached
from construct.store.sync.records import Head, Record, Stamp, pack

_MOST_SEGMENTS = 64
"""After this many segments, the next one holds the full state."""
_SMALL_BYTES = 1 << 18
"""Segments of this size together are not yet worth a full state."""


def reached(db: Connection) -> dict[str, Reached]:
    """Return how far the segments of each machine have been taken in."""
    return {m.uid: Reached(m.counter, m.last_sha256, m.manifest) for m in machines(db)}


def identify(db: Connection, lists: Sequence[SegmentList], name: str) -> tuple[Machine, bool]:
    """Return this machine, and whether it has just got a new name.

    It gets one if the folder has segments of its name that it has not written, as after its
    disk was cloned or an old copy of the database was restored, or if another machine has
    taken it over.
    """
    me = this_machine(db)
    if me is not None and not is_somebody_elses(db, me, lists):
        return me, False
    if me is not None:
        db.execute(
            """UPDATE sync_machines SET is_self = 0, counter = 0, manifest = 0, last_sha256 = NULL
               WHERE id = ?""",
            (me.id,),
        )
        db.execute("DELETE FROM sync_segments")
    taken = {one.name for one in lists} | {machine.name for machine in machines(db)}
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    add_machine(db, secrets.token_hex(8), free, is_self=True)
    new = this_machine(db)
    assert new is not None
    return new, me is not None


def is_somebody_elses(db: Connection, me: Machine, lists: Iterable[SegmentList]) -> bool:
    """Return whether the folder has segments of this machine's name that it has not written."""
    ours = {segment.counter: segment.sha256 for segment in own_segments(db)}
    for one in lists:
        if me.uid in one.retired:
            return True
        if one.machine == me.uid and (
            one.counter > me.counter
            or any(ours.get(s.counter, s.sha256) != s.sha256 for s in one.segments)
        ):
            return True
    return False


def own_segments(db: Connection) -> list[Segment]:
    """Return this machine's segments that are in the folder, oldest first."""
    query = "SELECT counter, file, sha256, size, is_full, after FROM sync_segments ORDER BY counter"
    return [
        Segment(counter, file, sha256, size, bool(is_full), json.loads(after))
        for counter, file, sha256, size, is_full, after in db.execute(query)
    ]


def own_list(db: Connection) -> SegmentList:
    """Return the list of this machine's segments, as the folder is to have it."""
    me = this_machine(db)
    assert me is not None
    retired = db.execute(
        "SELECT uid, retired_in FROM sync_machines WHERE retired_by = ?", (me.id,)
    ).fetchall()
    return SegmentList(
        me.uid,
        me.name,
        me.counter,
        tuple(own_segments(db)),
        me.forgot,
        me.has_followed,
        dict(retired),
    )


def note_lists(
    db: Connection, lists: Iterable[SegmentList], me: Machine, fetched: Sequence[Fetched],
    now: str,
) -> None:  # fmt: skip
    """Note what the lists say of other machines, and how far their segments are taken in now."""
    ids = machine_ids(db)
    for one in lists:
        if one.machine == me.uid:
            continue
        if one.machine not in ids:
            ids[one.machine] = add_machine(db, one.machine, one.name)
        db.execute(
            """UPDATE sync_machines SET name = ?, manifest = max(manifest, ?), forgot = ?,
               followed = ? WHERE id = ? AND manifest <= ?""",
            (
                one.name, one.counter, one.forgot, json.dumps(one.followed), ids[one.machine],
                one.counter,
            ),
        )  # fmt: skip
    for done in fetched:
        db.execute(
            "UPDATE sync_machines SET counter = ?, last_sha256 = ?, seen_at = ? WHERE id = ?",
            (done.segment.counter, done.segment.sha256, now, ids[done.machine]),
        )


def note_unknown(db: Connection, uids: Iterable[str]) -> None:
    """Store machines that others tell of, without anything of their own being here."""
    known = machine_ids(db)
    for uid in sorted(set(uids) - known.keys()):
        add_machine(db, uid, uid)


def note_retired(db: Connection, lists: Iterable[SegmentList]) -> None:
    """Note which machines others have taken over, once their segments that did are taken in."""
    ids = machine_ids(db)
    for one in lists:
        for machine, counter in one.retired.items():
            reached_counter = scalar(
                db, "SELECT counter FROM sync_machines WHERE uid = ?", (one.machine,)
            )
            if machine in ids and one.machine in ids and (reached_counter or 0) >= counter:
                take_over(db, ids[machine], ids[one.machine], counter)


def take_over(db: Connection, machine_id: int, by: int, counter: int) -> None:
    """Note that a machine speaks for another from now on, as if it had written all of it."""
    db.execute(
        "UPDATE sync_machines SET retired_by = ?, retired_in = ? WHERE id = ? AND NOT is_self",
        (by, counter, machine_id),
    )
    values = {"old": machine_id, "new": by}
    db.execute("UPDATE sync_rows SET born_by = :new WHERE born_by = :old", values)
    db.execute("UPDATE sync_rows SET changed_by = :new WHERE changed_by = :old", values)
    rows = db.execute("SELECT kind, uid, stamps FROM sync_rows WHERE stamps IS NOT NULL").fetchall()
    for kind, uid, text in rows:
        stamps = json.loads(text)
        if any(machine == machine_id for _, machine in stamps.values()):
            moved = {k: [at, by if m == machine_id else m] for k, (at, m) in stamps.items()}
            db.execute(
                "UPDATE sync_rows SET stamps = ? WHERE kind = ? AND uid = ?",
                (json.dumps(moved), kind, uid),
            )


def retired_into(db: Connection, lists: Iterable[SegmentList]) -> dict[str, str]:
    """Return the machines that were taken over, with those that speak for them now."""
    known = dict(
        db.execute(
            """SELECT old.uid, new.uid FROM sync_machines AS old
               JOIN sync_machines AS new ON new.id = old.retired_by"""
        ).fetchall()
    )
    for one in lists:
        known |= dict.fromkeys(one.retired, one.machine)
    return known


def is_full_due(db: Connection) -> bool:
    """Return whether the next segment is to hold the full state, so that a new machine is quick."""
    segments = own_segments(db)
    later = [s.size for s in segments if not s.is_full]
    full = sum(s.size for s in segments if s.is_full)
    return not full or len(later) >= _MOST_SEGMENTS or sum(later) > max(full, _SMALL_BYTES)


def publish(
    db: Connection, folder: Path, me: Machine, stamp: Stamp, records: Iterable[Record],
    key: str, *, forgot: bool,
) -> None:  # fmt: skip
    """Write a segment with these changes, and note it. Raises OSError."""
    _write(db, folder, me, stamp, records, key, full=False, forgot=forgot)


def publish_all(
    db: Connection, folder: Path, me: Machine, stamp: Stamp, key: str, *, forgot: bool,
    of_all: bool,
) -> None:  # fmt: skip
    """Write a segment with the full state, in the place of all earlier ones. Raises OSError.

    `of_all` adds what other machines wrote.
    """
    records = full_state(db, None if of_all else me.id)
    _write(db, folder, me, stamp, records, key, full=True, forgot=forgot)


def _write(
    db: Connection, folder: Path, me: Machine, stamp: Stamp, records: Iterable[Record],
    key: str, *, full: bool, forgot: bool,
) -> None:  # fmt: skip
    after = _taken_in(db)
    counter = me.counter + 1
    data = pack(Head(me.uid, counter, stamp), records)
    segment = write_segment(folder, me.uid, counter, data, after, full=full, key=key)
    if full:
        db.execute("DELETE FROM sync_segments")
        db.execute("UPDATE sync_machines SET followed = ? WHERE id = ?", (json.dumps(after), me.id))
    db.execute(
        "INSERT INTO sync_segments VALUES (?, ?, ?, ?, ?, ?)",
        (counter, segment.file, segment.sha256, segment.size, full, json.dumps(after)),
    )
    db.execute(
        """UPDATE sync_machines SET counter = :n, manifest = :n, last_sha256 = :sum,
           forgot = iif(:forgot, :n, forgot) WHERE id = :id""",
        {"n": counter, "sum": segment.sha256, "forgot": forgot, "id": me.id},
    )


def _taken_in(db: Connection) -> Mapping[str, int]:
    """Return the last segment of each other machine that was taken in."""
    return dict(
        db.execute(
            """SELECT uid, counter FROM sync_machines
               WHERE NOT is_self AND counter > 0 AND retired_by IS NULL"""
        ).fetchall()
    )
