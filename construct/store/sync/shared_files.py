"""Queries for the persona and the rules, as machines that ask for it share them."""

from construct.store.driver import Connection
from construct.store.sql import scalar


def offer(db: Connection, name: str, text: str, sha256: str) -> None:
    """Store a file as it is here, unless it has not changed since it was last the same."""
    db.execute(
        """INSERT INTO sync_files (uid, content, sha256) VALUES (?, ?, ?)
           ON CONFLICT DO UPDATE SET content = excluded.content, sha256 = excluded.sha256
           WHERE sha256 IS NOT excluded.sha256""",
        (name, text, sha256),
    )


def content(db: Connection, name: str) -> str | None:
    """Return a file as it is to be on all machines that ask for it; None if none told of it."""
    return scalar(db, "SELECT content FROM sync_files WHERE uid = ?", (name,))


def note_same(db: Connection, name: str, sha256: str) -> None:
    """Record that the file here is the same now."""
    db.execute("UPDATE sync_files SET sha256 = ? WHERE uid = ?", (sha256, name))
