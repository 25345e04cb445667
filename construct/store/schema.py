"""The database schema, as a list of migrations.

Never edit a migration that has been released; add another. docs/files.md describes the
tables; comments in the SQL explain the rest.
"""

from sqlite_utils import Database, Migrations

from construct.store.dates import FILL_FIRST_DATES
from construct.store.schema_notes import m013_one_kind_of_note
from construct.store.schema_reminders import m014_reminders
from construct.store.schema_review import m015_review
from construct.store.schema_search import (
    INDEX_LINES,
    m004_search,
    m006_vectors,
    m007_own_words,
    m019_passages,
    script,
)
from construct.store.schema_sight import m017_sight
from construct.store.schema_sync import m018_sync
from construct.store.schema_tools import m016_outside
from construct.store.version import APPLICATION_ID, SCHEMA_VERSION


def m001_talk(db: Database) -> None:
    """Add conversations, their messages, watermarks and open chats."""
    script(
        db,
        """
        CREATE TABLE conversations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uid TEXT NOT NULL UNIQUE,
            title TEXT,
            titled_by TEXT,                -- user, observer
            created_at TEXT NOT NULL,
            parent_id INTEGER REFERENCES conversations(id) ON DELETE SET NULL,
            forked_at_message_id INTEGER,
            forked_window_message_id INTEGER, -- the window it inherits begins after this message; null: at the start
            current_task TEXT,
            suggested_response TEXT,
            last_request_at TEXT,          -- with cache_life: whether the prompt cache is cold
            cache_life TEXT
        );
        CREATE TABLE messages (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uid TEXT NOT NULL UNIQUE,
            conversation_id INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
            role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
            content TEXT NOT NULL,
            blocks TEXT,
            status TEXT NOT NULL DEFAULT 'complete' CHECK (status IN ('complete', 'interrupted')),
            archived INTEGER NOT NULL DEFAULT 0,
            token_count INTEGER NOT NULL,
            created_at TEXT NOT NULL,
            stop_reason TEXT,
            model TEXT,
            retried INTEGER NOT NULL DEFAULT 0,  -- a later reply to the same words stands in its place
            withheld INTEGER NOT NULL DEFAULT 0  -- its fact was forgotten: in no window, not recalled, not observed
        );
        CREATE INDEX messages_by_conversation ON messages(conversation_id, id);
        CREATE INDEX messages_live ON messages(conversation_id, id) WHERE archived = 0;
        CREATE TABLE watermarks (
            conversation_id INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
            name TEXT NOT NULL CHECK (name IN ('observed', 'compacted', 'window')),
            message_id INTEGER NOT NULL,
            updated_at TEXT NOT NULL,
            PRIMARY KEY (conversation_id, name)
        ) WITHOUT ROWID;
        CREATE TABLE sessions (            -- open chats
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            conversation_id INTEGER REFERENCES conversations(id) ON DELETE SET NULL,
            owner TEXT NOT NULL,
            heartbeat REAL NOT NULL
        );
        """,
    )


def m002_memory(db: Database) -> None:
    """Add observations, their sources, and the cycles that made them."""
    script(
        db,
        """
        CREATE TABLE cycles (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uid TEXT NOT NULL UNIQUE,
            conversation_id INTEGER REFERENCES conversations(id) ON DELETE CASCADE,
            kind TEXT NOT NULL CHECK (kind IN ('observer', 'reflector', 'graph', 'edit')),
            status TEXT NOT NULL CHECK (status IN ('running', 'succeeded', 'failed', 'abandoned', 'reverted')),
            first_message_id INTEGER,
            last_message_id INTEGER,
            model TEXT,
            input_tokens INTEGER NOT NULL DEFAULT 0,
            output_tokens INTEGER NOT NULL DEFAULT 0,
            attempts INTEGER NOT NULL DEFAULT 0,
            started_at TEXT NOT NULL,
            finished_at TEXT,
            error TEXT,
            notes TEXT,                    -- JSON list: what was not stored, and why
            base_tokens INTEGER,           -- active observation tokens when a reflector cycle ended
            reverted_at TEXT,
            held_message_id INTEGER,       -- undone: due again only for what was said after this message
            owner TEXT,                    -- JSON: host, pid, start time of the process at work
            heartbeat REAL                 -- by the real clock
        );
        CREATE UNIQUE INDEX one_running_cycle ON cycles(kind, ifnull(conversation_id, 0)) WHERE status = 'running';
        CREATE INDEX cycles_by_conversation ON cycles(conversation_id, kind, id);
        CREATE TABLE observations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uid TEXT NOT NULL UNIQUE,
            conversation_id INTEGER REFERENCES conversations(id) ON DELETE CASCADE,
            content TEXT NOT NULL,
            priority TEXT NOT NULL CHECK (priority IN ('high', 'medium', 'low')),
            stance TEXT NOT NULL CHECK (stance IN
                ('stated', 'asked', 'planned', 'hypothetical', 'inferred', 'assistant', 'quoted')),
            observation_date TEXT NOT NULL,
            referenced_date TEXT,
            generation INTEGER NOT NULL DEFAULT 0,
            cycle_id INTEGER NOT NULL REFERENCES cycles(id),
            token_count INTEGER NOT NULL,
            pinned INTEGER NOT NULL DEFAULT 0,
            created_at TEXT NOT NULL,
            committed_at TEXT,
            superseded_at TEXT,
            superseded_by INTEGER REFERENCES cycles(id),
            origin TEXT NOT NULL DEFAULT 'worker' CHECK (origin IN ('worker', 'user')),
            asked_at TEXT                -- a plan whose outcome the companion has asked about
        );
        CREATE INDEX observations_unsuperseded ON observations(conversation_id, committed_at, token_count)
            WHERE superseded_at IS NULL;
        CREATE INDEX observations_due ON observations(referenced_date)
            WHERE superseded_at IS NULL AND referenced_date IS NOT NULL;
        CREATE INDEX observations_by_cycle ON observations(cycle_id);
        CREATE INDEX observations_superseded_by ON observations(superseded_by) WHERE superseded_by IS NOT NULL;
        CREATE TABLE observation_messages (
            observation_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            message_id INTEGER NOT NULL REFERENCES messages(id) ON DELETE CASCADE,
            PRIMARY KEY (observation_id, message_id)
        ) WITHOUT ROWID;
        CREATE INDEX observation_messages_by_message ON observation_messages(message_id);
        CREATE TABLE observation_sources (
            observation_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            source_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            PRIMARY KEY (observation_id, source_id)
        ) WITHOUT ROWID;
        CREATE INDEX observation_sources_by_source ON observation_sources(source_id);
        CREATE TABLE outdated (            -- "moved to Porto" over "lives in Lisbon": a trace of both
            old_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            by_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            cycle_id INTEGER NOT NULL REFERENCES cycles(id) ON DELETE CASCADE,
            PRIMARY KEY (old_id, by_id, cycle_id)
        ) WITHOUT ROWID;
        CREATE INDEX outdated_by_cycle ON outdated(cycle_id);
        CREATE TABLE shown (               -- what a conversation's model sees, in blocks, so that the prefix stays put
            conversation_id INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
            observation_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            block INTEGER NOT NULL,        -- 0: fell off the budget
            PRIMARY KEY (conversation_id, observation_id)
        ) WITHOUT ROWID;
        CREATE TABLE tombstones (          -- no content: these messages are not to be observed again
            message_uid TEXT PRIMARY KEY,
            created_at TEXT NOT NULL
        ) WITHOUT ROWID;
        """,
    )


def m003_curated(db: Database) -> None:
    """Add memories, the graph, usage, and token factors of models."""
    script(
        db,
        """
        CREATE TABLE memories (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uid TEXT NOT NULL UNIQUE,
            content TEXT NOT NULL,
            category TEXT,
            origin TEXT NOT NULL CHECK (origin IN ('user', 'assistant', 'observation')),
            observation_id INTEGER REFERENCES observations(id) ON DELETE CASCADE,
            created_at TEXT NOT NULL,
            superseded_at TEXT,
            superseded_by INTEGER REFERENCES memories(id) ON DELETE SET NULL,
            cycle_id INTEGER REFERENCES cycles(id) ON DELETE SET NULL
        );
        CREATE INDEX memories_by_observation ON memories(observation_id);
        CREATE INDEX memories_unread ON memories(id) WHERE superseded_at IS NULL AND cycle_id IS NULL;
        CREATE TABLE entities (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uid TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16)))),
            name TEXT NOT NULL,
            type TEXT,
            aliases TEXT NOT NULL DEFAULT '[]',
            cycle_id INTEGER REFERENCES cycles(id) ON DELETE SET NULL
        );
        CREATE INDEX entities_by_name ON entities(lower(name));
        CREATE INDEX entities_to_read ON entities(id) WHERE aliases <> '[]' OR name GLOB '*[^a-zA-Z0-9 ]*';
        CREATE TABLE relations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uid TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16)))),
            subject_id INTEGER NOT NULL REFERENCES entities(id) ON DELETE CASCADE,
            predicate TEXT NOT NULL,
            object_id INTEGER NOT NULL REFERENCES entities(id) ON DELETE CASCADE,
            memory_id INTEGER NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
            created_at TEXT NOT NULL,
            superseded_at TEXT,
            cycle_id INTEGER REFERENCES cycles(id) ON DELETE SET NULL
        );
        CREATE INDEX relations_by_subject ON relations(subject_id);
        CREATE INDEX relations_by_object ON relations(object_id);
        CREATE INDEX relations_by_memory ON relations(memory_id);
        CREATE TABLE usage (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uid TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16)))),
            created_at TEXT NOT NULL,
            purpose TEXT NOT NULL,         -- chat, observer, reflector, verifier, graph
            model TEXT NOT NULL,
            input_tokens INTEGER NOT NULL DEFAULT 0,
            cache_read_tokens INTEGER NOT NULL DEFAULT 0,
            cache_write_tokens INTEGER NOT NULL DEFAULT 0,
            output_tokens INTEGER NOT NULL DEFAULT 0,
            cost_usd REAL,
            conversation_id INTEGER REFERENCES conversations(id) ON DELETE SET NULL,
            cycle_id INTEGER REFERENCES cycles(id) ON DELETE SET NULL
        );
        CREATE TABLE token_factors (       -- actual / estimated prompt tokens, learned per model
            model TEXT PRIMARY KEY,
            factor REAL NOT NULL,
            samples INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
        """,
    )


def m005_briefings(db: Database) -> None:
    """Add the record of what the model was given for each reply, by id, without any text."""
    script(
        db,
        """
        CREATE TABLE briefings (           -- of a reply: how many lines of observations stood before it
            reply_id INTEGER PRIMARY KEY REFERENCES messages(id) ON DELETE CASCADE,
            blocks INTEGER NOT NULL,
            lines INTEGER NOT NULL
        );
        CREATE TABLE briefed (             -- and what came with it, in order
            id INTEGER PRIMARY KEY,
            reply_id INTEGER NOT NULL REFERENCES briefings(reply_id) ON DELETE CASCADE,
            way TEXT NOT NULL CHECK (way IN ('due', 'passage', 'recall', 'source')),
            observation_id INTEGER REFERENCES observations(id) ON DELETE CASCADE,
            memory_id INTEGER REFERENCES memories(id) ON DELETE CASCADE,
            message_id INTEGER REFERENCES messages(id) ON DELETE CASCADE
        );
        CREATE INDEX briefed_by_reply ON briefed(reply_id);
        CREATE INDEX briefed_by_observation ON briefed(observation_id) WHERE observation_id IS NOT NULL;
        CREATE INDEX briefed_by_memory ON briefed(memory_id) WHERE memory_id IS NOT NULL;
        CREATE INDEX briefed_by_message ON briefed(message_id) WHERE message_id IS NOT NULL;
        """,
    )


def m008_replaced(db: Database) -> None:
    """Add replacement links of all kinds, requests to forget, and first dates of reflections."""
    script(
        db,
        """
        CREATE TABLE observation_replaced (   -- edits, lines that made others outdated, lines that say the same
            observation_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            replaced_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            cycle_id INTEGER NOT NULL REFERENCES cycles(id) ON DELETE CASCADE,
            relation TEXT NOT NULL CHECK (relation IN ('outdated', 'same', 'edit')),
            PRIMARY KEY (observation_id, replaced_id, cycle_id)
        ) WITHOUT ROWID;
        INSERT INTO observation_replaced
            SELECT by_id, old_id, cycle_id, iif(kind = 'edit', 'edit', 'outdated')
            FROM outdated JOIN cycles ON cycles.id = cycle_id;
        DROP TABLE outdated;
        CREATE INDEX observation_replaced_by_replaced ON observation_replaced(replaced_id);
        CREATE INDEX observation_replaced_by_cycle ON observation_replaced(cycle_id);
        CREATE TABLE observation_borrowed (   -- lines that were to replace a note and did not: names may come from it
            observation_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            lender_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            PRIMARY KEY (observation_id, lender_id)
        ) WITHOUT ROWID;
        CREATE INDEX observation_borrowed_by_lender ON observation_borrowed(lender_id);
        CREATE TABLE forget_requests (        -- what the observer heard the user ask to forget: withheld until answered
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uid TEXT NOT NULL UNIQUE,
            cycle_id INTEGER REFERENCES cycles(id) ON DELETE SET NULL,
            observation_id INTEGER REFERENCES observations(id) ON DELETE CASCADE,
            message_id INTEGER REFERENCES messages(id) ON DELETE CASCADE,
            along INTEGER NOT NULL DEFAULT 0, -- 1: not named, it goes along with what was
            withheld_at TEXT,                 -- null until the cycle's observations are committed
            answered_at TEXT                  -- null until the user has said what to do
        );
        CREATE INDEX forget_requests_by_cycle ON forget_requests(cycle_id);
        CREATE INDEX forget_requests_by_observation ON forget_requests(observation_id);
        CREATE INDEX forget_requests_by_message ON forget_requests(message_id);
        ALTER TABLE observations ADD COLUMN withheld INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE observations ADD COLUMN first_date TEXT;   -- of a reflection: the first day of its sources
        ALTER TABLE cycles ADD COLUMN phase TEXT;              -- 'checking' while the verifier is asked
        DROP INDEX observations_unsuperseded;
        CREATE INDEX observations_unsuperseded ON observations(conversation_id, committed_at, withheld, token_count)
            WHERE superseded_at IS NULL;
        """,
    )
    db.execute(FILL_FIRST_DATES)


def m009_taken_in(db: Database) -> None:
    """Drop the rows of `shown` for observations that did not fit the budget.

    There was one for each active observation in each conversation: 1.27 million after 67
    conversations. Instead each conversation gets the number of its last take-in, and each
    observation the spans of take-ins in which it was active (see shown.py).
    """
    script(
        db,
        """
        CREATE TABLE take_in_count (number INTEGER NOT NULL);
        INSERT INTO take_in_count SELECT count(DISTINCT conversation_id) FROM shown WHERE block = 0;
        CREATE TABLE last_take_ins (           -- up to which a conversation has been offered what was active
            conversation_id INTEGER PRIMARY KEY REFERENCES conversations(id) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            scope TEXT NOT NULL CHECK (scope IN ('user', 'conversation'))
        );
        INSERT INTO last_take_ins
            SELECT conversation_id, row_number() OVER (ORDER BY count(*), conversation_id), 'user'
            FROM shown GROUP BY conversation_id HAVING min(block) = 0;
        CREATE TABLE active_spans (            -- the take-ins at which an observation was active
            observation_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            since INTEGER NOT NULL,            -- after this one
            until INTEGER NOT NULL DEFAULT 9223372036854775807,
            PRIMARY KEY (observation_id, since)
        ) WITHOUT ROWID;
        CREATE INDEX active_spans_by_since ON active_spans(since);
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
        """,
    )
    # An observation without a row for a conversation was not taken in by it, so its
    # span begins after the last take-in of such a conversation.
    db.execute(
        """INSERT INTO active_spans (observation_id, since)
           SELECT id, ifnull((
               SELECT number FROM last_take_ins AS last WHERE NOT EXISTS (
                   SELECT 1 FROM shown
                   WHERE shown.conversation_id = last.conversation_id AND observation_id = observations.id)
               ORDER BY number DESC LIMIT 1), 0)
           FROM observations WHERE committed_at IS NOT NULL AND superseded_at IS NULL AND withheld = 0"""
    )
    script(
        db,
        """
        DROP INDEX observations_unsuperseded;  -- now it holds all that packing by urgency reads
        CREATE INDEX observations_unsuperseded ON observations(
            conversation_id, committed_at, withheld, token_count, pinned, priority, observation_date)
            WHERE superseded_at IS NULL;
        INSERT OR IGNORE INTO meta SELECT 'pruning', 'rewrite' WHERE EXISTS (SELECT 1 FROM shown WHERE block = 0);
        CREATE TABLE shown_lines (             -- what a conversation's model sees, in blocks, so that the prefix stays put
            conversation_id INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
            observation_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            block INTEGER NOT NULL CHECK (block > 0),
            PRIMARY KEY (conversation_id, observation_id)
        ) WITHOUT ROWID;
        INSERT INTO shown_lines SELECT conversation_id, observation_id, block FROM shown WHERE block > 0;
        DROP TABLE shown;
        ALTER TABLE shown_lines RENAME TO shown;
        CREATE INDEX shown_in_order ON shown(conversation_id, block);
        CREATE INDEX shown_by_observation ON shown(observation_id);
        CREATE TRIGGER shown_not_fallen BEFORE INSERT ON shown WHEN new.block = 0 BEGIN
            SELECT RAISE(IGNORE);              -- a line of an export that an earlier version wrote
        END;
        """,
    )


def m010_door_calls(db: Database) -> None:
    """Add the log of other programs' calls: who and when, without content."""
    script(
        db,
        """
        CREATE TABLE door_calls (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            created_at TEXT NOT NULL,
            client TEXT NOT NULL,              -- as it names itself
            tool TEXT NOT NULL,
            results INTEGER NOT NULL
        );
        """,
    )


def m011_attachments(db: Database) -> None:
    """Add attachments, and `messages.attached` with one line for each, for quick reading."""
    lines = """UPDATE messages SET attached = (
            SELECT group_concat(line, char(10)) FROM (
                SELECT '[' || CASE media_type WHEN 'application/pdf' THEN 'pdf' WHEN 'text/plain' THEN 'text'
                    ELSE 'image' END || ': ' || name || ']' AS line
                FROM attachments WHERE message_id = messages.id ORDER BY position)) WHERE id ="""
    script(
        db,
        f"""
        CREATE TABLE attachments (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uid TEXT NOT NULL UNIQUE,
            message_id INTEGER NOT NULL REFERENCES messages(id) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            name TEXT NOT NULL,
            media_type TEXT NOT NULL CHECK (
                media_type IN ('image/png', 'image/jpeg', 'application/pdf', 'text/plain')),
            sha256 TEXT NOT NULL,
            size INTEGER NOT NULL,
            token_count INTEGER NOT NULL,  -- where a model is sent it whole
            data BLOB NOT NULL,            -- last, so that reading the rest does not read it
            UNIQUE (message_id, position)
        );
        ALTER TABLE messages ADD COLUMN attached TEXT;  -- the lines of its attachments; kept by triggers
        {INDEX_LINES}
        CREATE TRIGGER attachments_insert AFTER INSERT ON attachments BEGIN
            {lines} new.message_id;
        END;
        CREATE TRIGGER attachments_delete AFTER DELETE ON attachments BEGIN
            {lines} old.message_id;
        END;
        """,
    )


def m012_calls_by_client(db: Database) -> None:
    """Keep one row per client and tool, so that a client polling all day does not fill the disk.

    Some files of version 11 already have the new table: for a day, m010 made it.
    """
    if "calls" in db["door_calls"].columns_dict:
        return
    script(
        db,
        """
        CREATE TEMP TABLE single_calls AS SELECT * FROM door_calls;
        DROP TABLE door_calls;
        CREATE TABLE door_calls (
            client TEXT NOT NULL,              -- as it names itself
            tool TEXT NOT NULL,
            calls INTEGER NOT NULL,
            results INTEGER NOT NULL,
            first_at TEXT NOT NULL,
            last_at TEXT NOT NULL,
            PRIMARY KEY (client, tool)
        ) WITHOUT ROWID;
        INSERT INTO door_calls
            SELECT client, tool, count(*), sum(results), min(created_at), max(created_at)
            FROM single_calls GROUP BY client, tool;
        DROP TABLE single_calls;
        """,
    )


migrations = Migrations("construct")
for _step in (
    m001_talk, m002_memory, m003_curated, m004_search, m005_briefings, m006_vectors, m007_own_words, m008_replaced,
    m009_taken_in, m010_door_calls, m011_attachments, m012_calls_by_client,
    m013_one_kind_of_note,
    m014_reminders, m015_review, m016_outside, m017_sight, m018_sync,
    m019_passages,
):  # fmt: skip
    migrations()(_step)


def migrate(db: Database) -> None:
    """Migrate a database of any released version to this one, and mark it as ours."""
    migrations.apply(db)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
