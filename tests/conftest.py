"""What every test has: a new home and no settings from outside.

A fake API is there on request.
"""

import gc
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory.builders import Life
from tests.support.fake_api import FakeApi

# Some machines forbid compiled files. Then each of the many programs that the tests start would
# compile everything it imports, which takes longer than what it does.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

MEMORY = Path("/dev/shm")


def pytest_configure() -> None:
    """Prepare the test process: Ctrl-C, files in memory, no garbage collection.

    A shell starts background programs with Ctrl-C ignored, and so would every program
    that the tests start. On a disk the tests would take three times as long. Garbage is
    not collected while pytest collects the tests.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 1 << 30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage again, but never look at the modules and tests themselves.

    There are so many that each look at them takes half a second.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the machine's settings, files and proxies out of the tests."""
    for name in list(os.environ):
        if name.startswith(
            ("ANTHROPIC_", "CONSTRUCT_", "MEMORY_", "OPENAI_", "UV_", "XDG_")
        ) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(
        "construct.llm.embedding._PACKAGE", "no_weights_here"
    )  # installed or not, as if they were not
    monkeypatch.setattr(
        "construct.llm.reply_stream.FIRST_PAUSE", 0.01
    )  # the tests of the pauses set their own
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    """A new database to live in."""
    lived = Life(tmp_path)
    yield lived
    lived.db.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that is marked so against both protocols."""
    is_marked = metafunc.definition.get_closest_marker("both_protocols") is not None
    if is_marked and "api" in metafunc.fixturenames:
        metafunc.parametrize("api", ["anthropic", "openai"], indirect=True)


@pytest.fixture
def api(request: pytest.FixtureRequest) -> Iterator[FakeApi]:
    """A strict fake on loopback: of the Messages API, unless a test wants both protocols."""
    with FakeApi(protocol=getattr(request, "param", "anthropic")) as fake:
        yield fake
