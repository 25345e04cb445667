"""The application id and schema version of the database, and the files beside it.

A module of its own, so that `construct brief` need not import more.
"""

import os
from contextlib import suppress
from pathlib import Path

APPLICATION_ID = 0x43_4E_53_54  # "CNST"
SCHEMA_VERSION = 19
"""The number of migrations in schema.py (a test compares them)."""
MAGIC = b"SQLite format 3\x00"
"""The first bytes of every SQLite database that is not encrypted."""
SIDE_FILES = ("-wal", "-shm", "-journal")
"""The suffixes of the files that SQLite keeps beside a database."""


def side_file(path: Path, suffix: str) -> Path:
    """Return the path of a file beside a database, such as its write-ahead log (`-wal`)."""
    return Path(os.path.realpath(path) + suffix)


def has_side_file(path: Path, suffix: str) -> bool:
    """Return whether a file beside the database exists and is not empty."""
    with suppress(FileNotFoundError):  # a process that closes the database may delete it
        return side_file(path, suffix).stat().st_size > 0
    return False
