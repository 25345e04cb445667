"""A server over HTTP for the module, and its configuration for one test."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

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
