"""Migration: what keeps several machines in step (store/sync/)."""

from sqlite_utils import Database

from construct.store.schema_search import script


def m018_sync(db: Database) -> None:
    """Add the machines, what was published of each row, and what each cycle superseded.

    No words of what was said or remembered are in these tables.
    """
    script(
        db,
        """
        CREATE TABLE sync_machines (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uid TEXT NOT NULL UNIQUE,          -- the name of its directory in the folder
            name TEXT NOT NULL,                -- as people call it
            is_self INTEGER NOT NULL DEFAULT 0,
            counter INTEGER NOT NULL DEFAULT 0, -- its last segment that was taken in, or written here
            manifest INTEGER NOT NULL DEFAULT 0, -- the counter of its newest list of segments
            forgot INTEGER NOT NULL DEFAULT 0, -- its last segment with something forgotten
            followed TEXT NOT NULL DEFAULT '{}', -- JSON: what it had taken in when it last rewrote its segments
            last_sha256 TEXT,                  -- the checksum of that segment
            seen_at TEXT,                      -- when something of it last came in
            retired_by INTEGER REFERENCES sync_machines(id), -- the machine that took its segments over
            retired_in INTEGER                 -- the segment of that machine that did
        );
        CREATE UNIQUE INDEX sync_self ON sync_machines(is_self) WHERE is_self = 1;
        CREATE TABLE sync_segments (           -- those of this machine that are in the folder
            counter INTEGER PRIMARY KEY,
            file TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            size INTEGER NOT NULL,
            is_full INTEGER NOT NULL,          -- 1: it holds the full state, and needs no earlier one
            after TEXT NOT NULL                -- JSON: the last segment of each other machine before it
        );
        CREATE TABLE sync_rows (               -- each row as it was last published or taken in
            kind TEXT NOT NULL,
            uid TEXT NOT NULL,
            born_at INTEGER NOT NULL,          -- microseconds; who made it, the earliest of several
            born_by INTEGER NOT NULL REFERENCES sync_machines(id),
            changed_at INTEGER NOT NULL,       -- of the fields that `stamps` does not name
            changed_by INTEGER NOT NULL REFERENCES sync_machines(id),
            fields BLOB NOT NULL,              -- four bytes for each field, a checksum
            stamps TEXT,                       -- JSON: field to [time, machine], where they differ
            PRIMARY KEY (kind, uid)
        ) WITHOUT ROWID;
        CREATE INDEX sync_rows_by_maker ON sync_rows(kind, born_by);
        CREATE TABLE sync_claims (             -- which cycle superseded which observation, on any machine
            observation_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
            cycle_id INTEGER NOT NULL REFERENCES cycles(id) ON DELETE CASCADE,
            superseded_at TEXT,                -- null: no longer
            counts INTEGER NOT NULL DEFAULT 0, -- 1: it is why the observation is superseded here
            PRIMARY KEY (observation_id, cycle_id)
        ) WITHOUT ROWID;
        CREATE INDEX sync_claims_by_cycle ON sync_claims(cycle_id);
        CREATE TABLE sync_overruled (          -- succeeded where they ran, but count as reverted
            cycle_id INTEGER PRIMARY KEY REFERENCES cycles(id) ON DELETE CASCADE
        );
        CREATE TABLE sync_files (              -- the persona and the rules, only if the user asks for it
            uid TEXT PRIMARY KEY,              -- persona, rules
            content TEXT NOT NULL,
            sha256 TEXT                        -- of the file here when it was last the same
        ) WITHOUT ROWID;
        ALTER TABLE tombstones ADD COLUMN is_deleted INTEGER NOT NULL DEFAULT 0; -- 1: the row itself is gone
        ALTER TABLE conversations ADD COLUMN forked_by_sync INTEGER NOT NULL DEFAULT 0; -- 1: not by the user
        """,
    )
