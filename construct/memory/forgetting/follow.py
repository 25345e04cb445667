"""Forget here what was forgotten on another machine."""

from collections.abc import Collection

from construct.clock import Clock, to_text
from construct.memory.forgetting.carry_out import remove
from construct.memory.forgetting.plan import plan_deletion, plan_following
from construct.store import purge
from construct.store.driver import Connection
from construct.store.sync.named import emptied_forks, named_here


def follow(db: Connection, uids: str, observation_ids: Collection[int], clock: Clock) -> None:
    """Forget what these uids (a JSON list) name, and these observations, with what rests on them.

    Runs in the caller's transaction, which then finishes the erasure (`purge`).
    """
    now = to_text(clock.now())
    for conversation_id in named_here(db, uids).conversations:
        remove(db, plan_deletion(db, conversation_id), clock)
    named = named_here(db, uids)
    if observations := named.observations | set(observation_ids):
        remove(db, plan_following(db, observations), clock)
    purge.withhold(db, named.deleted_messages, now, words=True)
    for conversation_id in emptied_forks(db):
        remove(db, plan_deletion(db, conversation_id), clock)
    purge.withhold(db, named.forgotten_messages, now, words=False)
    purge.delete_others(db, uids)
    purge.begin_erasure(db)
