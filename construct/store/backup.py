"""Backups: copies of the whole database in one file."""

from contextlib import closing
from pathlib import Path

from construct.store.driver import Connection, connect, is_sqlcipher, write_copy
from construct.store.search_index import merge_all
from construct.store.sql import exists
from construct.store.version import SIDE_FILES, side_file


def backup(db: Connection, path: Path) -> None:
    """Copy the database to an empty file.

    The copy is not encrypted. It contains nothing deleted, no running cycles, no open
    chats, and no vectors, which can be made again.
    """
    if is_sqlcipher(db):
        write_copy(db, path, None)
    with closing(connect(path, isolation_level=None)) as copy:
        if not is_sqlcipher(db):
            db.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        _strip(copy)
        copy.execute("VACUUM")


_RUNNING = "(SELECT id FROM cycles WHERE status = 'running')"
_STRIP = f"""
    PRAGMA foreign_keys = ON;
    BEGIN;
    DELETE FROM sessions;
    DELETE FROM vectors;
    DELETE FROM vector_models;
    UPDATE observations SET superseded_at = NULL, superseded_by = NULL
        WHERE superseded_by IN {_RUNNING};
    DELETE FROM observations WHERE cycle_id IN {_RUNNING};
    DELETE FROM questions WHERE cycle_id IN {_RUNNING};
    DELETE FROM cycles WHERE status = 'running';
    UPDATE cycles SET owner = NULL, heartbeat = NULL, phase = NULL
        WHERE owner IS NOT NULL OR heartbeat IS NOT NULL OR phase IS NOT NULL;
    DELETE FROM meta WHERE name = 'pruning';
    COMMIT;
"""


def _strip(copy: Connection) -> None:
    has_deleted_words = exists(copy, "meta WHERE name = 'pruning'") or exists(copy, _RUNNING)
    copy.executescript(_STRIP)
    if has_deleted_words:
        merge_all(copy)  # an index keeps deleted words until its segments are merged


def read_into(path: Path, copy: Connection) -> None:
    """Copy a database file, which may be in use, to `copy` without changing the file.

    Raises an SQLite error.
    """
    is_in_use = any(side_file(path, suffix).exists() for suffix in SIDE_FILES)
    options = "mode=ro" if is_in_use else "mode=ro&immutable=1"
    with closing(connect(f"{path.absolute().as_uri()}?{options}", uri=True)) as source:
        source.backup(copy)
