"""A new database, made once and copied.

Its schema takes ten milliseconds, and the disk several times that.
"""

import sqlite3
import tempfile
from functools import cache
from pathlib import Path

from construct.store.connection import FileConnection
from construct.store.database import open_database
from construct.user_rules import RulesFile


def new_database(path: Path) -> sqlite3.Connection:
    """Open a database; where there is none yet, with nothing in it."""
    if not path.exists():
        path.touch(0o600)
        path.write_bytes(_empty())
    return open_database(path)


@cache
def _empty() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        open_database(Path(folder) / "x.db").close()
        return (Path(folder) / "x.db").read_bytes()


def use_rules(db: sqlite3.Connection, rules: Path | None) -> None:
    """Let the user's rules in a file apply to what is written through a connection."""
    assert isinstance(db, FileConnection)
    db.rules_file = RulesFile(rules) if rules else None
