"""How the fake caches prompts, and what it reports of it."""

import pytest

from tests.support.bodies import (
    CALL,
    HOUR,
    MARK,
    RESULT,
    SIZE,
    TOOL,
    assistant,
    block,
    figures,
    request,
    send,
    text,
    user,
)
from tests.support.fake_api import FakeApi
from tests.support.fake_cache import LOOK_BACK
from tests.support.fake_types import Json


def test_cache_reads_what_was_marked_before(api: FakeApi) -> None:
    """A prefix that ended at a breakpoint is read from the cache.

    What follows, up to the next breakpoint, is written. The rest is neither.
    """
    a, b, c = block("a"), block("b"), block("c")
    first = request(user([{**b, "cache_control": MARK}, c]), system=[a, a])
    assert figures(api, first) == (0, 3, 1)
    assert figures(api, first) == (3, 0, 1)
    more = request(
        user([b, c]), assistant("Yes."), user([{**a, "cache_control": MARK}, b]), system=[a, a]
    )
    assert figures(api, more) == (3, 2, 1)


def test_cache_has_nothing_between_breakpoints(api: FakeApi) -> None:
    """A common prefix is only read if an earlier request had a breakpoint there."""
    a, b, c = block("a"), block("b"), block("c")
    assert figures(api, request(user([a, a, a, {**b, "cache_control": MARK}]))) == (0, 4, 0)
    assert figures(api, request(user([a, a, a, {**c, "cache_control": MARK}]))) == (0, 4, 0)


def test_cache_ignores_short_prefixes(api: FakeApi) -> None:
    """A prefix below the minimum is neither written nor read.

    The minimum can be set.
    """
    body = request(user([block("a"), block("b", cache_control=MARK)]))
    assert [figures(api, body), figures(api, body)] == [(0, 0, 2), (0, 0, 2)]
    api.cache_minimum = 2 * SIZE
    assert [figures(api, body), figures(api, body)] == [(0, 2, 0), (2, 0, 0)]


@pytest.mark.parametrize(
    ("mark", "life"), [(MARK, 300), ({**MARK, "ttl": "5m"}, 300), (HOUR, 3600)]
)
def test_cache_lives_as_long_as_asked(api: FakeApi, mark: Json, life: int) -> None:
    """An entry lives 5 minutes or an hour, and each read gives it that life again."""
    api.clock = lambda: 0.0
    body = request(user([block("a"), block("b"), block("c", cache_control=mark)]))
    written = send(api, body)[1]["usage"]["cache_creation"]
    assert [round(written[f"ephemeral_{name}_input_tokens"] / SIZE) for name in ("5m", "1h")] == (
        [3, 0] if life == 300 else [0, 3]
    )
    for _ in range(3):
        api.advance(life - 1)
        assert figures(api, body) == (3, 0, 0)
    api.advance(life)
    assert figures(api, body) == (0, 3, 0)


def test_cache_splits_writes_by_life(api: FakeApi) -> None:
    """What is written up to the last one-hour mark is billed as long-lived.

    The rest is billed as short-lived.
    """
    body = request(
        user([block("c", cache_control=MARK)]),
        system=[block("a"), block("b"), block("s", cache_control=HOUR)],
    )
    creation = send(api, body)[1]["usage"]["cache_creation"]
    assert [round(value / SIZE) for value in creation.values()] == [1, 3]


@pytest.mark.parametrize(
    ("between", "read"), [(LOOK_BACK - 2, 3), (LOOK_BACK - 1, 3), (LOOK_BACK, 0)]
)
def test_cache_looks_back_20_blocks(api: FakeApi, between: int, read: int) -> None:
    """From a breakpoint 20 positions are looked at, itself the first."""
    start = [block("a"), block("b"), block("c")]
    figures(api, request(user([*start[:2], {**start[2], "cache_control": MARK}])))
    more = [text(str(number)) for number in range(between)]
    more[-1] = {**more[-1], "cache_control": MARK}
    assert figures(api, request(user([*start, *more])))[0] == read


@pytest.mark.parametrize(
    "change",
    [
        {"model": "claude-haiku-5-5"},
        {"tools": [TOOL]},
        {"system": "Be brief."},
        {"thinking": {"type": "adaptive"}},
    ],
)
def test_cache_misses_when_what_stands_before_changes(api: FakeApi, change: Json) -> None:
    """Another model, tool, system prompt or thinking mode misses the cache."""
    body = request(user([block("a"), block("b"), block("c", cache_control=MARK)]))
    figures(api, body)
    assert figures(api, body | change)[0] == 0


def test_cache_takes_a_string_for_one_block(api: FakeApi) -> None:
    """A string and a list with one text block are the same content.

    It makes no difference where the mark moves.
    """
    words = block("a")["text"] * 3
    assert figures(api, request(user([text(words, cache_control=MARK)]))) == (0, 3, 0)
    more = request(user(words), assistant("ok"), user([text("b", cache_control=MARK)]))
    assert figures(api, more)[0] == 3


def test_cache_report_sums_up(api: FakeApi) -> None:
    """The report gives the tokens read, written and neither.

    It also gives how much of the shared prefix was read.
    """
    a, b, c = (block(name) for name in "abc")
    marked = {**c, "cache_control": MARK}
    figures(api, request(user([a, b, marked])))
    figures(api, request(user([a, b, marked, text("now")])))
    figures(api, request(user([a, b, c, c, {**a, "cache_control": MARK}, block("tail")])))
    figures(api, request(user([a, b, c, {**b, "cache_control": MARK}])))
    send(api, request(colour=1))
    report = api.cache_report()
    assert (report.requests, report.turns) == (4, 4)
    assert [round(n / SIZE) for n in (report.read, report.written, report.neither)] == [9, 6, 1]
    assert report.read_share == pytest.approx(9 / 15, abs=0.01)
    assert report.neither_per_turn == pytest.approx(SIZE / 4, rel=0.1)
    assert report.prefix_shared_read == 1.0
    api.advance(301)
    figures(api, request(user([a, b, marked])))
    assert api.cache_report().prefix_shared_read == pytest.approx(9 / 12)
    assert api.cache_report("observer").requests == 0


def test_cache_report_counts_tool_rounds_as_one_turn(api: FakeApi) -> None:
    """A request that carries tool results belongs to the turn before."""
    send(api, request(user("a"), tools=[TOOL]))
    send(api, request(user("a"), assistant([CALL]), user([RESULT]), tools=[TOOL]))
    assert (api.cache_report().requests, api.cache_report().turns) == (2, 1)
