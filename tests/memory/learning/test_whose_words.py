"""What code can prove of whose words a line rests on."""

import pytest

from construct.memory.learning.whose_words import strongest_stance, weaker
from construct.store.records import Message
from tests.memory.making import message

MAIL = message(
    1,
    "user",
    "Look what my landlord wrote, and I told Colin: I quit!\n> The rent rises to 1300 euros",
)
REPLY = message(2, "assistant", "You could ask the Mieterverein.")
PASTE = message(3, "user", "> The rent of 1300 euros is due")
BILL = message(4, "user", "I'll pay that rent on Friday")
PICTURE = message(5, "user", "Look at this")


@pytest.mark.parametrize(
    ("fact", "sources", "limit"),
    [
        ("User quit their job", [MAIL], "stated"),
        ("User told Colin that they quit", [MAIL], "stated"),
        ("User's rent rises to 1300 euros", [MAIL], "quoted"),
        ("User could ask the Mieterverein", [REPLY], "assistant"),
        ("User quit, and could ask the Mieterverein", [MAIL, REPLY], "stated"),
        ("User pays rent", [PASTE], "quoted"),
        ("User pays the rent of 1300 euros on Friday", [PASTE, BILL], "stated"),
        ("User pays the rent of 1300 euros", [PASTE, BILL], "quoted"),
        ("User has a cat", [PICTURE], "quoted"),
        ("User asks to look at a cat", [PICTURE], "stated"),
    ],
)
def test_what_sources_prove_of_stance(fact: str, sources: list[Message], limit: str) -> None:
    """All the assistant's; all pasted; all its names and numbers pasted; from a picture."""
    assert strongest_stance(fact, sources, sources, {PICTURE.id}) == limit


def test_the_weaker_stance_counts() -> None:
    """It is the one that comes later in the order of the contract."""
    assert weaker("stated", "quoted") == weaker("quoted", "asked") == "quoted"
