"""Servers that start, fail, hang and change, whatever the model's protocol."""

import json
from pathlib import Path

import psutil
import pytest

from construct.errors import ConstructError
from construct.operations import tools as operations
from construct.talk.events import ToolAnswered
from construct.tools.call_types import Answer
from tests.support.fake_api import FakeApi
from tests.support.talks import settings_for, talking
from tests.support.tool_server import HttpToolServer, stdio_entry
from tests.tools.conftest import User, allowed, call, configure, last_results, rows


async def test_a_server_that_fails_is_said_in_one_line_and_left_alone(
    tmp_path: Path, api: FakeApi, server: HttpToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that hangs too; the reply goes on, and the servers that work are still there."""
    config_dir = await allowed(tmp_path, api, {"web": server.entry}, "web__page", "web__hang")
    monkeypatch.setattr("construct.tools.connection.PATIENCE_SECONDS", 0.3)
    async with talking(tmp_path, api) as t:
        operations.allow_tool(config_dir, "web__hang", harmless=True)
        operations.allow_tool(config_dir, "web__page", harmless=True)
        api.enqueue("chat", call("web__hang"), call("web__page", title="x"), "It hangs.")
        assert (await t.say("Wait for it.")).complete
        lines = [e.line for e in t.heard if isinstance(e, ToolAnswered)]
        assert lines[0] == "web did not answer within 0.3 seconds."
        assert lines[1].startswith("web did not answer")
        monkeypatch.setattr("construct.tools.connection.PATIENCE_SECONDS", 30.0)
        t.companion.tools.reload()
        api.enqueue("chat", call("web__page", title="x"), "Hello.")
        await t.say("Again.")
        assert last_results(api) == [("The page x says hello.", False)]


async def test_what_cannot_start_is_not_allowed(tmp_path: Path, api: FakeApi) -> None:
    """No such program, one that ends at once, one that hangs, an address where nobody is."""
    secret = "hush-hush-hush"
    servers = {
        "none": {"command": "no-such-program", "env": {"KEY": secret}},
        "ends": {"command": "false", "env": {"KEY": secret}},
        "gone": {"url": "http://127.0.0.1:1/mcp", "headers": {"Authorization": secret}},
        "odd": {"url": "http://127.0.0.1:1/mcp", "headers": {"Authorization": f"{secret}\n"}},
    }
    config_dir = settings_for(tmp_path, api).config_dir
    configure(config_dir, servers)
    said = []
    for name in servers:
        with pytest.raises(ConstructError) as caught:
            await operations.allow_server(config_dir, name, harmless=False)
        said.append(str(caught.value))
    assert said == [
        "none could not be started: there is no program no-such-program.\n"
        "Start it by hand to see why: no-such-program",
        "ends ended before it answered.\nStart it by hand to see why: false",
        "gone cannot be reached at http://127.0.0.1:1/mcp.",
        "odd cannot be reached at http://127.0.0.1:1/mcp.",
    ]
    assert not (config_dir / "tools.json").exists()


async def test_a_program_gets_no_environment_but_its_own(
    tmp_path: Path, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PATH, HOME, the locale and its `env`; it dies, and an error of its own shows no secret."""
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-for-servers")
    monkeypatch.setenv("USER", "somebody")
    entry = stdio_entry(tmp_path, SECRET_KEY="hush-hush")
    await allowed(tmp_path, api, {"own": entry}, "own__fail", "own__die", harmless=True)
    async with talking(tmp_path, api) as t:
        api.enqueue("chat", call("own__fail", text="key $KEY is wrong"), call("own__die"), "No.")
        assert (await t.say("Try.")).complete
        failed, died = [e for e in t.heard if isinstance(e, ToolAnswered)]
        assert died.is_failure
        assert "key [not shown] is wrong" in failed.line
        assert died.line == "own ended before this call was answered."
        assert "hush" not in json.dumps(rows(t, "SELECT blocks FROM messages"))
    (line,) = (tmp_path / "calls").read_text().splitlines()
    environment = set(json.loads(line)["environment"])
    assert {"PATH", "HOME", "LANG", "SECRET_KEY"} <= environment
    assert environment <= {"PATH", "HOME", "LANG", "SECRET_KEY", "LC_CTYPE"}


async def test_nothing_starts_for_a_turn_that_calls_nothing(tmp_path: Path, api: FakeApi) -> None:
    """The list last seen is offered, even by servers that are gone; the prefix stays."""
    entry = stdio_entry(tmp_path)
    config_dir = await allowed(tmp_path, api, {"own": entry})
    known = (config_dir / "tools.json").read_text()
    async with talking(tmp_path, api) as t:
        await t.say("Hello.")
        first = api.of("chat")[-1].body["tools"]
        (config_dir / "mcp.json").write_text("{}")
        await t.say("Hello again.")
        assert api.of("chat")[-1].body["tools"] == first
        assert psutil.Process().children() == []
    assert (config_dir / "tools.json").read_text() == known


async def test_a_changed_description_asks_again(
    tmp_path: Path, api: FakeApi, server: HttpToolServer
) -> None:
    """What the user allowed was another description; theirs is shown the new one."""
    config_dir = await allowed(tmp_path, api, {"web": server.entry}, "web__page", harmless=True)
    path = config_dir / "tools.json"
    path.write_text(path.read_text().replace("Return a page.", "Return one page."))
    user = User([Answer.NO])
    async with talking(tmp_path, api) as t:
        t.companion.ask_about_tool = user
        api.enqueue("chat", call("web__page", title="x"), "No.")
        await t.say("Look.")
    (question,) = user.asked
    assert (question.is_first, question.description) == (True, "Return a page.")
    assert server.calls() == []
