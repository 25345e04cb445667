"""Migration 14: reminders, and when the user last pressed a key in a chat."""

from sqlite_utils import Database

from construct.store.schema_search import script


def m014_reminders(db: Database) -> None:
    """Add the reminders that were delivered, and an index of the notes that may remind."""
    script(
        db,
        """
        CREATE TABLE deliveries (              -- of reminders, on this machine
            observation_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            due TEXT NOT NULL,                 -- YYYY-MM-DD HH:MM, on the wall clock
            claimed_at REAL,                   -- when a process began to deliver it; null: it failed
            delivered_at TEXT,
            failed_at TEXT,                    -- when it could not be delivered: it stays due
            PRIMARY KEY (observation_id, due)
        ) WITHOUT ROWID;
        CREATE INDEX deliveries_failed ON deliveries(due)
            WHERE failed_at IS NOT NULL AND delivered_at IS NULL;
        CREATE INDEX observations_repeating ON observations(id)
            WHERE superseded_at IS NULL AND (recurs IS NOT NULL OR remind_at IS NOT NULL);
        ALTER TABLE sessions ADD COLUMN last_key_at REAL; -- by the real clock
        """,
    )
