"""Forget here what was forgotten on another machine."""

from collections.abc import Collection

from construct.clock import Clock, to_text
from construct.memory.forgetting.carry_out import remove
from construct.memory.forgetting.plan import plan_deletion, plan_following
from construct.store import purge
from construct.store.driver import Connection
from construct.store.sql import ID_LIST, column


def follow(db: Connection, uids: str, observation_ids: Collection[int], clock: Clock) -> None:
    """Forget what these uids (a JSON list) name, and these observations, with what rests on them.

    Runs in the caller's transaction, which then finishes the erasure (`purge`).
    """
    now = to_text(clock.now())

    def named(table: str) -> list[int]:
        return column(db, f"SELECT id FROM {table} WHERE uid IN {ID_LIST}", (uids,))

    for conversation_id in named("conversations"):
        remove(db, plan_deletion(db, conversation_id), clock)
    if observations := {*named("observations"), *observation_ids}:
        remove(db, plan_following(db, observations), clock)
    purge.withhold(db, named("messages"), now, words=False)
    for table in ("question_items", "questions", "attachments", "tracked_values"):
        db.execute(f"DELETE FROM {table} WHERE uid IN {ID_LIST}", (uids,))
    db.execute(
        f"""DELETE FROM cycles WHERE uid IN {ID_LIST}
            AND id NOT IN (SELECT cycle_id FROM observations)
            AND id NOT IN (SELECT cycle_id FROM tracked_values)
            AND id NOT IN (
                SELECT superseded_by FROM observations WHERE superseded_by IS NOT NULL)""",
        (uids,),
    )
    purge.begin_erasure(db)
