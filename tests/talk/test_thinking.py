"""What a model thinks aloud at the head of its reply is no speech."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.talk.events import Delta, Thinking
from construct.talk.thinking import Speech, spoken
from tests.support.fake_api import FakeApi, Reply
from tests.support.program import Program
from tests.support.talks import talking

SPOKEN = {
    "Hello.": "Hello.",
    "<think>She is sad.</think>\n\nI am sorry.": "I am sorry.",
    "\n <Think>a</THINK>b": "b",
    "<thinking>a < b > c</thinking>b": "b",
    "<think>one</think>\n<think>two</think>three": "three",
    "<think>never ends": "",
    "<think></think>": "",
    "The tag <think>x</think> is for models.": "The tag <think>x</think> is for models.",
    "<thin ice>": "<thin ice>",
    "<thi": "<thi",
    "<think> and </thinking> differ": "",
    "  indented": "  indented",
}


@pytest.mark.parametrize(("text", "said"), SPOKEN.items())
def test_thinking_at_the_head_is_left_out(text: str, said: str) -> None:
    """Of a whole reply, and of one that streams in by single characters."""
    assert spoken(text) == said
    speech = Speech()
    assert "".join([*map(speech.feed, text), speech.finish()]) == said


@given(st.lists(st.sampled_from(["<think>", "</think>", "<thi", "nk>", "a", " ", "<", ">", "\n"])))
def test_a_stream_says_what_the_whole_says(pieces: list[str]) -> None:
    """However it is cut."""
    speech = Speech()
    streamed = "".join([*map(speech.feed, pieces), speech.finish()])
    assert streamed.strip() == spoken("".join(pieces)).strip()


async def test_thinking_is_not_kept(tmp_path: Path, api: FakeApi) -> None:
    """It is not shown, stored, found or sent back, after a tool's call neither."""
    call = [("recall", {"query": "boat"})]
    api.enqueue(
        "chat",
        Reply("<think>Search the zeppelin.</think>Let me look.", tool_calls=call),
        Reply("<think>Nothing about a zeppelin.</think>\n\nNothing yet.", chunk_size=3),
        "Of course.",
    )
    async with talking(tmp_path, api) as t:
        result = await t.say("Do you remember my boat?")
        await t.say("Keep it in mind.")
        stored = await t.companion.store.call(
            lambda db: db.execute("SELECT content, blocks FROM messages").fetchall()
        )
    shown = "".join(event.text for event in t.heard if isinstance(event, Delta))
    assert result.text == "Let me look.\n\nNothing yet."
    assert shown == f"{result.text}Of course."
    assert any(isinstance(event, Thinking) for event in t.heard)
    assert "zeppelin" not in str(stored)
    assert "zeppelin" not in str([request.body for request in api.of("chat")])


def test_a_reply_that_only_thinks_is_blank(tmp_path: Path, api: FakeApi) -> None:
    """It ran out of tokens while it was thinking."""
    api.enqueue("chat", Reply("<think>Well, well", stop_reason="max_tokens"))
    done = Program(tmp_path, api.env()).run("ask", "--no-wait", "Hello.")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("The reply is blank: it reached its limit")
