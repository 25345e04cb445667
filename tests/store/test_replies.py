"""Which messages a reply answers."""

import pytest

from construct.store.replies import Said, questions_answered


def said(line: str) -> list[Said]:
    """Return the messages of `q1 a2 …`: questions and answers with their ids.

    A letter after the id: `x` left out of requests, `r` retried, `i` imported.
    """
    return [
        Said(
            int(word[1]),
            "user" if word[0] == "q" else "assistant",
            archived="i" in word,
            left_out="x" in word,
            retried="r" in word,
        )
        for word in line.split()
    ]


@pytest.mark.parametrize(
    ("talk", "answered"),
    [
        ("q1 a2 q3 a4", {2: (1,), 4: (3,)}),
        ("a1 q2", {1: ()}),
        ("q1 a2 a3", {2: (1,), 3: (1,)}),  # an answer that was asked for again
        ("q1 q2 a3 q4 a5", {3: (1, 2), 5: (4,)}),  # 1 was sent again with 2
        ("q1i q2i a3i q4i q5 a6", {3: (1, 2), 6: (5,)}),  # nothing imported is sent
        ("q1 q2x a3x a4", {3: (2,), 4: (1, 2)}),  # 2 was dropped, 1 asked again
        ("q1 q2x a3x q4 a5", {3: (2,), 5: (1, 4)}),
        ("q1 a2xr a3 q4 a5", {2: (1,), 3: (1,), 5: (4,)}),
    ],
)
def test_questions_answered(talk: str, answered: dict[int, tuple[int, ...]]) -> None:
    """An answer belongs to the newest question, and to those that got none before it."""
    assert dict(questions_answered(said(talk))) == answered
