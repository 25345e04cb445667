"""A clock that jumps a year, between turns and while the models answer."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path

import pytest

from construct.clock import Clock
from construct.memory.cycles.situation import spent_today
from construct.memory.undo import newest_cycle, undo
from construct.operations.context import Context
from construct.operations.learning import observe, plan_observe
from construct.store import cycles
from construct.store.conversations import get_watermarks
from construct.store.messages import messages_of
from construct.store.transfer.importing import import_file
from tests.support.fake_api import FakeApi
from tests.support.fake_types import Answer, Answerer, Json
from tests.support.talks import LOW, Talk, facts, talking

YEAR = timedelta(days=365)


@dataclass
class Hand:
    """The hand of a clock that anybody may move."""

    now: datetime = field(default_factory=lambda: datetime(2026, 3, 1, 9, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class MovedClock(Clock):
    """A clock whose time a test sets while the program runs."""

    hand: Hand = field(default_factory=Hand)

    def now(self) -> datetime:
        """Return the time the hand shows."""
        return self.hand.now


def use(t: Talk, clock: Clock) -> None:
    """Let the companion go by this clock."""
    t.companion.settings = replace(t.companion.settings, clock=clock)
    t.companion.memory_config = replace(t.companion.memory_config, clock=clock)
    t.companion.worker.config = t.companion.memory_config


def jumping(answer: Answerer, jump: Callable[[], None]) -> Answerer:
    """Return an answerer during whose answer the clock jumps."""

    def answer_later(body: Json) -> Answer:
        jump()
        return answer(body)

    return answer_later


async def test_a_budget_holds_past_midnight(tmp_path: Path, api: FakeApi) -> None:
    """What was spent before midnight counts, though a new day has begun."""
    clock = MovedClock()

    def pass_a_day(*_: object) -> None:
        clock.hand.now += timedelta(days=1)

    async with talking(tmp_path, api) as t:
        use(t, clock)
        for year in (2024, 2025):
            lines = [
                {"type": "message", "conversation": str(year), "role": "user", "content": text,
                 "created_at": f"{year}-03-01T09:00:00Z"}
                for text in facts(3, start=year)
            ]  # fmt: skip
            (tmp_path / "past.jsonl").write_text("\n".join(map(json.dumps, lines)))
            await t.companion.store.call(import_file, tmp_path / "past.jsonl", clock)
        model = t.companion.models.worker
        plan = await t.companion.store.call(
            lambda db: plan_observe(
                Context(db, t.companion.settings, t.companion.memory_config), model
            )
        )
        done = await observe(t.companion, plan, 0.000001, pass_a_day)
    assert (done.messages, done.messages_left) == (3, 3)


@pytest.mark.parametrize("first", [YEAR, -YEAR])
async def test_a_clock_that_jumps_a_year_breaks_nothing(
    tmp_path: Path, api: FakeApi, first: timedelta
) -> None:
    """Every turn is answered, every cycle ends, and the invariants hold.

    The cost is counted, and everything can be undone.
    """
    clock = MovedClock()
    jumps = cycle((first, -first, timedelta()))

    def jump() -> None:
        clock.hand.now += next(jumps)

    for purpose in ("chat", "observer", "reflector", "verifier", "graph"):
        setattr(api, purpose, jumping(getattr(api, purpose), jump))
    async with asyncio.timeout(60), talking(tmp_path, api, **LOW) as t:
        use(t, clock)
        for text in facts(14):
            clock.hand.now += timedelta(minutes=2)
            jump()
            assert (await t.live([text]))[0].complete
            t.check()
            assert await t.companion.store.call(cycles.running) == []
        await t.companion.worker.run_now(t.id)
        t.check()
        assert len(api.of("observer")) >= 2
        assert len(api.of("reflector")) >= 1
        said = [m.created_at for m in await t.companion.store.call(messages_of, t.id)]
        assert len(said) == 28
        assert len({moment[:4] for moment in said}) > 1  # each by the clock of its moment
        clock.hand.now += 5 * YEAR
        assert await t.companion.store.call(spent_today, t.companion.memory_config) == 0
        while await t.companion.store.call(newest_cycle):
            await t.companion.store.call(undo, clock)
            t.check()
        assert (await t.companion.store.call(get_watermarks, t.id)).observed == 0
