"""One reflector cycle: what is active in scope goes to the worker, what the guard lets through takes its place."""

import sqlite3
from dataclasses import dataclass

from construct.llm.types import Model
from construct.memory.curation.memories import promote
from construct.memory.cycles.commit import StaleError, store_verdict
from construct.memory.cycles.running import CHANGED, Progress, Running, Workshop, name_of
from construct.memory.cycles.situation import reflector_scope
from construct.memory.learning.asking import Account
from construct.memory.learning.guard import Verdict
from construct.memory.learning.reflector import choose, input_tokens, reflect
from construct.memory.shown.forks import condensable, reach
from construct.store import cycles
from construct.store import observations as rows
from construct.store.database import transaction
from construct.store.records import Observation

_MUCH_LEFT = 0.75
"""A reflection that leaves more than this share of the tokens took little away: the next waits until they grow."""


@dataclass(frozen=True, slots=True)
class _Lot(Running):
    given: list[Observation]
    newest_message: dict[int, int]


async def run_reflector(shop: Workshop, conversation_id: int) -> Verdict | None:
    """Condense what is active in a conversation's scope; None when there is nothing, or another process is at it."""
    model = await shop.affordable()
    lot = await shop.begun(shop.store.call(_begin, shop, conversation_id, model))
    if lot is None:
        return None
    shop.report(Progress("reflecting"))
    async with shop.lease(lot):
        verdict = await reflect(model, lot.given, lot.newest_message, lot.account)
        verdict = await shop.store.call(_end, shop, conversation_id, lot, verdict, name_of(model))
    done = "condensed" if verdict.drafts else "let go"
    shop.report(Progress(done, len(verdict.gone) if verdict.shrinks else 0))
    return verdict


def _begin(db: sqlite3.Connection, shop: Workshop, conversation_id: int, model: Model | None) -> _Lot | None:
    scope = shop.terms.scope
    with transaction(db):
        cycles.abandon_dead(db, shop.now())
        active = rows.active_in_scope(db, reach(db, scope, conversation_id))
        if scope == "conversation":
            active = condensable(db, conversation_id, active)
        home = reflector_scope(scope, conversation_id)
        # By rule all may be read each time: it costs nothing.
        read_until = "" if model is None else cycles.answered_until(db, "reflector", home)
        given = choose(active, read_until, input_tokens(model))
        if len(given) < 2:
            return None
        cycle_id = cycles.start_cycle(db, "reflector", home, shop.now(), model=name_of(model))
        if cycle_id is None:
            return None
        newest = rows.newest_message_under(db, [o.id for o in given])
        return _Lot(cycle_id, Account("reflector"), None, given, newest)


def _end(
    db: sqlite3.Connection, shop: Workshop, conversation_id: int, lot: _Lot, verdict: Verdict, name: str
) -> Verdict:
    """Commit a verdict that shrinks; return what came of it."""
    scope = reach(db, shop.terms.scope, conversation_id)
    before = rows.active_tokens(db, scope)
    if verdict.shrinks:
        try:
            with transaction(db):
                store_verdict(db, lot.cycle_id, verdict, lot.given, shop.now())
                promote(db, shop.now())
                left = rows.active_tokens(db, scope)
                base = left if left > _MUCH_LEFT * before else None
                shop.finish(db, lot, "succeeded", name, verdict.notes, base)
                return verdict
        except StaleError:
            lot.account.problems.append(CHANGED)
            verdict = Verdict(notes=verdict.notes)
    with transaction(db):
        shop.finish(db, lot, "failed", name, verdict.notes, before)
    return verdict
