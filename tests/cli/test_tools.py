"""`construct tools`: what is listed, allowed and forbidden."""

import json
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.support.program import Program
from tests.support.tool_server import HttpToolServer


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpToolServer]:
    """A tool server over streamable HTTP on loopback."""
    with HttpToolServer(tmp_path_factory.mktemp("served")) as served:
        yield served


def test_a_server_is_allowed_on_a_terminal_only(tmp_path: Path, server: HttpToolServer) -> None:
    """Then its tools may be allowed and forbidden anywhere; no secret is ever printed."""
    program = Program(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "config")})
    folder = tmp_path / "config" / "construct"
    folder.mkdir(parents=True)
    entries = {"web": server.entry, "none": {"command": "no-such", "env": {"K": "hush-hush"}}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": entries}))
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
