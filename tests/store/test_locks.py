"""The locks of one process's connections, seen by another process."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

from construct.store.database import open_database

_OTHER = """
import sqlite3, sys
from pathlib import Path
from construct.store.database import open_database
db = open_database(Path(sys.argv[1]))
db.execute("INSERT INTO conversations (uid, created_at) VALUES ('other', 'now')")
db.close()
"""


def test_opening_twice_keeps_the_locks_of_the_first(tmp_path: Path) -> None:
    """A second connection of this process leaves the first its locks: nobody else removes its log."""
    path = tmp_path / "construct.db"
    with closing(open_database(path)) as first:
        first.execute("INSERT INTO conversations (uid, created_at) VALUES ('before', 'now')")
        open_database(path).close()
        subprocess.run([sys.executable, "-c", _OTHER, str(path)], check=True)
        assert path.with_name("construct.db-wal").exists()
        first.execute("INSERT INTO conversations (uid, created_at) VALUES ('after', 'now')")
    with closing(open_database(path)) as again:
        found = {row[0] for row in again.execute("SELECT uid FROM conversations")}
    assert found == {"before", "other", "after"}
