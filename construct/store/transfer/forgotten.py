"""What an import leaves out, because it was forgotten or deleted here.

The rows are listed in the table `forgotten` of the scratch database, before `merge`
assigns ids. Rows that come all the same lose here what may quote deleted words.
"""

from construct.store.driver import Connection
from construct.store.sql import exists
from construct.store.transfer.format import KEYED, KINDS

IS_GONE = """NOT EXISTS (SELECT 1 FROM main.messages WHERE uid = message_uid AND NOT withheld)
    AND message_uid NOT IN (SELECT uid FROM main.conversations)
    AND NOT EXISTS (SELECT 1 FROM main.observations WHERE uid = message_uid)"""
"""SQL: what a tombstone names is not here (any more), or is a message that is withheld.

A file may bring tombstones of what was forgotten elsewhere.
"""
_GONE = "SELECT id FROM scratch.messages WHERE uid IN scratch.gone"
"""SQL: the ids of the messages that were forgotten or deleted here."""
_ONCE_DELETED = f"""SELECT id FROM scratch.conversations
    WHERE uid IN scratch.gone
    OR id IN (SELECT conversation_id FROM scratch.messages WHERE id IN ({_GONE}))
        AND (uid NOT IN (SELECT uid FROM main.conversations)
             OR uid IN (SELECT message_uid FROM main.tombstones))"""
"""SQL: the ids of the conversations that were deleted here.

One that is here again counts while the file still has what was deleted of it.

Earlier versions left tombstones for the messages only. A line added at the beginning
of a hand-made conversation changes its uid, but not those of its other messages.
"""
_IN_DELETED = f"conversation_id IN ({_ONCE_DELETED})"


def find_forgotten(db: Connection) -> None:
    """List the new rows to leave out, as they depend on something forgotten here.

    Of a conversation that was deleted here, only new messages come, as if from another
    program. New attachments of messages that are known here are listed too.
    """
    db.execute(
        "CREATE TABLE scratch.forgotten"
        " (kind TEXT, scratch_id INTEGER, PRIMARY KEY (kind, scratch_id)) WITHOUT ROWID"
    )
    db.execute("CREATE TABLE scratch.gone (uid TEXT PRIMARY KEY) WITHOUT ROWID")
    db.execute(f"INSERT INTO scratch.gone SELECT message_uid FROM main.tombstones WHERE {IS_GONE}")
    continued = "SELECT conversation_id FROM scratch.messages WHERE uid NOT IN scratch.gone"
    deleted = f"id IN ({_ONCE_DELETED}) AND id NOT IN ({continued})"
    _list(db, "conversation", f"SELECT id FROM scratch.conversations WHERE {deleted}")
    _list(db, "message", _GONE)
    # A known message keeps the attachments that it has here.
    known = "SELECT s.id FROM scratch.messages AS s JOIN main.messages AS h ON h.uid = s.uid"
    attached = f"SELECT id FROM scratch.attachments WHERE message_id IN ({_GONE} UNION {known})"
    _list(db, "attachment", attached)
    if not exists(db, "scratch.gone"):
        return
    _list(
        db,
        "observation",
        f"""WITH RECURSIVE dependent(id) AS (
                SELECT observation_id FROM scratch.observation_messages
                WHERE message_id IN ({_GONE})
                UNION SELECT id FROM scratch.observations WHERE uid IN scratch.gone
                UNION SELECT id FROM scratch.observations WHERE {_IN_DELETED}
                UNION SELECT observation_id FROM scratch.observation_sources
                JOIN dependent ON source_id = dependent.id)
            SELECT id FROM dependent""",
    )
    made = f"""SELECT cycle_id FROM scratch.observations
               WHERE id NOT IN ({forgotten_ids("observation")})"""
    idle = f"SELECT id FROM scratch.cycles WHERE {_IN_DELETED} AND id NOT IN ({made})"
    _list(db, "cycle", idle)
    _strip_deleted(db)
    items = f"SELECT id FROM scratch.question_items WHERE message_id IN ({_GONE})"
    _list(db, "question_item", items)
    values = f"SELECT id FROM scratch.tracked_values WHERE message_id IN ({_GONE})"
    _list(db, "value", f"{values} OR cycle_id IN ({forgotten_ids('cycle')})")
    for kind in KEYED:
        for field in kind.fields:
            if field.ref == "observation" and not field.later:
                dependent = f"{field.column} IN ({forgotten_ids(field.ref)})"
                _list(db, kind.type, f"SELECT id FROM scratch.{kind.table} WHERE {dependent}")
    about = "SELECT 1 FROM scratch.question_items AS item WHERE item.question_id = questions.id"
    _list(
        db,
        "question",
        f"""SELECT id FROM scratch.questions
            WHERE kind = 'forget' AND withheld_at IS NULL
                AND cycle_id IN ({forgotten_ids("cycle")})
            OR EXISTS ({about})
                AND NOT EXISTS ({about} AND item.id NOT IN ({forgotten_ids("question_item")}))""",
    )
    of_questions = f"question_id IN ({forgotten_ids('question')})"
    _list(db, "question_item", f"SELECT id FROM scratch.question_items WHERE {of_questions}")
    relations = forgotten_ids("relation")
    named = f"id IN ({_related(f'id IN ({relations})')})"
    still_named = f"id IN ({_related(f'id NOT IN ({relations})')})"
    unnamed = f"SELECT id FROM scratch.entities WHERE {named} AND NOT {still_named}"
    _list(db, "entity", unnamed)
    # The other names of an entity may be among what was forgotten about it.
    db.execute(f"UPDATE scratch.entities SET aliases = '[]' WHERE {named}")


def _strip_deleted(db: Connection) -> None:
    """Remove what may quote deleted words from the rows that come all the same.

    Of conversations that were deleted here, it also removes titles, tasks, tool rounds
    and watermarks, and the links to other conversations and from cycles.
    """
    left_out = f"scratch.observations WHERE id IN ({forgotten_ids('observation')})"
    lost = f"SELECT cycle_id FROM {left_out} UNION SELECT superseded_by FROM {left_out}"
    for statement in (
        f"""UPDATE scratch.cycles SET notes = NULL, error = NULL
            WHERE {_IN_DELETED} OR id IN ({lost})""",
        f"""UPDATE scratch.cycles SET conversation_id = NULL, first_message_id = NULL,
            last_message_id = NULL, held_message_id = NULL WHERE {_IN_DELETED}""",
        f"UPDATE scratch.messages SET blocks = NULL WHERE {_IN_DELETED} AND blocks LIKE '[%'",
        f"DELETE FROM scratch.watermarks WHERE {_IN_DELETED}",
        f"""UPDATE scratch.conversations SET title = NULL, titled_by = NULL, current_task = NULL,
           suggested_response = NULL, last_request_at = NULL WHERE id IN ({_ONCE_DELETED})""",
        f"""UPDATE scratch.conversations
            SET parent_id = NULL, forked_at_message_id = NULL, forked_window_message_id = NULL
            WHERE id IN ({_ONCE_DELETED}) OR parent_id IN ({_ONCE_DELETED})""",
    ):
        db.execute(statement)


def _related(condition: str) -> str:
    """Return the SQL for the ids of the entities in the relations that meet a condition."""
    return f"""SELECT subject_id FROM scratch.relations WHERE {condition}
               UNION SELECT object_id FROM scratch.relations WHERE {condition}"""


def forgotten_ids(kind: str) -> str:
    """Return the SQL for the ids of the rows of this type that are listed so far."""
    return f"SELECT scratch_id FROM scratch.forgotten WHERE kind = '{kind}'"


def _list(db: Connection, kind: str, ids: str) -> None:
    """Add rows to the list; `ids` is SQL for their ids. Known rows are not added."""
    table = KINDS[kind].table
    db.execute(
        f"""INSERT OR IGNORE INTO scratch.forgotten SELECT '{kind}', id FROM scratch.{table}
            WHERE id IN ({ids}) AND uid NOT IN (SELECT uid FROM main.{table})"""
    )
