"""A long conversation with a server whose model can read only 4,096 tokens."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_api import FakeApi
from tests.support.fake_types import Reply, Usage, last_user_text
from tests.support.fake_wire import Message, encode, events_of
from tests.support.model_servers import ModelServer, ollama
from tests.support.program import Program

WINDOW = 4096
TURNS = 60
TOPICS = (
    "the garden, the old roof, a cake with pears, the noisy neighbours, the bus to Sintra".split(
        ", "
    )
)
SECRET = "My spare key lies under the blue flowerpot of Amélia in flat 3B."
QUESTION = "Where is my spare key?"


def said() -> list[str]:
    """Return what the user says: some sixty words a turn, the key in the third."""
    lines = [
        f"Day {n}: today I thought about {TOPICS[n % len(TOPICS)]} for {n + 2} hours, and " * 4
        for n in range(TURNS)
    ]
    lines[2] = SECRET
    return [*lines, QUESTION]


@pytest.mark.parametrize("worker", ["gemma4", "extractive"])
def test_it_never_exceeds_the_window_and_still_remembers(tmp_path: Path, worker: str) -> None:
    """Whoever keeps the memory: the model itself, or rules."""
    with FakeApi(context_window=WINDOW) as api:
        api.models = ("gemma4",)
        api.chat = lambda _: "I see. " + "That sounds like a full day. " * 5
        more = {**api.env(), "MEMORY_WORKER_MODEL": worker}
        done = Program(tmp_path, more).run("chat", stdin="\n".join(said()))
        assert (done.returncode, done.stderr) == (0, "")
        asked = [one for one in api.requests if one.usage is not None]
    assert len([one for one in asked if one.purpose == "chat"]) == TURNS + 1
    for one in asked:
        assert one.usage is not None
        prompt = one.usage.input_tokens + one.usage.cache_read + one.usage.cache_written
        assert prompt + one.body["max_tokens"] <= WINDOW
    last = [one for one in asked if one.purpose == "chat"][-1]
    assert QUESTION in last_user_text(last.body)
    assert "blue flowerpot" in str(last.body)
    assert "Day 5:" not in str(last.body["messages"][-1])


def test_ollama_never_has_to_cut_a_prompt(tmp_path: Path) -> None:
    """A prompt always fits the window that Ollama runs with.

    Ollama would cut it silently, and ignores settings that it does not know.
    """
    cut: list[int] = []

    def answer(body: Any) -> bytes:
        asked = len(json.dumps(body.get("system", "")) + json.dumps(body["messages"])) // 4
        if asked + body["max_tokens"] > WINDOW:
            cut.append(asked)
        message = Message(
            "msg_1", body["model"], Reply("I see, that was a long day."), Usage(asked)
        )
        return b"".join(map(encode, events_of(message)))

    answers = ollama({"gemma4:12b": {"size": "12B", "loaded": WINDOW}})
    with ModelServer({**answers, "POST /v1/messages": answer}) as server:
        more = {"ANTHROPIC_BASE_URL": server.url, "MEMORY_WORKER_MODEL": "extractive"}
        done = Program(tmp_path, more).run("chat", stdin="\n".join(said()))
    assert (done.returncode, done.stderr) == (0, "")
    assert server.asked.count("POST /v1/messages") == TURNS + 1
    assert cut == []
