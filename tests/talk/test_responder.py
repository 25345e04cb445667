"""One turn of the talk, against the strict fake over HTTP."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from construct.attachments import Attachment
from construct.errors import ConstructError, ModelRejectedError
from construct.llm.reply_stream import ServerStream
from construct.llm.types import ToolUse
from construct.memory.forgetting import delete_conversation
from construct.memory.request_builder import RequestBuilder
from construct.memory.shown.forks import fork
from construct.memory.tools import ToolBox
from construct.store.conversations import create_conversation
from construct.store.messages import messages_of
from construct.store.search import Filters
from construct.store.usage import usage_lines
from construct.talk.companion import Companion
from construct.talk.events import Delta, ToolCalled, Waiting
from construct.talk.ledger import Ledger
from construct.talk.private_ledger import PrivateLedger
from construct.talk.stored_ledger import StoredLedger
from tests.memory.recall.hits import search
from tests.support.fake_api import FakeApi, Reply, faults
from tests.support.fake_types import Answer, Answerer, Json
from tests.support.talks import LOW, facts, talking, talking_in

Kind = Callable[[Companion], Ledger]
BOTH = pytest.mark.parametrize("ledger", [StoredLedger, PrivateLedger], ids=["stored", "private"])
"""Private talk answers, fails, retries and drops as stored talk does."""


def texts(request: object) -> list[str]:
    """Return the texts of a recorded chat request's messages."""
    body = request.body  # type: ignore[attr-defined]
    return [
        block["text"]
        for message in body["messages"]
        for block in message["content"]
        if block["type"] == "text"
    ]


@pytest.mark.both_protocols
@BOTH
async def test_a_turn_stores_both_sides_and_the_usage(
    tmp_path: Path, api: FakeApi, ledger: Kind
) -> None:
    """The user's words, the reply and the usage of the call are stored."""
    api.enqueue("chat", "Hello, Ana.")
    async with talking_in(ledger, tmp_path, api) as t:
        result = await t.say("I am Ana.")
        messages = await t.said()
        booked = await t.companion.store.call(
            lambda db: db.execute("SELECT purpose, model FROM usage").fetchall()
        )
    assert (result.text, result.stop_reason, result.complete) == ("Hello, Ana.", "end_turn", True)
    assert [(m.role, m.content, m.status) for m in messages] == [
        ("user", "I am Ana.", "complete"),
        ("assistant", "Hello, Ana.", "complete"),
    ]
    assert booked == [("chat", "claude-sonnet-5-5")]
    assert "".join(e.text for e in t.heard if isinstance(e, Delta)) == "Hello, Ana."


@BOTH
async def test_the_users_words_are_stored_before_anything_is_sent(
    tmp_path: Path, api: FakeApi, ledger: Kind
) -> None:
    """When the model fails, the message is there, and the next request holds it."""
    api.fail("chat", faults.http(401))
    async with talking_in(ledger, tmp_path, api) as t:
        result = await t.say("Do not lose this.")
        assert isinstance(result.error, ModelRejectedError)
        assert result.message_id is None
        again = await t.say("And this.")
    assert again.complete
    assert texts(api.of("chat")[-1])[:2] == ["Do not lose this.", "And this."]


@pytest.mark.both_protocols
@BOTH
@pytest.mark.parametrize(
    "fault",
    [
        faults.drop_during(after=3),
        faults.silent_end(after=3),
        faults.sse_error(after=3),
    ],
    ids=["drop", "silent end", "sse error"],
)
async def test_what_came_of_a_broken_reply_is_kept_and_marked(
    tmp_path: Path, api: FakeApi, fault: faults.Fault, ledger: Kind
) -> None:
    """A reply that breaks off is stored as interrupted.

    The next request is well-formed.
    """
    api.fail("chat", fault)
    async with talking_in(ledger, tmp_path, api) as t:
        result = await t.say("Tell me a story.")
        assert not result.complete
        kept = (await t.said())[-1]
        assert (kept.role, kept.status, kept.content) == ("assistant", "interrupted", result.text)
        assert (await t.say("Go on.")).complete
    assert [r.status for r in api.of("chat")] == [200, 200]


@pytest.mark.both_protocols
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 500])
async def test_a_failed_request_leaves_the_talk_going(
    tmp_path: Path, api: FakeApi, status: int
) -> None:
    """Every rejected request becomes a named error, and the turn after it works."""
    api.fail("chat", faults.http(status), times=3)
    async with talking(tmp_path, api) as t:
        assert (await t.say("Hi.")).error is not None
        api.heal()
        assert (await t.say("Hi again.")).complete
        t.check()


@pytest.mark.both_protocols
@BOTH
async def test_a_refused_reply_is_marked(tmp_path: Path, api: FakeApi, ledger: Kind) -> None:
    """A refusal is kept as far as it came, and is not complete."""
    api.fail("chat", faults.refusal("I cannot"))
    async with talking_in(ledger, tmp_path, api) as t:
        result = await t.say("Something bad.")
        kept = (await t.said())[-1]
    assert not result.complete
    assert (kept.status, kept.stop_reason) == ("interrupted", "refusal")


async def test_a_refused_message_is_left_out_of_every_request(tmp_path: Path, api: FakeApi) -> None:
    """With what came of its reply.

    Neither the talk nor the observer nor recall sends it. The user still finds it.
    """
    async with talking(tmp_path, api) as t:
        await t.say("I have a dog called Bruno.")
        api.fail("chat", faults.refusal("I cannot"))
        refused = await t.say("Poison the zanzibar dog.")
        assert (refused.complete, refused.left_out) == (False, True)
        assert (await t.say("Never mind.")).complete
        elsewhere = await t.companion.store.call(create_conversation, "2026-03-01T00:00:00+00:00")
        await t.responder.turn(elsewhere, "What about the zanzibar dog?", t.heard.append)
        await t.companion.worker.run_now(t.id)
        tools = ToolBox(t.companion.store, t.companion.memory_config, elsewhere, learns=True)
        found = await tools.use(ToolUse("t1", "recall", {"query": "zanzibar poison"}))
        t.check()
        status = await t.status()
        hits = await t.companion.store.call(search, "poison zanzibar", Filters(), 5)
    assert len(api.of("chat")) == 4
    assert api.of("observer")
    for sent in (api.of("chat")[2], api.of("chat")[3], *api.of("observer")):
        assert "Poison" not in json.dumps(sent.body)
        assert "I cannot" not in json.dumps(sent.body)
    assert "Poison" not in found.content
    assert next(hit.text for hit in hits if hit.role == "user") == "Poison the zanzibar dog."
    assert status.messages.total == 6


@BOTH
async def test_a_refused_message_can_be_asked_again(
    tmp_path: Path, api: FakeApi, ledger: Kind
) -> None:
    """Answered, it goes along again.

    A refusal of words that have their reply takes nothing out.
    """
    async with talking_in(ledger, tmp_path, api) as t:
        api.fail("chat", faults.refusal("I cannot"), times=2)
        await t.say("Tell me of Bruno.")
        again = await t.retry()
        assert again.left_out
        api.enqueue("chat", "A dog.")
        again = await t.retry()
        assert again.complete
        api.fail("chat", faults.refusal())
        again = await t.retry()
        assert not again.left_out
        await t.say("Good.")
    assert [*map(len, (one.body["messages"] for one in api.of("chat")))] == [1, 1, 1, 1, 3]
    assert texts(api.of("chat")[-1])[:2] == ["Tell me of Bruno.", "A dog."]


@BOTH
@pytest.mark.parametrize(
    "failures",
    [
        (faults.silent_end(after=2), faults.refusal()),
        (faults.refusal(), faults.silent_end(after=2)),
    ],
    ids=["refused again", "broken off again"],
)
async def test_a_partial_reply_is_left_out_with_its_question(
    tmp_path: Path, api: FakeApi, failures: tuple[faults.Fault, faults.Fault], ledger: Kind
) -> None:
    """Whichever attempt was refused: alone it would seem to answer the message before."""
    api.enqueue("chat", Reply("Bruno is a dog, I think.", chunk_size=4))
    async with talking_in(ledger, tmp_path, api) as t:
        api.fail("chat", failures[0])
        await t.say("Tell me of Bruno.")
        api.fail("chat", failures[1])
        await t.retry()
        await t.say("Good.")
    assert texts(api.of("chat")[-1])[0] == "Good."


async def test_a_message_resent_from_before_the_fork_is_no_evidence_for_itself(
    tmp_path: Path, api: FakeApi
) -> None:
    """Neither the message nor the reply that it had is recalled."""
    async with talking(tmp_path, api) as t:
        for number in range(6):
            await t.say(f"Today I repaired fence number {number}.")
        api.enqueue("chat", "The Kowalczyk dynamo needs 48 volts.")
        await t.say("How many volts does the Kowalczyk dynamo need?")
        t.id = await t.companion.store.call(fork, t.id, t.companion.settings.clock)
        await t.retry()
    sent = "\n".join(texts(api.of("chat")[-1]))
    assert sent.count("Kowalczyk") == 1


async def test_a_refused_message_stays_left_out_when_it_is_sent_anew(
    tmp_path: Path, api: FakeApi
) -> None:
    """After the observer has passed it, a retry is a new message; it may fail."""
    async with talking(tmp_path, api) as t:
        await t.say("I have a dog called Bruno.")
        api.fail("chat", faults.refusal("I cannot"))
        await t.say("Poison.")
        await t.companion.worker.run_now(t.id)
        api.fail("chat", faults.http(401))
        again = await t.retry()
        assert again.left_out
        await t.say("Good.")
    assert "Poison" not in str(texts(api.of("chat")[-1]))


async def test_what_is_answered_after_the_observer_passed_it_is_observed(
    tmp_path: Path, api: FakeApi
) -> None:
    """It is said anew."""
    async with talking(tmp_path, api) as t:
        await t.say("I have a dog called Bruno.")
        api.fail("chat", faults.refusal("I cannot"))
        await t.say("My sister Zenobia lives in Trieste.")
        await t.companion.worker.run_now(t.id)
        again = await t.retry()
        assert again.complete
        await t.companion.worker.run_now(t.id)
    assert "Zenobia" in json.dumps([one.body for one in api.of("observer")])


@BOTH
@pytest.mark.parametrize(
    "fault", [faults.http(401), faults.drop_during(2)], ids=["the key", "the network"]
)
async def test_a_failed_message_goes_along_until_it_is_dropped(
    tmp_path: Path, api: FakeApi, fault: faults.Fault, ledger: Kind
) -> None:
    """A dropped message is no longer sent, nor what came of its reply.

    All other messages are still sent.
    """
    async with talking_in(ledger, tmp_path, api) as t:
        await t.say("One.")
        api.fail("chat", fault, times=3)
        assert (await t.say("Wrongheaded.")).error is not None
        api.heal()
        api.enqueue("chat", "Fine.", "Good.")
        await t.say("Two.")
        assert "Wrongheaded" in str(texts(api.of("chat")[-1]))
        assert await t.drop() == "Wrongheaded."
        assert await t.drop() is None
        await t.say("Three.")
        sent = texts(api.of("chat")[-1])
        assert "Wrongheaded" not in str(sent)
        assert [text for text in sent if text in {"One.", "Two.", "Three."}] == [
            "One.",
            "Two.",
            "Three.",
        ]
        t.check()


async def test_a_dropped_message_is_still_found(tmp_path: Path, api: FakeApi) -> None:
    """It and what came of its reply are stored, and marked."""
    api.fail("chat", faults.drop_during(2))
    async with talking(tmp_path, api) as t:
        await t.say("Wrongheaded.")
        await t.drop()
        hits = await t.companion.store.call(search, "wrongheaded", Filters(), 5)
        assert [m.left_out for m in await t.said()] == ["dropped", "dropped"]
    assert "Wrongheaded." in [hit.text for hit in hits]


@BOTH
async def test_an_empty_reply_leaves_no_blank_block(
    tmp_path: Path, api: FakeApi, ledger: Kind
) -> None:
    """A reply without words is not stored, and the next request has no empty block."""
    api.enqueue("chat", Reply(""))
    async with talking_in(ledger, tmp_path, api) as t:
        assert (await t.say("Hm.")).message_id is None
        assert (await t.say("Well?")).complete


@pytest.mark.both_protocols
@BOTH
async def test_cancelling_keeps_what_arrived(tmp_path: Path, api: FakeApi, ledger: Kind) -> None:
    """A cancelled turn keeps the text so far, marked, and raises the cancellation."""
    api.enqueue(
        "chat", Reply("one two three four five six seven eight", chunk_delay=0.1, chunk_size=6)
    )
    async with talking_in(ledger, tmp_path, api) as t:
        turn = asyncio.create_task(t.say("Count."))
        while not any(isinstance(event, Delta) for event in t.heard):
            await asyncio.sleep(0.01)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        kept = (await t.said())[-1]
        assert kept.status == "interrupted"
        assert kept.content
        assert "one two three four five six seven eight".startswith(kept.content)
        assert (await t.say("Go on.")).complete
    assert any("[The reply was interrupted here.]" in text for text in texts(api.of("chat")[-1]))


@pytest.mark.both_protocols
async def test_cancelling_a_tool_keeps_what_was_said_before(tmp_path: Path, api: FakeApi) -> None:
    """The words before a tool call that never ended are stored, without the call."""
    api.enqueue("chat", Reply("Let me look.", tool_calls=(("recall", {"query": "x"}),)))
    async with talking(tmp_path, api) as t:

        def listen(event: object) -> None:
            if isinstance(event, ToolCalled):
                turn.cancel()

        turn = asyncio.create_task(t.responder.turn(t.id, "Look.", listen))
        with pytest.raises(asyncio.CancelledError):
            await turn
        kept = (await t.companion.store.call(messages_of, t.id))[-1]
        assert (kept.content, kept.status) == ("Let me look.", "interrupted")
        assert (await t.say("Go on.")).complete


async def test_cancelling_at_the_very_end_keeps_the_reply(
    tmp_path: Path, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reply is kept even if the user interrupts while its connection is closed."""
    close = ServerStream.aclose

    async def interrupted(stream: ServerStream) -> None:
        turn.cancel()
        await close(stream)

    monkeypatch.setattr(ServerStream, "aclose", interrupted)
    api.enqueue("chat", "A whole answer.")
    async with talking(tmp_path, api) as t:
        turn = asyncio.create_task(t.say("Look."))
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert (await t.companion.store.call(messages_of, t.id))[-1].content == "A whole answer."


@BOTH
async def test_usage_of_failed_attempts_counts(tmp_path: Path, api: FakeApi, ledger: Kind) -> None:
    """What a server has counted before it broke off is paid for too."""
    api.fail("chat", faults.drop_during(0))
    async with talking_in(ledger, tmp_path, api) as t:
        result = await t.say("Look. " * 50)
        (stored,) = await t.companion.store.call(usage_lines)
    assert result.complete
    first, second = (request.usage for request in api.of("chat"))
    assert first is not None
    assert second is not None
    assert stored.cache_write_tokens == first.cache_written + second.cache_written > 0
    assert stored.input_tokens == first.input_tokens + second.input_tokens


@BOTH
async def test_a_retry_that_fails_before_it_begins_keeps_the_words(
    tmp_path: Path, api: FakeApi, monkeypatch: pytest.MonkeyPatch, ledger: Kind
) -> None:
    """A message without a reply is kept if the retry fails before it begins."""
    async with talking_in(ledger, tmp_path, api) as t:
        api.fail("chat", faults.http(400))
        await t.say("Secret words.")

        def fail(*_: object) -> None:
            raise ConstructError("The database is locked.")

        monkeypatch.setattr(RequestBuilder, "_assemble", fail)
        with pytest.raises(ConstructError):
            await t.retry()
        assert [m.content for m in await t.said()] == ["Secret words."]


@pytest.mark.both_protocols
@BOTH
async def test_retry_asks_again_and_hides_the_first_reply(
    tmp_path: Path, api: FakeApi, ledger: Kind
) -> None:
    """The same words are sent again without the earlier reply."""
    api.enqueue("chat", "First.", "Second.")
    async with talking_in(ledger, tmp_path, api) as t:
        await t.say("Tell me.")
        again = await t.retry()
        messages = await t.said()
        await t.say("Thanks.")
    assert again.text == "Second."
    assert [m.content for m in messages] == ["Tell me.", "Second."]
    assert texts(api.of("chat")[1])[0] == "Tell me."
    assert "First." not in texts(api.of("chat")[2])


@pytest.mark.both_protocols
@BOTH
async def test_other_words_replace_the_last_message(
    tmp_path: Path, api: FakeApi, ledger: Kind
) -> None:
    """The first version and its reply are sent no more, to the model and to the observer."""
    api.enqueue("chat", "Which wine?", "A fine city.")
    async with talking_in(ledger, tmp_path, api) as t:
        assert await t.responder.rephrase(t.id, "Porto.", t.heard.append) is None
        await t.say("Tell me of port.")
        again = await t.responder.rephrase(t.id, "Tell me of Porto.", t.heard.append)
        assert again is not None
        assert again.text == "A fine city."
        assert [(m.content, m.left_out) for m in await t.said()] == [
            ("Tell me of port.", "dropped"),
            ("Which wine?", "dropped"),
            ("Tell me of Porto.", None),
            ("A fine city.", None),
        ]
        await t.say("Thanks.")
        t.check()
    for request in api.of("chat")[1:]:
        assert "of port." not in request.texts
        assert "wine" not in request.texts


async def test_other_words_keep_the_attachments(tmp_path: Path, api: FakeApi) -> None:
    """And a paste in the new words is marked as one."""
    files = [Attachment("note.txt", "text/plain", b"The ferry leaves at nine.")]
    async with talking(tmp_path, api) as t:
        await t.responder.turn(t.id, "Read thsi.", t.heard.append, files)
        await t.responder.rephrase(t.id, "Read this.\n\nNo.", t.heard.append, pasted=[(12, 15)])
        newest = [m for m in await t.said() if m.role == "user"][-1]
    assert newest.attached == "[text: note.txt]"
    assert newest.pasted == "[[12, 15]]"
    assert "leaves at nine" in api.of("chat")[-1].texts


@BOTH
@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        (None, faults.http(401), "First words, whole."),
        (None, faults.silent_end(after=2), "First words, whole."),
        (None, faults.refusal("No"), "First words, whole."),
        (faults.silent_end(after=1), faults.silent_end(after=2), "Second w"),
        (faults.silent_end(after=1), None, "Second words."),
    ],
    ids=["failed", "broken", "refused", "both broken", "only the first broken"],
)
async def test_retry_leaves_the_better_reply_in_sight(
    tmp_path: Path,
    api: FakeApi,
    first: faults.Fault | None,
    second: faults.Fault | None,
    shown: str,
    ledger: Kind,
) -> None:
    """Only another whole reply replaces a whole one, anything a broken one."""
    api.enqueue(
        "chat", Reply("First words, whole.", chunk_size=4), Reply("Second words.", chunk_size=4)
    )
    async with talking_in(ledger, tmp_path, api) as t:
        if first is not None:
            api.fail("chat", first)
        await t.say("Tell me.")
        if second is not None:
            api.fail("chat", second)
        await t.retry()
        assert [m.content for m in await t.said()] == ["Tell me.", shown]
        assert texts(api.of("chat")[1])[0] == "Tell me."
        assert "First" not in "".join(texts(api.of("chat")[1]))
        t.check()


async def test_memory_off_sends_the_recent_messages_alone(tmp_path: Path, api: FakeApi) -> None:
    """With memory off only the last messages are sent, and nothing is learned."""
    async with talking(
        tmp_path, api, CONSTRUCT_MEMORY="off", CONSTRUCT_RECENT_MESSAGES="4", **LOW
    ) as t:
        for text in facts(6):
            await t.say(text)
    last = api.of("chat")[-1].body
    assert [m["role"] for m in last["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert texts(api.of("chat")[-1])[0] == "[Earlier messages are not shown.]"
    assert "<observations>" not in json.dumps(last["messages"])
    assert not api.of("observer")


@pytest.mark.both_protocols
async def test_a_full_window_waits_for_the_observer(tmp_path: Path, api: FakeApi) -> None:
    """Past the block-after limit the turn waits, then sends a shorter request.

    The user sees that it waits.
    """
    async with talking(tmp_path, api, **LOW) as t:
        for text in facts(14):
            await t.say(text)
        assert any(isinstance(event, Waiting) for event in t.heard)
        assert api.of("observer")
        t.check()


class Held:
    """A worker's model that answers only once it may."""

    def __init__(self, answer: Answerer) -> None:
        self.asked, self.may = threading.Event(), threading.Event()
        self._answer = answer

    def __call__(self, body: Json) -> Answer:
        """Wait, then answer."""
        self.asked.set()
        self.may.wait(20)
        return self._answer(body)


async def test_words_are_not_lost_to_the_wait(tmp_path: Path, api: FakeApi) -> None:
    """A message is stored even if its turn is interrupted before the request.

    The turn was waiting for the observer. The message can be answered later.
    """
    async with talking(tmp_path, api, **LOW) as t:
        await t.say("My words fill the window. " * 200)
        api.observer = held = Held(api.observer)
        turn = asyncio.create_task(t.say("These words count. " * 60))
        await asyncio.to_thread(held.asked.wait, 20)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        held.may.set()
        last = (await t.companion.store.call(messages_of, t.id))[-1]
        assert last.content.startswith("These words count.")
        again = await t.retry()
        assert again.complete
        t.check()


async def test_a_waiting_turn_waits_for_no_reflection(tmp_path: Path, api: FakeApi) -> None:
    """A turn past the limit is answered while a reflection still runs."""
    async with talking(tmp_path, api, **LOW) as t:
        await t.live(facts(4))
        api.reflector = held = Held(api.reflector)
        working = asyncio.create_task(t.companion.worker.run_now(t.id))
        await asyncio.to_thread(held.asked.wait, 20)
        for text in ("My words fill the window. " * 200, "And these are answered."):
            assert (await t.say(text)).complete
        assert any(isinstance(event, Waiting) for event in t.heard)
        assert not working.done()
        held.may.set()
        await working
        t.check()


async def test_a_waiting_turn_asks_for_no_more_than_it_needs(tmp_path: Path, api: FakeApi) -> None:
    """When reading the oldest batch has made room enough, the turn goes on.

    The rest is read beside it.
    """
    limit = {
        "CONSTRUCT_COMPACT_THRESHOLD": "16400",
        "CONSTRUCT_BLOCK_AFTER": "1",
        "CONSTRUCT_RETAIN": "0.1",
    }
    async with talking(tmp_path, api, **limit) as t:
        for count in (2200, 360):  # tokens: 14,300 and 2,340, more than one batch together
            await t.say("My words fill the window. " * count)
        assert not t.heard.count(Waiting())
        assert (await t.say("And now?")).complete
        assert t.heard.count(Waiting()) == 1
        assert len(api.of("observer")) == 1
        t.check()


async def test_requests_begin_alike_until_a_compaction(tmp_path: Path, api: FakeApi) -> None:
    """Between compactions each request repeats the one before up to its last mark."""
    async with talking(tmp_path, api, CONSTRUCT_COMPACT_THRESHOLD="100000") as t:
        for text in facts(10):
            await t.say(text)
    report = api.cache_report()
    assert report.prefix_shared_read >= 0.995


@pytest.mark.both_protocols
async def test_a_long_talk_keeps_every_fact_within_reach(tmp_path: Path, api: FakeApi) -> None:
    """With many cycles the request stays bounded and every fact can be found.

    Low thresholds make observer and reflector run often.
    """
    async with talking(tmp_path, api, **LOW) as t:
        await t.live(facts(50))
        t.check()
        assert len(api.of("observer")) > 5
        assert api.of("reflector")
        chats = api.of("chat")
        sizes = [r.usage.prompt for r in chats if r.usage]
        assert max(sizes) < 8000
        from tests.memory.recall.hits import search

        for i in (0, 9, 25, 49):
            hits = await t.companion.store.call(search, f"locker {i} code")
            assert any(str(1000 + i) in hit.text for hit in hits)
    assert {r.status for r in api.requests} == {200}


async def test_a_conversation_deleted_meanwhile_takes_its_reply_along(
    tmp_path: Path, api: FakeApi
) -> None:
    """A turn ends well when another process deletes its conversation meanwhile."""
    api.enqueue("chat", Reply("one two three", delay=0.5))
    async with talking(tmp_path, api) as t:
        turn = asyncio.create_task(t.say("Hello."))
        await asyncio.to_thread(api.wait_for, 1)
        await t.companion.store.call(delete_conversation, t.id, t.companion.settings.clock)
        result = await turn
        assert result.message_id is None
        t.check()


@BOTH
async def test_a_reply_nobody_hears_any_more_is_kept(
    tmp_path: Path, api: FakeApi, ledger: Kind
) -> None:
    """When the listener fails, what came is stored and booked.

    Then the error is raised. A closed pipe is such a failure.
    """

    def deaf(event: object) -> None:
        if isinstance(event, Delta):
            raise BrokenPipeError

    async with talking_in(ledger, tmp_path, api) as t:
        with pytest.raises(BrokenPipeError):
            await t.responder.turn(t.id, "Hello.", deaf)
        kept = (await t.said())[-1]
    assert (kept.role, kept.status) == ("assistant", "interrupted")


async def test_memory_off_shows_nothing_archived(tmp_path: Path, api: FakeApi) -> None:
    """Imported messages are in no window, with memory off neither."""
    async with talking(tmp_path, api, CONSTRUCT_MEMORY="off") as t:
        await t.say("Old words.")
        await t.companion.store.call(lambda db: db.execute("UPDATE messages SET archived = 1"))
        await t.say("New words.")
    assert texts(api.of("chat")[-1])[0] == "New words."
