"""The observer without a model: what it selects, and how it dates it."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.clock import Clock, to_text
from construct.memory.learning.extractive import extract
from construct.memory.learning.proposals import PRIORITIES, STANCES, Draft
from construct.store.records import Message
from construct.text import one_line
from construct.tokens import by_bytes

CLOCK = Clock(zone=UTC)
WEDNESDAY = datetime(2026, 3, 4, 10, tzinfo=UTC)


def message(content: str, role: str = "user", number: int = 1, at: datetime = WEDNESDAY) -> Message:
    """Return a message said on a Wednesday."""
    return Message(
        number, "u", 1, role, content, None, "complete", 0, 1, to_text(at), None, None, 0, 0
    )  # fmt: skip


def drafts(*contents: str) -> tuple[Draft, ...]:
    """Return the drafts that messages of the user give."""
    return extract([message(content, number=i + 1) for i, content in enumerate(contents)], CLOCK).drafts


KEPT = """
I moved to Porto last week. | high | stated
I'm allergic to peanuts. | high | stated
my sister Anna is getting married on June 12th in Lisbon | high | planned
remember that my locker code is 4512 | high | stated
Please answer in German from now on. | high | stated
call me Ed | high | stated
I was born on 5 May 1990 in Graz. | high | stated
We're flying to Oslo on Friday, my wife Sara and I. | high | planned
My favourite colour is now green. | medium | stated
the rent is 950 | medium | stated
No, the rent went up to 950 euros. | medium | stated
I prefer short answers, please. | medium | stated
Just got back from a trip to Rome with Bob | medium | stated
How do I sort a list in Python 3.11? | low | asked
The views were stunning and I felt relaxed. | low | stated
Since we last talked I lost my job. | high | stated
Her name is Shadow! | medium | stated
Their names were Tom and Lily. | medium | stated
We named him Ned. | high | stated
Yes I do - Oscar, my guinea pig. | medium | stated
Mudei-me para o Porto em março e trabalho como enfermeira. | high | stated
Ich bin letzte Woche nach Berlin umgezogen. | high | stated
J'habite à Lyon depuis 2019 et je suis allergique aux noix. | high | stated
Habito em Lisboa com a minha mulher e dois filhos. | medium | stated
Я живу в Москве и работаю врачом. | high | stated
我上周搬到了波尔图，我对花生过敏。 | high | stated
私は東京に住んでいます。 | high | stated
저는 서울에 살고 있어요 | low | stated
"""


@pytest.mark.parametrize("row", KEPT.strip().splitlines())
def test_kept(row: str) -> None:
    """The user's own facts are kept word for word, in any of several languages."""
    content, priority, stance = (part.strip() for part in row.split("|"))
    assert [(d.content, d.priority, d.stance) for d in drafts(content)] == [(content, priority, stance)]


@pytest.mark.parametrize(
    "content",
    [
        "hello there how are you today?",
        "ok thanks!",
        "That's so cool, Anna!",
        "Hey Anna, it's been a few days since we talked.",
        "So much has happened to me since our last chat!",
        "I'm glad you like it!",
        "The rent in Lisbon is over 1,000 euros on average.",
        "The exit code is 137.",
        "Can you write me a poem about love?",
        "Explain quantum computing to me like I'm five",
        "if I were rich I'd hire a chef lol",
        "Don't save this: my salary is 5000. I moved to Porto.",
        "Please forget what I told you about Ana's pregnancy.",
        "Delete what I've said about Karl, my boss.",
        "I never said that about my boss Karl, I take it back.",
        "> I moved to Oslo and quit my job",
        "Here is the mail:\nDear user, I moved to Oslo and quit my job.",
        "```\nI moved to Oslo = 1\n```",
        "I am " + "very " * 100 + "happy",
        "yes",
        "",
        "???",
    ],
)
def test_left_out(content: str) -> None:
    """Pleasantries, commands, jokes, quoted matter and what is not to be saved give nothing."""
    assert drafts(content) == ()


def test_only_the_user_is_observed() -> None:
    """What the assistant or a tool says is no observation."""
    said = [message("I moved to Porto last week.", role, i) for i, role in enumerate(("assistant", "system", "tool"))]
    assert extract(said, CLOCK).drafts == ()


def test_a_fact_is_taken_out_of_a_question() -> None:
    """What is asked or supposed beside a fact does not come along."""
    found = drafts("I'm allergic to peanuts, what can I cook tonight?", "I moved to Porto and I might buy a bike.")
    assert [d.content for d in found] == ["I'm allergic to peanuts", "I moved to Porto"]


def test_what_stands_alone_is_no_part_of_a_plan() -> None:
    """What is so apart from what is planned stands by itself, or it would be taken for a plan that came to nothing."""
    said = (
        "My sister Inês is a nurse in Setúbal, I am allergic to peanuts, and I plan to see the dentist on 2026-12-03."
    )
    assert [(d.content, d.stance, d.referenced_date) for d in drafts(said)] == [
        ("My sister Inês is a nurse in Setúbal", "stated", None),
        ("I am allergic to peanuts", "stated", None),
        ("I plan to see the dentist on 2026-12-03.", "planned", "2026-12-03"),
    ]


def test_past_and_plan_of_one_sentence_are_told_apart() -> None:
    """Where one part of a sentence has a day behind and another one ahead, each part is dated by itself."""
    found = drafts("My car broke down in Porto yesterday, the repair will take until Friday, says Bob.")
    assert [(d.stance, d.observation_date, d.referenced_date) for d in found] == [
        ("stated", "2026-03-03", None),
        ("planned", "2026-03-04", "2026-03-06"),
    ]


def test_direct_speech_is_no_plan_of_the_user() -> None:
    """What somebody else is quoted with in a sentence does not lend it its stance."""
    found = drafts('My boss said "you will be head nurse by summer" to me')
    assert [d.stance for d in found] == ["stated"]


def test_days() -> None:
    """A past day is when it happened, a day ahead is what is referred to; both count from the message's own day."""
    found = drafts(
        "Yesterday I booked the dentist for Friday at 9am.",
        "I quit my job at Siemens.",
        "I have an exam on March 10.",
        "I was born on 5 May 1990 in Graz.",
    )
    assert [(d.observation_date, d.referenced_date) for d in found] == [
        ("2026-03-03", "2026-03-06"),
        ("2026-03-04", None),
        ("2026-03-04", "2026-03-10"),
        ("2026-03-04", "1990-05-05"),
    ]


def test_the_day_is_the_users() -> None:
    """A message late in the evening in UTC belongs to the next day further east."""
    clock = Clock(zone=timezone(timedelta(hours=9)))
    late = message("I quit my job at Siemens today.", at=datetime(2026, 3, 4, 23, tzinfo=UTC))
    assert extract([late], clock).drafts[0].observation_date == "2026-03-05"


def test_said_twice_is_noted_once() -> None:
    """A repeated sentence gives one draft that names both messages."""
    found = drafts("I'm allergic to peanuts.", "i'm allergic to PEANUTS.")
    assert [(d.content, d.sources) for d in found] == [("I'm allergic to peanuts.", (1, 2))]


def test_no_more_than_the_talk_is_worth() -> None:
    """There is about a draft for forty tokens, and those of high priority come before the others."""
    said = [f"I went to the shop number {i} with Bob." for i in range(100)] + ["I'm allergic to peanuts."]
    found = drafts(*said)
    assert len(found) <= sum(by_bytes(s) for s in said) / 40 + 1
    assert found[-1].content == "I'm allergic to peanuts."


def test_title_and_task() -> None:
    """The title is from the first fact, the task is the last request."""
    found = extract([message("I moved to Porto last week. Can you find me a good dentist?")], CLOCK)
    assert (found.title, found.current_task) == ("Moved to Porto last week", "Can you find me a good dentist?")
    nothing = extract([message("ok thanks!")], CLOCK)
    assert (nothing.title, nothing.current_task, nothing.suggested_response) == (None, None, None)


TEXTS = st.text() | st.lists(
    st.sampled_from([*(row.split("|")[0] for row in KEPT.splitlines()), "> I quit", '"', "\x1b]", "\u2028", "\n", "."])
).map(" ".join)
TALK = st.lists(st.tuples(TEXTS, st.sampled_from(["user", "assistant"])), max_size=5)


@given(TALK, st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001
def test_drafts_hold_nothing_but_what_was_said(talk: list[tuple[str, str]], at: datetime) -> None:
    """Every draft stands word for word in its sources, which are the user's and given, and is not of a later day."""
    at = at.replace(tzinfo=UTC)
    said = {i: message(content, role, i, at) for i, (content, role) in enumerate(talk)}
    found = extract(list(said.values()), CLOCK)
    for draft in found.drafts:
        assert draft.sources
        assert draft.stance in STANCES
        assert draft.priority in PRIORITIES
        for source in draft.sources:
            assert said[source].role == "user"
            assert draft.content.casefold() in one_line(said[source].content).casefold()
        assert date.fromisoformat(draft.observation_date) <= at.date()
        assert draft.referenced_date is None or date.fromisoformat(draft.referenced_date)


def test_of_a_very_long_message_both_ends_are_read() -> None:
    """What is typed stands before or behind what was pasted; the middle of megabytes is nobody's words."""
    pasted = "I moved to Porto in June and I love it.\n" * 20_000
    text = f"I'm allergic to peanuts.\n{pasted}My sister Anna is a nurse.\n{pasted}I was born in Graz."
    said = [draft.content for draft in drafts(text)]
    assert {"I'm allergic to peanuts.", "I was born in Graz."} <= set(said)
    assert "My sister Anna is a nurse." not in said


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("I have a sister. Her name is Ana.", ["I have a sister. Her name is Ana."]),
        ("I have a sister.\nShe's 12. He is not.", ["I have a sister. She's 12. He is not."]),
        ("I have a sister. Is it late? Her name is Ana.", ["I have a sister.", "Her name is Ana."]),
        ("I have a sister. Her name is what?", ["I have a sister."]),
        ("- I have a sister\n- Her name is Ana", ["I have a sister", "Her name is Ana"]),
        ("Is it true that I have a sister? Her name is Ana.", ["Her name is Ana."]),
        ("A film was on. Her name is Ana.", ["Her name is Ana."]),
        ("I have a sister. It is late.", ["I have a sister."]),
        ('I have a sister. She said "Her name is Ana."', ['I have a sister. She said "Her name is Ana."']),
    ],
)
def test_what_goes_on_about_somebody_stands_with_the_sentence_before(text: str, kept: list[str]) -> None:
    """Word for word, where it follows directly; a pronoun alone would say of nobody."""
    assert [draft.content for draft in drafts(text)] == kept
