"""Migration 16: which replies are mixed with text from outside."""

from sqlite_utils import Database

from construct.store.schema_search import script


def m016_outside(db: Database) -> None:
    """Say of each reply whether the request held text from outside, or the reply holds some."""
    script(
        db,
        """
        ALTER TABLE messages ADD COLUMN outside TEXT CHECK (outside IN ('before', 'result'));
        """,
    )
