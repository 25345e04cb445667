"""What the cost benchmark's figures stand on."""

import pytest

from benchmarks import cost
from benchmarks.world import Speech, observer
from construct.memory.shown.lines import read_notes, section
from construct.tokens import Usage, by_bytes

LEARNS_NOTHING = {"CONSTRUCT_MEMORY": "read-only"}
"""All that was said stays in the window, then."""


@pytest.mark.parametrize("rhythm", [cost.STEADY, "5 turns, then 8 hours"])
async def test_the_computed_full_history_costs_what_a_played_one_does(rhythm: str) -> None:
    """Read, written and new tokens agree within a hundredth.

    The conversation is long enough for cache entries to expire.
    """
    played = await cost.play(12, rhythm, LEARNS_NOTHING)
    computed = cost.full_history(12, rhythm, played[0].usage["chat"])
    sums = [Usage(), Usage()]
    for i, spent in enumerate((played, computed)):
        for one in spent:
            sums[i] += one.usage.get("chat", Usage())
    assert sums[1].cache_read_tokens == pytest.approx(sums[0].cache_read_tokens, rel=0.01)
    assert sums[1].cache_write_tokens == pytest.approx(sums[0].cache_write_tokens, rel=0.01)
    assert sum(one.usd for one in computed) == pytest.approx(
        sum(one.usd for one in played), rel=0.02
    )


def test_worker_answers_have_the_size_of_real_ones() -> None:
    """A turn has about 200 tokens.

    The observer makes two lines of about 25 tokens of it.
    """
    speech = Speech()
    turns = [speech.turn() for _ in range(50)]
    assert 180 <= sum(by_bytes(text) for turn in turns for text in turn) / 50 <= 220
    body = {"messages": [{"role": "user", "content": _transcript(turns)}]}
    found = section(observer(body), "observations")
    assert found is not None
    notes, _ = read_notes(found.lines, "M", [f"M{i}" for i in range(1, 51)])
    assert len(notes) == 100
    assert 18 <= sum(by_bytes(note.content) for note in notes) / 100 <= 30


def _transcript(turns: list[tuple[str, str]]) -> str:
    said = "\n".join(
        f"[M{i}] 2026-03-01 14:30 user:\n{words}" for i, (words, _) in enumerate(turns, 1)
    )
    return f"<transcript>\n{said}\n</transcript>"


def test_the_point_from_which_it_pays() -> None:
    """It pays from the turn after the last one at which it had cost more in all.

    A tie is not yet less.
    """
    ours = [cost.Spent({}, dollars) for dollars in (3.0, 1.0, 1.0, 1.0)]
    theirs = [cost.Spent({}, dollars) for dollars in (1.0, 2.0, 2.0, 2.0)]
    assert cost.pays_from(ours, theirs) == 4
    assert cost.pays_from(theirs, ours) is None
