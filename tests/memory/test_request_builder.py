"""How much of a conversation a request has."""

from pathlib import Path
from typing import Any

import pytest

from construct import tokens
from construct.config import Settings
from construct.memory.config import memory_config_for
from construct.memory.request_builder import SMALL_WINDOW, RequestBuilder
from construct.memory.shown.context import request_tokens
from tests.memory.builders import Life


class SmallModel:
    """The smallest model that is sent tools."""

    name = "small"
    context_window = SMALL_WINDOW
    reads = frozenset[str]()


@pytest.mark.parametrize(("size", "is_shown"), [(26_000, True), (27_000, False)])
def test_all_that_is_sent_fits_the_window(
    life: Life, tmp_path: Path, size: int, is_shown: bool
) -> None:
    """The reply, the tools and the ambient context count too."""
    settings = Settings(db=life.path, config_dir=tmp_path, memory="read-only", clock=life.clock)
    model: Any = SmallModel()
    builder = RequestBuilder(settings, memory_config_for(settings, SMALL_WINDOW), model)
    here = life.talk()
    life.exchange(here, "bread " * (1_000 * size // tokens.count("bread " * 1_000)))
    asked = life.say(here, "And what now?")
    turn_context = builder.turn_context(life.db, here, asked.content)
    request = builder.request(life.db, asked, turn_context)
    assert len(request.messages) == (3 if is_shown else 1)
    assert sum(request_tokens(request).values()) + request.max_tokens <= SMALL_WINDOW
