"""The graph cycle: one call reads all memories that are unread, and entities and relations come back.

The extractive worker draws no graph. After a cycle that failed or was undone, the memories it had
read are due again only together with new ones.
"""

import asyncio
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from construct import tokens
from construct.llm.types import Model, WorkRequest
from construct.memory.cycles.commit import StaleError
from construct.memory.cycles.running import CHANGED, Progress, Running, Workshop
from construct.memory.graph.answers import GraphProposal, UnreadableAnswerError, is_user, names_by_key, read_answer
from construct.memory.graph.storing import store_graph
from construct.memory.language.terms import content_words
from construct.memory.learning.asking import Account, ask, repeats_itself
from construct.memory.shown.escaping import inline
from construct.prompts import prompt
from construct.store import cycles
from construct.store import graph as rows
from construct.store.database import transaction
from construct.store.graph import Entity
from construct.store.records import Memory
from construct.text import one_line

BETWEEN_TURNS = 20
"""Unread memories that are worth a call of their own between turns; otherwise one is."""
_MOST = 200
"""Memories for one call, whatever their length: more relations than these give do not fit the answer."""
_MOST_AFTER_FAILURE = 40
_ATTEMPTS = 2
_REPLY_TOKENS = 8_192
_NAMES_TOKENS = 400
_MEMORY_TOKENS = 6_000


@dataclass(frozen=True, slots=True)
class GraphBatch(Running):
    """A running graph cycle: the memories that it reads, and what was known when it began."""

    memories: dict[str, Memory]
    """By their anchors, P1, P2 …."""
    entities: list[Entity]
    predicates: list[str]


async def run_graph(shop: Workshop, enough: int = 1) -> None:
    """Read the unread memories if there are `enough`."""
    if shop.model is None or not await shop.store.call(is_due, enough):
        return
    model = await shop.affordable()
    batch = None if model is None else await shop.begun(shop.store.call(begin, model, shop.now()))
    if model is None or batch is None:
        return
    shop.report(Progress("drawing"))
    async with shop.lease(batch):
        found = await draw(model, batch)
        await shop.store.call(_end, shop, batch, found, model.name)


def is_due(db: sqlite3.Connection, enough: int = 1) -> bool:
    """Return whether there are `enough` unread memories; after a failure or an undo only new ones count."""
    last = cycles.last_cycle(db, "graph", None)
    tried = 0 if last is None or last.status == "succeeded" else rows.tried(db)
    return rows.count_unread(db, after=tried) >= enough


def begin(db: sqlite3.Connection, model: Model, now: str) -> GraphBatch | None:
    """Start a cycle over the unread memories. None: there are none, or another process runs one."""
    with transaction(db):
        cycles.abandon_dead(db, now)
        last = cycles.last_cycle(db, "graph", None)
        # A memory may be what made the last cycle fail, so the newest go first: in time without it.
        failed = last is not None and last.status == "failed"
        unread = rows.unread(db, _MOST_AFTER_FAILURE if failed else _MOST, newest=failed)
        # One at least, however long.
        fitting = fitting_count([m.content for m in unread], max(200, min(_MEMORY_TOKENS, model.context_window // 4)))
        memories = {f"P{number}": memory for number, memory in enumerate(unread[: max(1, fitting)], 1)}
        cycle_id = cycles.start_cycle(db, "graph", None, now, model=model.name) if memories else None
        if cycle_id is None:
            return None
        return GraphBatch(cycle_id, Account("graph"), None, memories, rows.entities(db), rows.predicates(db))


async def draw(model: Model, batch: GraphBatch) -> GraphProposal | None:
    """Return what may be stored of the model's answer. None: no attempt could be read."""
    request = await asyncio.to_thread(graph_request, model, batch)
    texts = {anchor: one_line(memory.content) for anchor, memory in batch.memories.items()}
    known = names_by_key(entity.names for entity in batch.entities)
    problems = batch.account.problems
    broken_off = None
    for _ in range(_ATTEMPTS):
        reply = await ask(model, request, batch.account)
        if reply is None:
            continue
        try:
            found = await asyncio.to_thread(read_answer, reply.text, texts, known)
        except UnreadableAnswerError as error:
            problems.append(str(error))
            continue
        if found.is_whole:
            return found
        problems.append("the answer broke off")
        broken_off = found
    return broken_off


def store(db: sqlite3.Connection, batch: GraphBatch, found: GraphProposal | None, now: str) -> None:
    """Store what was drawn, inside the caller's transaction."""
    if found is None:
        rows.note_tried(db)
    else:
        store_graph(db, batch.cycle_id, {anchor: m.id for anchor, m in batch.memories.items()}, found, now)


def graph_request(model: Model, batch: GraphBatch) -> WorkRequest:
    """Return the request for one call."""
    lines = [f"{anchor} {inline(memory.content)}" for anchor, memory in batch.memories.items()]
    user = "<memories>\n" + "\n".join(lines) + "\n</memories>"
    names = known_names(batch.entities, batch.predicates, [m.content for m in batch.memories.values()])
    shown = [inline(name) for name in names]
    shown = shown[: fitting_count(shown, min(_NAMES_TOKENS, model.context_window // 20))]
    if shown:
        user += "\n\n<names>\n" + "\n".join(shown) + "\n</names>"
    most = min(_REPLY_TOKENS, model.context_window // 3)
    return WorkRequest(system=prompt("graph"), user=user, max_tokens=most, hopeless=repeats_itself)


def known_names(entities: Sequence[Entity], predicates: Sequence[str], texts: Iterable[str]) -> list[str]:
    """Return known names and predicates, those first that share words with the texts.

    `entities`: oldest first; `predicates`: most used first.
    """
    said = content_words("\n".join(texts))
    candidates = [(name, name) for name in predicates]
    candidates += [(entity.name, " ".join(entity.names)) for entity in reversed(entities) if not is_user(entity.name)]
    candidates.sort(key=lambda candidate: not content_words(candidate[1]) & said)
    return list(dict.fromkeys(name for name, _ in candidates))


def fitting_count(lines: Iterable[str], room: int) -> int:
    """Return how many of the first lines `room` tokens hold."""
    count = 0
    for line in lines:
        room -= tokens.count(line + "\n")
        if room < 0:
            break
        count += 1
    return count


def _end(db: sqlite3.Connection, shop: Workshop, batch: GraphBatch, found: GraphProposal | None, name: str) -> None:
    try:
        with transaction(db):
            store(db, batch, found, shop.now())
            notes = () if found is None else found.notes
            shop.finish(db, batch, "failed" if found is None else "succeeded", name, notes)
    except StaleError:
        batch.account.problems.append(CHANGED)
        with transaction(db):
            shop.finish(db, batch, "failed", name)
