"""Run a reflector cycle: replace observations with fewer and shorter ones.

What the reflector shelves stays active and leaves the sight. What recall brings back often
comes into sight again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from construct.clock import to_text
from construct.memory.agenda import has_left_sight, stays_whole
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
from construct.store.acceptance import unaccepted
from construct.store.driver import Connection
from construct.store.flags import end_flag, flagged, often_recalled
from construct.store.forbidden import left_out_note
from construct.store.note_history import NOTED_LENGTH
from construct.store.note_links import last_said, resting_on_nothing
from construct.store.records import Observation
from construct.vocabulary import CycleKind, CycleStatus, Flag

_RECALLED_OFTEN = 3
_RECALLED_WITHIN = timedelta(days=30)
"""How often recall must bring a shelved note back in this time for it to be in sight again."""
_MAX_SHARE_LEFT = 0.75
"""Share of the tokens. If a reflection leaves more, the next waits for more observations."""


async def run_reflector(runner: CycleRunner, conversation_id: int) -> Reflection | None:
    """Condense the observations in a conversation's scope and sight.

    None if there is nothing to condense or to take into sight again, or another process is
    condensing.
    """
    home = reflector_scope(runner.config.scope, conversation_id)
    model = await runner.affordable_model()
    return await runner.run(_ReflectorJob(model, home, runner.config, conversation_id))


@dataclass(frozen=True, slots=True)
class _Batch:
    """The observations a reflector reads, each with the time of its newest message."""

    given: list[Observation]
    said: Said
    returning: list[int]
    """Shelved observations that come into sight again."""


@dataclass(frozen=True)
class _ReflectorJob(CycleJob[_Batch, Reflection, Reflection]):
    kind = CycleKind.REFLECTOR
    config: MemoryConfig
    conversation_id: int

    def choose(self, db: Connection) -> _Batch | None:
        scope = self.config.scope
        active = stored_observations.active_in_scope(db, reach(db, scope, self.conversation_id))
        if scope == "conversation":
            active = condensable(db, self.conversation_id, active)
        # A new line made from observations the user asked to forget would keep their content.
        # The user is to decide about a doubtful or a new one before it is joined with others.
        unwanted = questions.not_yet_withheld(db) | flagged(db, Flag.DOUBTFUL) | unaccepted(db)
        # A line that rests in part on nothing could not be kept from a narrowed door.
        groundless = resting_on_nothing(db, [o.id for o in active if not o.is_protected])
        wall = self.config.clock.wall().isoformat(" ", "minutes")
        plans_from = self.config.plans_from
        free = [
            o
            for o in active
            if o.id not in unwanted | groundless
            and not (o.shelved or stays_whole(o, wall) or has_left_sight(o, plans_from))
        ]
        returning = self._often_recalled(db, [o.id for o in active if o.shelved])
        # Without a model, reading everything each time costs nothing.
        read_until = ""
        if self.model is not None:
            read_until = cycles.answered_until(db, CycleKind.REFLECTOR, self.home)
        given = choose(free, read_until, input_tokens(self.model))
        if len(given) < 2:
            given = []
        if not given and not returning:
            return None
        now = to_text(self.config.clock.now())
        return _Batch(given, last_said(db, [o.id for o in given], now), returning)

    def _often_recalled(self, db: Connection, shelved: Sequence[int]) -> list[int]:
        """Return those of these observations that recall has brought back often of late."""
        since = to_text(self.config.clock.now() - _RECALLED_WITHIN)
        often = often_recalled(db, since, _RECALLED_OFTEN) if shelved else frozenset()
        return [i for i in shelved if i in often]

    async def work(self, batch: _Batch, account: Account) -> Reflection:
        if not batch.given:
            return Reflection()
        today = self.config.clock.today()
        found = await reflect(self.model, batch.given, batch.said, today, account)
        if found.lines and not found.shrinks:
            account.problems.append(
                "the new lines are not shorter than the notes they would replace"
            )
        return found

    def commit(
        self, db: Connection, cycle: RunningCycle[_Batch], found: Reflection, now: str
    ) -> Outcome[Reflection]:
        returning = cycle.batch.returning
        if not found.shrinks and not returning:
            return self._failed(db, cycle.batch, found)
        before = self._tokens_in_sight(db)
        forbidden = len(found.lines)
        done = found if found.shrinks else replace(found, changes=())
        found = store_reflection(db, cycle.id, done, cycle.batch.given, now)
        forbidden -= len(found.lines)
        left = self._tokens_in_sight(db)
        for observation_id in returning:
            end_flag(db, observation_id, Flag.SHELVED, cycle.id)
        return Outcome(
            result=found,
            notes=[
                *([left_out_note(forbidden)] if forbidden else []),
                *_notes(found, cycle.batch.given),
            ],
            base_tokens=left if left > _MAX_SHARE_LEFT * before else None,
            count=len(found.superseded | found.shelved),
        )

    def give_up(self, db: Connection, batch: _Batch, found: Reflection) -> Outcome[Reflection]:
        return self._failed(db, batch, replace(found, changes=()))

    def _failed(self, db: Connection, batch: _Batch, found: Reflection) -> Outcome[Reflection]:
        return Outcome(
            result=found,
            status=CycleStatus.FAILED,
            notes=_notes(found, batch.given),
            base_tokens=self._tokens_in_sight(db),
        )

    def _tokens_in_sight(self, db: Connection) -> int:
        descent = reach(db, self.config.scope, self.conversation_id)
        return stored_observations.tokens_in_sight(db, descent, self.config.plans_from)


def _notes(found: Reflection, given: Sequence[Observation]) -> list[str]:
    """Return the cycle's notes on refused proposals, with the start of each observation kept."""
    contents = {o.id: o.content[:NOTED_LENGTH] for o in given}
    return [
        f"refused: {refusal.proposal[:200]} ({refusal.reason}); kept: "
        + ", ".join(f"“{contents[i]}”" for i in refusal.kept)
        for refusal in found.refused
    ]
