"""`construct tools`: what is listed, allowed and forbidden."""

import json
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.support.fake_api import FakeApi, Reply
from tests.support.program import Program
from tests.support.tool_server import HttpToolServer
from tests.tools.conftest import configure


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpToolServer]:
    """A tool server over streamable HTTP on loopback."""
    with HttpToolServer(tmp_path_factory.mktemp("served")) as served:
        yield served


def test_a_server_is_allowed_on_a_terminal_only(tmp_path: Path, server: HttpToolServer) -> None:
    """Then its tools may be allowed and forbidden anywhere; no secret is ever printed."""
    program = Program(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "config")})
    entries = {"web": server.entry, "none": {"command": "no-such", "env": {"K": "hush-hush"}}}
    configure(tmp_path / "config" / "construct", entries)
    printed = []

    def run(*arguments: str, status: int = 0) -> str:
        done = program.run("tools", *arguments)
        assert done.returncode == status, done.stderr
        assert 0 <= len(done.stderr.splitlines()) <= 2
        printed.append(done.stdout + done.stderr)
        return done.stdout or done.stderr

    assert "web  not allowed yet  http://127.0.0.1:" in run()
    assert "terminal" in run("allow", "web", status=2)
    assert not server.calls()
    run("allow", "web__page", status=1)
    with mock.patch("construct.cli.tools.sys"):
        assert "web__page  (asks)  Return a page." in run("allow", "web")
        assert "no program no-such" in run("allow", "none", status=1)
    run("allow", "web__page", "--harmless")
    run("allow", "web__send")
    run("forbid", "web__fail")
    run("forbid", "none")
    web, none = json.loads(run("list", "--json"))
    assert (web["state"], none["state"], none["tools"]) == ("allowed", "forbidden", [])
    assert {t["name"]: (t["permission"], t["harmless"]) for t in web["tools"]} == {
        "web__die": ("ask", False),
        "web__fail": ("never", False),
        "web__hang": ("ask", False),
        "web__page": ("always", True),
        "web__send": ("always", False),
    }
    run("forbid", "web")
    assert json.loads(run("--json"))[0]["state"] == "forbidden"
    assert "There is no server and no tool zebra." in run("allow", "zebra", status=1)
    assert not {secret for secret in ("hush", server.TOKEN) if secret in "".join(printed)}


def test_without_a_terminal_what_was_not_called_is_said(
    tmp_path: Path, server: HttpToolServer, api: FakeApi
) -> None:
    """On standard error, in one line; standard output has the reply alone."""
    program = Program(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "config"), **api.env()})
    configure(tmp_path / "config" / "construct", {"web": server.entry})
    with mock.patch("construct.cli.tools.sys"):
        program.run("tools", "allow", "web")
    api.enqueue("chat", Reply(tool_calls=[("web__page", {"title": "x"})]), "I could not.")
    done = program.run("ask", "Read x.", "--no-wait")
    assert (done.returncode, done.stdout) == (0, "I could not.\n")
    assert done.stderr == (
        "web__page: Without a terminal only tools that are always allowed are called.\n"
    )
    program.run("tools", "allow", "web__page")
    api.enqueue("chat", Reply(tool_calls=[("web__page", {"title": "x"})]), "It says hello.")
    done = program.run("ask", "Read x.", "--no-wait")
    assert (done.stdout, done.stderr) == ("It says hello.\n", "")
    assert server.calls() == [("page", {"title": "x"})]
