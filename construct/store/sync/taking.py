"""Take in what other machines published, in the caller's transaction.

Rows are known by uid. Of two values of a field the later one counts, whatever the order in
which they come. What is named by a tombstone is not brought back: the caller forgets it
(`Taken.to_forget`), with what was made of it here.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from construct.store.dates import FILL_FIRST_DATES
from construct.store.driver import Connection, integrity_errors
from construct.store.sql import ID_LIST, column, insert, json_ids
from construct.store.sync.changes import refresh_checksums
from construct.store.sync.machines import machine_ids
from construct.store.sync.records import Joined, JoinedRow, Stamp
from construct.store.sync.tables import SYNC_KINDS, Link, SyncField, SyncKind
from construct.store.sync.writers import fork_base, settle_writers
from construct.store.transfer.checks import SqlValue
from construct.store.transfer.format import KINDS
from construct.vocabulary import Replacement

_KEY_COLUMNS = {
    "flag": ("observation_id", "flag", "set_by"),
    "claim": ("observation_id", "cycle_id"),
    "tombstone": ("message_uid",),
}
"""The columns that name the rows that have no id."""


@dataclass(slots=True)
class Taken:
    """What came in."""

    conversations: int = 0
    messages: int = 0
    observations: int = 0
    changed: int = 0
    """Rows that were known here and changed."""
    gone: list[str] = field(default_factory=list)
    """The uids of what was forgotten or deleted elsewhere, and is still here."""
    to_forget: list[int] = field(default_factory=list)
    """Ids of observations made of what was forgotten here, by a machine that did not know."""

    @property
    def is_anything(self) -> bool:
        """Whether anything is new here."""
        return bool(self.conversations or self.messages or self.observations or self.changed)


def take_in(db: Connection, joined: Joined) -> Taken:
    """Take in what other machines published.

    The caller has published what changed here before, then forgets what is to be forgotten,
    and then decides which cycles stand. Foreign keys are checked at the end of its transaction.
    """
    return _TakeIn(db, joined).run()


class _TakeIn:
    def __init__(self, db: Connection, joined: Joined) -> None:
        self._db = db
        self._joined = joined
        self._machines = machine_ids(db)
        self._ids: dict[str, dict[str, int]] = {}
        self._taken = Taken()
        known = set(column(db, "SELECT message_uid FROM tombstones"))
        self._gone_before = frozenset(known)
        self._gone = known | joined.rows["tombstone"].keys()
        self._gone_at = self._times_of_tombstones()
        self._later: list[tuple[SyncKind, SyncField, int, str]] = []
        """References to rows that come later, and links: to store at the end."""

    def run(self) -> Taken:
        db, rows = self._db, self._joined.rows
        for kind in SYNC_KINDS.values():
            new = [uid for uid in rows[kind.type] if not self._update(kind, uid)]
            self._insert_all(kind, new)
        for kind, sync_field, row_id, value in self._later:
            self._store_later(kind, sync_field, row_id, value)
        settle_writers(db)
        for kind in SYNC_KINDS.values():
            if rows[kind.type]:
                refresh_checksums(db, kind, json.dumps(list(rows[kind.type])))
        refresh_checksums(db, SYNC_KINDS["message"])
        new_notes = json_ids(self._new_ids("observation"))
        db.execute(f"{FILL_FIRST_DATES} AND id IN {ID_LIST}", (new_notes,))
        new = [uid for uid in rows["tombstone"] if uid not in self._gone_before]
        self._taken.gone += [uid for uid in new if not self._is_back(uid)]
        return self._taken

    def _new_ids(self, kind: str) -> list[int]:
        uids = self._joined.rows[kind]
        return [id_ for uid, id_ in self._known(kind).items() if uid in uids]

    def _times_of_tombstones(self) -> dict[str, int]:
        """Return when each tombstone was published, in microseconds."""
        times: dict[str, int] = dict(
            self._db.execute("SELECT uid, born_at FROM sync_rows WHERE kind = 'tombstone'")
        )
        for uid, row in self._joined.rows["tombstone"].items():
            if row.born is not None:
                times[uid] = min(times.get(uid, row.born.at), row.born.at)
        return times

    def _is_gone(self, kind: SyncKind, uid: str, row: JoinedRow) -> bool:
        """Return whether a row must not come back.

        A message only loses its words; a conversation may have been imported again since.
        """
        if uid not in self._gone or kind.type in ("message", "tombstone"):
            return False
        is_again = row.made_last is not None and row.made_last.at > self._gone_at.get(uid, 0)
        return not (kind.type == "conversation" and is_again)

    def _is_back(self, uid: str) -> bool:
        """Return whether a conversation was imported again after it was deleted."""
        born_at = self._db.execute(
            "SELECT born_at FROM sync_rows WHERE kind = 'conversation' AND uid = ?", (uid,)
        ).fetchone()
        return born_at is not None and born_at[0] > self._gone_at.get(uid, 0)

    def _known(self, kind: str) -> dict[str, int]:
        """Return the ids of the rows of a type that are here, by uid."""
        if kind not in self._ids:
            rows = self._db.execute(f"SELECT uid, id FROM {KINDS[kind].table}")
            self._ids[kind] = dict(rows.fetchall())
        return self._ids[kind]

    # Known rows

    def _update(self, kind: SyncKind, uid: str) -> bool:
        """Take over the later values of a row that is known here; False if it is not."""
        row = self._joined.rows[kind.type][uid]
        known = self._db.execute(
            """SELECT born_at, born_by, changed_at, changed_by, stamps FROM sync_rows
               WHERE kind = ? AND uid = ?""",
            (kind.type, uid),
        ).fetchone()
        if known is None:
            return False
        born_at, born_by, changed_at, changed_by, stamps_json = known
        names = {id_: name for name, id_ in self._machines.items()}
        born = Stamp(born_at, names[born_by])
        changed = Stamp(changed_at, names[changed_by])
        stamps = {
            k: Stamp(at, names[by]) for k, (at, by) in json.loads(stamps_json or "{}").items()
        }
        later = {k: s for k, s in row.stamps.items() if s > stamps.get(k, changed)}
        first = born if row.born is None else min(born, row.born)
        if not later and first == born:
            return True
        fields = {f.key: f for f in kind.fields}
        now = {k: row.values[k] for k in later}
        columns = dict(self._columns(kind, now))
        for needed in (f for f in kind.fields if f.is_needed):
            if columns.get(needed.column, "") is None:  # it is gone here: the row stays as it is
                del columns[needed.column]
        if columns:
            self._set(kind, uid, columns)
        if "is_deleted" in columns:
            self._taken.gone.append(uid)
        if kind.type == "cycle" and "status" in columns:  # the user's word: no longer overruled
            row_id = self._known("cycle")[uid]
            self._db.execute("DELETE FROM sync_overruled WHERE cycle_id = ?", (row_id,))
        for key in now:
            self._remember(kind, fields[key], uid, now[key])
        stamps |= later
        if later and {k: stamps.get(k, changed) for k in fields} == dict.fromkeys(
            fields, newest := max(later.values())
        ):
            changed, stamps = newest, {}
        self._db.execute(
            """UPDATE sync_rows SET born_at = ?, born_by = ?, changed_at = ?, changed_by = ?,
               stamps = ? WHERE kind = ? AND uid = ?""",
            (*self._stored(first), *self._stored(changed), self._stamps(stamps), kind.type, uid),
        )
        self._taken.changed += bool(columns)
        return True

    def _set(self, kind: SyncKind, uid: str, columns: dict[str, SqlValue]) -> None:
        where, keys = "uid = ?", [uid]
        if not kind.is_keyed:
            where = " AND ".join(f"{name} = ?" for name in _KEY_COLUMNS[kind.type])
            keys = list(self._key_values(kind, uid.split(" ")))
        sets = ", ".join(f"{name} = ?" for name in columns)
        self._db.execute(
            f"UPDATE {kind.table} SET {sets} WHERE {where}", (*columns.values(), *keys)
        )

    def _key_values(self, kind: SyncKind, parts: list[str]) -> Iterator[Any]:
        named = [f for f in kind.fields if f.column in _KEY_COLUMNS[kind.type]]
        for sync_field, part in zip(named, parts, strict=True):
            yield self._known(sync_field.ref).get(part) if sync_field.ref else part

    # New rows

    def _insert_all(self, kind: SyncKind, uids: Iterable[str]) -> None:
        rows = self._joined.rows[kind.type]
        if kind.type == "message":
            uids = sorted(uids, key=lambda uid: self._place(rows[uid]))
        for uid in uids:
            row = rows[uid]
            is_gone = self._is_gone(kind, uid, row)
            columns = dict(self._columns(kind, row.values))
            if row.born is None or is_gone or self._lacks_something(kind, row, columns):
                continue
            if self._insert(kind, uid, columns):
                self._note(kind, uid, row)
                self._after_insert(kind, uid, row)

    def _lacks_something(
        self, kind: SyncKind, row: JoinedRow, columns: dict[str, SqlValue]
    ) -> bool:
        """Return whether something that a row needs is gone."""
        if any(columns.get(f.column) is None for f in kind.fields if f.is_needed):
            return True
        # What belongs to a conversation that is gone here comes when its machine has followed.
        if row.values.get("conversation") and columns.get("conversation_id") is None:
            return True
        # A question's item is about the one or the other.
        about = ("observation", "message") if kind.type == "question_item" else ()
        return any(row.values.get(k) and columns[f"{k}_id"] is None for k in about)

    def _insert(self, kind: SyncKind, uid: str, columns: dict[str, SqlValue]) -> bool:
        if not kind.is_keyed:
            marks = ", ".join("?" * len(columns))
            self._db.execute(
                f"INSERT OR IGNORE INTO {kind.table} ({', '.join(columns)}) VALUES ({marks})",
                (*columns.values(),),
            )
            return True
        try:
            row_id = insert(self._db, kind.table, {"uid": uid, **columns})
            if kind.type in KINDS:
                self._known(kind.type)[uid] = row_id
        except integrity_errors():
            if kind.type != "attachment":
                raise
            return False  # imported on both machines: each keeps its own copy
        return True

    def _after_insert(self, kind: SyncKind, uid: str, row: JoinedRow) -> None:
        for sync_field in kind.fields:
            if sync_field.key in row.values:
                self._remember(kind, sync_field, uid, row.values[sync_field.key])
        match kind.type:
            case "conversation":
                self._taken.conversations += 1
            case "message":
                self._taken.messages += 1
                if uid in self._gone_before:
                    self._taken.gone.append(uid)
            case "observation":
                self._taken.observations += 1
                if self._is_to_forget(row):
                    self._taken.to_forget.append(self._known("observation")[uid])

    def _place(self, row: JoinedRow) -> tuple[str, int]:
        """Return where a message stands: in the order of whoever writes its conversation."""
        conversation = str(row.values.get("conversation"))
        made = self._db.execute(
            """SELECT uid FROM sync_machines WHERE id = (
                   SELECT born_by FROM sync_rows WHERE kind = 'conversation' AND uid = ?)""",
            (conversation,),
        ).fetchone()
        writer = made[0] if made else ""
        return conversation, row.places.get(writer, min(row.places.values()))

    def _columns(
        self, kind: SyncKind, values: Mapping[str, SqlValue]
    ) -> Iterator[tuple[str, SqlValue]]:
        """Yield the columns for these values; references that come later are left out."""
        later = {f.key for f in KINDS[kind.type].fields if f.later} if kind.type in KINDS else ()
        for sync_field in kind.fields:
            if sync_field.key not in values or sync_field.link or sync_field.key in later:
                continue
            value = values[sync_field.key]
            if sync_field.ref:
                value = None if value is None else self._id_of(sync_field.ref, str(value))
            yield sync_field.column, value

    def _id_of(self, kind: str, uid: str) -> int | None:
        """Return the id of a row; for a fork that is yet to be made here, what it is a fork of."""
        known = self._known(kind)
        if uid not in known and kind == "conversation" and uid not in self._gone:
            return known.get(fork_base(uid))
        return known.get(uid)

    def _is_to_forget(self, row: JoinedRow) -> bool:
        """Return whether a new observation rests on what was forgotten here.

        One that was made of others, or took the place of one, stays if those do.
        """

        def linked(key: str, relation: str = "") -> list[str]:
            links = json.loads(str(row.values.get(key) or "[]"))
            return [uid for uid, *more in links if not relation or relation in more]

        made_of = [*linked("sources"), *linked("replaced", Replacement.EDIT)]
        if any(uid in self._gone for uid in made_of):
            return True
        messages = [*linked("messages"), *linked("through")]
        if any(uid not in self._known("message") for uid in messages):
            return True
        return not made_of and any(uid in self._gone_before for uid in messages)

    # References that come later, and links

    def _remember(self, kind: SyncKind, sync_field: SyncField, uid: str, value: SqlValue) -> None:
        later = kind.type in KINDS and any(
            f.later and f.key == sync_field.key for f in KINDS[kind.type].fields
        )
        if sync_field.link or later:
            row_id = self._known(kind.type)[uid]
            self._later.append((kind, sync_field, row_id, "" if value is None else str(value)))

    def _store_later(self, kind: SyncKind, sync_field: SyncField, row_id: int, value: str) -> None:
        if sync_field.link:
            self._store_links(sync_field.link, row_id, value)
            return
        target = self._known(sync_field.ref).get(value) if value else None
        self._db.execute(
            f"UPDATE {kind.table} SET {sync_field.column} = ? WHERE id = ?", (target, row_id)
        )

    def _store_links(self, link: Link, row_id: int, value: str) -> None:
        """Replace an observation's links of a kind; those to rows that are gone are left out."""
        names = ["observation_id", link.column, *(name for name, _ in link.also)]
        kinds = [link.kind, *(kind for _, kind in link.also)]
        rows = []
        for words in json.loads(value or "[]"):
            ids = [
                self._known(kind).get(word) if kind else word
                for kind, word in zip(kinds, words, strict=True)
            ]
            if None not in ids:
                rows.append((row_id, *ids))
        extra = ""
        if link.table == "observation_messages":
            names, extra = [*names, "direct"], f", {link.where.removeprefix('direct = ')}"
        self._db.execute(
            f"DELETE FROM {link.table} WHERE observation_id = ? AND {link.where}", (row_id,)
        )
        marks = ", ".join("?" * (len(kinds) + 1))
        self._db.executemany(
            f"INSERT OR IGNORE INTO {link.table} ({', '.join(names)}) VALUES ({marks}{extra})", rows
        )

    # What was published of a row

    def _note(self, kind: SyncKind, uid: str, row: JoinedRow) -> None:
        assert row.born is not None
        stamps = dict(row.stamps)
        # One stamp for all fields that share it, the earliest.
        usual = min(stamps.values(), default=row.born)
        stamps = {key: stamp for key, stamp in stamps.items() if stamp != usual}
        self._db.execute(
            "INSERT OR REPLACE INTO sync_rows VALUES (?, ?, ?, ?, ?, ?, x'', ?)",
            (
                kind.type,
                uid,
                *self._stored(row.born),
                *self._stored(usual),
                self._stamps(stamps),
            ),
        )

    def _stored(self, stamp: Stamp) -> tuple[int, int]:
        return stamp.at, self._machines[stamp.by]

    def _stamps(self, stamps: dict[str, Stamp]) -> str | None:
        if not stamps:
            return None
        return json.dumps({k: self._stored(stamp) for k, stamp in stamps.items()})
