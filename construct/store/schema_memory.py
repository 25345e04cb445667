"""The steps of the schema that concern what the memory keeps, from 8 on; schema.py has the earlier ones."""

from sqlite_utils import Database

from construct.store.schema_search import script


def m008_replaced(db: Database) -> None:
    """Every link from a note to the one it replaced, what is withheld at the user's wish, and days as a range."""
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


FILL_FIRST_DATES = """
    UPDATE observations SET first_date = (
        WITH RECURSIVE beneath(id) AS (
            VALUES (observations.id) UNION
            SELECT source_id FROM observation_sources JOIN beneath ON observation_id = beneath.id)
        SELECT nullif(min(o.observation_date), observations.observation_date)
        FROM observations AS o JOIN beneath ON beneath.id = o.id WHERE o.generation = 0)
    WHERE generation > 0"""
"""Sets the first day of every reflection from its sources of generation 0; also run after an import."""
