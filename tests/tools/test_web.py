"""Claude's own search of the web: what is offered, shown, paid, and sent back."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from construct.memory.learning.whose_words import strongest_stance
from construct.operations.tools import called_tools
from construct.store.database import open_database
from construct.talk.events import Delta, ToolAnswered, ToolCalled
from construct.talk.private_ledger import PrivateLedger
from construct.talk.responder import Responder
from tests.support.fake_api import FakeApi, Reply, Search, faults
from tests.support.fake_types import Answer, Answerer
from tests.support.talks import talking

ON = {"CONSTRUCT_WEB": "on"}
GHENT = Search("weather Ghent", {"https://www.kmi.be/ghent(1)": "Ghent today"})
ANSWER = Reply("It rains in Ghent.", searches=[GHENT], cites=["https://www.kmi.be/ghent(1)"])


def tool_types(api: FakeApi) -> list[str | None]:
    """Return the types of the tools in the last request that have one."""
    return [t["type"] for t in api.of("chat")[-1].body.get("tools", []) if "type" in t]


async def test_a_search_is_shown_paid_and_kept(tmp_path: Path, api: FakeApi) -> None:
    """The question, what was found, links to what is cited; the next request holds them all."""
    async with talking(tmp_path, api, **ON) as t:
        api.enqueue("chat", ANSWER)
        result = await t.say("What is the weather in Ghent?")
        shown = "It rains in Ghent. [www.kmi.be](https://www.kmi.be/ghent%281%29)"
        assert result.text == shown
        assert "".join(e.text for e in t.heard if isinstance(e, Delta)) == shown
        assert tool_types(api) == ["web_search_20260318"]
        lines = [e for e in t.heard if isinstance(e, ToolCalled | ToolAnswered)]
        assert lines == [
            ToolCalled("web_search", "web_search: weather Ghent"),
            ToolAnswered("web_search", "found: Ghent today"),
        ]
        (reply,) = [m for m in await t.said() if m.role == "assistant"]
        assert reply.outside == "result"
        (called,) = called_tools(reply)
        assert called.result == "Ghent today https://www.kmi.be/ghent(1)"
        assert strongest_stance("It rains in Ghent", [reply], [reply], ()) == "quoted"
        with closing(open_database(t.companion.settings.db)) as db:
            ((cost,),) = db.execute("SELECT cost_usd FROM usage").fetchall()
        assert 0.01 < cost < 0.05
        assert result.usage.web_searches == 1
        await t.say("Thanks.")
        t.check()
    assert "encrypted_content" in json.dumps(api.of("chat")[-1].body)


async def test_a_paused_reply_goes_on(tmp_path: Path, api: FakeApi) -> None:
    """The server is sent back what it has, and the reply is one reply."""
    async with talking(tmp_path, api, **ON) as t:
        api.enqueue("chat", Reply("I look.", searches=[GHENT], stop_reason="pause_turn"), ANSWER)
        result = await t.say("What is the weather in Ghent?")
        assert result.complete
        assert result.text.startswith("I look.\n\nIt rains in Ghent.")
        sent = api.of("chat")[-1].body["messages"][-1]
        assert (sent["role"], len(sent["content"])) == ("assistant", 3)
        await t.say("Thanks.")
        t.check()


@pytest.mark.parametrize("then", ["ends", "fails", "pauses on"])
async def test_a_search_without_a_result_is_not_kept(
    tmp_path: Path, api: FakeApi, then: str
) -> None:
    """A server would refuse it in every later request."""
    paused = Reply("I look.", searches=[Search("weather")], stop_reason="pause_turn")

    def paused_before_a_failure(_: object) -> Reply:
        api.fail("chat", faults.http(401))
        return paused

    answers: dict[str, list[Answer | Answerer]] = {
        "ends": [paused, "It may rain."],
        "fails": [paused_before_a_failure],
        "pauses on": [paused] * 7,
    }
    async with talking(tmp_path, api, **ON) as t:
        api.enqueue("chat", *answers[then])
        await t.say("What is the weather?")
        assert (await t.say("Hello.")).complete
        t.check()
    assert "server_tool_use" not in json.dumps(api.of("chat")[-1].body)


async def test_whoever_cannot_search_is_sent_no_search(tmp_path: Path, api: FakeApi) -> None:
    """Neither the tool nor earlier results: with the setting off, and in private talk."""
    async with talking(tmp_path, api, **ON) as t:
        api.enqueue("chat", ANSWER)
        await t.say("What is the weather in Ghent?")
        private = PrivateLedger(t.companion)
        await Responder(private).turn(t.id, "Secret.", t.heard.append)
        assert "web_search" not in json.dumps(api.of("chat")[-1].body)
        t.companion.tools.is_allowed_in_private = True
        await Responder(private).turn(t.id, "Secret.", t.heard.append)
        assert tool_types(api) == ["web_search_20260318"]
    async with talking(tmp_path, api) as t:
        await t.responder.turn(1, "Hello.", t.heard.append)
        assert "web_search" not in json.dumps(api.of("chat")[-1].body)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://", "file:///etc", "https://[x"])
async def test_only_pages_become_links(tmp_path: Path, api: FakeApi, url: str) -> None:
    """An address of anything else is not shown as a link."""
    async with talking(tmp_path, api, **ON) as t:
        api.enqueue("chat", Reply("It rains.", searches=[GHENT], cites=[url]))
        assert (await t.say("Weather?")).text == "It rains."
