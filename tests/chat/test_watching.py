"""The memory panel above the prompt while the worker works.

It is kept up to date and is not in the way.
"""

import threading
from dataclasses import replace

import pytest

from construct.config import Settings, Thresholds
from tests.chat.conftest import Seat, seated
from tests.support import fake_worker
from tests.support.fake_api import FakeApi
from tests.support.fake_types import Answer, Json


class Observer:
    """An observer that answers when it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def __call__(self, body: Json) -> Answer:
        """Wait, then answer as the competent one does."""
        self.go.wait(20)
        return fake_worker.observer(body)


@pytest.fixture
def observer(api: FakeApi) -> Observer:
    """Have the fake's observer wait."""
    api.observer = Observer()
    return api.observer


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Return settings by which a single message is observed."""
    return replace(
        settings, worker_model="claude-haiku-5-5", thresholds=replace(Thresholds(), observer=20)
    )


def panels(seat: Seat) -> int:
    """Return how many panels stand on the screen and in the scrollback."""
    return seat.screen.text.count("next observation")


async def test_the_panel_is_live_while_the_worker_works(
    settings: Settings, observer: Observer
) -> None:
    """The panel says who is at work, and changes in place.

    The line being typed stays whole.
    """
    async with seated(settings) as seat:
        seat.type("I moved to house 21 in Porto in 2004 with Rui Costa.\r")
        await seat.see("observing…")
        seat.type("/status\r")
        await seat.see("observer on messages 1 to 2, claude-haiku-5-5")
        seat.type("half a li")
        await seat.see("› half a li")
        observer.go.set()
        await seat.see("in flight     nothing")
        seat.type("ne")
        await seat.see(lambda: seat.screen.lines[-2] == "› half a line")
        assert panels(seat) == 1
        assert "observer on messages" not in seat.screen.text


async def test_the_next_line_prints_the_panel(settings: Settings, observer: Observer) -> None:
    """What is sent while the panel is live is dealt with at once.

    The panel stays above it as it was.
    """
    async with seated(settings) as seat:
        seat.type("I moved to house 21 in Porto in 2004 with Rui Costa.\r")
        await seat.see("observing…")
        seat.type("/status\r")
        await seat.see("in flight     observer")
        seat.type("/model\r")
        await seat.see("claude-haiku-5-5 does the memory work")
        text = seat.screen.text
        assert panels(seat) == 1
        assert text.index("in flight     observer") < text.index("› /model")
        observer.go.set()
        await seat.leave()
        assert panels(seat) == 1
