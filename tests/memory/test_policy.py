"""What memory work is due: the thresholds as a table."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construct.config import Thresholds
from construct.memory.policy import (
    Situation,
    choose_life,
    due,
    fit_to,
    is_cold,
    is_telling,
    must_wait,
)
from construct.vocabulary import WorkKind

T = Thresholds()
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("situation", "work"),
    [
        (Situation(), ()),
        (Situation(unobserved_tokens=2999), ()),
        (Situation(unobserved_tokens=3000), ("observe",)),
        (Situation(unobserved_tokens=3000, held=True), ()),
        (Situation(unobserved_tokens=200, cold=True), ()),
        (Situation(unobserved_tokens=201, cold=True), ("observe",)),
        (Situation(unobserved_tokens=200, leaving=True), ()),
        (Situation(unobserved_tokens=201, leaving=True), ("observe",)),
        (Situation(unobserved_tokens=201, leaving=True, held=True), ()),
        (Situation(unobserved_tokens=9, leaving=True, telling=True), ("observe",)),
        (Situation(unobserved_tokens=9, leaving=True, telling=True, held=True), ()),
        (Situation(unobserved_tokens=9, cold=True, telling=True), ()),
        (Situation(unobserved_tokens=1, in_notebook=True), ("observe",)),
        (Situation(unobserved_tokens=0, in_notebook=True), ()),
        (Situation(unobserved_tokens=201), ()),
        (Situation(window_tokens=5999, compactable=True), ()),
        (Situation(window_tokens=6000, compactable=True), ("compact",)),
        (Situation(window_tokens=6000), ()),
        (Situation(window_tokens=0, compactable=True, cold=True), ("compact",)),
        (Situation(window_tokens=0, compactable=True, leaving=True), ("compact",)),
        (Situation(cold=True, leaving=True), ()),
        (Situation(window_tokens=6000, compactable=True, held=True), ("compact",)),
        (Situation(tokens_in_sight=3999, cold=True, rewriting=True), ()),
        (Situation(tokens_in_sight=4000), ()),
        (Situation(tokens_in_sight=4000, rewriting=True), ("reflect",)),
        (Situation(tokens_in_sight=4000, cold=True), ("reflect",)),
        (Situation(tokens_in_sight=4000, leaving=True), ()),
        (Situation(tokens_in_sight=5999), ()),
        (Situation(tokens_in_sight=6000), ("reflect",)),
        (Situation(tokens_in_sight=6000, reflect_from=6001), ()),
        (Situation(tokens_in_sight=6001, reflect_from=6001), ("reflect",)),
        (Situation(tokens_in_sight=4000, reflect_from=4001, cold=True), ()),
        (Situation(tokens_in_sight=4001, reflect_from=4001, cold=True), ("reflect",)),
        (Situation(tokens_in_sight=4000, reflect_from=100, cold=True), ("reflect",)),
        (Situation(3000, 6000, 6000, compactable=True), ("observe", "compact", "reflect")),
    ],
)
def test_what_is_due(situation: Situation, work: tuple[WorkKind, ...]) -> None:
    """Each kind of work is due from its own threshold on, in the order it is done."""
    assert due(situation, T) == work


@pytest.mark.parametrize(
    ("situation", "waits"),
    [
        (Situation(window_tokens=8999, unobserved_tokens=1), False),
        (Situation(window_tokens=9000, unobserved_tokens=1), True),
        (Situation(window_tokens=35_000, unobserved_tokens=60), False),
        (Situation(window_tokens=35_000, unobserved_tokens=3000), True),
        (Situation(window_tokens=9000, unobserved_tokens=0), False),
        (Situation(window_tokens=9000, unobserved_tokens=9000, held=True), False),
    ],
)
def test_a_turn_waits_only_past_the_limit(situation: Situation, waits: bool) -> None:
    """A turn waits only past the limit, where the observer helps and was not undone."""
    assert must_wait(situation, T) is waits


def test_a_small_observer_threshold_holds_at_rest_too() -> None:
    """A threshold below 200 tokens is not raised by leaving or by cold."""
    small = Thresholds(observer=50)
    assert due(Situation(unobserved_tokens=50, leaving=True), small) == ("observe",)
    assert due(Situation(unobserved_tokens=49, cold=True), small) == ()


@pytest.mark.parametrize(
    ("ago", "life", "cold"),
    [
        (None, "5m", True), (None, None, True), (timedelta(0), "5m", False),
        (timedelta(minutes=5), "5m", False),
        (timedelta(minutes=5, seconds=1), "5m", True),
        (timedelta(minutes=5, seconds=1), "1h", False),
        (timedelta(hours=1), "1h", False), (timedelta(hours=1, seconds=1), "1h", True),
        (timedelta(minutes=6), None, True), (timedelta(minutes=6), "2h", True),
        (timedelta(minutes=4), "2h", False),
        (timedelta(minutes=-4), "5m", False), (timedelta(days=-1), "5m", True),
    ],
)  # fmt: skip
def test_when_the_cache_is_cold(ago: timedelta | None, life: str | None, cold: bool) -> None:
    """When nothing was sent for longer than the life, or the clock was put back."""
    assert is_cold(None if ago is None else NOW - ago, life, NOW) is cold


@pytest.mark.parametrize(
    ("minutes", "life"),
    [
        ([], "5m"), ([0], "5m"), ([0, 1, 3, 8], "5m"), ([0, 5], "5m"), ([0, 6], "1h"),
        ([0, 60], "1h"), ([0, 61], "5m"),
        ([0, 1, 2, 30, 31], "1h"), ([31, 30, 2, 1, 0], "1h"), ([0, 1440, 2880], "5m"),
        ([0, 0, 0], "5m"),
    ],
)  # fmt: skip
def test_the_life_that_pays(minutes: list[int], life: str) -> None:
    """An hour's life is asked for when a recent pause is longer than five minutes.

    It must be shorter than the hour.
    """
    assert choose_life([NOW + timedelta(minutes=m) for m in minutes]) == life


@settings(deadline=None)
@given(
    st.builds(
        Thresholds, *(st.integers(1, 50_000) for _ in range(4)), st.floats(0, 1), st.floats(1, 4)
    ),
    st.integers(256, 2_000_000),
)
def test_thresholds_fit_the_model(given_: Thresholds, window: int) -> None:
    """For a small window thresholds become smaller, never larger.

    For a large one they stay as they are.
    """
    fitted = fit_to(given_, window)
    for name in ("observer", "compact", "reflector", "budget"):
        assert 1 <= getattr(fitted, name) <= getattr(given_, name)
    assert (fitted.retain, fitted.block_after) == (given_.retain, given_.block_after)
    needed = given_.budget + given_.block_after * given_.compact
    assert fitted == given_ or needed > 0.5 * window
    if window >= 8192 and given_.block_after <= 2:
        assert fitted.budget + fitted.block_after * fitted.compact <= window


@pytest.mark.parametrize(
    ("window", "fitted"),
    [
        (200_000, (3000, 6000, 4000, 8000)),
        (34_000, (3000, 6000, 4000, 8000)),  # the budget and one and a half windows are half of it
        (17_000, (1500, 3000, 2000, 4000)),
        (8_192, (722, 1445, 963, 1927)),
        (512, (100, 200, 100, 200)),  # below this no observer has anything to read
    ],
)
def test_thresholds_keep_their_proportions(window: int, fitted: tuple[int, ...]) -> None:
    """A small window brings all thresholds down alike, to fit half of it."""
    found = fit_to(T, window)
    assert (found.observer, found.compact, found.reflector, found.budget) == fitted


@pytest.mark.parametrize(
    ("text", "telling"),
    [
        ("ok thanks", False),
        ("Good idea, let us do that!", False),
        ("Dentist on Friday", True),
        ("See you tomorrow", True),
        ("Ich fliege im März", True),
        ("Vou amanhã a Braga", True),
        ("К врачу", False),
        ("Завтра к врачу", True),
        ("明天去看牙医", True),
        ("내일 병원 가요", True),
        ("room 7", True),
        ("غرفة ٧", True),
        ("My sister Ana has moved to the house beside the old mill in Braga.", True),
    ],
)
def test_what_may_be_worth_remembering(text: str, telling: bool) -> None:
    """A digit, the name of a day or a month, or many words."""
    assert is_telling(text) is telling
