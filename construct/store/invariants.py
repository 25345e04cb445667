"""Checks of the invariants that the database must satisfy after every commit.

Each violation is reported as a sentence that says where it is. One invariant cannot be
checked afterwards: messages are deleted only with their conversation. Instead, the first
and last message of each successful observer cycle must exist. `shown` is checked for
pending observations only: superseded ones stay there until the next context is
assembled, which removes them.
"""

import json
from collections.abc import Collection, Iterable, Iterator

from construct.store.driver import Connection, database_errors
from construct.store.flags import IN_FORCE
from construct.store.observations import ACTIVE
from construct.store.shown import FOREVER

_TABLES = (
    "conversations", "messages", "watermarks", "cycles", "observations", "observation_messages",
    "observation_sources", "observation_replaced", "questions", "question_items", "shown",
)  # fmt: skip
_SCOPE = """
scope AS (
    SELECT id FROM conversations WHERE :ids IS NULL OR id IN (SELECT value FROM json_each(:ids))
), marks AS (
    SELECT scope.id AS conversation_id,
           ifnull(max(CASE name WHEN 'observed' THEN message_id END), 0) AS observed,
           ifnull(max(CASE name WHEN 'compacted' THEN message_id END), 0) AS compacted,
           ifnull(max(CASE name WHEN 'window' THEN message_id END), 0) AS "window"
    FROM scope LEFT JOIN watermarks ON watermarks.conversation_id = scope.id GROUP BY scope.id
), spans AS MATERIALIZED (           -- what each cycle observed, and how far earlier cycles got
    SELECT conversation_id, first_message_id AS first, last_message_id AS last,
           ifnull(max(last_message_id) OVER (
               PARTITION BY conversation_id ORDER BY first_message_id, last_message_id, cycles.id
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS reached
    FROM cycles JOIN scope ON scope.id = conversation_id
    WHERE kind = 'observer' AND status = 'succeeded' AND first_message_id <= last_message_id
), gaps AS (                         -- ranges that no cycle covers
    SELECT conversation_id, reached + 1 AS first, first - 1 AS last
    FROM spans WHERE first > reached + 1
    UNION ALL
    SELECT id, 1 + ifnull((SELECT max(last) FROM spans WHERE conversation_id = scope.id), 0),
           1 << 62 FROM scope
), checked AS (                      -- observations to check; those of several conversations always
    SELECT observations.* FROM observations
    WHERE :ids IS NULL OR conversation_id IS NULL OR conversation_id IN (SELECT id FROM scope)
)
"""

_COUNT_AND_FIRST = "count(DISTINCT m.id), min(m.id)"
# CROSS JOIN makes SQLite begin with the few ranges, then find their messages by index.
_MARKS = "CROSS JOIN marks ON marks.conversation_id = s.conversation_id"
_LIVE = "CROSS JOIN messages AS m ON m.conversation_id = s.conversation_id AND m.archived = 0"
_CHECKS: tuple[tuple[str, str], ...] = (
    (
        f"""SELECT s.conversation_id, {_COUNT_AND_FIRST} FROM gaps AS s {_MARKS} {_LIVE}
            AND m.id BETWEEN s.first AND min(s.last, marks.observed) GROUP BY s.conversation_id""",
        "Conversation {0}: messages up to `observed` lie in no successful observer cycle "
        "(count: {1}, first: {2}).",
    ),
    (
        f"""SELECT s.conversation_id, {_COUNT_AND_FIRST} FROM spans AS s {_LIVE}
            AND m.id BETWEEN s.first AND min(s.last, s.reached) GROUP BY s.conversation_id""",
        "Conversation {0}: messages lie in more than one successful observer cycle "
        "(count: {1}, first: {2}).",
    ),
    (
        f"""SELECT s.conversation_id, {_COUNT_AND_FIRST} FROM spans AS s {_MARKS} {_LIVE}
            AND m.id BETWEEN max(s.first, marks.observed + 1) AND s.last
            GROUP BY s.conversation_id""",
        "Conversation {0}: messages above `observed` lie in a successful observer cycle "
        "(count: {1}, first: {2}).",
    ),
    (
        """SELECT conversation_id, "window", compacted, observed FROM marks
           WHERE "window" > compacted OR compacted > observed""",
        "Conversation {0}: the watermarks are out of order: "
        "window {1}, compacted {2}, observed {3}.",
    ),
    (
        """SELECT conversation_id, name, message_id
           FROM watermarks AS w JOIN scope ON scope.id = conversation_id WHERE NOT EXISTS (
               SELECT 1 FROM messages AS m
               WHERE m.id = w.message_id AND m.conversation_id = w.conversation_id)""",
        "Conversation {0}: the watermark `{1}` points at {2}, which is not one of its messages.",
    ),
    (
        """SELECT o.id, m.id
           FROM checked AS o JOIN observation_messages AS om ON om.observation_id = o.id
           JOIN messages AS m
               ON m.id = om.message_id AND m.conversation_id = o.conversation_id AND m.archived = 0
               AND om.direct
           JOIN watermarks AS w ON w.conversation_id = m.conversation_id AND w.name = 'window'
           WHERE o.committed_at IS NULL AND o.superseded_at IS NULL AND m.id <= w.message_id
           GROUP BY o.id""",
        "Observation {0} is pending, though its message {1} has left the window.",
    ),
    (
        """SELECT o.id, shown.conversation_id
           FROM checked AS o JOIN shown ON shown.observation_id = o.id
           WHERE o.committed_at IS NULL AND o.superseded_at IS NULL""",
        "Observation {0} is pending, though it is shown in conversation {1}.",
    ),
    (
        """SELECT id FROM checked WHERE generation <= 0
           AND NOT EXISTS (
               SELECT 1 FROM observation_messages WHERE observation_id = checked.id AND direct)
           AND (origin = 'worker' OR EXISTS (
               SELECT 1 FROM observation_messages WHERE observation_id = checked.id))""",
        "Observation {0} is of generation 0, but no message is linked to it.",
    ),
    (
        """SELECT checked.id, link.source_id FROM checked
           JOIN observation_sources AS link ON link.observation_id = checked.id
           WHERE EXISTS (
               SELECT 1 FROM observation_messages AS below
               WHERE below.observation_id = link.source_id AND NOT EXISTS (
                   SELECT 1 FROM observation_messages AS own WHERE own.observation_id = checked.id
                   AND own.message_id = below.message_id))""",
        "Observation {0} lacks a message that its source {1} rests on.",
    ),
    (
        """SELECT id, generation, highest FROM (
               SELECT checked.id, generation, (
                   SELECT max(source.generation) FROM observation_sources
                   JOIN observations AS source ON source.id = source_id
                   WHERE observation_id = checked.id) AS highest
               FROM checked WHERE generation <> 0)
           WHERE generation IS NOT highest + 1""",
        "Observation {0} is of generation {1}, but the highest among its sources is {2}.",
    ),
    (
        """SELECT id FROM checked WHERE superseded_at IS NOT NULL
           AND (superseded_by IS NULL OR superseded_by NOT IN (SELECT id FROM cycles))""",
        "Observation {0} is superseded, but not by a cycle that exists.",
    ),
    (
        """SELECT DISTINCT checked.id FROM checked
           JOIN observation_replaced ON observation_id = checked.id AND replaced_id = checked.id""",
        "Observation {0} replaces itself.",
    ),
    (
        """SELECT observation_id, replaced_id, relation FROM observation_replaced
           JOIN checked ON checked.id = observation_id
           WHERE relation NOT IN ('outdated', 'same', 'edit')""",
        "Observation {0} replaces {1} with an unknown relation: {2}.",
    ),
    (
        """SELECT id FROM checked WHERE withheld AND NOT EXISTS (
               SELECT 1 FROM question_items JOIN questions ON questions.id = question_id
               WHERE observation_id = checked.id AND withheld_at IS NOT NULL)""",
        "Observation {0} is withheld, but no request to forget it was applied.",
    ),
    (
        """SELECT kind, ifnull(conversation_id, 'none'), count(*) FROM cycles
           WHERE status = 'running' AND (:ids IS NULL OR conversation_id IN (SELECT id FROM scope))
           GROUP BY kind, conversation_id HAVING count(*) > 1""",
        "{2} cycles of the kind {0} run at once for conversation {1}.",
    ),
    (
        """SELECT id, conversation_id FROM cycles AS c
           WHERE kind = 'observer' AND status = 'succeeded'
           AND conversation_id IN (SELECT id FROM scope)
           AND (first_message_id > last_message_id OR 2 <> (
               SELECT count(*)
               FROM (SELECT c.first_message_id AS end UNION ALL SELECT c.last_message_id)
               JOIN messages AS m ON m.id = end AND m.conversation_id = c.conversation_id))""",
        "Cycle {0} has observed messages that conversation {1} does not have.",
    ),
)
_TAKE_IN_CHECKS = (
    (
        f"""SELECT id FROM observations WHERE ({ACTIVE} AND shelved = 0) <> (
               SELECT count(*) FROM active_spans
               WHERE observation_id = observations.id AND until = {FOREVER})""",
        "Observation {0}: active_spans and its state disagree on whether it is active.",
    ),
    (
        f"""SELECT id FROM observations WHERE shelved <> (id IN (
               SELECT observation_id FROM observation_flags
               WHERE flag = 'shelved' AND {IN_FORCE}))""",
        "Observation {0}: its flags and its column `shelved` disagree.",
    ),
    (
        f"""SELECT number, highest FROM take_in_count, (
               SELECT max(number) AS highest FROM last_take_ins UNION ALL
               SELECT max(since) FROM active_spans UNION ALL
               SELECT max(until) FROM active_spans WHERE until <> {FOREVER})
           WHERE highest > number""",
        "take_in_count is {0}, but the number {1} is already in use.",
    ),
)


def violations(
    db: Connection, conversation_ids: Collection[int] | None = None, schema: str = "main"
) -> list[str]:
    """Return a sentence for each violated invariant in these conversations, or in all.

    `schema` names an attached database to check instead of the main one.
    """
    ids = None if conversation_ids is None else json.dumps(sorted(conversation_ids))
    tables = [f"{table} AS NOT MATERIALIZED (SELECT * FROM {schema}.{table})" for table in _TABLES]
    scope = f"WITH {', '.join(tables)}, {_SCOPE}"
    checks = [(scope + query, form) for query, form in _CHECKS]
    return list(_run(db, checks, ids))


def _run(
    db: Connection, checks: Iterable[tuple[str, str]], ids: str | None = None
) -> Iterator[str]:
    """Run queries for violations, and yield a sentence for each row they find."""
    for query, form in checks:
        for row in db.execute(query, {"ids": ids}):
            yield form.format(*("none" if value is None else value for value in row))


def take_in_violations(db: Connection) -> list[str]:
    """Return a sentence for each error in the take-in bookkeeping of `store/shown.py`."""
    return list(_run(db, _TAKE_IN_CHECKS))


def index_violations(db: Connection) -> list[str]:
    """Return a sentence for each full-text index that disagrees with its table.

    Needs the write lock.
    """
    problems = []
    for table in ("messages", "observations"):
        try:
            db.execute(f"INSERT INTO {table}_fts({table}_fts, rank) VALUES ('integrity-check', 1)")
        except database_errors() as error:
            if not getattr(error, "sqlite_errorname", "").startswith("SQLITE_CORRUPT"):
                raise
            problems.append(f"The full-text index of {table} disagrees with the table.")
    return problems


def file_violations(db: Connection) -> list[str]:
    """Return a sentence for each fault in the file, five at most, and each dangling reference."""
    damaged = [
        f"The file is damaged: {row[0]}"
        for row in db.execute("PRAGMA integrity_check(5)")
        if row[0] != "ok"
    ]
    dangling = db.execute("PRAGMA foreign_key_check").fetchall()
    return damaged + [
        f"Row {row[1]} of {row[0]} refers to a row of {row[2]} that does not exist."
        for row in dangling
    ]
