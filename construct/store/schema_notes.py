"""Migration 13: one kind of note, what each note rests on, and questions to the user.

Up to version 12 there were memories beside observations, and what a note rested on was
found by walking through its sources. A released migration is never edited, so everything
this one needs stands here, in its own words.
"""

import re
from collections.abc import Iterable
from datetime import datetime

from sqlite_utils import Database

from construct import tokens
from construct.store.schema_search import script

_OBSERVATIONS = """
    CREATE TABLE observations_new (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid TEXT NOT NULL UNIQUE,
        conversation_id INTEGER REFERENCES conversations(id) ON DELETE CASCADE, -- null: made from several
        content TEXT NOT NULL,
        priority TEXT NOT NULL CHECK (priority IN ('high', 'medium', 'low')),
        stance TEXT NOT NULL CHECK (stance IN
            ('stated', 'asked', 'planned', 'hypothetical', 'inferred', 'assistant', 'quoted')),
        origin TEXT NOT NULL DEFAULT 'worker' CHECK (origin IN ('worker', 'user', 'assistant', 'door', 'import')),
        kept INTEGER NOT NULL DEFAULT 0,     -- 1: kept on request, so shown in every scope
        category TEXT,
        observation_date TEXT NOT NULL,
        first_date TEXT,                     -- of a reflection: the first day of its sources
        referenced_date TEXT,                -- YYYY-MM-DD, YYYY-MM or YYYY
        referenced_time TEXT,                -- HH:MM, on the wall clock
        recurs TEXT CHECK (recurs IN ('yearly', 'monthly', 'weekly', 'daily')),
        recurs_except TEXT,                  -- JSON list of days on which it does not come again
        label TEXT,                          -- a few words for a calendar
        remind_at TEXT,                      -- YYYY-MM-DD HH:MM, on the wall clock
        generation INTEGER NOT NULL DEFAULT 0,
        cycle_id INTEGER NOT NULL REFERENCES cycles(id),
        token_count INTEGER NOT NULL,
        pinned INTEGER NOT NULL DEFAULT 0,
        withheld INTEGER NOT NULL DEFAULT 0, -- 1: the user asked to forget it
        created_at TEXT NOT NULL,
        committed_at TEXT,                   -- null: pending
        superseded_at TEXT,
        superseded_by INTEGER REFERENCES cycles(id),
        asked_at TEXT,                       -- a plan whose outcome the companion has asked about
        graph_cycle_id INTEGER REFERENCES cycles(id) ON DELETE SET NULL -- the graph cycle that has read it
    );
"""

_INDEXES_AND_TRIGGERS = """
    CREATE INDEX observations_unsuperseded ON observations(
        conversation_id, committed_at, withheld, token_count, pinned, priority, observation_date)
        WHERE superseded_at IS NULL;
    CREATE INDEX observations_due ON observations(referenced_date)
        WHERE superseded_at IS NULL AND referenced_date IS NOT NULL;
    CREATE INDEX observations_unread ON observations(id)
        WHERE superseded_at IS NULL AND committed_at IS NOT NULL AND withheld = 0 AND graph_cycle_id IS NULL
        AND stance IN ('stated', 'planned') AND priority <> 'low';
    CREATE INDEX observations_kept ON observations(id) WHERE kept = 1;
    CREATE INDEX observations_by_cycle ON observations(cycle_id);
    CREATE INDEX observations_superseded_by ON observations(superseded_by) WHERE superseded_by IS NOT NULL;
    CREATE INDEX observations_by_graph_cycle ON observations(graph_cycle_id) WHERE graph_cycle_id IS NOT NULL;
    CREATE TRIGGER observations_fts_insert AFTER INSERT ON observations BEGIN
        INSERT INTO observations_fts(rowid, content) VALUES (new.id, new.content);
    END;
    CREATE TRIGGER observations_fts_delete AFTER DELETE ON observations BEGIN
        INSERT INTO observations_fts(observations_fts, rowid, content) VALUES ('delete', old.id, old.content);
    END;
    CREATE TRIGGER observations_fts_update AFTER UPDATE OF content ON observations BEGIN
        INSERT INTO observations_fts(observations_fts, rowid, content) VALUES ('delete', old.id, old.content);
        INSERT INTO observations_fts(rowid, content) VALUES (new.id, new.content);
    END;
    CREATE TRIGGER observations_vectors_delete AFTER DELETE ON observations BEGIN
        DELETE FROM vectors WHERE model IN (SELECT id FROM vector_models)
            AND kind = 'observation' AND entry_id = old.id;
    END;
    CREATE TRIGGER observations_vectors_update AFTER UPDATE OF content ON observations BEGIN
        DELETE FROM vectors WHERE model IN (SELECT id FROM vector_models)
            AND kind = 'observation' AND entry_id = old.id;
    END;
    CREATE TRIGGER cycles_vectors_revert AFTER UPDATE OF status ON cycles WHEN new.status = 'reverted' BEGIN
        DELETE FROM vectors WHERE model IN (SELECT id FROM vector_models) AND kind = 'observation'
            AND entry_id IN (SELECT id FROM observations WHERE cycle_id = new.id);
    END;
    CREATE TRIGGER observations_span_insert AFTER INSERT ON observations
    WHEN new.committed_at IS NOT NULL AND new.superseded_at IS NULL AND new.withheld = 0 BEGIN
        INSERT INTO active_spans (observation_id, since) SELECT new.id, number FROM take_in_count;
    END;
    CREATE TRIGGER observations_span_begin
    AFTER UPDATE OF committed_at, superseded_at, withheld ON observations
    WHEN (new.committed_at IS NOT NULL AND new.superseded_at IS NULL AND new.withheld = 0)
        AND NOT (old.committed_at IS NOT NULL AND old.superseded_at IS NULL AND old.withheld = 0) BEGIN
        INSERT INTO active_spans (observation_id, since) SELECT new.id, number FROM take_in_count WHERE true
            ON CONFLICT DO UPDATE SET until = excluded.until;
    END;
    CREATE TRIGGER observations_span_end
    AFTER UPDATE OF committed_at, superseded_at, withheld ON observations
    WHEN (old.committed_at IS NOT NULL AND old.superseded_at IS NULL AND old.withheld = 0)
        AND NOT (new.committed_at IS NOT NULL AND new.superseded_at IS NULL AND new.withheld = 0) BEGIN
        UPDATE active_spans SET until = (SELECT number FROM take_in_count)
            WHERE observation_id = new.id AND until = 9223372036854775807;
    END;
"""

_QUESTIONS = """
    CREATE TABLE questions (               -- what waits for the user's decision
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL CHECK (kind IN ('forget', 'doubtful', 'stand-in', 'list', 'proposal', 'new')),
        cycle_id INTEGER REFERENCES cycles(id) ON DELETE SET NULL, -- which raised it
        text TEXT,                         -- what is proposed, where it is no note yet
        noted_on TEXT,                     -- the day of that text
        source TEXT,                       -- the program or the file that the text comes from
        created_at TEXT NOT NULL,
        withheld_at TEXT,                  -- since when what it is about is withheld from models
        asked_at TEXT,
        answered_at TEXT,
        answer TEXT
    );
    CREATE INDEX questions_by_cycle ON questions(cycle_id);
    CREATE INDEX questions_open ON questions(id) WHERE answered_at IS NULL;
    CREATE TABLE question_items (          -- what a question is about
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid TEXT NOT NULL UNIQUE,
        question_id INTEGER NOT NULL REFERENCES questions(id) ON DELETE CASCADE,
        observation_id INTEGER REFERENCES observations(id) ON DELETE CASCADE,
        message_id INTEGER REFERENCES messages(id) ON DELETE CASCADE,
        along INTEGER NOT NULL DEFAULT 0   -- 1: not named, it goes along with what was
    );
    CREATE INDEX question_items_by_question ON question_items(question_id);
    CREATE INDEX question_items_by_observation ON question_items(observation_id) WHERE observation_id IS NOT NULL;
    CREATE INDEX question_items_by_message ON question_items(message_id) WHERE message_id IS NOT NULL;
    CREATE TRIGGER question_items_last AFTER DELETE ON question_items
    WHEN NOT EXISTS (SELECT 1 FROM question_items WHERE question_id = old.question_id) BEGIN
        DELETE FROM questions WHERE id = old.question_id;  -- it was about nothing else
    END;
    CREATE TABLE observation_flags (       -- set and ended by cycles, so that undo and as-of hold
        observation_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
        flag TEXT NOT NULL CHECK (flag IN ('shelved', 'doubtful')),
        set_by INTEGER NOT NULL REFERENCES cycles(id) ON DELETE CASCADE,
        ended_by INTEGER REFERENCES cycles(id) ON DELETE SET NULL,
        PRIMARY KEY (observation_id, flag, set_by)
    ) WITHOUT ROWID;
    CREATE INDEX observation_flags_by_set ON observation_flags(set_by);
    CREATE INDEX observation_flags_by_end ON observation_flags(ended_by) WHERE ended_by IS NOT NULL;
    CREATE TABLE tracked_values (          -- amounts of what the user's rules follow
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        amount REAL NOT NULL,
        unit TEXT,
        day TEXT NOT NULL,
        message_id INTEGER NOT NULL REFERENCES messages(id) ON DELETE CASCADE,
        cycle_id INTEGER NOT NULL REFERENCES cycles(id),
        superseded_at TEXT
    );
    CREATE INDEX tracked_values_by_name ON tracked_values(name, day);
    CREATE INDEX tracked_values_by_message ON tracked_values(message_id);
    CREATE INDEX tracked_values_by_cycle ON tracked_values(cycle_id);
"""

_RELATIONS = """
    CREATE TABLE relations_new (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16)))),
        subject_id INTEGER NOT NULL REFERENCES entities(id) ON DELETE CASCADE,
        predicate TEXT NOT NULL,
        object_id INTEGER NOT NULL REFERENCES entities(id) ON DELETE CASCADE,
        observation_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
        created_at TEXT NOT NULL,
        superseded_at TEXT,
        cycle_id INTEGER REFERENCES cycles(id) ON DELETE SET NULL
    );
"""

_BRIEFED = """
    CREATE TABLE briefed_new (             -- what came with a reply, in order
        id INTEGER PRIMARY KEY,
        reply_id INTEGER NOT NULL REFERENCES briefings(reply_id) ON DELETE CASCADE,
        way TEXT NOT NULL CHECK (way IN ('due', 'passage', 'recall', 'source')),
        observation_id INTEGER REFERENCES observations(id) ON DELETE CASCADE,
        message_id INTEGER REFERENCES messages(id) ON DELETE CASCADE
    );
"""

_FILL_REFLECTIONS = """
    INSERT OR IGNORE INTO observation_messages (observation_id, message_id, direct)
    SELECT rests.id, link.message_id, 0 FROM (
        WITH RECURSIVE rests(id, source_id) AS (
            SELECT observation_id, source_id FROM observation_sources UNION
            SELECT rests.id, link.source_id FROM rests
            JOIN observation_sources AS link ON link.observation_id = rests.source_id)
        SELECT id, source_id FROM rests) AS rests
    JOIN observation_messages AS link ON link.observation_id = rests.source_id"""


def m013_one_kind_of_note(db: Database) -> None:
    """Turn memories into observations, and requests to forget into questions.

    Foreign keys must not be enforced: tables that others refer to are made anew.
    """
    _complete_early_files(db)
    _rebuild_observations(db)
    script(db, _QUESTIONS)
    _move_forget_requests(db)
    script(
        db,
        """
        ALTER TABLE observation_messages ADD COLUMN direct INTEGER NOT NULL DEFAULT 1; -- 0: through others
        ALTER TABLE messages ADD COLUMN utc_offset INTEGER; -- minutes east of UTC where it was written; null: unknown
        ALTER TABLE messages ADD COLUMN pasted TEXT;   -- JSON list of [start, end] in characters
        """,
    )
    note_of = _move_memories(db)
    _move_relations(db, note_of)
    _move_reply_contexts(db, note_of)
    script(
        db,
        """
        DROP TABLE memories_fts;
        DROP TABLE memories;
        DELETE FROM vectors WHERE kind = 'memory';
        DELETE FROM meta WHERE name = 'graph_tried';
        """,
    )
    db.execute(_FILL_REFLECTIONS)
    _link_borrowed(db)
    db.execute(_FILL_REFLECTIONS)


def _complete_early_files(db: Database) -> None:
    """Add what files of versions 4 and 8 lack that were made before the version was finished."""
    columns = db["observations"].columns_dict
    if "asked_at" not in columns:
        db.execute("ALTER TABLE observations ADD COLUMN asked_at TEXT")
    script(
        db,
        """
        CREATE TABLE IF NOT EXISTS observation_borrowed (
            observation_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            lender_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            PRIMARY KEY (observation_id, lender_id)
        ) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS observation_borrowed_by_lender ON observation_borrowed(lender_id);
        CREATE INDEX IF NOT EXISTS entities_by_name ON entities(lower(name));
        CREATE INDEX IF NOT EXISTS entities_to_read ON entities(id) WHERE aliases <> '[]' OR name GLOB '*[^a-zA-Z0-9 ]*';
        """,
    )
    if "along" not in db["forget_requests"].columns_dict:
        db.execute("ALTER TABLE forget_requests ADD COLUMN along INTEGER NOT NULL DEFAULT 0")


def _rebuild_observations(db: Database) -> None:
    script(db, _OBSERVATIONS)
    old, new = (
        {name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))}
        for table in ("observations", "observations_new")
    )
    columns = ", ".join(sorted(old & new))
    db.execute(f"INSERT INTO observations_new ({columns}) SELECT {columns} FROM observations")
    db.execute("DROP TRIGGER cycles_vectors_revert")
    _replace(db, "observations")
    script(db, _INDEXES_AND_TRIGGERS)


def _replace(db: Database, table: str) -> None:
    """Put `TABLE_new` in the place of a table; ids that were given once are not given again."""
    highest = "SELECT seq FROM sqlite_sequence WHERE name = ?"
    last = db.execute(highest, (table,)).fetchone()
    db.execute(f"DROP TABLE {table}")
    db.execute(f"ALTER TABLE {table}_new RENAME TO {table}")
    if last:
        db.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        db.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, last[0]))


def _move_forget_requests(db: Database) -> None:
    """Make one question of the requests that a cycle heard together."""
    groups = db.execute(
        """SELECT min(r.uid), r.cycle_id, r.withheld_at, r.answered_at,
               coalesce(c.finished_at, c.started_at, r.withheld_at, r.answered_at, ''),
               json_group_array(r.id)
           FROM forget_requests AS r LEFT JOIN cycles AS c ON c.id = r.cycle_id
           GROUP BY r.cycle_id, r.withheld_at, r.answered_at ORDER BY min(r.id)"""
    ).fetchall()
    for uid, cycle_id, withheld_at, answered_at, created_at, ids in groups:
        question_id = db.execute(
            """INSERT INTO questions
                   (uid, kind, cycle_id, created_at, withheld_at, answered_at, answer)
               VALUES (?, 'forget', ?, ?, ?, ?, ?)""",
            (uid, cycle_id, created_at, withheld_at, answered_at, answered_at and "withheld"),
        ).lastrowid
        db.execute(
            """INSERT INTO question_items (uid, question_id, observation_id, message_id, along)
               SELECT uid, ?, observation_id, message_id, along FROM forget_requests
               WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id""",
            (question_id, ids),
        )
    db.execute("DROP TABLE forget_requests")


def _move_memories(db: Database) -> dict[int, int]:
    """Make a note of each memory that was kept on request.

    Returns the observation that stands for each memory: its note, or the one that the
    memory was promoted from. A note comes from an edit of its own.
    """
    notes: dict[int, int] = {}
    memories = db.execute(
        """SELECT id, uid, content, category, origin, observation_id, created_at, superseded_at,
               cycle_id FROM memories ORDER BY id"""
    ).fetchall()
    for id_, uid, content, category, origin, observation_id, at, superseded_at, read_by in memories:
        if observation_id is not None or origin == "observation":
            if observation_id is not None:
                notes[id_] = observation_id
                db.execute(
                    """UPDATE observations SET graph_cycle_id = ifnull(graph_cycle_id, ?)
                       WHERE id = ?""",
                    (read_by, observation_id),  # its category was only guessed
                )
            continue
        status = "reverted" if superseded_at else "succeeded"
        edit_id = db.execute(
            """INSERT INTO cycles (uid, kind, status, started_at, finished_at, reverted_at)
               VALUES (?, 'edit', ?, ?, ?, ?)""",
            (f"{uid}-kept", status, at, at, superseded_at),
        ).lastrowid
        day = _local_day(at)
        note_id = db.execute(
            """INSERT INTO observations (uid, content, category, priority, stance, origin, kept,
                   observation_date, cycle_id, token_count, created_at, committed_at,
                   superseded_at, superseded_by, graph_cycle_id)
               VALUES (?, ?, ?, 'high', 'stated', ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                uid, content, category, origin, day, edit_id,
                tokens.count(f"! [{day}] {content}\n"), at, at,
                superseded_at, edit_id if superseded_at else None, read_by,
            ),
        ).lastrowid  # fmt: skip
        assert note_id is not None
        notes[id_] = note_id
    return notes


def _local_day(moment: str) -> str:
    """Return the day of a stored time where this machine is."""
    return datetime.fromisoformat(moment).astimezone().date().isoformat()


def _move_relations(db: Database, note_of: dict[int, int]) -> None:
    """Let relations point at notes, and hold as long as their note does."""
    script(db, _RELATIONS)
    rows = db.execute(
        """SELECT r.id, r.uid, subject_id, predicate, object_id, memory_id, r.created_at,
               nullif(r.superseded_at, m.superseded_at), r.cycle_id
           FROM relations AS r JOIN memories AS m ON m.id = memory_id ORDER BY r.id"""
    ).fetchall()
    for *before, memory_id, created_at, superseded_at, cycle_id in rows:
        if memory_id in note_of:
            db.execute(
                "INSERT INTO relations_new VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*before, note_of[memory_id], created_at, superseded_at, cycle_id),
            )
    _replace(db, "relations")
    script(
        db,
        """
        CREATE INDEX relations_by_subject ON relations(subject_id);
        CREATE INDEX relations_by_object ON relations(object_id);
        CREATE INDEX relations_by_observation ON relations(observation_id);
        """,
    )


def _move_reply_contexts(db: Database, note_of: dict[int, int]) -> None:
    script(db, _BRIEFED)
    rows = db.execute(
        "SELECT id, reply_id, way, observation_id, memory_id, message_id FROM briefed ORDER BY id"
    ).fetchall()
    for id_, reply_id, way, observation_id, memory_id, message_id in rows:
        note = note_of.get(memory_id, observation_id) if memory_id else observation_id
        if note or message_id:
            db.execute(
                "INSERT INTO briefed_new VALUES (?, ?, ?, ?, ?)",
                (id_, reply_id, way, note, message_id),
            )
    db.execute("DROP TABLE briefed")
    db.execute("ALTER TABLE briefed_new RENAME TO briefed")
    script(
        db,
        """
        CREATE INDEX briefed_by_reply ON briefed(reply_id);
        CREATE INDEX briefed_by_observation ON briefed(observation_id) WHERE observation_id IS NOT NULL;
        CREATE INDEX briefed_by_message ON briefed(message_id) WHERE message_id IS NOT NULL;
        """,
    )


def _link_borrowed(db: Database) -> None:
    """Link the messages of replaced notes to those that took a name or number from them."""
    pairs = db.execute(
        """SELECT new.id, new.content, old.id, old.content FROM (
               SELECT observation_id, replaced_id AS old_id FROM observation_replaced
               WHERE relation = 'outdated'
               UNION SELECT observation_id, lender_id FROM observation_borrowed) AS link
           JOIN observations AS new ON new.id = link.observation_id
           JOIN observations AS old ON old.id = link.old_id
           WHERE new.generation = 0 ORDER BY new.id, old.id"""
    ).fetchall()
    for new_id, new, old_id, old in pairs:
        own = db.execute(
            """SELECT content FROM messages JOIN observation_messages ON message_id = messages.id
               WHERE observation_id = ?""",
            (new_id,),
        ).fetchall()
        if _marked_words(new) & _words(old) - _words(" ".join(text for (text,) in own)):
            db.execute(
                """INSERT OR IGNORE INTO observation_messages (observation_id, message_id, direct)
                   SELECT ?, message_id, 0 FROM observation_messages WHERE observation_id = ?""",
                (new_id, old_id),
            )


# Words with a capital that open a note and are no names.
_OPENERS = frozenset(
    {"user", "now", "the", "this", "that", "they", "she", "he", "it", "we", "i", "in", "on", "at"}
)


def _words(text: str) -> set[str]:
    return {word.casefold() for word in re.findall(r"\w+", text)}


def _marked_words(text: str) -> set[str]:
    """Return the words of a text that may be names or numbers, without "User".

    Those are the ones with a digit or a capital, or in a script that has no capitals.
    """
    words: Iterable[str] = re.findall(r"\w+", text)
    marked = {word for word in words if not word.islower() or any(map(str.isdigit, word))}
    return {word.casefold() for word in marked} - _OPENERS
