"""How a file tells that it is ours and which schema it has, and the files beside it.

Apart, so that a look costs no import.
"""

import os
from pathlib import Path

APPLICATION_ID = 0x43_4E_53_54  # "CNST"
SCHEMA_VERSION = 11
"""The number of migrations in schema.py; a test holds them together."""


def beside(path: Path, suffix: str) -> Path:
    """Return the file that SQLite keeps beside a database."""
    return Path(os.path.realpath(path) + suffix)


def has_beside(path: Path, suffix: str) -> bool:
    """Return whether a write-ahead log or a journal that is not empty stands beside it."""
    file = beside(path, suffix)
    return file.exists() and file.stat().st_size > 0
