"""What is kept of an answer that repeats itself."""

import pytest

from construct.memory.learning.asking import sound_part

TAIL = " ".join(f"walks past house {n}" for n in range(60))


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        (["M1 User likes tea", "M2 User likes jam"], 2),
        ([f"M1 User keeps bee {n}" for n in range(90)] + ["M1 User keeps bee 1"] * 400, 90),
        (["M1 User likes jam", "M1 " + "User likes tea and " * 200], 1),
        ([f"M{n} User {TAIL}" for n in range(1, 9)], 1),
        (["M1 User likes tea " * 1_000], 0),
    ],
    ids=["not at all", "by lines", "within a line", "in what follows", "without end"],
)
def test_it_is_cut_before_it_begins_to(lines: list[str], kept: int) -> None:
    """What is cut lacks its closing tag."""
    whole = ["<observations>", *(f"! 2026-03-01 {line}" for line in lines), "</observations>", ""]
    expected = whole if kept == len(lines) else [*whole[: kept + 1], ""]
    assert sound_part("\n".join(whole)) == "\n".join(expected)
