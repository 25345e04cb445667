"""One observer cycle: the oldest batch of a conversation goes to the worker, pending observations come back."""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from construct.llm.capable import is_capable
from construct.llm.types import Model
from construct.memory.cycles.commit import StaleError, store_extraction
from construct.memory.cycles.known import known_notes
from construct.memory.cycles.running import CHANGED, Progress, Running, Workshop, name_of
from construct.memory.learning.asking import Account
from construct.memory.learning.floor import Said, why_not_outdated
from construct.memory.learning.observer import Reading, batch_tokens, known_tokens, observe
from construct.memory.learning.proposals import Extraction, ProposedObservation
from construct.memory.learning.verifier import Group, verify
from construct.memory.shown.forks import reach, replaceable
from construct.memory.shown.transcript import batches
from construct.store import cycles, talk
from construct.store import observations as rows
from construct.store.database import transaction
from construct.store.records import Message, Observation

Find = Callable[[sqlite3.Connection, int], list[Message]]
"""Returns which messages of a conversation should be observed."""


@dataclass(frozen=True, slots=True)
class _Batch(Running):
    messages: list[Message]
    before: list[Message]
    based_on: int
    known: list[Observation]
    replaceable: frozenset[int]
    """Those of the known notes that lines of this conversation may replace."""
    said: Said


async def run_observer(shop: Workshop, conversation_id: int, find: Find) -> int | None:
    """Observe the oldest batch of what is found; return how many observations were made.

    None when there is nothing to observe, or another process is at it.
    """
    model = await shop.affordable()
    batch = await shop.begun(shop.store.call(_begin, shop, conversation_id, model, find))
    if batch is None:
        return None
    shop.report(Progress("observing"))
    async with shop.lease(batch):
        readable = [m for m in batch.messages if talk.is_readable(m)]
        found = await observe(model, Reading(readable, batch.before, batch.known, shop.terms.clock), batch.account)
        found = await _with_sound_replacements(model, found, batch)
        stored = await shop.store.call(_end, shop, batch, found, name_of(model, batch.account))
    shop.report(Progress("remembered", stored or 0))
    return stored


async def _with_sound_replacements(model: Model | None, found: Extraction, batch: _Batch) -> Extraction:
    """Return what was found with those replacements only that code and verifier agree to."""
    if model is None or not any(o.replaces for o in found.observations):
        return found
    by_id = {o.id: o for o in batch.known}
    times = {m.id: (m.created_at, m.id) for m in batch.messages}
    pairs: list[tuple[ProposedObservation, int]] = []
    for proposed in found.observations:
        for old in proposed.replaces:
            if reason := _why_not(proposed, by_id[old], batch, times):
                batch.account.problems.append(f"kept “{by_id[old].content[:120]}”: {reason}")
            elif old not in {taken for _, taken in pairs}:
                pairs.append((proposed, old))
    answers: list[str | None] | None = None
    if is_capable(model):
        groups = [Group("outdated", (by_id[old],), proposed) for proposed, old in pairs]
        answers = await verify(model, groups, batch.account)
    kept: dict[ProposedObservation, list[int]] = {}
    for (proposed, old), wrong in zip(pairs, answers or ["nobody checked it"] * len(pairs), strict=True):
        if wrong is None:
            kept.setdefault(proposed, []).append(old)
        else:
            batch.account.problems.append(f"kept “{by_id[old].content[:120]}”, not outdated: {wrong}")
    observations = [replace(o, replaces=tuple(kept.get(o, ())), borrowed=o.replaces) for o in found.observations]
    return replace(found, observations=tuple(observations))


def _why_not(
    new: ProposedObservation, old: Observation, batch: _Batch, times: Mapping[int, tuple[str, int]]
) -> str | None:
    if old.id not in batch.replaceable:
        return "it belongs to the conversation this one was forked from, or to another"
    return why_not_outdated(old, new, batch.said[old.id], max(times[i] for i in new.sources))


def _begin(
    db: sqlite3.Connection, shop: Workshop, conversation_id: int, model: Model | None, find: Find
) -> _Batch | None:
    with transaction(db):
        cycles.abandon_dead(db, shop.now())
        observed = talk.watermarks(db, conversation_id).observed
        messages = find(db, conversation_id)
        if not messages:
            return None
        batch = batches(messages, batch_tokens(model))[0]
        span = batch[0].id, batch[-1].id
        cycle_id = cycles.start_cycle(db, "observer", conversation_id, shop.now(), span=span, model=name_of(model))
        if cycle_id is None:
            return None
        here = reach(db, shop.terms.scope, conversation_id)
        known = [] if model is None else known_notes(db, here, batch, known_tokens(model))
        ids = [o.id for o in known]
        return _Batch(
            cycle_id, Account("observer", shop.on_call(cycle_id)), conversation_id, batch,
            talk.last_messages(db, conversation_id, 2, batch[0].id - 1), observed, known,
            replaceable(db, shop.terms.scope, conversation_id, known), rows.last_said(db, ids),
        )  # fmt: skip


def _end(db: sqlite3.Connection, shop: Workshop, batch: _Batch, found: Extraction, name: str) -> int | None:
    try:
        with transaction(db):
            stored = store_extraction(db, batch.cycle_id, found, batch.messages, batch.based_on, shop.now())
            shop.finish(db, batch, "succeeded", name)
            return stored
    except StaleError:
        batch.account.problems.append(CHANGED)
        with transaction(db):
            shop.finish(db, batch, "failed", name)
        return None
