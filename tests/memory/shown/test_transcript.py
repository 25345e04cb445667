"""What a worker reads: anchors that are ours alone, and markup that is nobody's."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construct import tokens
from construct.clock import Clock, gap_words
from construct.memory.shown.transcript import (
    batches,
    halves,
    pause_words,
    slices,
    turns,
)
from construct.store.records import Message
from tests.memory.making import message, transcript

CLOCK = Clock(zone=ZoneInfo("Europe/Lisbon"))


def test_what_a_transcript_looks_like() -> None:
    """Each message is headed by anchor, local time and role.

    Nothing stands between them.
    """
    said = [
        message(4, "user", "I moved\nto Porto"),
        message(5, "assistant", ""),
        message(9, "user", "Back", minutes=60 * 24 * 3 + 5),
    ]
    text, anchors = transcript(said, Clock(zone=ZoneInfo("Asia/Tokyo")))
    assert text == (
        "<transcript>\n[M1] 2026-03-01 23:34 user:\nI moved\nto Porto\n"
        "[M2] 2026-03-01 23:35 assistant:\n\n"
        "[M3] 2026-03-04 23:35 user:\nBack\n</transcript>"
    )
    assert anchors == {"M1": 4, "M2": 5, "M3": 9}


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        (timedelta(0), "1 minute"), (timedelta(minutes=2), "2 minutes"),
        (timedelta(minutes=56), "56 minutes"), (timedelta(minutes=57), "1 hour"),
        (timedelta(hours=6), "6 hours"), (timedelta(hours=23), "1 day"),
        (timedelta(days=2), "2 days"), (timedelta(days=13), "13 days"),
        (timedelta(days=14), "2 weeks"), (timedelta(days=50), "7 weeks"),
        (timedelta(days=61), "2 months"), (timedelta(days=340), "11 months"),
        (timedelta(days=365), "1 year"), (timedelta(days=800), "2 years"),
    ],
)  # fmt: skip
def test_how_long_a_pause_was(gap: timedelta, words: str) -> None:
    """A pause is given in the largest fitting unit.

    Between messages it is only given from six hours on.
    """
    assert gap_words(gap) == words
    pair = (
        message(1, "user", "a", minutes=0),
        message(2, "user", "b", minutes=gap.total_seconds() / 60),
    )
    assert pause_words(*pair) == (f"{words} later" if gap >= timedelta(hours=6) else None)


ROLES = st.lists(st.tuples(st.sampled_from(("user", "assistant")), st.integers(1, 50)), max_size=20)


def said(rows: list[tuple[str, int]]) -> list[Message]:
    """Return messages of the roles and sizes given."""
    return [message(i, role, "x", tokens=size) for i, (role, size) in enumerate(rows, 1)]


@settings(deadline=None)
@given(ROLES, st.integers(1, 120))
def test_batches_are_whole_turns(rows: list[tuple[str, int]], most: int) -> None:
    """Batches hold every message once and in order, and are cut between turns.

    They are as large as possible.
    """
    messages = said(rows)
    found = batches(messages, most)
    assert [m for batch in found for m in batch] == messages
    assert [turn for batch in found for turn in turns(batch)] == turns(messages)
    sizes = [sum(m.token_count for m in batch) for batch in found]
    assert all(
        size <= most or len(turns(batch)) == 1 for size, batch in zip(sizes, found, strict=True)
    )
    firsts = [sum(m.token_count for m in turns(batch)[0]) for batch in found[1:]]
    assert all(size + first > most for size, first in zip(sizes, firsts, strict=False))


@settings(deadline=None)
@given(ROLES.filter(bool))
def test_halves(rows: list[tuple[str, int]]) -> None:
    """What failed as a whole is cut in two, between turns where there are several.

    One message stays whole.
    """
    messages = said(rows)
    found = halves(messages)
    assert [m for half in found for m in half] == messages
    assert len(found) == min(2, len(messages))
    assert all(found)
    if len(turns(messages)) > 1:
        assert [turn for half in found for turn in turns(half)] == turns(messages)


@settings(deadline=None)
@given(st.text(max_size=300) | st.text(alphabet="ab 用\n👍", max_size=600), st.integers(1, 30))
def test_slices(text: str, most: int) -> None:
    """A message too large for one call is cut into pieces that fit and lose nothing."""
    pieces = slices(text, most)
    assert "".join(pieces) == text
    assert all(tokens.by_bytes(piece) <= most for piece in pieces)
