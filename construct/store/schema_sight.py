"""Migration 17: which notes are in sight, kept in step by triggers."""

from sqlite_utils import Database

from construct.store.schema_search import script

_IS_SHELVED = """EXISTS (
    SELECT 1 FROM observation_flags WHERE observation_id = observations.id AND flag = 'shelved'
    AND set_by IN (SELECT id FROM cycles WHERE status <> 'reverted')
    AND (ended_by IS NULL OR ended_by NOT IN (SELECT id FROM cycles WHERE status <> 'reverted')))"""
_WAS = """(old.committed_at IS NOT NULL AND old.superseded_at IS NULL
    AND old.withheld = 0 AND old.shelved = 0)"""
_IS = """(new.committed_at IS NOT NULL AND new.superseded_at IS NULL
    AND new.withheld = 0 AND new.shelved = 0)"""


def _update(where: str) -> str:
    return f"UPDATE observations SET shelved = {_IS_SHELVED} WHERE {where};"


def m017_sight(db: Database) -> None:
    """Add the column `shelved`, which follows from the flags, and count it in take-ins.

    `active_spans` now records when an observation was active and not shelved.
    """
    script(
        db,
        f"""
        ALTER TABLE observations ADD COLUMN shelved INTEGER NOT NULL DEFAULT 0; -- kept by triggers
        DROP INDEX observations_unsuperseded;
        CREATE INDEX observations_unsuperseded ON observations(
            conversation_id, committed_at, withheld, token_count, pinned, priority, observation_date,
            shelved, stance, recurs, referenced_date)
            WHERE superseded_at IS NULL;
        DROP TRIGGER observations_span_begin;
        DROP TRIGGER observations_span_end;
        CREATE TRIGGER observations_span_begin
        AFTER UPDATE OF committed_at, superseded_at, withheld, shelved ON observations
        WHEN {_IS} AND NOT {_WAS} BEGIN
            INSERT INTO active_spans (observation_id, since) SELECT new.id, number FROM take_in_count WHERE true
                ON CONFLICT DO UPDATE SET until = excluded.until;
        END;
        CREATE TRIGGER observations_span_end
        AFTER UPDATE OF committed_at, superseded_at, withheld, shelved ON observations
        WHEN {_WAS} AND NOT {_IS} BEGIN
            UPDATE active_spans SET until = (SELECT number FROM take_in_count)
                WHERE observation_id = new.id AND until = 9223372036854775807;
        END;
        CREATE TRIGGER observation_flags_set AFTER INSERT ON observation_flags WHEN new.flag = 'shelved' BEGIN
            {_update("id = new.observation_id")}
        END;
        CREATE TRIGGER observation_flags_end
        AFTER UPDATE OF ended_by ON observation_flags WHEN new.flag = 'shelved' BEGIN
            {_update("id = new.observation_id")}
        END;
        CREATE TRIGGER observation_flags_delete
        AFTER DELETE ON observation_flags WHEN old.flag = 'shelved' BEGIN
            {_update("id = old.observation_id")}
        END;
        CREATE TRIGGER cycles_flags_revert AFTER UPDATE OF status ON cycles
        WHEN (new.status = 'reverted') <> (old.status = 'reverted') BEGIN
            {
            _update('''id IN (
                SELECT observation_id FROM observation_flags
                WHERE flag = 'shelved' AND (set_by = new.id OR ended_by = new.id))''')
        }
        END;
        UPDATE observations SET shelved = 1 WHERE {_IS_SHELVED};
        """,
    )
