"""Migration 15: which edit answered a question, and which cycle replaced a tracked value."""

from sqlite_utils import Database

from construct.store.schema_search import script


def m015_review(db: Database) -> None:
    """Let undo reopen a question, and bring back a tracked value."""
    script(
        db,
        """
        ALTER TABLE questions ADD COLUMN answered_by INTEGER  -- the edit, if it was one
            REFERENCES cycles(id) ON DELETE SET NULL;
        CREATE INDEX questions_new ON questions(id) WHERE kind = 'new' AND answered_at IS NULL;
        ALTER TABLE tracked_values ADD COLUMN superseded_by INTEGER
            REFERENCES cycles(id) ON DELETE SET NULL;
        """,
    )
