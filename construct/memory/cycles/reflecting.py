"""Run a reflector cycle: replace observations with fewer and shorter ones."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace

from construct.clock import to_text
from construct.memory.agenda import stays_whole
from construct.memory.config import MemoryConfig
from construct.memory.cycles.commit import store_reflection
from construct.memory.cycles.runner import (
    CycleJob,
    CycleRunner,
    Outcome,
    RunningCycle,
)
from construct.memory.cycles.situation import reflector_scope
from construct.memory.learning.asking import Account
from construct.memory.learning.reflection_checks import Reflection, Said
from construct.memory.learning.reflector import choose, input_tokens, reflect
from construct.memory.shown.forks import condensable, reach
from construct.store import cycles, questions
from construct.store import observations as stored_observations
from construct.store.flags import flagged
from construct.store.forbidden import left_out_note
from construct.store.note_history import NOTED_LENGTH
from construct.store.note_links import last_said, resting_on_nothing
from construct.store.records import Observation
from construct.vocabulary import CycleKind, CycleStatus, Flag

_MAX_SHARE_LEFT = 0.75
"""Share of the tokens. If a reflection leaves more, the next waits for more observations."""


async def run_reflector(runner: CycleRunner, conversation_id: int) -> Reflection | None:
    """Condense the active observations in a conversation's scope.

    None if there is nothing to condense, or another process is condensing.
    """
    home = reflector_scope(runner.config.scope, conversation_id)
    model = await runner.affordable_model()
    return await runner.run(_ReflectorJob(model, home, runner.config, conversation_id))


@dataclass(frozen=True, slots=True)
class _Batch:
    """The observations a reflector reads, each with the time of its newest message."""

    given: list[Observation]
    said: Said


@dataclass(frozen=True)
class _ReflectorJob(CycleJob[_Batch, Reflection, Reflection]):
    kind = CycleKind.REFLECTOR
    config: MemoryConfig
    conversation_id: int

    def choose(self, db: sqlite3.Connection) -> _Batch | None:
        scope = self.config.scope
        active = stored_observations.active_in_scope(db, reach(db, scope, self.conversation_id))
        if scope == "conversation":
            active = condensable(db, self.conversation_id, active)
        # A new line made from observations the user asked to forget would keep their content.
        # The user is to decide about a doubtful one: it is not joined with others before that.
        unwanted = questions.not_yet_withheld(db) | flagged(db, Flag.DOUBTFUL)
        # A line that rests in part on nothing could not be kept from a narrowed door.
        groundless = resting_on_nothing(db, [o.id for o in active if not o.is_protected])
        now = self.config.clock.wall().isoformat(" ", "minutes")
        active = [
            o for o in active if o.id not in unwanted | groundless and not stays_whole(o, now)
        ]
        # Without a model, reading everything each time costs nothing.
        read_until = ""
        if self.model is not None:
            read_until = cycles.answered_until(db, CycleKind.REFLECTOR, self.home)
        given = choose(active, read_until, input_tokens(self.model))
        if len(given) < 2:
            return None
        return _Batch(given, last_said(db, [o.id for o in given], to_text(self.config.clock.now())))

    async def work(self, batch: _Batch, account: Account) -> Reflection:
        found = await reflect(self.model, batch.given, batch.said, account)
        if found.lines and not found.shrinks:
            account.problems.append(
                "the new lines are not shorter than the notes they would replace"
            )
        return found

    def commit(
        self, db: sqlite3.Connection, cycle: RunningCycle[_Batch], found: Reflection, now: str
    ) -> Outcome[Reflection]:
        if not found.shrinks:
            return self._failed(db, cycle.batch, found)
        before = self._active_tokens(db)
        forbidden = len(found.lines)
        found = store_reflection(db, cycle.id, found, cycle.batch.given, now)
        forbidden -= len(found.lines)
        left = self._active_tokens(db)
        return Outcome(
            result=found,
            notes=[
                *([left_out_note(forbidden)] if forbidden else []),
                *_notes(found, cycle.batch.given),
            ],
            base_tokens=left if left > _MAX_SHARE_LEFT * before else None,
            count=len(found.superseded),
        )

    def give_up(
        self, db: sqlite3.Connection, batch: _Batch, found: Reflection
    ) -> Outcome[Reflection]:
        return self._failed(db, batch, replace(found, changes=()))

    def _failed(
        self, db: sqlite3.Connection, batch: _Batch, found: Reflection
    ) -> Outcome[Reflection]:
        return Outcome(
            result=found,
            status=CycleStatus.FAILED,
            notes=_notes(found, batch.given),
            base_tokens=self._active_tokens(db),
        )

    def _active_tokens(self, db: sqlite3.Connection) -> int:
        return stored_observations.active_tokens(
            db, reach(db, self.config.scope, self.conversation_id)
        )


def _notes(found: Reflection, given: Sequence[Observation]) -> list[str]:
    """Return the cycle's notes on refused proposals, with the start of each observation kept."""
    contents = {o.id: o.content[:NOTED_LENGTH] for o in given}
    return [
        f"refused: {refusal.proposal[:200]} ({refusal.reason}); kept: "
        + ", ".join(f"“{contents[i]}”" for i in refusal.kept)
        for refusal in found.refused
    ]
