"""The memory at work against the strict fake: faults, bad answers, leases, limits."""

import asyncio
import json
import random
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from construct.clock import to_text
from construct.errors import ConstructError
from construct.memory.cycles.runner import Progress
from construct.memory.undo import undo
from construct.store import cycles
from construct.store import observations as rows
from construct.store.conversations import create_conversation, get_conversation, get_watermarks
from construct.store.database import open_database, transaction
from construct.store.messages import NewMessage, add_message, last_message_id
from construct.store.observations import Count
from construct.tokens import Usage
from construct.views.status import status_notes
from construct.vocabulary import CycleKind
from tests.support import fake_worker
from tests.support.fake_api import FakeApi, Reply, adversarial, faults
from tests.support.fake_types import Answer, Json
from tests.support.talks import LOW, Talk, facts, talking

FAULTS = {
    "401": faults.http(401),
    "429": faults.http(429, retry_after=3600),
    "500": faults.http(500),
    "529": faults.http(529, retry_after=3600),
    "drop before": faults.drop_before(),
    "drop during": faults.drop_during(),
    "silent end": faults.silent_end(),
    "sse error": faults.sse_error(),
    "garbage": faults.garbage(),
    "refusal": faults.refusal(),
    "max_tokens": faults.max_tokens(),
}
CUT_SHORT = {"drop during", "silent end", "sse error", "max_tokens"}
"""Faults after which the beginning of an answer is there: its whole lines count."""
ADVERSARIAL = {
    "invented anchors": adversarial.invented_anchors,
    "endless repetition": adversarial.endless_repetition,
    "prose": adversarial.prose,
    "half an answer": adversarial.half_answer,
    "unreadable lines": adversarial.unreadable_lines,
    "impossible dates": adversarial.impossible_dates,
}
CHECKS = {
    "no": adversarial.always_no,
    "garbage": adversarial.garbage_checks,
    "half": adversarial.half_checks,
    "silent": adversarial.silent,
    "prose": adversarial.prose,
}


async def observed_once(t: Talk) -> None:
    """Assert that one cycle observed each message, and something is remembered."""
    t.check()
    store = t.companion.store
    marks = await store.call(get_watermarks, t.id)
    assert marks.observed == await store.call(last_message_id, t.id)
    assert await store.call(rows.unsuperseded)
    assert not await store.call(cycles.running)


@pytest.mark.both_protocols
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_an_observer_that_fails_loses_nothing(
    tmp_path: Path, api: FakeApi, fault: faults.Fault
) -> None:
    """While the observer fails, the extractive worker takes the batch.

    The talk goes on.
    """
    api.fail("observer", fault, times=None)
    async with talking(tmp_path, api, **LOW) as t:
        results = await t.live(facts(5))
        assert all(r.complete for r in results)
        api.heal()
        await t.live(facts(5, start=5))
        await t.companion.worker.run_now(t.id)
        await observed_once(t)


@pytest.mark.parametrize("answer", ADVERSARIAL.values(), ids=ADVERSARIAL.keys())
async def test_an_observer_that_answers_nonsense_loses_nothing(
    tmp_path: Path, api: FakeApi, answer: object
) -> None:
    """Each batch yields observations, whatever the observer answers.

    No message is passed over.
    """
    api.observer = answer  # type: ignore[assignment]
    async with talking(tmp_path, api, **LOW) as t:
        await t.live(facts(8))
        await t.companion.worker.run_now(t.id)
        await observed_once(t)
        contents = " ".join(o.content for o in await t.companion.store.call(rows.unsuperseded))
        assert "1003" in contents
        assert "herrings" not in contents


@pytest.mark.parametrize("fault", FAULTS.keys())
async def test_a_reflector_that_fails_leaves_all_as_it_was(
    tmp_path: Path, api: FakeApi, fault: str
) -> None:
    """A failing reflector changes nothing, and works again once the fault is gone."""
    api.fail("reflector", FAULTS[fault], times=None)
    async with talking(tmp_path, api, **LOW) as t:
        await t.live(low_facts(12))
        await t.companion.worker.run_now(t.id)
        await observed_once(t)
        before = await t.companion.store.call(rows.unsuperseded)
        assert {o.generation for o in before} <= ({0, 1} if fault in CUT_SHORT else {0})
        api.heal()
        await t.companion.worker.run_now(t.id)
        t.check()
        assert any(o.generation == 1 for o in await t.companion.store.call(rows.unsuperseded))


@pytest.mark.parametrize(
    "answer",
    [
        *ADVERSARIAL.values(),
        adversarial.forgets_everything,
        adversarial.grows,
        adversarial.adversarial_reflector(random.Random(7)),
    ],
    ids=[*ADVERSARIAL.keys(), "forgets everything", "grows", "adversarial"],
)
async def test_a_adversarial_reflector_loses_no_high_line(
    tmp_path: Path, api: FakeApi, answer: object
) -> None:
    """A line of high priority stays or has a known successor.

    That holds whatever the reflector proposes and the verifier says.
    """
    api.reflector = answer  # type: ignore[assignment]
    async with talking(tmp_path, api, **LOW) as t:
        await t.live(facts(16))
        for _ in range(3):
            await t.companion.worker.run_now(t.id)
        await observed_once(t)
        contents = " ".join(o.content for o in await t.companion.store.call(rows.unsuperseded))
        traced = await t.companion.store.call(
            lambda db: db.execute(
                "SELECT content FROM observation_replaced JOIN observations ON id = replaced_id"
            ).fetchall()
        )
        contents += " ".join(row[0] for row in traced)
        missing = [
            i for i in range(16) if str(1000 + i) not in contents or f"Tea{i}" not in contents
        ]
        assert missing == []


@pytest.mark.parametrize("checks", CHECKS.values(), ids=CHECKS.keys())
async def test_an_adversarial_verifier_lets_nothing_unchecked_pass(
    tmp_path: Path, api: FakeApi, checks: object
) -> None:
    """What it refuses, or does not answer for, stays as it was.

    The work goes on with a verifier that does its own.
    """
    competent, api.verifier = api.verifier, checks  # type: ignore[assignment]
    async with talking(tmp_path, api, **LOW) as t:
        await t.live(low_facts(12))
        await t.companion.worker.run_now(t.id)
        await observed_once(t)
        generations = {o.generation for o in await t.companion.store.call(rows.unsuperseded)}
        assert generations == ({0, 1} if checks is adversarial.half_checks else {0})
        api.verifier = competent
        await t.companion.worker.run_now(t.id)
        t.check()
        assert any(o.generation == 1 for o in await t.companion.store.call(rows.unsuperseded))


async def test_pending_becomes_committed_when_the_window_is_full(
    tmp_path: Path, api: FakeApi
) -> None:
    """Observations are pending first.

    Compacting commits them and moves the watermarks in order.
    """
    async with talking(tmp_path, api, **LOW) as t:
        await t.live(facts(5))
        store = t.companion.store
        pending = await store.call(rows.pending, t.id)
        assert pending
        assert (await store.call(get_watermarks, t.id)).window == 0
        await t.live(facts(6, start=5))
        marks = await store.call(get_watermarks, t.id)
        assert 0 < marks.window <= marks.compacted <= marks.observed
        assert {o.state for o in await store.call(rows.observations, [o.id for o in pending])} == {
            "active"
        }


@pytest.mark.both_protocols
async def test_a_huge_message_is_observed_too(tmp_path: Path, api: FakeApi) -> None:
    """One message larger than a batch is read in parts, in one cycle."""
    words = " ".join(f"Word{i} is number {i}." for i in range(6000))
    async with talking(tmp_path, api) as t:
        await t.live([words])
        await observed_once(t)
    assert len(api.of("observer")) > 1
    assert all(r.usage is not None and r.usage.prompt < 40_000 for r in api.of("observer"))


async def test_two_workers_share_a_conversation(tmp_path: Path, api: FakeApi) -> None:
    """Two processes' workers on one file never observe a batch twice."""
    async with talking(tmp_path, api, **LOW) as t, talking(tmp_path, api, **LOW) as other:
        for text in facts(12):
            await t.say(text)
            await asyncio.gather(
                t.companion.worker.run_due(t.id), other.companion.worker.run_due(t.id)
            )
        await t.companion.worker.run_now(t.id)
        await observed_once(t)


async def test_a_cycle_whose_process_died_is_abandoned_and_done_again(
    tmp_path: Path, api: FakeApi
) -> None:
    """A running cycle of a process that is gone is abandoned at once.

    Its work is due again.
    """
    async with talking(tmp_path, api, **LOW) as t:
        for text in facts(8):
            await t.say(text)
        db = open_database(t.companion.settings.db)
        dead = json.dumps({**json.loads(cycles.owner()), "pid": 4_000_000})
        now = to_text(t.companion.settings.clock.now())
        with transaction(db):
            cycle = cycles.start_cycle(db, "observer", t.id, now, span=(1, 4))
            db.execute("UPDATE cycles SET owner = ? WHERE id = ?", (dead, cycle))
        await t.companion.worker.run_due(t.id)
        assert db.execute("SELECT status FROM cycles WHERE id = ?", (cycle,)).fetchone() == (
            "abandoned",
        )
        db.close()
        await observed_once(t)


async def test_a_living_owner_keeps_its_cycle(tmp_path: Path, api: FakeApi) -> None:
    """While another host has the lease and a heartbeat, nobody observes."""
    async with talking(tmp_path, api, **LOW) as t:
        for text in facts(8):
            await t.say(text)
        db = open_database(t.companion.settings.db)
        with transaction(db):
            cycle = cycles.start_cycle(
                db, "observer", t.id, to_text(t.companion.settings.clock.now()), span=(1, 4)
            )
            elsewhere = json.dumps({"host": "elsewhere", "pid": 1, "started": 1.0})
            db.execute("UPDATE cycles SET owner = ? WHERE id = ?", (elsewhere, cycle))
        await t.companion.worker.run_due(t.id)
        assert not api.of("observer")
        db.execute("UPDATE cycles SET heartbeat = ? WHERE id = ?", (time.time() - 3600, cycle))
        db.close()
        await t.companion.worker.run_due(t.id)
        await observed_once(t)


async def interrupt_at(t: Talk, api: FakeApi, call: int) -> None:
    """Start the worker and cancel it while it waits for observer call `call`."""
    for text in facts(8):
        await t.say(text)
    work = asyncio.create_task(t.companion.worker.run_due(t.id))
    await asyncio.to_thread(api.wait_for, call, "observer")
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work


async def test_cancelled_work_is_abandoned_and_due_again(tmp_path: Path, api: FakeApi) -> None:
    """Leaving in the middle of a worker call leaves no running cycle."""
    api.fail("observer", faults.hang(30))
    async with talking(tmp_path, api, **LOW) as t:
        await interrupt_at(t, api, 1)
        assert not await t.companion.store.call(cycles.running)
        api.heal()
        await t.companion.worker.run_due(t.id)
        await observed_once(t)


@pytest.mark.both_protocols
async def test_the_calls_of_cancelled_work_are_booked_all_the_same(
    tmp_path: Path, api: FakeApi
) -> None:
    """The calls of an interrupted cycle count towards usage and the daily limit."""
    api.fail("observer", faults.refusal())
    api.fail("observer", faults.hang(30))
    async with talking(tmp_path, api, **LOW) as t:
        await interrupt_at(t, api, 2)
        booked = """SELECT c.status, c.attempts, u.purpose
                    FROM cycles AS c JOIN usage AS u ON u.cycle_id = c.id"""
        assert await t.companion.store.call(lambda db: db.execute(booked).fetchall()) == [
            ("abandoned", 2, "observer")
        ]


@pytest.mark.both_protocols
async def test_an_answer_that_was_cut_short_is_booked(tmp_path: Path, api: FakeApi) -> None:
    """The tokens that the server has counted by then are paid for."""
    api.enqueue("observer", Reply("! a\n" * 200, chunk_delay=0.05))
    async with talking(tmp_path, api, **LOW) as t:
        for text in facts(8):
            await t.say(text)
        work = asyncio.create_task(t.companion.worker.run_due(t.id))
        await asyncio.to_thread(api.wait_for, 1, "observer")
        await asyncio.sleep(0.3)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        booked = "SELECT input_tokens > 0 FROM usage WHERE purpose = 'observer'"
        assert await t.companion.store.call(lambda db: db.execute(booked).fetchall()) == [(1,)]


async def test_unreadable_rules_leave_no_running_cycle(tmp_path: Path, api: FakeApi) -> None:
    """Once the file is repaired, the same process can observe."""
    rules = tmp_path / "rules.md"
    rules.touch()
    async with talking(tmp_path, api, CONSTRUCT_MEMORY_RULES=str(rules), **LOW) as t:
        rules.unlink()
        rules.mkdir()
        for text in facts(8):
            await t.say(text)
        with pytest.raises(ConstructError, match="is not a file"):
            await t.companion.worker.run_due(t.id)
        assert not await t.companion.store.call(cycles.running)
        rules.rmdir()
        rules.touch()
        await t.companion.worker.run_due(t.id)
        await observed_once(t)


async def test_work_cancelled_while_it_is_stored_is_booked_once(
    tmp_path: Path, api: FakeApi
) -> None:
    """It is stored to the end, and its calls are not booked a second time."""

    def answers(body: Json) -> Answer:
        held.execute("BEGIN IMMEDIATE")  # the cycle cannot end before this does
        return fake_worker.verifier(body)

    api.enqueue("verifier", answers)
    async with talking(tmp_path, api, **LOW) as t:
        held = sqlite3.connect(
            t.companion.settings.db, isolation_level=None, check_same_thread=False
        )
        for text in facts(8):
            await t.say(text)
        work = asyncio.create_task(t.companion.worker.run_due(t.id))
        await asyncio.to_thread(api.wait_for, 1, "verifier")
        await asyncio.sleep(0.5)
        work.cancel()
        await asyncio.sleep(0.1)
        held.execute("ROLLBACK")
        with pytest.raises(asyncio.CancelledError):
            await work
        booked = """SELECT c.status, count(*)
                    FROM cycles AS c JOIN usage AS u ON u.cycle_id = c.id GROUP BY c.id"""
        assert held.execute(booked).fetchall() == [("succeeded", 2)]
        held.close()


@pytest.mark.parametrize(
    "limit",
    [
        {"CONSTRUCT_WORKER_DAILY_USD": "0"},
        {"CONSTRUCT_WORKER_DAILY_TOKENS": "0", "MEMORY_WORKER_MODEL": "of-unknown-price"},
    ],
)
async def test_past_the_daily_limit_no_worker_model_is_asked(
    tmp_path: Path, api: FakeApi, limit: dict[str, str]
) -> None:
    """When the day's money or tokens are spent the extractive worker serves."""
    async with talking(tmp_path, api, **limit, **LOW) as t:
        await t.live(facts(8))
        await observed_once(t)
        models = await t.companion.store.call(
            lambda db: db.execute("SELECT DISTINCT model FROM cycles").fetchall()
        )
        note = next(note for note in status_notes(await t.status()) if "daily limit" in note)
    assert not api.of("observer")
    assert models == [("extractive",)]
    assert next(iter(limit)) in note


async def test_tokens_count_where_the_price_is_unknown(tmp_path: Path, api: FakeApi) -> None:
    """The second batch is past a limit of 1,000; a model with a price has none."""
    for worker, asked in (("of-unknown-price", 1), ("claude-haiku-5-5", 2)):
        more = {"CONSTRUCT_WORKER_DAILY_TOKENS": "1000", "MEMORY_WORKER_MODEL": worker}
        api.requests.clear()
        (tmp_path / worker).mkdir()
        async with talking(tmp_path / worker, api, **more) as t:
            for text in facts(2):
                await t.say(text)
                await t.companion.worker.run_now(t.id)
        assert len(api.of("observer")) == asked


async def test_who_asks_for_work_is_told_once(tmp_path: Path, api: FakeApi) -> None:
    """What is done on demand comes back as counts, and is reported without any."""
    async with talking(tmp_path, api) as t:
        await t.say(facts(1)[0])
        made, compacted, _ = await t.companion.worker.run_now(t.id)
        assert (made, compacted.committed) == (1, 1)
        assert {Progress(began=CycleKind.OBSERVER), Progress(ended=CycleKind.OBSERVER)} <= {
            *t.progress
        }
        assert not any(p.count for p in t.progress)


async def test_a_title_by_rule_does_for_a_talk_without_one(tmp_path: Path, api: FakeApi) -> None:
    """The model's stays when the extractive worker takes a later batch."""
    async with talking(tmp_path, api) as t:
        await t.say("My sister Rosa lives in Porto.")
        await t.companion.worker.run_now(t.id)
        before = await t.companion.store.call(get_conversation, t.id)
        api.fail("observer", faults.http(500), times=None)
        await t.say("I moved to Lisbon last week.")
        await t.companion.worker.run_now(t.id)
        after = await t.companion.store.call(get_conversation, t.id)
        assert before.title == after.title == "My sister Rosa lives in Porto."


@pytest.mark.both_protocols
async def test_every_worker_call_is_booked_by_purpose(tmp_path: Path, api: FakeApi) -> None:
    """The usage table has a row for each call, with the cycle that made it."""
    async with talking(tmp_path, api, **LOW) as t:
        await t.live(low_facts(20))
        booked = await t.companion.store.call(
            lambda db: db.execute(
                "SELECT purpose, count(*), count(cycle_id), sum(cost_usd) > 0 FROM usage GROUP BY 1"
            ).fetchall()
        )
    assert booked == [
        ("chat", len(api.of("chat")), 0, 1),
        ("graph", len(api.of("graph")), len(api.of("graph")), 1),
        ("observer", len(api.of("observer")), len(api.of("observer")), 1),
        ("reflector", len(api.of("reflector")), len(api.of("reflector")), 1),
        ("verifier", len(api.of("verifier")), len(api.of("verifier")), 1),
    ]


async def test_what_was_left_is_observed_in_the_next_talk(tmp_path: Path, api: FakeApi) -> None:
    """A short talk is observed and compacted after it is left.

    The next talk knows it.
    """
    async with talking(tmp_path, api) as t:
        for text in facts(8):
            await t.say(text)
        await t.companion.worker.run_due(t.id)
        assert not api.of("observer")
        await t.companion.worker.run_due(t.id, leaving=True)
        await observed_once(t)
        now = to_text(t.companion.settings.clock.now())
        other = await t.companion.store.call(create_conversation, now)
        await t.responder.turn(other, "What is the code of locker 3?", t.heard.append)
    assert "1003" in json.dumps(api.of("chat")[-1].body)


@pytest.mark.parametrize(
    "last", ["2026-02-20", "2026-04-01"], ids=["long ago", "by a clock that was ahead"]
)
async def test_pending_observations_of_a_talk_that_was_left_are_committed(
    tmp_path: Path, api: FakeApi, last: str
) -> None:
    """A talk that is observed but not compacted is committed once it is cold.

    It was left by `ask --new`.
    """
    async with talking(
        tmp_path, api, CONSTRUCT_OBSERVER_THRESHOLD="300", CONSTRUCT_NOW="2026-03-01T10:00Z"
    ) as t:
        await t.live(facts(6))
        store = t.companion.store
        assert await store.call(rows.pending, t.id)
        left = f"UPDATE conversations SET last_request_at = '{last}T10:00:00.000000+00:00'"
        await store.call(lambda db: db.execute(left).rowcount)
        other = await store.call(create_conversation, to_text(t.companion.settings.clock.now()))
        await t.companion.worker.run_due_at_rest(exclude=other)
        assert not await store.call(rows.pending, t.id)
        t.check()


async def test_a_turn_that_begins_meanwhile_is_not_cut(tmp_path: Path, api: FakeApi) -> None:
    """What is said while a cold talk is about to be observed waits for its answer."""
    async with talking(tmp_path, api) as t:
        for text in facts(8):
            await t.say(text)
        long_ago = "UPDATE conversations SET last_request_at = '2026-01-01T10:00:00.000000+00:00'"
        await t.companion.store.call(lambda db: db.execute(long_ago).rowcount)
        await asyncio.gather(t.companion.worker.run_due(t.id), t.say("And now?"))
        ends = "SELECT role FROM cycles AS c JOIN messages AS m ON m.id = c.last_message_id"
        found = await t.companion.store.call(lambda db: db.execute(ends).fetchall())
        assert set(found) <= {
            ("assistant",)
        }  # none, where the turn came first and made the talk warm again
        t.check()


async def test_of_talks_that_were_left_one_may_be_deleted_meanwhile(
    tmp_path: Path, api: FakeApi
) -> None:
    """While the first is observed another process deletes the next.

    Nothing is wrong, and the one behind it is done.
    """
    async with talking(tmp_path, api) as t:
        call = t.companion.store.call
        others = [
            await call(create_conversation, "2026-03-01T10:00:00.000000+00:00") for _ in range(3)
        ]
        for other in others:
            await call(
                add_message,
                other,
                NewMessage("user", "I moved to Porto. " * 80),
                "2026-03-01T10:00:00",
            )

        def observer(body: Json) -> Answer:
            with closing(open_database(t.companion.settings.db)) as db:
                db.execute("DELETE FROM conversations WHERE id = ?", (others[1],))
            return observed(body)

        observed, api.observer = api.observer, observer
        await t.companion.worker.run_due_at_rest()
        assert (await call(get_watermarks, others[2])).observed > 0
        t.check()


async def test_an_undo_while_an_observer_runs_keeps_its_hold(tmp_path: Path, api: FakeApi) -> None:
    """A cycle that fails because of an undo does not make the batch due again."""
    async with talking(tmp_path, api, **LOW) as t:
        await t.live(facts(5))
        store, clock = t.companion.store, t.companion.settings.clock
        for text in facts(5, start=5):
            await t.say(text)
        api.fail("observer", faults.hang(0.5))
        work = asyncio.create_task(t.companion.worker.run_due(t.id))
        before = len(api.of("observer"))
        await asyncio.to_thread(api.wait_for, before + 1, "observer")
        await store.call(undo, clock)
        await work
        api.heal()
        asked = len(api.of("observer"))
        await t.companion.worker.run_due(t.id)
        assert len(api.of("observer")) == asked
        t.check()


async def test_the_panel_counts_what_is_there(tmp_path: Path, api: FakeApi) -> None:
    """The status figures agree with the tables."""
    async with talking(tmp_path, api, **LOW) as t:
        await t.live(facts(12))
        panel = await t.status()
        everything = await t.companion.store.call(rows.unsuperseded)
    active = [o for o in everything if o.state == "active"]
    assert panel.messages.total == 24
    assert panel.observations == Count(len(active), sum(o.token_count for o in active))
    assert panel.pending.count == sum(o.state == "pending" for o in everything)
    assert panel.mode == "passive"


def low_facts(count: int) -> list[str]:
    """Return messages with facts of medium priority: no digit, nothing important."""
    names = ["Ana", "Bruno", "Clara", "Diogo", "Eva", "Filipe", "Gil", "Hugo", "Ines", "Joana"]
    return [
        f"My friend {names[i % 10]} from {names[(i * 3 + i // 10 + 1) % 10]}ville likes long walks "
        "by the sea, and tells stories."
        for i in range(count)
    ]


def test_usage_adds_up() -> None:
    """The prompt's size is what was read, written and neither."""
    assert Usage(1, 2, 3, 4).prompt_tokens == 6
