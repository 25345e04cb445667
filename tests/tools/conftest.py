"""A server over HTTP, its configuration for one test, and who answers about its tools."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from construct.operations import tools as operations
from construct.store.database import open_database
from construct.tools.call_types import Answer, ToolQuestion
from tests.support.fake_api import FakeApi, Reply
from tests.support.talks import Talk, settings_for
from tests.support.tool_server import HttpToolServer


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpToolServer]:
    """A tool server over streamable HTTP on loopback."""
    with HttpToolServer(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture
def server(served: HttpToolServer) -> HttpToolServer:
    """The same, with no calls noted yet."""
    (served.folder / "calls").unlink(missing_ok=True)
    return served


def configure(config_dir: Path, servers: Mapping[str, object]) -> None:
    """Write `mcp.json`."""
    config_dir.mkdir(parents=True, exist_ok=True)
    (config_dir / "mcp.json").write_text(json.dumps({"mcpServers": servers}))


@dataclass
class User:
    """Who answers the questions about tools, and remembers them."""

    answers: Sequence[Answer] = ()
    asked: list[ToolQuestion] = field(default_factory=list)

    async def __call__(self, question: ToolQuestion) -> Answer:
        """Answer the next question; not at all after the last answer."""
        self.asked.append(question)
        return self.answers[len(self.asked) - 1]


def call(name: str, **given: object) -> Reply:
    """Return a reply that calls a tool."""
    return Reply("Let me look.", tool_calls=((name, given),))


def last_results(api: FakeApi) -> list[tuple[str, bool]]:
    """Return what the last tools gave back, and whether as an error."""
    blocks = api.of("chat")[-1].body["messages"][-1]["content"]
    return [(b["content"], b.get("is_error", False)) for b in blocks if b["type"] == "tool_result"]


async def allowed(
    folder: Path, api: FakeApi, servers: dict[str, object], *always: str, harmless: bool = False
) -> Path:
    """Configure servers and allow them, and these tools for good. Return the folder."""
    config_dir = settings_for(folder, api).config_dir
    configure(config_dir, servers)
    for name in servers:
        await operations.allow_server(config_dir, name, harmless=False)
    for name in always:
        operations.allow_tool(config_dir, name, harmless=harmless)
    return config_dir


def rows(talk: Talk, query: str) -> list[tuple[object, ...]]:
    """Return rows of the database."""
    with closing(open_database(talk.companion.settings.db)) as db:
        return db.execute(query).fetchall()
