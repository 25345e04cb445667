"""What comes back by itself: little, good, and nothing that is in sight."""

from collections.abc import Set
from dataclasses import replace
from datetime import date

import pytest

from construct import tokens
from construct.memory.recall.passages import BUDGET, MAX_PASSAGES, OVERHEAD, passages
from construct.memory.recall.search import Hit
from tests.memory.builders import Life, stated

TOPICS = [
    "train",
    "kettle",
    "violin",
    "harbour",
    "mountain",
    "garden",
    "printer",
    "bakery",
    "festival",
    "novel",
]


@pytest.fixture
def lived(life: Life) -> Life:
    """A long talk about many things; once about bees in Vouzela."""
    here = life.talk()
    for number in range(60):
        topic = TOPICS[number % len(TOPICS)]
        life.exchange(
            here, f"The {topic} was mentioned, time {number}.", f"The {topic} again, interesting."
        )
        if number == 30:
            life.say(here, "My grandmother Ermelinda kept bees behind the old mill in Vouzela.")
            life.say(here, "What a place for honey!", "assistant")
    return life


def found(
    life: Life, newest: str, previous: str = "", known: Set[tuple[str, int]] = frozenset()
) -> list[Hit]:
    """Return what comes back."""
    return passages(life.db, newest, previous, known, today=date(2026, 3, 20))


def test_what_is_asked_about_comes_back(lived: Life) -> None:
    """The passage that holds the rare words comes, with who said it and when."""
    hit = found(lived, "Where did my grandmother Ermelinda keep her bees?")[0]
    assert "Vouzela" in hit.text
    assert (hit.kind, hit.role, hit.date) == ("message", "user", "2026-03-01")


def test_the_question_in_a_long_message_is_what_counts(lived: Life) -> None:
    """Each sentence is looked at by itself, questions first."""
    text = (
        "I bought a helicopter. It hovers over Zanzibar. "
        "Where did grandmother keep the bees? Anyway, good night."
    )
    assert "Vouzela" in found(lived, text)[0].text


@pytest.mark.parametrize("newest", ["and when was that?", "Where was it?", "and why?"])
def test_a_question_that_names_nothing_is_about_the_turn_before(lived: Life, newest: str) -> None:
    """What the turn before names is looked for."""
    assert (
        "Vouzela"
        in found(lived, newest, "Tell me about grandmother Ermelinda and her bees.")[0].text
    )


@pytest.mark.parametrize(
    "newest",
    [
        "", "   ", "Hello!", "ok", "thanks a lot", "???", "How are you today, my friend?",
        "That's great, thank you!", "good night", "Yes please", "haha", "🙂",
        "What did I say about my yacht?", "Do you remember my saxophone?",
        "the train", "What about the train?", "Was the train late?",
    ],
)  # fmt: skip
def test_nothing_comes_without_reason(lived: Life, newest: str) -> None:
    """Small talk, new subjects and common words bring nothing back."""
    assert found(lived, newest) == []


def test_thanks_are_no_question_about_the_turn_before(lived: Life) -> None:
    """The turn before is looked at only when something is asked."""
    assert found(lived, "Thanks!", "Your grandmother Ermelinda kept bees.") == []


def test_nothing_comes_from_an_empty_file(life: Life) -> None:
    """There is nothing to bring back."""
    assert found(life, "Where did grandmother keep her bees?") == []


def test_the_other_sides_words_do_not_answer_for_mine(lived: Life) -> None:
    """When it is asked what I said, what the assistant said stays away."""
    here = 1
    lived.say(here, "A dirigible crossed the estuary at dawn.", "assistant")
    lived.say(here, "Nice.")
    assert found(lived, "What did I say about the dirigible over the estuary?") == []
    assert found(lived, "What did you say about the dirigible over the estuary?") != []


@pytest.mark.parametrize(
    "newest",
    [
        "Claude, where did I put the spare key?",
        "Where did I put the spare key, Claude?",
        "Do you think the spare key is under the flowerpot?",
        "Claude, could you tell me how blue the flowerpot with the spare key is?",
    ],
)
def test_whoever_is_spoken_to_is_not_asked_about(lived: Life, newest: str) -> None:
    """Neither the name nor the "you" by which a question turns to the assistant counts."""
    for number in range(6):
        lived.exchange(1, f"Claude, is it time for lunch number {number}?", "It is.")
    lived.exchange(1, "I put the spare key under the blue flowerpot.")
    assert "flowerpot" in found(lived, newest)[0].text


def test_what_is_in_sight_stays_away(lived: Life) -> None:
    """What is in the window, or said by an observation in sight, does not come back."""
    question = "Where did my grandmother Ermelinda keep her bees?"
    (said,) = [hit for hit in found(lived, question) if "Vouzela" in hit.text]
    assert all(
        "Vouzela" not in hit.text for hit in found(lived, question, known={("message", said.id)})
    )
    message = lived.db.execute("SELECT content FROM messages WHERE id = ?", (said.id,)).fetchone()[
        0
    ]
    observations = lived.observe(1, (message, [_Said(said.id)]))  # type: ignore[list-item]
    lived.compact(1)
    seen = {("observation", o.id) for o in observations}
    assert all("Vouzela" not in hit.text for hit in found(lived, question, known=seen))
    assert any("Vouzela" in hit.text for hit in found(lived, question))


class _Said:
    """A message with only an id."""

    def __init__(self, number: int) -> None:
        self.id = number


def test_a_pending_observation_stays_away(lived: Life) -> None:
    """Its messages are in the window still."""
    said = lived.say(1, "The axolotl is called Quetzal.")
    lived.observe(1, ("The axolotl is called Quetzal.", [said]))
    kinds = {
        hit.kind
        for hit in found(
            lived, "What is the axolotl called, Quetzal?", known={("message", said.id)}
        )
    }
    assert kinds == set()


def test_the_budget_is_kept(lived: Life) -> None:
    """There are few passages, short ones, and none twice in the same words."""
    for _ in range(8):
        lived.say(1, f"{'word ' * 200} the zeppelin landed in Trondheim {'word ' * 200}")
        lived.say(1, "Oh.", "assistant")
    hits = found(lived, "When did the zeppelin land in Trondheim?")
    assert 0 < len(hits) <= MAX_PASSAGES
    assert sum(tokens.count(hit.text) + OVERHEAD for hit in hits) <= BUDGET
    assert len({hit.text for hit in hits}) == len(hits)
    assert all("zeppelin" in hit.text for hit in hits)


def test_a_text_that_is_found_twice_is_paid_for_once(lived: Life) -> None:
    """A message that was observed word for word leaves room for another passage."""
    padding = "and there were so many people that one could hardly see the way " * 3
    for number in range(3):
        lived.exchange(1, f"The plane landed at noon, number {number}")
    said = lived.exchange(1, f"The zeppelin landed in Trondheim {padding}")
    lived.exchange(1, "The zeppelin of Trondheim was silver.")
    lived.observe(1, replace(stated(said.content, [said.id]), priority="low"))
    lived.compact(1)
    texts = [hit.text for hit in found(lived, "When did the zeppelin land in Trondheim?")]
    assert "silver" in texts[1]
