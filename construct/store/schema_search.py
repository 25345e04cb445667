"""The migrations for full-text search and vectors; schema.py has the others."""

from sqlite_utils import Database

from construct.store.driver import complete_statement
from construct.store.passages import MAX_PASSAGES, PART_BITS, indexed_text_sql, passages_sql


def script(db: Database, statements: str) -> None:
    """Run statements one by one, since `executescript` would commit the transaction."""
    statement = ""
    for line in statements.splitlines():
        statement += line + "\n"
        if complete_statement(statement):
            db.execute(statement)
            statement = ""


_MESSAGES = """
    CREATE VIEW messages_search AS SELECT id, iif(withheld, '', content) AS text FROM messages;
    CREATE VIRTUAL TABLE messages_fts USING fts5(
        text, content='messages_search', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
    CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
        INSERT INTO messages_fts(rowid, text) VALUES (new.id, iif(new.withheld, '', new.content));
    END;
    CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages
    WHEN EXISTS (SELECT 1 FROM messages_fts_docsize WHERE id = old.id) BEGIN
        INSERT INTO messages_fts(messages_fts, rowid, text)
            VALUES ('delete', old.id, iif(old.withheld, '', old.content));
    END;
    CREATE TRIGGER messages_fts_update AFTER UPDATE OF content, withheld ON messages
    WHEN EXISTS (SELECT 1 FROM messages_fts_docsize WHERE id = old.id) BEGIN
        INSERT INTO messages_fts(messages_fts, rowid, text)
            VALUES ('delete', old.id, iif(old.withheld, '', old.content));
        INSERT INTO messages_fts(rowid, text) VALUES (new.id, iif(new.withheld, '', new.content));
    END;
"""
"""The full-text index of messages.

Withheld messages are indexed as empty. The `WHEN` clauses skip messages that are not
indexed yet (search_index.py).
"""

INDEX_LINES = """
    DROP TRIGGER messages_fts_insert;
    DROP TRIGGER messages_fts_delete;
    DROP TRIGGER messages_fts_update;
    DROP VIEW messages_search;
    CREATE VIEW messages_search AS
        SELECT id, iif(withheld, '', content || ifnull(char(10) || attached, '')) AS text FROM messages;
    CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
        INSERT INTO messages_fts(rowid, text)
            VALUES (new.id, iif(new.withheld, '', new.content || ifnull(char(10) || new.attached, '')));
    END;
    CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages
    WHEN EXISTS (SELECT 1 FROM messages_fts_docsize WHERE id = old.id) BEGIN
        INSERT INTO messages_fts(messages_fts, rowid, text)
            VALUES ('delete', old.id, iif(old.withheld, '', old.content || ifnull(char(10) || old.attached, '')));
    END;
    CREATE TRIGGER messages_fts_update AFTER UPDATE OF content, withheld, attached ON messages
    WHEN EXISTS (SELECT 1 FROM messages_fts_docsize WHERE id = old.id) BEGIN
        INSERT INTO messages_fts(messages_fts, rowid, text)
            VALUES ('delete', old.id, iif(old.withheld, '', old.content || ifnull(char(10) || old.attached, '')));
        INSERT INTO messages_fts(rowid, text)
            VALUES (new.id, iif(new.withheld, '', new.content || ifnull(char(10) || new.attached, '')));
    END;
"""
"""Adds the names of attachments to the index.

No index entry changes, since there are no attachments before this migration.
"""


def m004_search(db: Database) -> None:
    """Add the full-text indexes, which triggers keep up to date.

    A message is indexed by its own words only. Ranking looks at the turns around it
    (memory/recall/rank.py).
    """
    script(db, _MESSAGES)
    for table in ("observations", "memories"):
        script(
            db,
            f"""
            CREATE VIRTUAL TABLE {table}_fts USING fts5(
                content, content='{table}', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
            CREATE TRIGGER {table}_fts_insert AFTER INSERT ON {table} BEGIN
                INSERT INTO {table}_fts(rowid, content) VALUES (new.id, new.content);
            END;
            CREATE TRIGGER {table}_fts_delete AFTER DELETE ON {table} BEGIN
                INSERT INTO {table}_fts({table}_fts, rowid, content) VALUES ('delete', old.id, old.content);
            END;
            CREATE TRIGGER {table}_fts_update AFTER UPDATE OF content ON {table} BEGIN
                INSERT INTO {table}_fts({table}_fts, rowid, content) VALUES ('delete', old.id, old.content);
                INSERT INTO {table}_fts(rowid, content) VALUES (new.id, new.content);
            END;
            """,
        )


def m006_vectors(db: Database) -> None:
    """Add vectors, which triggers delete when their entry is deleted, changed or undone.

    Some files of version 5 already have them: for an hour, they were the fifth step.
    """
    if db["vectors"].exists():
        return
    script(
        db,
        """
        CREATE TABLE vector_models (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE      -- a fingerprint of its weights
        );
        CREATE TABLE vectors (
            model INTEGER NOT NULL REFERENCES vector_models(id),
            kind TEXT NOT NULL CHECK (kind IN ('message', 'observation', 'memory')),
            entry_id INTEGER NOT NULL,
            part INTEGER NOT NULL DEFAULT 0,  -- a long text has several
            vector BLOB NOT NULL,          -- int8; its direction is what counts
            PRIMARY KEY (model, kind, entry_id, part)
        ) WITHOUT ROWID;
        """,
    )
    for kind, table in (
        ("message", "messages"),
        ("observation", "observations"),
        ("memory", "memories"),
    ):
        gone = f"""DELETE FROM vectors WHERE model IN (SELECT id FROM vector_models)
                AND kind = '{kind}' AND entry_id = old.id;"""
        columns = "content, withheld" if kind == "message" else "content"
        script(
            db,
            f"""
            CREATE TRIGGER {table}_vectors_delete AFTER DELETE ON {table} BEGIN {gone} END;
            CREATE TRIGGER {table}_vectors_update AFTER UPDATE OF {columns} ON {table} BEGIN {gone} END;
            """,
        )
    script(
        db,
        """
        CREATE TRIGGER cycles_vectors_revert AFTER UPDATE OF status ON cycles WHEN new.status = 'reverted' BEGIN
            DELETE FROM vectors WHERE model IN (SELECT id FROM vector_models) AND kind = 'observation'
                AND entry_id IN (SELECT id FROM observations WHERE cycle_id = new.id);
        END;
        """,
    )


def m007_own_words(db: Database) -> None:
    """Index each message by its own words only, and replace indexes that no query uses.

    An earlier version indexed a message together with the two before it. The freed pages
    are released as after forgetting (purge.py). `shown_in_order` finds what a conversation
    is shown without reading the rows that did not fit the budget.
    """
    script(
        db,
        """
        DROP INDEX IF EXISTS messages_by_time;
        DROP INDEX IF EXISTS usage_by_time;
        CREATE INDEX shown_in_order ON shown(conversation_id, block) WHERE block > 0;
        CREATE INDEX usage_of_work ON usage(created_at) WHERE purpose <> 'chat';
        """,
    )
    if not db.execute(
        "SELECT 1 FROM pragma_table_info('messages_fts') WHERE name = 'ctx'"
    ).fetchone():
        return
    for moment in ("insert", "before_update", "after_update", "before_delete", "after_delete"):
        db.execute(f"DROP TRIGGER messages_fts_{moment}")
    script(db, "DROP TABLE messages_fts;\nDROP VIEW messages_search;" + _MESSAGES)
    if db.execute("SELECT 1 FROM messages LIMIT 1").fetchone():
        db.execute("INSERT INTO messages_fts(messages_fts) VALUES ('rebuild')")
        db.execute("INSERT OR REPLACE INTO meta VALUES ('pruning', 'rewrite')")


_INDEXED_AT_ONCE = 2_000
"""A file with at most this many messages is indexed within the migration."""


def _passages_of(message: str, source: str = "") -> str:
    return passages_sql(f"{indexed_text_sql(message)} {source}")


def m019_passages(db: Database) -> None:
    """Index long messages by their passages, and find messages by their time.

    In a large file that takes long, so its messages are indexed in batches, in the
    background (search_index.py).
    """
    is_indexed = f"EXISTS (SELECT 1 FROM messages_fts_docsize WHERE id = old.id << {PART_BITS})"
    forget = "INSERT INTO messages_fts(messages_fts, rowid, text) SELECT 'delete', * FROM"
    add = "INSERT INTO messages_fts(rowid, text)"
    script(
        db,
        f"""
        DROP TRIGGER messages_fts_insert;
        DROP TRIGGER messages_fts_delete;
        DROP TRIGGER messages_fts_update;
        DROP TABLE messages_fts;
        DROP VIEW messages_search;
        CREATE TABLE passage_numbers (part INTEGER PRIMARY KEY);
        INSERT INTO passage_numbers
            WITH RECURSIVE numbers(part) AS (
                SELECT 0 UNION ALL SELECT part + 1 FROM numbers WHERE part < {MAX_PASSAGES})
            SELECT part FROM numbers;
        CREATE VIEW messages_search AS {_passages_of("m", "FROM messages AS m")};
        CREATE VIRTUAL TABLE messages_fts USING fts5(
            text, content='messages_search', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
        CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
            {add} {_passages_of("new")};
        END;
        CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages
        WHEN {is_indexed} BEGIN
            {forget} ({_passages_of("old")});
        END;
        CREATE TRIGGER messages_fts_update AFTER UPDATE OF content, withheld, attached ON messages
        WHEN {is_indexed} BEGIN
            {forget} ({_passages_of("old")});
            {add} {_passages_of("new")};
        END;
        CREATE INDEX messages_by_time ON messages(created_at);
        """,
    )
    last = db.execute("SELECT ifnull(max(id), 0) FROM messages").fetchone()[0]
    if last <= _INDEXED_AT_ONCE:
        db.execute("INSERT INTO messages_fts(rowid, text) SELECT id, text FROM messages_search")
        db.execute("DELETE FROM meta WHERE name = 'unindexed'")
    else:
        db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('unindexed', 1)")
