"""Where the window of raw messages begins."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construct.memory.shown.transcript import turns, window_start
from construct.store.records import Message, Watermarks
from tests.memory.making import message

TALK = st.lists(st.tuples(st.sampled_from(("user", "assistant")), st.integers(1, 300)), max_size=25)


def talk(sizes: Sequence[int], first: int = 1) -> list[Message]:
    """Return turns of a user's message and its reply, each turn of a given size."""
    return [
        message(first + 2 * i + k, role, "x", tokens=size // 2)
        for i, size in enumerate(sizes)
        for k, role in enumerate(("user", "assistant"))
    ]


@pytest.mark.parametrize(
    ("sizes", "observed", "retained", "cut"),
    [
        ([], 0, 100, 0),
        ([100, 100, 100], 0, 100, 0),
        ([100, 100, 100], 6, 100, 4),
        ([100, 100, 100], 6, 101, 2),
        ([100, 100, 100], 6, 200, 2),
        ([100, 100, 100], 6, 300, 0),
        ([100, 100, 100], 6, 1000, 0),
        ([100, 100, 100], 6, 0, 6),
        ([100, 100, 100], 4, 0, 4),
        ([100, 100, 100], 4, 100, 4),
        ([100, 100, 100], 4, 101, 2),
        ([100, 100, 100], 2, 100, 2),
        ([100, 100, 100], 3, 100, 2),
        ([100, 100, 100], 1, 100, 0),
        ([100, 1000, 100], 6, 150, 2),
    ],
)
def test_where_it_begins(sizes: list[int], observed: int, retained: int, cut: int) -> None:
    """The window holds the retained share in whole turns, or all unobserved messages.

    The larger of the two counts.
    """
    assert window_start(talk(sizes), Watermarks(observed), retained) == cut


@settings(deadline=None)
@given(TALK, st.integers(0, 30), st.integers(0, 2000))
def test_the_rule(rows: list[tuple[str, int]], observed: int, retained: int) -> None:
    """The cut lies between turns, and below everything unobserved.

    The next turn could not leave the window too.
    """
    messages = [message(i, role, "x", tokens=tokens) for i, (role, tokens) in enumerate(rows, 1)]
    cut = window_start(messages, Watermarks(observed), retained)
    whole = turns(messages)
    assert cut in {0, *(turn[-1].id for turn in whole)}
    assert cut <= observed
    raw = [turn for turn in whole if turn[-1].id > cut]
    tokens = sum(m.token_count for turn in raw for m in turn)
    if cut:
        assert tokens >= retained
    if raw and raw[0][-1].id <= observed:
        assert tokens - sum(m.token_count for m in raw[0]) < retained


def test_a_large_message_leaves_once_it_is_observed() -> None:
    """Whatever is retained; an unobserved one stays."""
    said = talk([100, 18_000])
    assert window_start(said, Watermarks(4), 1200, 6000) == 4
    assert window_start(said, Watermarks(3), 1200, 6000) == 2
    assert window_start(said, Watermarks(4), 1200, 20_000) == 2


def test_what_is_not_shown_does_not_count() -> None:
    """A retried reply is not raw, so it is no part of the retained share."""
    retried = message(6, "assistant", "x", tokens=500, retried=1)
    assert (
        window_start(
            [*talk([100, 100]), message(5, "user", "x", tokens=10), retried], Watermarks(6), 100
        )
        == 2
    )
