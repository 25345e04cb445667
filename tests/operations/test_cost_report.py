"""What a talk would have cost without a memory.

The talks are small, so that their prices can be summed by hand.
"""

from datetime import UTC, datetime, timedelta

import pytest

from construct.operations.cost_report import Estimate, estimate
from construct.store.usage import PricedMessage

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SONNET = "claude-sonnet-5-5"
"""2.00 dollars a million tokens in, 10.00 out, 0.10 read from the cache.

Caches from 1,024 tokens on.
"""


def talk(
    turns: int, pause: timedelta, size: int = 1000, model: str | None = SONNET
) -> list[PricedMessage]:
    """Return a talk of turns of two messages of one size each."""
    found = []
    for turn in range(turns):
        at = (START + turn * pause).isoformat()
        found += [
            PricedMessage(1, "user", size, at, None, 0),
            PricedMessage(1, "assistant", size, at, model, 0),
        ]
    return found


def estimated(
    spoken: list[PricedMessage], recent: int = 20, system: int = 0, factor: float = 1.0
) -> Estimate:
    """Return the estimate, which there is."""
    found = estimate(spoken, recent, system, lambda _: factor)
    assert found is not None
    return found


def usd(tokens: dict[float, int]) -> object:
    """Return about so many dollars, for tokens by their price a million."""
    return pytest.approx(sum(price * count for price, count in tokens.items()) / 1_000_000)


def test_a_short_warm_talk_is_read_from_the_cache() -> None:
    """While messages are only added, both ways cost the same.

    What is new is written to the cache, the rest is read from it.
    """
    found = estimated(talk(2, timedelta(minutes=1)))
    # 1,000 tokens are too few to cache; then 3,000 are written, and nothing could be
    # read.
    assert found.full_usd == found.recent_usd == usd({2: 1000, 2.5: 3000, 10: 2000})
    third = estimated(talk(3, timedelta(minutes=1))).full_usd
    assert third == usd({2: 1000, 2.5: 3000 + 2000, 0.1: 3000, 10: 3000})


def test_a_cold_talk_is_written_anew() -> None:
    """After a pause that no cache outlives, the whole history is written again."""
    assert estimated(talk(3, timedelta(hours=3))).full_usd == usd(
        {2: 1000, 2.5: 3000 + 5000, 10: 3000}
    )


def test_the_life_that_pays_is_taken() -> None:
    """With pauses of half an hour an hour's cache life is cheaper in all.

    It costs more to write.
    """
    found = estimated(talk(4, timedelta(minutes=30))).full_usd
    assert found == usd({2: 1000, 4: 3000 + 2 * 2000, 0.1: 3000 + 5000, 10: 4000})


def test_a_window_that_slides_caches_only_the_system_text() -> None:
    """Once the oldest message goes, every message is paid in full.

    The history costs more and more to read instead.
    """
    few, many = talk(4, timedelta(minutes=1)), talk(40, timedelta(minutes=1))
    # The third and the fourth request have 5 and 7 messages before them, of which 3 are
    # sent.
    with_system = estimated(few, recent=3, system=2000).recent_usd
    assert with_system == usd({2.5: 3000 + 2000, 0.1: 3000 + 2 * 2000, 2: 2 * 3000, 10: 4000})
    assert estimated(many, recent=3).recent_usd < estimated(many).full_usd


def test_the_factor_counts_and_retries_are_paid_once_more() -> None:
    """A model that counts more tokens costs more.

    A reply that another replaced was paid, and is in no later prompt.
    """
    once = talk(1, timedelta(), size=100)
    assert estimated(once, factor=2.0).full_usd == usd({2: 200, 10: 200})
    again = [once[0], PricedMessage(1, "assistant", 100, once[1].created_at, SONNET, 1), once[1]]
    assert estimated(again).full_usd == usd({2: 200, 10: 200})


def test_conversations_share_nothing() -> None:
    """Each begins with an empty prompt."""
    one = talk(1, timedelta())
    two = [PricedMessage(2, said.role, said.tokens, said.created_at, said.model, 0) for said in one]
    assert estimated([*one, *two]).full_usd == pytest.approx(2 * estimated(one).full_usd)


def test_what_does_not_fit_the_window_is_said() -> None:
    """A talk of a million tokens is cut to the model's window, and the cut counted."""
    found = estimated(talk(4, timedelta(minutes=1), size=200_000))
    assert found.too_long == 2


@pytest.mark.parametrize("model", [None, "somebody-elses", "local:tiny"])
def test_without_prices_there_is_no_estimate(model: str | None) -> None:
    """A model whose price is unknown, or that costs nothing, cannot be compared."""
    assert estimate(talk(3, timedelta(), model=model), 20, 100, lambda _: 1.0) is None
