"""Which message an observation rests on."""

from datetime import date

import pytest

from construct.memory.learning.anchoring import anchored, said_by
from tests.memory.making import draft, message

TALK = [
    message(1, "user", "I went to a support group yesterday and it was so powerful."),
    message(2, "assistant", "What happened there? Did you hear any inspiring stories?"),
    message(3, "user", "The stories were so inspiring! I am thankful for all the support."),
    message(4, "assistant", "You could look into counseling courses at the college in Faro."),
    message(5, "user", "I plan to work in mental health."),
    message(6, "user", "Truly, I was thankful for their support!"),
]
DAYS = {m.id: date(2026, 3, min(m.id, 4)) for m in TALK}


@pytest.mark.parametrize(
    ("content", "named", "sources"),
    [
        ("User was thankful for the support", (2,), (3,)),  # the nearest of those that say it
        ("User was thankful for the support", (5,), (6,)),
        ("User plans to work in mental health", (4,), (5,)),
        ("User looks into counseling courses in Faro", (5,), (4,)),  # and so it is the assistant's word
        ("User went to a support group", (1,), (1,)),
        ("User found the stories inspiring and is thankful", (1, 3), (1, 3)),
        ("User keeps bees with a neighbour", (2,), (2,)),  # nobody says it: nothing better to name
        ("User feels better", (2,), (2,)),
        ("User went", (2,), (2,)),
    ],
)
def test_the_message_that_says_it_is_its_source(content: str, named: tuple[int, ...], sources: tuple[int, ...]) -> None:
    """An anchor that is off is put right where one message plainly says it, else left as it was."""
    assert anchored(draft(content, named), said_by(TALK), DAYS).sources == sources


def test_nothing_happened_after_it_was_said() -> None:
    """The day is that of the message it rests on now, at the latest."""
    given = draft("User was thankful for the support", (4,), day="2026-03-04")
    assert anchored(given, said_by(TALK), DAYS).observation_date == "2026-03-03"
