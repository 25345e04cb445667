"""The lines of an own export on their way into the database, one after the other.

Into an empty database they come as they are, ids too. Into another, what is known by its uid
stays as it is here, what is not is added after it, and a conversation that is known goes on
only where both agree on what came before. What was forgotten here is not learned again.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping

from construct.clock import from_text
from construct.store.curated import supersede_memory
from construct.store.records import REMOVED
from construct.store.schema_memory import FILL_FIRST_DATES
from construct.store.sql import exists, insert, scalar
from construct.store.talk import last_time, message_tokens
from construct.store.transfer.arrivals import Arrivals, Arrived
from construct.store.transfer.checked import Line
from construct.store.transfer.format import COUNTS, KINDS, OUTDATED, Kind, RefusedError, SqlValue
from construct.store.transfer.settle import Reference, Unsettled, diverged, settle

_Values = Mapping[str, SqlValue]
_NOTED_WITH = {"shown": "conversation", "borrowed": "observation"}
"""With what a line without a uid comes and stays away, where that is no cycle."""


class Restore:
    """One import of an own export, inside the caller's transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.added: Counter[str] = Counter()
        self.known = 0
        self.left_out = 0
        self._db = db
        self._line = 0
        self._arrivals = Arrivals(db)
        tables = [kind.table for kind in KINDS.values() if kind.keyed]
        self._reuse_ids = not any(exists(db, table) for table in tables)
        self._forgets = exists(db, "tombstones")
        self._continued: set[int] = set()  # conversations known here that messages have been added to
        self._withheld_there: set[tuple[str, int]] = set()
        """Rows that are known here and withheld in the file: (type of line, id here)."""
        self._open = Unsettled(scalar(db, "SELECT ifnull(max(id), 0) FROM messages"))

    def take(self, line: Line) -> None:
        """Store what a line says; raises RefusedError naming the line."""
        self._line = line.number
        try:
            if line.kind.keyed:
                self._take_row(line.kind, line.values, line.links)
            else:
                self._take_note(line.kind, line.values)
        except ValueError as error:
            raise RefusedError(f"line {line.number}", error) from None
        except sqlite3.IntegrityError:
            raise RefusedError(f"line {line.number}", "it stands there twice, or contradicts a line above") from None

    def finish(self) -> None:
        """Settle what depends on the whole file, and check it; raises RefusedError."""
        settle(self._db, self._arrivals, self._open)
        new = "SELECT id FROM temp.arrived WHERE kind = 'observation' AND fresh"
        self._db.execute(f"{FILL_FIRST_DATES} AND id IN ({new})")
        self._arrivals.drop()

    def _take_row(self, kind: Kind, values: _Values, links: tuple[list[str], list[str]]) -> None:
        here = self._find_here(kind, values)
        if here is not None:
            self._arrivals.add(kind.type, values["uid"], here)
            self._meet(kind, here, values)
            self.known += 1
            return
        columns = self._columns(kind, values)
        if columns is None or self._is_forgotten(kind, values, links):
            self._arrivals.add(kind.type, values["uid"], None)
            self.left_out += 1
            return
        if kind.type == "message":
            self._prepare_message(values, columns)
        row_id = self._insert(kind, values, columns)
        self._arrivals.add(kind.type, values["uid"], row_id, fresh=True)
        if kind.type == "observation":
            self._link(row_id, links)
        self._note(kind, row_id, values, columns)

    def _take_note(self, kind: Kind, values: _Values) -> None:
        """Store a line that nothing refers to."""
        columns = self._columns(kind, values)
        if columns is None:
            self.left_out += 1
        elif kind.type == "watermark":
            conversation_id = self._arrivals.get("conversation", values).row
            marks = self._open.marks.setdefault(conversation_id, {})
            if str(values["name"]) in marks:
                raise ValueError("this watermark stands there twice")
            marks[str(values["name"])] = (self._arrivals.get("message", values).row, values["updated_at"])
        elif kind.type == "tombstone":
            self._db.execute("INSERT OR IGNORE INTO tombstones VALUES (?, ?)", (*columns.values(),))
        elif self._arrivals.get(_NOTED_WITH.get(kind.type, "cycle"), values).fresh:
            if kind is OUTDATED:
                columns["relation"] = self._relation(columns["cycle_id"])
            places = ", ".join("?" * len(columns))
            query = f"INSERT INTO {kind.table} ({', '.join(columns)}) VALUES ({places})"
            self._db.execute(query, (*columns.values(),))

    def _relation(self, cycle_id: SqlValue) -> str:
        """Return what version 1 left to be told from the cycle."""
        kind = scalar(self._db, "SELECT kind FROM cycles WHERE id = ?", (cycle_id,))
        return "edit" if kind == "edit" else "outdated"

    def _columns(self, kind: Kind, values: _Values) -> dict[str, SqlValue] | None:
        """Return the row with ids in the places of uids; None when something it names was left out."""
        columns: dict[str, SqlValue] = {}
        for field in kind.fields:
            value = None if field.later else values[field.key]
            if field.ref and value is not None:
                value = self._arrivals.get(field.ref, values, field.key).id
                if value is None:
                    return None
            columns[field.column] = value
        return columns

    def _find_here(self, kind: Kind, values: _Values) -> int | None:
        """Return the id of a row that is known here; an entity is known by its name and type too."""
        found: int | None = scalar(self._db, f"SELECT id FROM {kind.table} WHERE uid = ?", (values["uid"],))
        if found is None and kind.type == "entity" and not self._reuse_ids:
            query = """SELECT id FROM entities WHERE name = ? AND type IS ?
                       AND id NOT IN (SELECT id FROM arrived WHERE kind = 'entity' AND fresh) ORDER BY id LIMIT 1"""
            found = scalar(self._db, query, (values["name"], values["entity_type"]))
        return found

    def _insert(self, kind: Kind, values: _Values, columns: _Values) -> int:
        self.added[kind.type] += 1
        own_id = values["id"] if self._reuse_ids else None
        return insert(self._db, kind.table, {"id": own_id, "uid": values["uid"], **columns})

    def _link(self, row_id: int, links: tuple[list[str], list[str]]) -> None:
        for names, kind, table in zip(
            links, ("message", "observation"), ("observation_messages", "observation_sources"), strict=True
        ):
            ids = dict.fromkeys(self._arrivals.get(kind, {kind: name}).row for name in names)
            self._db.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(row_id, i) for i in ids])

    def _note(self, kind: Kind, row_id: int, values: _Values, columns: _Values) -> None:
        """Keep in mind what has to be settled at the end of the file."""
        if kind.type == "conversation":
            self._open.made.add(row_id)
        if kind.type in ("conversation", "message", "cycle", "observation"):
            concerned = row_id if kind.type == "conversation" else columns["conversation_id"]
            self._open.touched |= {concerned} if isinstance(concerned, int) else set()
        for field in kind.fields:
            value = values[field.key]
            if field.later and value is not None:
                self._open.references.append(
                    Reference(self._line, kind.table, field.column, row_id, field.ref, str(value))
                )
        if kind.type == "forget_request":
            self._withhold(columns)
        observes = kind.type == "cycle" and (values["kind"], values["status"]) == ("observer", "succeeded")
        if observes and values["conversation"] is not None:
            conversation = self._arrivals.get("conversation", values)
            if not conversation.fresh:
                self._open.observed[row_id] = conversation.row

    def _prepare_message(self, values: _Values, columns: dict[str, SqlValue]) -> None:
        """Refuse a message that would have to stand before those here; blank one that was forgotten here."""
        conversation = self._arrivals.get("conversation", values)
        if not conversation.fresh and conversation.row not in self._continued:
            last = last_time(self._db, conversation.row)
            if last is not None and from_text(str(values["created_at"])) < from_text(last):
                raise diverged(self._db, conversation.row, f"line {self._line}, ")
            self._continued.add(conversation.row)
        if self._has_tombstone(values["uid"]):
            columns.update(content=REMOVED, blocks=None, withheld=1, token_count=message_tokens(REMOVED))

    def _has_tombstone(self, name: SqlValue) -> bool:
        return self._forgets and exists(self._db, "tombstones WHERE message_uid = ?", (name,))

    def _is_forgotten(self, kind: Kind, values: _Values, links: tuple[list[str], list[str]]) -> bool:
        """Return whether a row rests on what was forgotten here; its other sources become free then."""
        if kind.type == "forget_request":  # it was answered here
            return self._has_tombstone(values["message"])
        if kind.type != "observation":
            return False
        messages, sources = links
        rows = [self._arrivals.get("observation", {"observation": name}) for name in sources]
        if not any(row.id is None for row in rows) and not any(self._has_tombstone(name) for name in messages):
            return False
        cycle_id = self._arrivals.get("cycle", values).row
        self._open.freed += [(row.row, cycle_id) for row in rows if row.fresh]
        return True

    def _meet(self, kind: Kind, row_id: int, values: _Values) -> None:
        """Add to a row that is known here what it lacks, and never anything else."""
        if kind.type == "message":
            self._meet_message(self._arrivals.get("conversation", values), row_id, values)
        elif kind.type == "observation":
            self._meet_observation(row_id, values)
        elif kind.type == "forget_request":
            self._meet_forget_request(row_id, values)
        elif kind.type == "entity":
            self._meet_entity(row_id, values)
        elif kind.type == "usage":
            self._meet_usage(row_id, values)
        elif kind.type == "memory" and values["superseded_at"] is not None:
            self._meet_memory(row_id, values)

    def _meet_message(self, conversation: Arrived, row_id: int, values: _Values) -> None:
        if conversation.id in self._continued:
            raise diverged(self._db, conversation.row, f"line {self._line}, ")
        if values["withheld"]:
            self._withheld_there.add(("message", row_id))
        if not values["archived"] and exists(self._db, "messages WHERE id = ? AND archived", (row_id,)):
            self._open.awake.append(row_id)

    def _meet_observation(self, row_id: int, values: _Values) -> None:
        """Commit or supersede as the file does, unless that has been decided here."""
        if values["withheld"]:
            self._withheld_there.add(("observation", row_id))
        if values["committed_at"] is not None:
            self._db.execute(
                """UPDATE observations SET committed_at = ?
                   WHERE id = ? AND committed_at IS NULL AND superseded_at IS NULL""",
                (values["committed_at"], row_id),
            )
        if values["superseded_by"] is None or values["superseded_at"] is None:
            return
        cycle = self._arrivals.get("cycle", values, "superseded_by")
        if cycle.fresh:
            self._db.execute(
                "UPDATE observations SET superseded_at = ?, superseded_by = ? WHERE id = ? AND superseded_at IS NULL",
                (values["superseded_at"], cycle.id, row_id),
            )

    def _withhold(self, request: _Values) -> None:
        """Withhold what is known here and was withheld there, now that the request for it has come."""
        for kind in ("observation", "message"):
            named = request[f"{kind}_id"]
            if isinstance(named, int) and (kind, named) in self._withheld_there:
                self._db.execute(f"UPDATE {KINDS[kind].table} SET withheld = 1 WHERE id = ?", (named,))

    def _meet_forget_request(self, row_id: int, values: _Values) -> None:
        """Let a request that waits here take the answer that was given there."""
        row = "id = ? AND answered_at IS NULL"
        if values["answered_at"] is None or not exists(self._db, f"forget_requests WHERE {row}", (row_id,)):
            return
        self._db.execute("UPDATE forget_requests SET answered_at = ? WHERE id = ?", (values["answered_at"], row_id))
        for kind in ("observation", "message"):
            named = self._arrivals.find(kind, values[kind]) if values[kind] is not None else None
            if named is None or named.id is None or (kind, named.id) in self._withheld_there:
                continue
            self._db.execute(
                f"""UPDATE {KINDS[kind].table} SET withheld = 0
                    WHERE id = ? AND uid NOT IN (SELECT message_uid FROM tombstones)""",
                (named.id,),
            )

    def _meet_memory(self, row_id: int, values: _Values) -> None:
        """Let a memory go where a newer one has come, or its observation went at the same moment."""
        at, newer = str(values["superseded_at"]), values["superseded_by"]
        if newer is not None:
            to = Reference(self._line, "memories", "superseded_by", row_id, "memory", str(newer), at)
            self._open.references.append(to)
        elif exists(
            self._db,
            """memories JOIN observations ON observations.id = observation_id
               WHERE memories.id = ? AND observations.superseded_at = ?""",
            (row_id, at),
        ):
            supersede_memory(self._db, row_id, at)

    def _meet_usage(self, row_id: int, values: _Values) -> None:
        """Let the one row of a day off the record grow."""
        larger = ", ".join(f"{name} = max({name}, :{name})" for name in (*COUNTS, "cost_usd"))
        self._db.execute(f"UPDATE usage SET {larger} WHERE id = :here", {**values, "here": row_id})

    def _meet_entity(self, row_id: int, values: _Values) -> None:
        aliases = json.loads(scalar(self._db, "SELECT aliases FROM entities WHERE id = ?", (row_id,)))
        missing = [alias for alias in json.loads(str(values["aliases"])) if alias not in aliases]
        if missing:
            self._db.execute("UPDATE entities SET aliases = ? WHERE id = ?", (json.dumps(aliases + missing), row_id))
