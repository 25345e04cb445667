"""One reflector cycle: what is active in scope goes to the worker, what is proven and checked takes its place."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace

from construct.llm.types import Model
from construct.memory.curation.memories import promote
from construct.memory.cycles.commit import StaleError, store_reflection
from construct.memory.cycles.running import CHANGED, Progress, Running, Workshop, name_of
from construct.memory.cycles.situation import reflector_scope
from construct.memory.learning.asking import Account
from construct.memory.learning.floor import Reflection, Said
from construct.memory.learning.reflector import choose, input_tokens, reflect
from construct.memory.shown.forks import condensable, reach
from construct.store import cycles, forget_requests, lineage
from construct.store import observations as rows
from construct.store.database import transaction
from construct.store.records import Observation

_MUCH_LEFT = 0.75
"""A reflection that leaves more than this share of the tokens took little away: the next waits until they grow."""


@dataclass(frozen=True, slots=True)
class _Lot(Running):
    given: list[Observation]
    said: Said


async def run_reflector(shop: Workshop, conversation_id: int) -> Reflection | None:
    """Condense what is active in a conversation's scope; None when there is nothing, or another process is at it."""
    model = await shop.affordable()
    lot = await shop.begun(shop.store.call(_begin, shop, conversation_id, model))
    if lot is None:
        return None
    shop.report(Progress("reflecting"))
    async with shop.lease(lot):
        found = await reflect(model, lot.given, lot.said, lot.account)
        found = await shop.store.call(_end, shop, conversation_id, lot, found, name_of(model))
    done = "condensed" if found.lines else "let go"
    shop.report(Progress(done, len(found.gone) if found.shrinks else 0))
    return found


def _begin(db: sqlite3.Connection, shop: Workshop, conversation_id: int, model: Model | None) -> _Lot | None:
    scope = shop.terms.scope
    with transaction(db):
        cycles.abandon_dead(db, shop.now())
        active = rows.active_in_scope(db, reach(db, scope, conversation_id))
        if scope == "conversation":
            active = condensable(db, conversation_id, active)
        # A line made of what the user has asked to forget would go on saying it.
        unwanted = forget_requests.waiting(db)
        active = [o for o in active if o.id not in unwanted]
        home = reflector_scope(scope, conversation_id)
        # By rule all may be read each time: it costs nothing.
        read_until = "" if model is None else cycles.answered_until(db, "reflector", home)
        given = choose(active, read_until, input_tokens(model))
        if len(given) < 2:
            return None
        cycle_id = cycles.start_cycle(db, "reflector", home, shop.now(), model=name_of(model))
        if cycle_id is None:
            return None
        account = Account("reflector", shop.on_call(cycle_id))
        return _Lot(cycle_id, account, None, given, rows.last_said(db, [o.id for o in given]))


def _end(
    db: sqlite3.Connection, shop: Workshop, conversation_id: int, lot: _Lot, found: Reflection, name: str
) -> Reflection:
    """Commit a reflection that shrinks; return what came of it."""
    scope = reach(db, shop.terms.scope, conversation_id)
    before = rows.active_tokens(db, scope)
    notes = _notes(found, lot.given)
    if found.shrinks:
        try:
            with transaction(db):
                store_reflection(db, lot.cycle_id, found, lot.given, shop.now())
                promote(db, shop.now())
                left = rows.active_tokens(db, scope)
                base = left if left > _MUCH_LEFT * before else None
                shop.finish(db, lot, "succeeded", name, notes, base)
                return found
        except StaleError:
            lot.account.problems.append(CHANGED)
            found = replace(found, changes=())
    elif found.lines:
        lot.account.problems.append("the new lines are not shorter than the notes they would replace")
    with transaction(db):
        shop.finish(db, lot, "failed", name, notes, before)
    return found


def _notes(found: Reflection, given: Sequence[Observation]) -> list[str]:
    """Return what was refused, in words, with the beginning of each note that stays as it was."""
    contents = {o.id: o.content[: lineage.NOTED_LENGTH] for o in given}
    return [
        f"refused: {refusal.what[:200]} ({refusal.reason}); kept: "
        + ", ".join(f"“{contents[i]}”" for i in refusal.kept)
        for refusal in found.refused
    ]
