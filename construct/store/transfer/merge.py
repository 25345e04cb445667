"""Merges the scratch database (scratch.py) into the main one, in the caller's transaction.

In an empty database, the rows of an export keep their ids. Otherwise new rows are added
after those that are here. A row with a known uid keeps its id and its content, and
takes over only what has happened to it since, such as that it was superseded. A known
conversation is continued only if its messages are the same up to that point. What was
forgotten or deleted here is not imported again.

The table `id_map` maps the ids of the scratch database to those of the main one. For each
table there is a view such as `messages_mapped`: the rows of the scratch table with the ids
they have in the main database, also in references. `is_new` is true for rows that the main
database does not have yet. A row whose id is NULL is left out, because it depends on
something forgotten here.
"""

import json
from collections import Counter
from dataclasses import asdict, dataclass

from construct.clock import from_text
from construct.program import as_typed
from construct.store.conversations import get_watermarks, set_watermark
from construct.store.dates import FILL_FIRST_DATES
from construct.store.driver import Connection
from construct.store.invariants import violations
from construct.store.messages import LAST, last_time
from construct.store.sql import ID_LIST, column, exists, json_ids, scalar
from construct.store.transfer.forgotten import IS_GONE, find_forgotten, forgotten_ids
from construct.store.transfer.format import COUNTS, KEYED, KINDS
from construct.store.transfer.refused import RefusedError
from construct.store.transfer.scratch import refuse_violations
from construct.text import shorten

_OWNED = [kind for kind in KINDS.values() if kind.owner]
"""The types of line without a uid that are imported together with another row."""
_REFERENCES = {
    "observation_messages": {
        "observation_id": "observation",
        "message_id": "message",
        "direct": "",
    },
    "observation_sources": {"observation_id": "observation", "source_id": "observation"},
    **{
        kind.table: {field.column: field.ref for field in kind.fields}
        for kind in KINDS.values()
        if not kind.keyed
    },
}
"""The columns of each table without uids, with the type of row they refer to, or ""."""
_MAY_BE_NULL = {
    field.column
    for kind in KINDS.values()
    if not kind.keyed
    for field in kind.fields
    if field.ref and field.default is None
}
"""Those of the columns that need not refer to a row."""


@dataclass(frozen=True, slots=True)
class Merged:
    """How many rows were added, already known or left out, by type of line."""

    added: Counter[str]
    known: Counter[str]
    left_out: Counter[str]


def merge(db: Connection, *, keep_ids: bool) -> Merged:
    """Add the rows of the scratch database.

    `keep_ids` keeps their ids if the main database is empty. Raises RefusedError if a
    conversation has diverged or an invariant would be violated.
    """
    is_empty = not any(exists(db, f"main.{kind.table}") for kind in KEYED)
    newest_before = scalar(db, "SELECT ifnull(max(id), 0) FROM main.messages")
    find_forgotten(db)
    _assign_ids(db, keep_ids=keep_ids and is_empty)
    _refuse_diverged(db)
    left_out = _insert(db)
    for statement in _UPDATE_KNOWN:
        db.execute(statement)
    _merge_aliases(db)
    _reactivate_sources(db)
    added = set(column(db, _new("conversations")))
    touched = added | _raise_watermarks(db)
    for table in ("messages", "cycles", "observations"):
        new = f"SELECT DISTINCT conversation_id FROM scratch.{table}_mapped WHERE is_new"
        touched.update(column(db, new))
    touched.discard(None)  # from rows that belong to no single conversation
    _archive_unobserved(db, touched, newest_before)
    db.execute(f"{FILL_FIRST_DATES} AND id IN ({_new('observations')})")
    _refuse_unread(db)
    refuse_violations(violations(db, touched), *([_import_separately()] if touched - added else []))
    counts = db.execute(
        "SELECT kind, is_new, main_id IS NULL, count(*) FROM scratch.id_map GROUP BY 1, 2, 3"
    ).fetchall()
    return Merged(
        added=Counter({kind: count for kind, is_new, _, count in counts if is_new}),
        known=Counter(
            {
                kind: count
                for kind, is_new, forgotten, count in counts
                if not is_new and not forgotten
            }
        ),
        left_out=left_out
        + Counter({kind: count for kind, _, forgotten, count in counts if forgotten}),
    )


# Finding out which rows are new


def _assign_ids(db: Connection, *, keep_ids: bool) -> None:
    """Assign each row its id here, and create the views (see the module's docstring).

    A row with a known uid gets the known id, a new one the next free id, or its own with
    `keep_ids`. An entity also counts as known if its name and type are.
    """
    db.execute(
        "CREATE TABLE scratch.id_map (kind TEXT, scratch_id INTEGER, main_id INTEGER,"
        " is_new INTEGER, PRIMARY KEY (kind, scratch_id)) WITHOUT ROWID"
    )
    for kind in KEYED:
        known = f"SELECT id FROM main.{kind.table} AS h WHERE h.uid = s.uid"
        if kind.type == "entity" and not keep_ids:  # lower(name) is indexed
            known = f"""SELECT coalesce(({known}), (
                SELECT min(id) FROM main.entities AS h
                WHERE lower(h.name) = lower(s.name) AND h.name = s.name AND h.type IS s.type))"""
        newest = "SELECT seq FROM main.sqlite_sequence WHERE name = ?"
        before = scalar(db, newest, (kind.table,)) or 0
        following = (
            f"{before} + row_number() OVER (PARTITION BY known IS NULL, forgotten ORDER BY id)"
        )
        db.execute(
            f"""INSERT INTO scratch.id_map
                SELECT '{kind.type}', id,
                       ifnull(known, iif(forgotten, NULL, {"id" if keep_ids else following})),
                       known IS NULL AND NOT forgotten
                FROM (SELECT id, ({known}) AS known, id IN ({forgotten_ids(kind.type)}) AS forgotten
                      FROM scratch.{kind.table} AS s)"""
        )
        values = ", ".join(
            f"{_mapped_value(field.ref, field.column)} AS {field.column}" for field in kind.fields
        )
        db.execute(
            f"""CREATE VIEW scratch.{kind.table}_mapped AS
                SELECT p.main_id AS id, p.scratch_id, p.is_new, s.uid, {values}
                FROM id_map AS p CROSS JOIN {kind.table} AS s ON s.id = p.scratch_id
                WHERE p.kind = '{kind.type}'"""
        )
    for table, references in _REFERENCES.items():
        values = ", ".join(
            f"{_mapped_value(kind, name)} AS {name}" for name, kind in references.items()
        )
        db.execute(f"CREATE VIEW scratch.{table}_mapped AS SELECT {values} FROM {table} AS s")


def _mapped_value(kind: str, name: str) -> str:
    """Return the SQL for a column's value; ids are mapped to those of the main database."""
    if not kind:
        return f"s.{name}"
    return f"(SELECT main_id FROM id_map WHERE kind = '{kind}' AND scratch_id = s.{name})"


def _new(table: str) -> str:
    """Return the SQL for the ids of a table's new rows."""
    return f"SELECT id FROM scratch.{table}_mapped WHERE is_new"


def _refuse_diverged(db: Connection) -> None:
    """Refuse new messages that are earlier than one that their conversation has here."""
    continued = f"""SELECT conversation_id, min(scratch_id), created_at FROM scratch.messages_mapped
                   WHERE is_new AND conversation_id NOT IN ({_new("conversations")})
                   GROUP BY conversation_id ORDER BY 2"""
    known = "scratch.messages_mapped WHERE conversation_id = ? AND scratch_id > ? AND NOT is_new"
    for conversation_id, first, begins in db.execute(continued).fetchall():
        last = last_time(db, conversation_id)
        is_earlier = last is not None and from_text(begins) < from_text(last)
        if is_earlier or exists(db, known, (conversation_id, first)):
            raise _diverged(db, conversation_id)


def _diverged(db: Connection, conversation_id: int) -> RefusedError:
    title = scalar(db, "SELECT title FROM main.conversations WHERE id = ?", (conversation_id,))
    name = f"“{shorten(title, 60)}”" if title else "(no title)"
    why = "it has continued differently here and in the file"
    return RefusedError(f"conversation {conversation_id} {name}", why, _import_separately())


# Adding new rows


def _insert(db: Connection) -> Counter[str]:
    """Insert the new rows, and return how many rows without a uid were left out, by type."""
    db.execute(
        f"INSERT OR IGNORE INTO main.tombstones SELECT * FROM scratch.tombstones WHERE {IS_GONE}"
    )
    for kind in KEYED:
        columns = ", ".join(["id", "uid", *(field.column for field in kind.fields)])
        db.execute(
            f"""INSERT INTO main.{kind.table} ({columns})
                SELECT {columns} FROM scratch.{kind.table}_mapped
                WHERE is_new ORDER BY scratch_id"""
        )
    for table in ("observation_messages", "observation_sources"):
        _insert_owned(db, table, "observations", "observation_id")
    for kind in _OWNED:
        column_name = kind.owner_column or f"{kind.owner}_id"
        _insert_owned(db, kind.table, KINDS[kind.owner].table, column_name)
    left_out: Counter[str] = Counter()
    for kind in _OWNED:
        incomplete = f"scratch.{kind.table}_mapped WHERE NOT {_is_complete(kind.table)}"
        left_out[kind.type] = scalar(db, f"SELECT count(*) FROM {incomplete}")
    return left_out


def _insert_owned(db: Connection, table: str, owner: str, owner_column: str) -> None:
    """Insert the rows of a table that belong to new rows of another table."""
    columns = ", ".join(_REFERENCES[table])
    db.execute(
        f"""INSERT INTO main.{table} ({columns}) SELECT {columns} FROM scratch.{table}_mapped
            WHERE {_is_complete(table)} AND {owner_column} IN ({_new(owner)})"""
    )


def _is_complete(table: str) -> str:
    """Return the SQL condition that all rows a row needs to refer to exist here."""
    needed = {name for name, kind in _REFERENCES[table].items() if kind} - _MAY_BE_NULL
    conditions = [f"{name} IS NOT NULL" for name in sorted(needed)]
    return f"({' AND '.join(conditions)})"


# Updating known rows with what they lack


_NEW_OBSERVERS = f"""main.cycles AS y WHERE y.kind = 'observer' AND y.status = 'succeeded'
    AND y.id IN ({_new("cycles")}) AND y.conversation_id NOT IN ({_new("conversations")})"""
"""SQL: the new observer cycles over conversations that are not new."""
_UNDONE_SINCE = """SELECT h.conversation_id FROM main.cycles AS h
    JOIN scratch.cycles_mapped AS s ON s.id = h.id
    WHERE h.kind = 'observer' AND h.status = 'reverted' AND s.status = 'succeeded'"""
"""SQL: the conversations in which an observer cycle was undone here that counts in the file."""
_WITHHELD = (("observations", "observation_id"), ("messages", "message_id"))
"""The tables with a flag `withheld`, and the column of an item that names their rows."""
_ASKED = """scratch.questions_mapped AS f
    JOIN main.questions AS h ON h.id = f.id
    JOIN scratch.question_items_mapped AS item ON item.question_id = f.id"""
"""SQL: the questions of the file (f) as they are here (h), with what they are about."""
# SQL: set each count to the larger of the two, the row here (h) and the one in the file (s).
_LARGER = ", ".join(f"{name} = max(h.{name}, s.{name})" for name in (*COUNTS, "cost_usd"))

_UPDATE_KNOWN = (
    # Unarchive messages that a new cycle has observed.
    f"""UPDATE main.messages SET archived = 0
        WHERE archived
        AND id IN (SELECT id FROM scratch.messages_mapped WHERE NOT is_new AND NOT archived)
        AND EXISTS (SELECT 1 FROM {_NEW_OBSERVERS} AND y.conversation_id = messages.conversation_id
                    AND messages.id BETWEEN y.first_message_id AND y.last_message_id)""",
    # Archive messages above the mark that a new cycle has observed as archived ones.
    f"""UPDATE main.messages SET archived = 1
        WHERE NOT archived AND id > ifnull((
            SELECT message_id FROM main.watermarks AS w
            WHERE w.conversation_id = messages.conversation_id AND w.name = 'observed'), 0)
        AND id IN (SELECT id FROM scratch.messages_mapped WHERE NOT is_new AND archived)
        AND EXISTS (SELECT 1 FROM {_NEW_OBSERVERS} AND y.conversation_id = messages.conversation_id
                    AND messages.id BETWEEN y.first_message_id AND y.last_message_id)""",
    # Commit and supersede observations as in the file, unless that was decided here.
    """UPDATE main.observations AS h SET committed_at = s.committed_at
       FROM scratch.observations_mapped AS s
       WHERE h.id = s.id AND h.committed_at IS NULL AND h.superseded_at IS NULL
       AND s.committed_at IS NOT NULL""",
    f"""UPDATE main.observations AS h
        SET superseded_at = s.superseded_at, superseded_by = s.superseded_by
        FROM scratch.observations_mapped AS s
        WHERE h.id = s.id AND NOT s.is_new AND h.superseded_at IS NULL
        AND s.superseded_at IS NOT NULL AND s.superseded_by IN ({_new("cycles")})""",
    # A request to forget that is new, or not answered here, withholds what it withholds in the
    # file. One answered only in the file stops withholding what is not withheld there.
    *(
        f"""UPDATE main.{table} SET withheld = 1 WHERE id IN (
                SELECT s.id FROM {_ASKED} JOIN scratch.{table}_mapped AS s ON s.id = item.{name}
                WHERE (f.is_new OR h.answered_at IS NULL)
                AND f.withheld_at IS NOT NULL AND s.withheld)"""
        for table, name in _WITHHELD
    ),
    *(
        f"""UPDATE main.{table} SET withheld = 0
            WHERE uid NOT IN (SELECT message_uid FROM main.tombstones) AND id IN (
                SELECT s.id FROM {_ASKED} JOIN scratch.{table}_mapped AS s ON s.id = item.{name}
                WHERE f.answered_at IS NOT NULL AND h.answered_at IS NULL AND NOT s.withheld)"""
        for table, name in _WITHHELD
    ),
    """UPDATE main.questions AS h
       SET withheld_at = ifnull(h.withheld_at, s.withheld_at),
           asked_at = ifnull(h.asked_at, s.asked_at),
           answer = iif(h.answered_at IS NULL, s.answer, h.answer),
           answered_by = iif(h.answered_at IS NULL, s.answered_by, h.answered_by),
           answered_at = ifnull(h.answered_at, s.answered_at)
       FROM scratch.questions_mapped AS s WHERE h.id = s.id""",
    f"""UPDATE main.tracked_values AS h
        SET superseded_at = s.superseded_at, superseded_by = s.superseded_by
        FROM scratch.tracked_values_mapped AS s
        WHERE h.id = s.id AND NOT s.is_new AND h.superseded_at IS NULL
        AND s.superseded_at IS NOT NULL AND s.superseded_by IN ({_new("cycles")})""",
    # A flag that a new cycle ended.
    f"""UPDATE main.observation_flags AS h SET ended_by = s.ended_by
        FROM scratch.observation_flags_mapped AS s
        WHERE h.observation_id = s.observation_id AND h.flag = s.flag AND h.set_by = s.set_by
        AND h.ended_by IS NULL AND s.ended_by IN ({_new("cycles")})""",
    # Only the daily row of private talk can grow; all other usage never changes.
    f"""UPDATE main.usage AS h SET {_LARGER}
        FROM scratch.usage_mapped AS s WHERE h.id = s.id AND NOT s.is_new""",
)


def _merge_aliases(db: Connection) -> None:
    """Add the aliases that entities have in the file."""
    differing = """SELECT id, h.aliases, s.aliases FROM scratch.entities_mapped AS s
              CROSS JOIN main.entities AS h USING (id) WHERE h.aliases <> s.aliases"""
    merged: dict[int, list[str]] = {}
    for entity_id, current, imported in db.execute(differing).fetchall():
        aliases = merged.get(entity_id, json.loads(current))
        missing = [alias for alias in json.loads(imported) if alias not in aliases]
        if missing:
            merged[entity_id] = aliases + missing
    rows = [(json.dumps(aliases), entity_id) for entity_id, aliases in merged.items()]
    db.executemany("UPDATE main.entities SET aliases = ? WHERE id = ?", rows)


def _reactivate_sources(db: Connection) -> None:
    """Make the sources of reflections that were left out active again.

    Sources of another reflection that was imported stay superseded. New observations
    whose superseding cycle was left out become active too.
    """
    db.execute(
        """UPDATE main.observations AS o SET superseded_at = NULL, superseded_by = NULL
           WHERE o.superseded_at IS NOT NULL AND o.superseded_by IS NULL
           OR (o.id, o.superseded_by) IN (
               SELECT source.id, lost.cycle_id FROM scratch.observations_mapped AS lost
               JOIN scratch.observation_sources AS link ON link.observation_id = lost.scratch_id
               JOIN scratch.observations_mapped AS source ON source.scratch_id = link.source_id
               WHERE lost.id IS NULL AND source.is_new)
           AND NOT EXISTS (
               SELECT 1 FROM main.observation_sources AS link
               JOIN main.observations AS kept ON kept.id = observation_id
               WHERE link.source_id = o.id AND kept.cycle_id = o.superseded_by)"""
    )


def _raise_watermarks(db: Connection) -> set[int]:
    """Raise watermarks to those in the file, and return the conversations concerned.

    The watermarks of a known conversation without a new observer cycle are raised at most
    to its `observed` watermark; not at all if the file is from before something was undone
    in it here.
    """
    unlimited = set(column(db, _new("conversations")))
    unlimited.update(column(db, f"SELECT y.conversation_id FROM {_NEW_OBSERVERS}"))
    outdated = set(column(db, _UNDONE_SINCE)) - unlimited
    raised: set[int] = set()
    marks = db.execute(
        "SELECT * FROM scratch.watermarks_mapped WHERE conversation_id IS NOT NULL"
    ).fetchall()
    for conversation_id, name, message_id, updated_at in marks:
        if conversation_id in outdated:
            continue
        current = asdict(get_watermarks(db, conversation_id))
        limit = LAST if conversation_id in unlimited else current["observed"]
        target = min(message_id, limit)
        if target > current[name]:
            set_watermark(db, conversation_id, name, target, updated_at)
            raised.add(conversation_id)
    return raised


def _archive_unobserved(db: Connection, touched: set[int], newest_before: int) -> None:
    """Archive messages that no observer has read.

    They are the new ones, and those that an observer has passed over in the file, where
    they are archived.
    """
    passed_over = "SELECT id FROM scratch.messages_mapped WHERE NOT is_new AND archived"
    observed = """ifnull((SELECT message_id FROM main.watermarks AS w
        WHERE w.conversation_id = messages.conversation_id AND w.name = 'observed'), 0)"""
    db.execute(
        f"""UPDATE main.messages SET archived = 1
            WHERE archived = 0 AND conversation_id IN {ID_LIST}
            AND (id > max(?, {observed}) OR id <= {observed} AND id IN ({passed_over}))
            AND NOT EXISTS (
                SELECT 1 FROM main.cycles AS y WHERE y.conversation_id = messages.conversation_id
                AND y.kind = 'observer' AND y.status = 'succeeded'
                AND messages.id BETWEEN y.first_message_id AND y.last_message_id)""",
        (json_ids(touched), newest_before),
    )


def _refuse_unread(db: Connection) -> None:
    """Refuse a new observer cycle whose range has messages that the file does not have."""
    diverged = f"""SELECT y.conversation_id FROM {_NEW_OBSERVERS} AND EXISTS (
        SELECT 1 FROM main.messages AS m
        WHERE m.conversation_id = y.conversation_id AND NOT m.archived
        AND m.id BETWEEN y.first_message_id AND y.last_message_id
        AND m.id NOT IN (
            SELECT main_id FROM scratch.id_map WHERE kind = 'message' AND main_id IS NOT NULL))"""
    conversation_id = scalar(db, f"{diverged} LIMIT 1")
    if conversation_id is not None:
        raise _diverged(db, conversation_id)


def _import_separately() -> str:
    return f"Import it into a database of its own: {as_typed('--db OTHER import FILE')}"
