"""The main model's tools, over the strict fake: rounds, bounds, interrupts."""

import asyncio
import json
import sqlite3
from operator import mul
from pathlib import Path

import pytest

from construct.clock import to_text
from construct.store import cycles, questions
from construct.store.conversations import create_conversation, set_watermark
from construct.store.database import transaction
from construct.store.messages import NewMessage, add_message, exclude_from_requests, messages_of
from construct.store.note_links import messages_behind
from construct.store.observations import kept_on_request
from construct.talk.events import Delta, Noticed, ToolCalled
from tests.memory.builders import Life
from tests.support.fake_api import FakeApi, Reply, faults
from tests.support.talks import LOW, facts, talking

pytestmark = pytest.mark.both_protocols


def call(name: str, **given: object) -> Reply:
    """Return a reply that calls a tool."""
    return Reply("Let me look.", tool_calls=((name, given),))


def last_result(api: FakeApi) -> str:
    """Return what the last tool gave back."""
    blocks = api.of("chat")[-1].body["messages"][-1]["content"]
    return str(next(b["content"] for b in blocks if b["type"] == "tool_result"))


async def test_recall_brings_back_what_left_the_window(tmp_path: Path, api: FakeApi) -> None:
    """The model searches, is given dated passages, and answers.

    The call is one event for the screen.
    """
    async with talking(tmp_path, api, **LOW) as t:
        await t.live(facts(12))
        api.enqueue("chat", call("recall", query="locker 2 code"), "It is 1002.")
        result = await t.say("What was the code of my second locker?")
        assert result.text == "Let me look.\n\nIt is 1002."
        assert "1002" in last_result(api)
        assert [e.summary for e in t.heard if isinstance(e, ToolCalled)] == [
            "recall: locker 2 code"
        ]
        assert (await t.say("Thanks.")).complete
        t.check()


async def test_recall_keeps_to_the_talk_where_only_that_is_in_scope(
    tmp_path: Path, api: FakeApi
) -> None:
    """With CONSTRUCT_SCOPE=conversation what was said in another talk is not found."""
    async with talking(tmp_path, api, CONSTRUCT_SCOPE="conversation") as t:
        now = to_text(t.companion.settings.clock.now())
        other = await t.companion.store.call(create_conversation, now)
        await t.companion.store.call(
            add_message, other, NewMessage("user", "My locker has the code 1002."), now
        )
        api.enqueue("chat", call("recall", query="locker code"), "I do not know.")
        await t.say("What was it?")
    assert last_result(api) == "Nothing was found."
    (recall, *_) = api.of("chat")[-1].body["tools"]
    assert "in this conversation, or kept for good" in recall["description"]


async def test_the_question_is_no_result_of_recall(tmp_path: Path, api: FakeApi) -> None:
    """Its words are all in it, and it says nothing of them.

    Nor does it hide that nobody else has said one of them.
    """
    async with talking(tmp_path, api) as t:
        await t.say("My dentist is in Porto.")
        api.enqueue("chat", call("recall", query="dentisst code"), "I do not know.")
        asked = await t.say("What is the code of my dentisst?")
        found = last_result(api)
        assert "My dentist is in Porto." in found
        assert "What is the code" not in found
        assert (
            "“dentisst” occurs nowhere; “dentist” was searched for instead." in found.splitlines()
        )
        api.enqueue("chat", call("recall", query="dentisst code"), "I do not know.")
        assert (await t.say("And now?")).message_id != asked.message_id
    assert "What is the code" in last_result(api)


async def test_a_retried_question_and_the_reply_it_had_are_no_results(
    tmp_path: Path, api: FakeApi
) -> None:
    """Neither by the tool nor by itself, though it has left the window."""
    async with talking(tmp_path, api) as t:
        api.enqueue("chat", "A zeppelin over Guarda?")
        await t.say("Which zeppelin flew over Guarda?")
        messages = await t.companion.store.call(messages_of, t.id)
        now = to_text(t.companion.settings.clock.now())
        await t.companion.store.call(set_watermark, t.id, "window", messages[-1].id, now)
        api.enqueue("chat", call("recall", query="zeppelin Guarda"), "I do not know.")
        await t.responder.retry(t.id, t.heard.append)
    assert last_result(api) == "Nothing was found."
    assert "<ambient>" in json.dumps(api.of("chat")[-1].body)
    assert (
        "zeppelin flew"
        not in json.dumps(api.of("chat")[-1].body).split("<ambient>")[1].split("</ambient>")[0]
    )


@pytest.mark.parametrize("by", ["user", "assistant"])
async def test_recall_can_be_narrowed_to_whose_words(tmp_path: Path, api: FakeApi, by: str) -> None:
    """To the user's or to the assistant's own."""
    async with talking(tmp_path, api) as t:
        api.enqueue("chat", "The ferry is late, they say.")
        await t.say("The ferry to Seixal is blue.")
        api.enqueue("chat", call("recall", query="ferry", by=by), "It is.")
        await t.say("Is it?")
    (line,) = [line for line in last_result(api).splitlines() if "ferry" in line.lower()]
    assert f" {by}: " in line


async def test_a_loose_match_says_what_that_means(tmp_path: Path, api: FakeApi) -> None:
    """To the model too."""
    async with talking(tmp_path, api) as t:
        await t.say("The tandem needs a chain.")
        api.enqueue("chat", call("recall", query="tandem wheels spokes repair"), "No.")
        await t.say("And?")
    assert "loose match" in last_result(api)


async def test_days_ago_are_counted_from_the_turn(tmp_path: Path, api: FakeApi) -> None:
    """Of two days with as much text the one that is meant comes first.

    It is not the newest.
    """
    api.enqueue("chat", call("recall", query="lighthouse five days ago"), "It was shut.")
    async with talking(
        tmp_path, api, CONSTRUCT_NOW="2026-03-10T12:00:00+00:00", CONSTRUCT_TZ="UTC"
    ) as t:
        for day, words in (("05", "The lighthouse was shut."), ("08", "The lighthouse was open.")):
            said = NewMessage("user", words)
            await t.companion.store.call(add_message, t.id, said, f"2026-03-{day}T09:00:00+00:00")
        await t.say("What was it like then?")
    assert "was shut" in last_result(api).splitlines()[0]


async def test_source_gives_the_users_time(tmp_path: Path, api: FakeApi) -> None:
    """Like every other time in a request."""
    life = Life(tmp_path, "construct.db")
    life.learn(life.talk(), "My passport is QX77")
    life.db.close()
    api.enqueue("chat", call("source", id="1"), "On Sunday.")
    async with talking(tmp_path, api, CONSTRUCT_TZ="Asia/Tokyo") as t:
        await t.say("When did I say that?")
    assert '- message:1, 2026-03-01 18:02, user: "My passport is QX77"' in last_result(api)


async def test_source_opens_the_neighbours_of_a_message(tmp_path: Path, api: FakeApi) -> None:
    """What was said around a message that recall found, but not the question itself."""
    async with talking(tmp_path, api) as t:
        api.enqueue("chat", "Which one?", "Lisbon is lovely.")
        await t.say("I moved again.")
        await t.say("To Lisbon.")
        api.enqueue("chat", call("source", id="message:2"), call("agenda"), "You moved.")
        await t.say("What was that?")
        source, agenda = (r.body["messages"][-1]["content"][0] for r in api.of("chat")[-2:])
    lines = source["content"].splitlines()
    texts = [line.split(": ", 1)[1] for line in lines if line.startswith("- ")]
    assert texts == ['"I moved again."', '"Which one?"', '"To Lisbon."', '"Lisbon is lovely."']
    assert agenda["content"] == "Nothing is on the agenda."


async def test_recall_says_what_it_could_not_search_yet(tmp_path: Path, api: FakeApi) -> None:
    """While not all is indexed, the result says so; an odd word is found all the same."""
    api.enqueue("chat", "Nice.", call("recall", query="locker code"), "I am still reading.")
    async with talking(tmp_path, api) as t:
        await t.say("My locker has the code 1002.")
        for statement in (
            "INSERT INTO meta (name, value) VALUES ('unindexed', 1)",
            "INSERT INTO messages_fts(messages_fts) VALUES ('delete-all')",
        ):
            await t.companion.store.call(sqlite3.Connection.execute, statement)
        await t.say("What was it?")
    found, *_, left = last_result(api).splitlines()
    assert found.endswith("message, has locker code, user: My locker has the code 1002.")
    assert left == "(Imported messages not searched yet: 2.)"


async def test_what_is_heard_is_the_reply(tmp_path: Path, api: FakeApi) -> None:
    """The text of two rounds does not run together for the listener."""
    api.enqueue("chat", call("recall", query="tea"), call("recall", query="cake"), "Nothing.")
    async with talking(tmp_path, api) as t:
        result = await t.say("Tea, or cake?")
    assert (
        "".join(e.text for e in t.heard if isinstance(e, Delta))
        == result.text
        == "Let me look.\n\n" * 2 + "Nothing."
    )


async def test_remember_stores_a_memory(tmp_path: Path, api: FakeApi) -> None:
    """What the model keeps is a note with origin assistant that rests on what was said.

    The same again is not written twice.
    """
    api.enqueue(
        "chat",
        call("remember", content="User's sister is called Ana.", category="person"),
        "Noted.",
        call("remember", content="User's sister is called Ana"),
        "I know.",
    )
    async with talking(tmp_path, api) as t:
        await t.say("Remember that my sister is called Ana.")
        await t.say("Remember it well.")
        kept = await t.companion.store.call(kept_on_request)
        behind = await t.companion.store.call(messages_behind, [kept[0].id])
    assert [(o.content, o.category, o.origin) for o in kept] == [
        ("User's sister is called Ana.", "person", "assistant")
    ]
    assert [m.content for m in behind] == ["Remember that my sister is called Ana."]
    told = [event.text for event in t.heard if isinstance(event, Noticed)]
    assert told == ["Kept as 1: User's sister is called Ana."]
    assert last_result(api) == "Already noted as 1: User's sister is called Ana."


async def test_read_only_memory_stores_nothing(tmp_path: Path, api: FakeApi) -> None:
    """With CONSTRUCT_MEMORY=read-only the tool says so."""
    api.enqueue("chat", call("remember", content="Something."), "I cannot keep it.")
    async with talking(tmp_path, api, CONSTRUCT_MEMORY="read-only") as t:
        await t.say("Remember this.")
        assert not await t.companion.store.call(kept_on_request)
    assert "read-only" in last_result(api)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("recall", {"query": "  "}),
        ("recall", {}),
        ("recall", {"query": "x", "since": "never"}),
        ("recall", {"query": "x", "by": "mother"}),
        ("source", {"id": 99}),
        ("source", {"id": "many"}),
        ("source", {"id": 10**30}),
        ("forget", {"id": 1}),
        ("unheard_of", {"a": 1}),
        ("remember", {"content": ""}),
        ("remember", {"content": ["User is tall"]}),
        ("remember", {"content": "User is tall", "category": 3}),
    ],
)
async def test_a_wrong_call_is_answered(
    tmp_path: Path, api: FakeApi, name: str, given: dict[str, object]
) -> None:
    """Whatever the model calls, it is told what is wrong, and the turn goes on."""
    api.enqueue("chat", call(name, **given), "Never mind.")
    async with talking(tmp_path, api) as t:
        assert (await t.say("Try it.")).complete
    assert last_result(api)


async def test_rounds_are_bounded(tmp_path: Path, api: FakeApi) -> None:
    """A model that never stops calling tools is stopped.

    The history stays well-formed.
    """
    api.chat = lambda body: call("recall", query="again")
    async with talking(tmp_path, api) as t:
        result = await t.say("Loop.")
        assert not result.complete
        api.chat = lambda body: "Done."
        assert (await t.say("Stop.")).complete
    assert len(api.of("chat")) < 12
    assert {r.status for r in api.of("chat")} == {200}


async def test_each_round_is_priced_by_itself(tmp_path: Path, api: FakeApi) -> None:
    """The price of a long prompt is not that of several short ones."""
    api.enqueue("chat", call("recall", query="codes"), "None.")
    async with talking(tmp_path, api, CONSTRUCT_MODEL="claude-haiku-5-5") as t:
        await t.say("word " * 50_000)
        row = await t.companion.store.call(
            lambda db: db.execute(
                """SELECT cost_usd, input_tokens, cache_write_tokens, cache_read_tokens,
                   output_tokens FROM usage WHERE purpose = 'chat'"""
            ).fetchone()
        )
    cost, *tokens = row
    assert sum(tokens) > 100_000
    prices = (0.10, 0.125, 0.01, 0.50)
    assert cost == pytest.approx(sum(map(mul, tokens, prices)) / 1_000_000)


async def test_an_interrupt_between_rounds_leaves_a_sound_history(
    tmp_path: Path, api: FakeApi
) -> None:
    """After an interrupt between rounds the next request is accepted.

    What came is kept.
    """
    api.enqueue(
        "chat",
        call("recall", query="locker"),
        Reply("one two three", chunk_delay=0.2, chunk_size=4),
    )
    async with talking(tmp_path, api) as t:
        turn = asyncio.create_task(t.say("Look."))
        while not any(isinstance(e, ToolCalled) for e in t.heard):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        kept = (await t.companion.store.call(messages_of, t.id))[-1]
        assert kept.status == "interrupted"
        assert json.loads(kept.blocks or "[]")
        assert (await t.say("Go on.")).complete
    assert {r.status for r in api.of("chat")} == {200}


async def test_a_broken_second_round_keeps_the_first(tmp_path: Path, api: FakeApi) -> None:
    """When the connection drops after a tool ran, its round is kept."""
    api.enqueue("chat", call("recall", query="locker"))
    async with talking(tmp_path, api) as t:
        turn = asyncio.create_task(t.say("Look."))
        while not t.heard:
            await asyncio.sleep(0.01)
        api.fail("chat", faults.drop_before(), times=None)
        result = await turn
        api.heal()
        assert result.error is not None or result.complete
        assert (await t.say("And now?")).complete
    assert {r.status for r in api.of("chat") if r.status} <= {200}


async def test_what_is_to_be_forgotten_is_given_to_no_model(tmp_path: Path, api: FakeApi) -> None:
    """Not even while its own conversation still has it in its window."""
    async with talking(tmp_path, api, CONSTRUCT_OBSERVER_THRESHOLD="1") as t:
        await t.say("My sister Zenobia lives in Trieste.")
        await t.companion.worker.run_now(t.id)

        def ask_to_forget(db: sqlite3.Connection) -> None:
            with transaction(db):
                cycle = cycles.start_cycle(db, "observer", t.id, "2026-03-01", span=(1, 2))
                assert cycle is not None
                cycles.finish_cycle(db, cycle, "succeeded", "2026-03-01")
                questions.add_forget(db, cycle, [1], [], "2026-03-01")
                questions.withhold_committed(db, t.id, "2026-03-01")

        await t.companion.store.call(ask_to_forget)
        for tool in (call("source", id="1"), call("recall", query="Zenobia")):
            api.enqueue("chat", tool, "I do not know.")
            await t.say("Where from?")
            assert "Trieste" not in last_result(api)


async def test_source_keeps_to_the_scope(tmp_path: Path, api: FakeApi) -> None:
    """With the scope `conversation`, an id from another conversation is not known."""
    async with talking(tmp_path, api, CONSTRUCT_SCOPE="conversation") as t:
        await t.say("My sister Zenobia lives in Trieste.")
        await t.companion.worker.run_now(t.id)
        now = to_text(t.companion.settings.clock.now())
        t.id = await t.companion.store.call(create_conversation, now)
        api.enqueue("chat", call("source", id="1"), "I do not know.")
        await t.say("Where from?")
        assert last_result(api) == "1 does not exist, or cannot be read here."


async def test_source_leaves_out_what_was_dropped(tmp_path: Path, api: FakeApi) -> None:
    """As every request does."""
    async with talking(tmp_path, api, CONSTRUCT_OBSERVER_THRESHOLD="1") as t:
        await t.say("My sister Zenobia lives in Trieste.")
        await t.companion.worker.run_now(t.id)
        api.enqueue("chat", call("source", id="1"), "Trieste.")
        await t.say("Where from?")
        said = '"My sister Zenobia lives in Trieste."'
        assert said in last_result(api)
        await t.companion.store.call(exclude_from_requests, [1], "dropped")
        api.enqueue("chat", call("source", id="1"), "I do not know.")
        await t.say("Where from?")
        assert said not in last_result(api)
