"""Run a graph cycle: extract entities and relations from notes that no cycle has read.

It needs a worker model. After a cycle that failed or was undone, its notes are read
again only once there are new ones.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from construct import tokens
from construct.language.terms import content_words
from construct.llm.types import Model, WorkRequest
from construct.memory.cycles.commit import require_running
from construct.memory.cycles.runner import CycleJob, CycleRunner, Outcome, RunningCycle
from construct.memory.graph.answers import (
    GraphProposal,
    UnreadableAnswerError,
    read_answer,
)
from construct.memory.graph.names import is_user, names_by_key
from construct.memory.graph.storing import store_graph
from construct.memory.learning.asking import Account, ask, repeats_itself
from construct.memory.shown.escaping import inline
from construct.prompts import prompt
from construct.store import cycles, graph
from construct.store.driver import Connection
from construct.store.forbidden import left_out_note
from construct.store.graph import Entity
from construct.store.records import Observation
from construct.text import one_line
from construct.vocabulary import CycleKind, CycleStatus

BETWEEN_TURNS = 20
"""Unread notes needed for a call between turns.

One is enough after a reflection, when the conversation is left, or on request.
"""
_MAX_NOTES = 200
"""Notes per call. More would have more relations than fit into one answer."""
_MAX_NOTES_AFTER_FAILURE = 40
_ATTEMPTS = 2
_REPLY_TOKENS = 8_192
_NAMES_TOKENS = 400
"""Limit for the known names in a call, or a twentieth of the model's window if less."""
_NOTE_TOKENS = 6_000
"""Limit for the notes in a call, or a quarter of the model's window if less."""


async def run_graph(runner: CycleRunner, minimum: int = 1) -> None:
    """Run a graph cycle if at least `minimum` notes are unread."""
    if runner.model is None or not await runner.store.call(is_due, minimum):
        return
    model = await runner.affordable_model()
    if model is not None:
        await runner.run(GraphJob(model))


def is_due(db: Connection, minimum: int = 1) -> bool:
    """Return whether at least `minimum` notes are unread.

    After a failure or an undo only new ones count.
    """
    last = cycles.last_cycle(db, CycleKind.GRAPH, None)
    tried = 0 if last is None or last.status == CycleStatus.SUCCEEDED else graph.attempted_up_to(db)
    return graph.count_unread(db, after=tried) >= minimum


@dataclass(frozen=True, slots=True)
class GraphBatch:
    """The notes that a graph cycle reads, and the graph when it began."""

    notes: dict[str, Observation]
    """Notes by anchor: P1, P2 …"""
    entities: list[Entity]
    predicates: list[str]


@dataclass(frozen=True)
class GraphJob(CycleJob[GraphBatch, GraphProposal | None, None]):
    """Extracts the graph of notes that no cycle has read yet."""

    kind = CycleKind.GRAPH
    model: Model
    home: None = None

    def choose(self, db: Connection) -> GraphBatch | None:
        """Return the unread notes that fit one call, at least one however long."""
        last = cycles.last_cycle(db, self.kind, None)
        # The last cycle may have failed because of one note. Starting with the newest, this
        # cycle can leave that note out.
        failed = last is not None and last.status == CycleStatus.FAILED
        unread = graph.unread(db, _MAX_NOTES_AFTER_FAILURE if failed else _MAX_NOTES, newest=failed)
        if not unread:
            return None
        room = max(200, min(_NOTE_TOKENS, self.model.context_window // 4))
        count = max(1, _how_many_fit([note.content for note in unread], room))
        chosen = sorted(unread[:count], key=lambda o: o.id)
        notes = {f"P{number}": note for number, note in enumerate(chosen, 1)}
        return GraphBatch(notes, graph.entities(db), graph.predicates(db))

    async def work(self, batch: GraphBatch, account: Account) -> GraphProposal | None:
        """Return the part of the model's answer that may be stored.

        None if no answer could be parsed.
        """
        request = await asyncio.to_thread(graph_request, self.model, batch)
        texts = {anchor: one_line(note.content) for anchor, note in batch.notes.items()}
        known = names_by_key(entity.names for entity in batch.entities)
        incomplete = None
        for _ in range(_ATTEMPTS):
            reply = await ask(self.model, request, account)
            if reply is None:
                continue
            try:
                proposal = await asyncio.to_thread(read_answer, reply.text, texts, known)
            except UnreadableAnswerError as error:
                account.problems.append(str(error))
                continue
            if proposal.is_whole:
                return proposal
            account.problems.append("the answer broke off")
            incomplete = proposal
        return incomplete

    def commit(
        self,
        db: Connection,
        cycle: RunningCycle[GraphBatch],
        found: GraphProposal | None,
        now: str,
    ) -> Outcome[None]:
        """Store the extracted entities and relations."""
        require_running(db, cycle.id)
        if found is None:
            graph.note_attempt(db)
            return Outcome(status=CycleStatus.FAILED)
        note_ids = {anchor: note.id for anchor, note in cycle.batch.notes.items()}
        forbidden = store_graph(db, cycle.id, note_ids, found, now)
        left_out = [left_out_note(forbidden)] if forbidden else []
        return Outcome(notes=[*left_out, *found.notes])


def graph_request(model: Model, batch: GraphBatch) -> WorkRequest:
    """Return the request for one call."""
    lines = [f"{anchor} {inline(note.content)}" for anchor, note in batch.notes.items()]
    user = "<memories>\n" + "\n".join(lines) + "\n</memories>"
    texts = [note.content for note in batch.notes.values()]
    names = [inline(name) for name in known_names(batch.entities, batch.predicates, texts)]
    names = names[: _how_many_fit(names, min(_NAMES_TOKENS, model.context_window // 20))]
    if names:
        user += "\n\n<names>\n" + "\n".join(names) + "\n</names>"
    return WorkRequest(
        system=prompt("graph"),
        user=user,
        max_tokens=min(_REPLY_TOKENS, model.context_window // 3),
        hopeless=repeats_itself,
    )


def known_names(
    entities: Sequence[Entity], predicates: Sequence[str], texts: Iterable[str]
) -> list[str]:
    """Return known names and predicates, those that share words with the texts first.

    `entities`: oldest first; `predicates`: most used first.
    """
    said = content_words("\n".join(texts))
    candidates = [(name, name) for name in predicates]
    candidates += [
        (entity.name, " ".join(entity.names))
        for entity in reversed(entities)
        if not is_user(entity.name)
    ]
    candidates.sort(key=lambda candidate: not content_words(candidate[1]) & said)
    return list(dict.fromkeys(name for name, _ in candidates))


def _how_many_fit(lines: Sequence[str], room: int) -> int:
    return tokens.how_many_fit([tokens.count(line + "\n") for line in lines], room)
