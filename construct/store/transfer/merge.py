"""From the scratch database (scratch.py) into ours, row by uid, in the caller's transaction.

Into an empty database an export's rows come as they are, ids too. Into another, what is
known by its uid stays as it is here, what is new is added after it, and a conversation that
is known goes on only where both agree on what came before. What was forgotten here is not
learned again.

For each table there is a view in the scratch database, such as `messages_here`: its rows
with the ids that they have here, in references too, and `is_new` for those that are not
known here. A row without an id is left out, since it rests on what was forgotten here.
`there` is its id in the scratch database.
"""

import json
import sqlite3
from collections import Counter
from dataclasses import asdict, dataclass

from construct.clock import from_text
from construct.store.conversations import get_watermarks, set_watermark
from construct.store.dates import FILL_FIRST_DATES
from construct.store.invariants import violations
from construct.store.memories import revive_memory, supersede_memory
from construct.store.messages import LAST, last_time, message_tokens
from construct.store.records import REMOVED
from construct.store.sql import GIVEN, column, exists, given, scalar
from construct.store.transfer.format import COUNTS, KINDS, RefusedError
from construct.store.transfer.scratch import refuse_violations
from construct.text import shorten

_APART = "Import it into a database of its own: `construct --db OTHER import FILE`"
_KEYED = [kind for kind in KINDS.values() if kind.keyed]
_OWNED = [kind for kind in KINDS.values() if kind.owner]
_REFERENCES = {
    "observation_messages": {"observation_id": "observation", "message_id": "message"},
    "observation_sources": {"observation_id": "observation", "source_id": "observation"},
    **{
        kind.table: {field.column: field.ref for field in kind.fields}
        for kind in KINDS.values()
        if not kind.keyed
    },
}
"""The columns of the tables without uids, each with the type of row that it names."""


@dataclass(frozen=True, slots=True)
class Merged:
    """How many rows were added and were known, by type of line, and how many were left out."""

    added: Counter[str]
    known: Counter[str]
    left_out: int


def merge(db: sqlite3.Connection, *, keep_ids: bool) -> Merged:
    """Add what the scratch database holds; with its ids, where ours is empty and `keep_ids`.

    Raises RefusedError naming a conversation that diverged.
    """
    is_empty = not any(exists(db, f"main.{kind.table}") for kind in _KEYED)
    newest_before = scalar(db, "SELECT ifnull(max(id), 0) FROM main.messages")
    _find_forgotten(db)
    _place(db, keep_ids=keep_ids and is_empty)
    _refuse_diverged(db)
    left_out = _insert(db)
    for statement in _MEET_KNOWN:
        db.execute(statement)
    _meet_entities(db)
    _meet_memories(db)
    _free_sources(db)
    made = set(column(db, _new("conversations")))
    touched = made | _raise_watermarks(db)
    for table in ("messages", "cycles", "observations"):
        new = f"SELECT DISTINCT conversation_id FROM scratch.{table}_here WHERE is_new"
        touched.update(column(db, new))
    touched.discard(None)  # what is of several conversations
    _archive_unobserved(db, touched, newest_before)
    db.execute(f"{FILL_FIRST_DATES} AND id IN ({_new('observations')})")
    _refuse_unread(db)
    refuse_violations(violations(db, touched), *([_APART] if touched - made else []))
    counts = db.execute(
        "SELECT kind, is_new, here IS NULL, count(*) FROM scratch.placed GROUP BY 1, 2, 3"
    ).fetchall()
    return Merged(
        added=Counter({kind: count for kind, is_new, _, count in counts if is_new}),
        known=Counter(
            {kind: count for kind, is_new, gone, count in counts if not is_new and not gone}
        ),
        left_out=left_out + sum(count for _, _, gone, count in counts if gone),
    )


# Which row is which


def _find_forgotten(db: sqlite3.Connection) -> None:
    """List the new rows that rest on what was forgotten here.

    Messages come without their words instead.
    """
    db.execute(
        "CREATE TABLE scratch.forgotten"
        " (kind TEXT, there INTEGER, PRIMARY KEY (kind, there)) WITHOUT ROWID"
    )
    # A message that is known, or was forgotten, stays as it is here: with its own files.
    _forget(
        db,
        "attachment",
        """SELECT a.id FROM scratch.attachments AS a
           JOIN scratch.messages AS m ON m.id = a.message_id
           WHERE m.uid IN (SELECT uid FROM main.messages UNION ALL
                           SELECT message_uid FROM main.tombstones)""",
    )
    if not exists(db, "main.tombstones"):
        return
    db.execute(
        """UPDATE scratch.messages SET content = ?, blocks = NULL, withheld = 1, token_count = ?
           WHERE uid IN (SELECT message_uid FROM main.tombstones)
           AND uid NOT IN (SELECT uid FROM main.messages)""",
        (REMOVED, message_tokens(REMOVED)),
    )
    messages = "SELECT id FROM scratch.messages JOIN main.tombstones ON message_uid = uid"
    _forget(
        db,
        "observation",
        f"""WITH RECURSIVE gone(id) AS (
                SELECT observation_id FROM scratch.observation_messages
                WHERE message_id IN ({messages})
                UNION SELECT observation_id FROM scratch.observation_sources
                JOIN gone ON source_id = gone.id)
            SELECT id FROM gone""",
    )
    answered = f"SELECT id FROM scratch.forget_requests WHERE message_id IN ({messages})"
    _forget(db, "forget_request", answered)
    for kind in _KEYED:
        for field in kind.fields:
            if field.ref in ("observation", "memory") and not field.later:
                gone = f"SELECT there FROM scratch.forgotten WHERE kind = '{field.ref}'"
                resting = f"SELECT id FROM scratch.{kind.table} WHERE {field.column} IN ({gone})"
                _forget(db, kind.type, resting)


def _forget(db: sqlite3.Connection, kind: str, ids: str) -> None:
    table = KINDS[kind].table
    db.execute(
        f"""INSERT OR IGNORE INTO scratch.forgotten SELECT '{kind}', id FROM scratch.{table}
            WHERE id IN ({ids}) AND uid NOT IN (SELECT uid FROM main.{table})"""
    )


def _place(db: sqlite3.Connection, *, keep_ids: bool) -> None:
    """Give every row its id here: the known one for a known uid, else the next.

    An entity is known by its name and type too.
    """
    db.execute(
        "CREATE TABLE scratch.placed (kind TEXT, there INTEGER, here INTEGER, is_new INTEGER,"
        " PRIMARY KEY (kind, there)) WITHOUT ROWID"
    )
    for kind in _KEYED:
        known = f"SELECT id FROM main.{kind.table} AS h WHERE h.uid = s.uid"
        if kind.type == "entity" and not keep_ids:  # found by the index of lower(name)
            known = f"""SELECT coalesce(({known}), (
                SELECT min(id) FROM main.entities AS h
                WHERE lower(h.name) = lower(s.name) AND h.name = s.name AND h.type IS s.type))"""
        gone = f"SELECT there FROM scratch.forgotten WHERE kind = '{kind.type}'"
        newest = "SELECT seq FROM main.sqlite_sequence WHERE name = ?"
        before = scalar(db, newest, (kind.table,)) or 0
        following = f"{before} + row_number() OVER (PARTITION BY known IS NULL, gone ORDER BY id)"
        db.execute(
            f"""INSERT INTO scratch.placed
                SELECT '{kind.type}', id,
                       ifnull(known, iif(gone, NULL, {"id" if keep_ids else following})),
                       known IS NULL AND NOT gone
                FROM (SELECT id, ({known}) AS known, id IN ({gone}) AS gone
                      FROM scratch.{kind.table} AS s)"""
        )
        values = ", ".join(
            f"{_here(field.ref, field.column)} AS {field.column}" for field in kind.fields
        )
        db.execute(
            f"""CREATE VIEW scratch.{kind.table}_here AS
                SELECT p.here AS id, p.there, p.is_new, s.uid, {values}
                FROM placed AS p CROSS JOIN {kind.table} AS s ON s.id = p.there
                WHERE p.kind = '{kind.type}'"""
        )
    for table, references in _REFERENCES.items():
        values = ", ".join(f"{_here(kind, name)} AS {name}" for name, kind in references.items())
        db.execute(f"CREATE VIEW scratch.{table}_here AS SELECT {values} FROM {table} AS s")


def _here(kind: str, name: str) -> str:
    """Return the SQL of a column's value in our database, with ids mapped to ours."""
    if not kind:
        return f"s.{name}"
    return f"(SELECT here FROM placed WHERE kind = '{kind}' AND there = s.{name})"


def _new(table: str) -> str:
    return f"SELECT id FROM scratch.{table}_here WHERE is_new"


def _refuse_diverged(db: sqlite3.Connection) -> None:
    """Refuse new messages that would have to stand before those here."""
    going_on = f"""SELECT conversation_id, min(there), created_at FROM scratch.messages_here
                   WHERE is_new AND conversation_id NOT IN ({_new("conversations")})
                   GROUP BY conversation_id ORDER BY 2"""
    known = "scratch.messages_here WHERE conversation_id = ? AND there > ? AND NOT is_new"
    for conversation_id, first, begins in db.execute(going_on).fetchall():
        last = last_time(db, conversation_id)
        is_earlier = last is not None and from_text(begins) < from_text(last)
        if is_earlier or exists(db, known, (conversation_id, first)):
            raise _diverged(db, conversation_id)


def _diverged(db: sqlite3.Connection, conversation_id: int) -> RefusedError:
    title = scalar(db, "SELECT title FROM main.conversations WHERE id = ?", (conversation_id,))
    name = f"“{shorten(title, 60)}”" if title else "(no title)"
    why = "it has gone on both here and in the file, each in its own way"
    return RefusedError(f"conversation {conversation_id} {name}", why, _APART)


# Adding what is new


def _insert(db: sqlite3.Connection) -> int:
    for kind in _KEYED:
        columns = ", ".join(["id", "uid", *(field.column for field in kind.fields)])
        db.execute(
            f"""INSERT INTO main.{kind.table} ({columns})
                SELECT {columns} FROM scratch.{kind.table}_here WHERE is_new ORDER BY there"""
        )
    for table in ("observation_messages", "observation_sources"):
        _insert_owned(db, table, "observation")
    for kind in _OWNED:
        _insert_owned(db, kind.table, kind.owner)
    db.execute("INSERT OR IGNORE INTO main.tombstones SELECT * FROM scratch.tombstones")
    return sum(
        scalar(db, f"SELECT count(*) FROM scratch.{kind.table}_here WHERE NOT {_whole(kind.table)}")
        for kind in _OWNED
    )


def _insert_owned(db: sqlite3.Connection, table: str, owner: str) -> None:
    columns = ", ".join(_REFERENCES[table])
    db.execute(
        f"""INSERT INTO main.{table} ({columns}) SELECT {columns} FROM scratch.{table}_here
            WHERE {_whole(table)} AND {owner}_id IN ({_new(KINDS[owner].table)})"""
    )


def _whole(table: str) -> str:
    """Return the SQL that tests whether all rows that a row names are here."""
    names = [f"{name} IS NOT NULL" for name, kind in _REFERENCES[table].items() if kind]
    return f"({' AND '.join(names)})"


# Adding to what is known what it lacks, and never anything else


_NEW_OBSERVERS = f"""main.cycles AS y WHERE y.kind = 'observer' AND y.status = 'succeeded'
    AND y.id IN ({_new("cycles")}) AND y.conversation_id NOT IN ({_new("conversations")})"""
"""The observer cycles over known conversations that came along."""
_WITHHELD = (("observations", "observation_id"), ("messages", "message_id"))
_LARGER = ", ".join(f"{name} = max(h.{name}, s.{name})" for name in (*COUNTS, "cost_usd"))

_MEET_KNOWN = (
    # What is archived here is awake once a cycle over it has come.
    f"""UPDATE main.messages SET archived = 0
        WHERE archived
        AND id IN (SELECT id FROM scratch.messages_here WHERE NOT is_new AND NOT archived)
        AND EXISTS (SELECT 1 FROM {_NEW_OBSERVERS} AND y.conversation_id = messages.conversation_id
                    AND messages.id BETWEEN y.first_message_id AND y.last_message_id)""",
    # Observations are committed and superseded as there, unless that has been decided here.
    """UPDATE main.observations AS h SET committed_at = s.committed_at
       FROM scratch.observations_here AS s
       WHERE h.id = s.id AND h.committed_at IS NULL AND h.superseded_at IS NULL
       AND s.committed_at IS NOT NULL""",
    f"""UPDATE main.observations AS h
        SET superseded_at = s.superseded_at, superseded_by = s.superseded_by
        FROM scratch.observations_here AS s
        WHERE h.id = s.id AND NOT s.is_new AND h.superseded_at IS NULL
        AND s.superseded_at IS NOT NULL AND s.superseded_by IN ({_new("cycles")})""",
    # A request that has come withholds here what is withheld there; an answer gives it back.
    *(
        f"""UPDATE main.{table} SET withheld = 1 WHERE id IN (
                SELECT s.id FROM scratch.forget_requests_here AS f
                JOIN scratch.{table}_here AS s ON s.id = f.{name} WHERE f.is_new AND s.withheld)"""
        for table, name in _WITHHELD
    ),
    *(
        f"""UPDATE main.{table} SET withheld = 0
            WHERE uid NOT IN (SELECT message_uid FROM main.tombstones) AND id IN (
                SELECT s.id FROM scratch.forget_requests_here AS f
                JOIN scratch.{table}_here AS s ON s.id = f.{name}
                JOIN main.forget_requests AS h ON h.id = f.id
                WHERE f.answered_at IS NOT NULL AND h.answered_at IS NULL AND NOT s.withheld)"""
        for table, name in _WITHHELD
    ),
    """UPDATE main.forget_requests AS h SET answered_at = s.answered_at
       FROM scratch.forget_requests_here AS s WHERE h.id = s.id AND h.answered_at IS NULL""",
    # The one row of a day off the record grows.
    f"""UPDATE main.usage AS h SET {_LARGER}
        FROM scratch.usage_here AS s WHERE h.id = s.id AND NOT s.is_new""",
)


def _meet_entities(db: sqlite3.Connection) -> None:
    both = """SELECT id, h.aliases, s.aliases FROM scratch.entities_here AS s
              CROSS JOIN main.entities AS h USING (id) WHERE h.aliases <> s.aliases"""
    met: dict[int, list[str]] = {}
    for row_id, here, there in db.execute(both).fetchall():
        aliases = met.get(row_id, json.loads(here))
        missing = [alias for alias in json.loads(there) if alias not in aliases]
        if missing:
            met[row_id] = aliases + missing
    changed = [(json.dumps(aliases), row_id) for row_id, aliases in met.items()]
    db.executemany("UPDATE main.entities SET aliases = ? WHERE id = ?", changed)


def _meet_memories(db: sqlite3.Connection) -> None:
    """Supersede a memory if a newer one has come or its observation went.

    One comes back whose newer one was left out.
    """
    gone = f"""SELECT s.id, s.superseded_at, s.superseded_by FROM scratch.memories_here AS s
        CROSS JOIN main.memories AS h USING (id)
        LEFT JOIN main.observations AS o ON o.id = h.observation_id
        WHERE NOT s.is_new AND s.superseded_at IS NOT NULL
        AND (s.superseded_by IN ({_new("memories")})
             OR s.superseded_by IS NULL AND o.superseded_at = s.superseded_at)"""
    for row_id, at, newer in db.execute(gone).fetchall():
        supersede_memory(db, row_id, at, newer)
    back = """SELECT s.id FROM scratch.memories_here AS s
        JOIN scratch.memories AS m ON m.id = s.there
        WHERE s.is_new AND m.superseded_by IS NOT NULL AND s.superseded_by IS NULL"""
    for row_id in column(db, back):
        revive_memory(db, row_id)


def _free_sources(db: sqlite3.Connection) -> None:
    """Let the sources of reflections that were left out be active again.

    Not those for which another reflection stands. Memories that went together with a source
    come back together with it.
    """
    freed = db.execute(
        """SELECT o.id, m.id FROM main.observations AS o
           LEFT JOIN main.memories AS m ON m.observation_id = o.id
               AND m.superseded_by IS NULL AND m.superseded_at = o.superseded_at
           WHERE (o.id, o.superseded_by) IN (
               SELECT source.id, gone.cycle_id FROM scratch.observations_here AS gone
               JOIN scratch.observation_sources AS link ON link.observation_id = gone.there
               JOIN scratch.observations_here AS source ON source.there = link.source_id
               WHERE gone.id IS NULL AND source.is_new)
           AND NOT EXISTS (
               SELECT 1 FROM main.observation_sources AS link
               JOIN main.observations AS kept ON kept.id = observation_id
               WHERE link.source_id = o.id AND kept.cycle_id = o.superseded_by)"""
    ).fetchall()
    free = "UPDATE main.observations SET superseded_at = NULL, superseded_by = NULL WHERE id = ?"
    for observation_id, memory_id in freed:
        db.execute(free, (observation_id,))
        if memory_id is not None:
            revive_memory(db, memory_id)


def _raise_watermarks(db: sqlite3.Connection) -> set[int]:
    """Set a new conversation's watermarks, and return the conversations whose marks rose.

    A known one's rise as far as cycles that came along bear them.
    """
    free = set(column(db, _new("conversations")))
    free.update(column(db, f"SELECT y.conversation_id FROM {_NEW_OBSERVERS}"))
    risen: set[int] = set()
    marks = db.execute("SELECT * FROM scratch.watermarks_here").fetchall()
    for conversation_id, name, message_id, updated_at in marks:
        here = asdict(get_watermarks(db, conversation_id))
        goal = min(message_id, LAST if conversation_id in free else here["observed"])
        if goal > here[name]:
            set_watermark(db, conversation_id, name, goal, updated_at)
            risen.add(conversation_id)
    return risen


def _archive_unobserved(db: sqlite3.Connection, touched: set[int], newest_before: int) -> None:
    db.execute(
        f"""UPDATE main.messages SET archived = 1
            WHERE archived = 0 AND conversation_id IN {GIVEN} AND id > max(?, ifnull((
                SELECT message_id FROM main.watermarks AS w
                WHERE w.conversation_id = messages.conversation_id AND w.name = 'observed'), 0))
            AND NOT EXISTS (
                SELECT 1 FROM main.cycles AS y WHERE y.conversation_id = messages.conversation_id
                AND y.kind = 'observer' AND y.status = 'succeeded'
                AND messages.id BETWEEN y.first_message_id AND y.last_message_id)""",
        (given(touched), newest_before),
    )


def _refuse_unread(db: sqlite3.Connection) -> None:
    """Refuse an observer cycle over messages here that its file does not have."""
    unread = f"""SELECT y.conversation_id FROM {_NEW_OBSERVERS} AND EXISTS (
        SELECT 1 FROM main.messages AS m
        WHERE m.conversation_id = y.conversation_id AND NOT m.archived
        AND m.id BETWEEN y.first_message_id AND y.last_message_id
        AND m.id NOT IN (SELECT here FROM scratch.placed WHERE kind = 'message'))"""
    conversation_id = scalar(db, f"{unread} LIMIT 1")
    if conversation_id is not None:
        raise _diverged(db, conversation_id)
