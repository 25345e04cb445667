"""A database whose graph is drawn from answers that a test writes."""

import sqlite3
from datetime import UTC
from pathlib import Path
from typing import Any

from construct.clock import Clock, from_text
from construct.llm.types import Usage, WorkReply, WorkRequest
from construct.memory.cycles.graphing import GraphBatch, GraphJob
from construct.memory.cycles.runner import RunningCycle
from construct.memory.graph.answers import GraphProposal
from construct.memory.keeping import keep_for_user
from construct.memory.learning.asking import Account
from construct.store import cycles
from construct.store.database import transaction
from tests.support.database import new_database

NOW = "2026-03-01T09:00:00+00:00"
CLOCK = Clock(from_text(NOW), UTC)


def answer(*relations: str, entities: tuple[str, ...] = ()) -> str:
    """Return an answer of these lines."""
    lines = ["<entities>", *entities, "</entities>", "<relations>", *relations, "</relations>"]
    return "\n".join(lines)


class ScriptedModel:
    """A worker model that gives the answers it was handed, one per call.

    It repeats the last one.
    """

    name = "scripted"
    context_window = 200_000

    def __init__(self, *answers: str) -> None:
        self.requests: list[WorkRequest] = []
        self._answers = list(answers)

    async def complete(self, request: WorkRequest) -> WorkReply:
        """Return the next answer."""
        self.requests.append(request)
        text = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return WorkReply(text=text, usage=Usage(), stop_reason="end_turn", trouble=None)


class Graph:
    """A database with notes and the graph drawn from them."""

    def __init__(self, folder: Path) -> None:
        self.db: sqlite3.Connection = new_database(folder / "construct.db")
        self.account = Account("graph")
        self.requests: list[WorkRequest] = []

    def keep(self, *texts: str) -> list[int]:
        """Keep notes of the user's own and return their ids."""
        with transaction(self.db):
            return [keep_for_user(self.db, text, None, CLOCK).id for text in texts]

    async def draw(self, text: str, *texts: str, again: str | None = None) -> list[int]:
        """Keep notes and run a cycle that gets `text`, then `again`, as answers."""
        ids = self.keep(*texts)
        model: Any = ScriptedModel(text, again or text)
        cycle = self.begin(model)
        assert cycle is not None
        self.account = cycle.account
        found = await GraphJob(model).work(cycle.batch, cycle.account)
        self.requests += model.requests
        self.end(cycle, found)
        return ids

    def begin(self, model: Any) -> RunningCycle[GraphBatch] | None:
        """Start a cycle as the runner does."""
        with transaction(self.db):
            batch = GraphJob(model).choose(self.db)
            assert batch is not None
            cycle_id = cycles.start_cycle(self.db, "graph", None, NOW)
        return None if cycle_id is None else RunningCycle(cycle_id, batch, Account("graph"))

    def end(self, cycle: RunningCycle[GraphBatch], found: GraphProposal | None) -> None:
        """Store what was drawn, and finish the cycle as the runner does."""
        with transaction(self.db):
            unused: Any = ScriptedModel()
            outcome = GraphJob(unused).commit(self.db, cycle, found, NOW)
            assert cycles.finish_cycle(self.db, cycle.id, outcome.status, NOW)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self.db.execute(sql).fetchall()

    def relations(self) -> list[tuple[Any, ...]]:
        """Return subject, predicate, object and state of each relation."""
        return self.query(
            """SELECT s.name, predicate, o.name, r.superseded_at IS NULL FROM relations AS r
               JOIN entities AS s ON s.id = subject_id
               JOIN entities AS o ON o.id = object_id ORDER BY r.id"""
        )
