"""How much of a long talk the prompt cache serves, as the fake simulates it."""

import random
from pathlib import Path

import pytest

from tests.support.fake_api import FakeApi
from tests.support.talks import talking

_WORDS = """garden river stone bread letter winter music window teacher market engine forest paper
island bridge coffee travel story morning friend doctor office summer kitchen school street
mountain ocean animal color family history science game camera bottle silver circle future planet
orange yellow purple simple gentle quiet rapid narrow""".split()


def lines(count: int) -> list[str]:
    """Return messages of some fifty tokens; the first sentence of each is a fact."""
    chance = random.Random(3)
    names = ["Ana", "Bruno", "Clara", "Diogo", "Eva", "Filipe", "Gil", "Hugo"]
    return [
        f"My friend {names[i % 8]} likes the {chance.choice(_WORDS)} of {names[(i * 3 + 1) % 8]}. "
        + " ".join(chance.choice(_WORDS) for _ in range(28))
        for i in range(count)
    ]


@pytest.mark.parametrize("reflector", ["4000", "800"])
async def test_a_long_talk_is_read_from_the_cache(
    tmp_path: Path, api: FakeApi, reflector: str
) -> None:
    """In a long talk nearly everything old is read from the cache.

    It has 100 turns of about 100 tokens at default thresholds.
    """
    async with talking(tmp_path, api, CONSTRUCT_REFLECTOR_THRESHOLD=reflector) as t:
        for text in lines(100):
            await t.say(text)
            await t.companion.worker.run_due(t.id)
        t.check()
    report = api.cache_report()
    assert api.of("observer")
    assert bool(api.of("reflector")) == (reflector == "800")
    assert report.read_share >= 0.955
    assert report.neither_per_turn <= 200
    assert report.prefix_shared_read >= 0.995


async def test_a_window_that_slides_is_not_marked(tmp_path: Path, api: FakeApi) -> None:
    """With memory off the talk is marked while it grows.

    Once messages fall out in front nothing of it is read again.

    What stands before it is.
    """
    async with talking(tmp_path, api, CONSTRUCT_MEMORY="off", CONSTRUCT_RECENT_MESSAGES="6") as t:
        for text in lines(6):
            await t.say(text)
    marked = ["cache_control" in str(request.body["messages"]) for request in api.of("chat")]
    assert marked == [True, True, True, False, False, False]
    assert all("cache_control" in str(request.body["system"]) for request in api.of("chat"))
