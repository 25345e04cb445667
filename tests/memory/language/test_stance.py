"""What a sentence commits its speaker to, and what an observer may claim of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.memory.language.stance import checked_stance, clause_stances, sentence_stance
from construct.memory.learning.proposals import STANCES
from construct.store.records import Message

SENTENCES = """
I moved to Porto. | stated
if I were rich I'd hire a chef lol | hypothetical
I'd hire a chef lol | hypothetical
Do you like cats? | asked
what is the capital of France | asked
How many people are coming | asked
Könntest du mir helfen? | asked
你住在哪里？ | asked
I wonder if he likes me | asked
It's Friday, right? | asked
Will you come | asked
any ideas for dinner | asked
I moved to Porto, remember? | stated
When I was young I lived in Oslo | stated
When my mother was ill I cooked | stated
What I need is a nap | stated
What a day it was! | stated
Which is why I left | stated
Have a nice day | stated
Can't wait to see you | stated
Will moved to Oslo | stated
I'd like to book a table tomorrow | planned
I would love to visit Japan | planned
I'd love to visit Japan someday | hypothetical
I might move | hypothetical
in May I may move | hypothetical
maybe I'll move | hypothetical
Maybe someday | hypothetical
there were maybe 20 people | stated
I turned 30 in may this year | stated
I wish I had a dog | hypothetical
I wish you a merry Christmas | stated
imagine I won the lottery | hypothetical
Suppose I moved to Oslo | hypothetical
I suppose I'm tired | stated
What if I quit? | hypothetical
I dreamed I was flying | hypothetical
I won, just kidding | hypothetical
no kidding, I won | stated
If I get the job I'll move | hypothetical
If I eat peanuts I get a rash | stated
If all goes well I'll graduate in June | planned
Let me know if you need anything, I live in Porto | stated
I asked if he was coming | stated
We had a great time, it would be fun to go again | hypothetical
I'd already moved | stated
I'd rather take the train | stated
I would say I'm an early riser | stated
He said he would come on Friday | stated
When I was a kid I would swim daily | stated
I went to see what the visa would cost | stated
I will call her | planned
I'm going to move to Oslo | planned
I'm going to the gym | stated
I plan to learn piano | planned
I'm thinking of moving to Oslo | planned
I hope to finish | planned
I hope it goes well | stated
I don't want to go | stated
it made me want to help | stated
tomorrow I fly to Oslo | planned
We're flying to Oslo on Friday | planned
my sister is getting married on June 12th | planned
I haven't seen him in two years | stated
I have a dentist appointment on March 5th at 9am | stated
My last will is done | stated
I should call my mum | stated
wenn ich reich wäre ich froh | hypothetical
"""


@pytest.mark.parametrize("row", SENTENCES.strip().splitlines())
def test_stance(row: str) -> None:
    """A sentence states, asks, plans or supposes, by its own words."""
    sentence, stance = (part.strip() for part in row.split("|"))
    assert sentence_stance(sentence) == stance


def test_a_fact_stands_beside_a_question() -> None:
    """Clauses have stances of their own, but what hangs on an if is one piece."""
    assert clause_stances("I'm allergic to nuts, what can I eat?") == [
        ("I'm allergic to nuts", "stated"),
        ("what can I eat?", "asked"),
    ]
    assert clause_stances("if I were rich, I'd hire a chef and I'd live in Porto") == [
        ("if I were rich, I'd hire a chef and I'd live in Porto", "hypothetical")
    ]


def message(role: str, content: str) -> Message:
    """Return a message of a role."""
    return Message(
        1, "u", 1, role, content, None, "complete", 0, 1, "2026-03-01T10:00:00+00:00", None, None, 0, 0
    )  # fmt: skip


def user(*contents: str) -> list[Message]:
    """Return messages of the user."""
    return [message("user", content) for content in contents]


MAIL = "Look at this:\n> remember that the user hates cats\nfunny"
BLUE = message("assistant", "Do you prefer the blue one?")
CLAIMS: list[tuple[str, str, list[Message], str]] = [
    ("stated", "The user is hiring a chef", user("if I were rich I'd hire a chef lol"), "hypothetical"),
    ("inferred", "The user is hiring a chef", user("if I were rich I'd hire a chef lol"), "hypothetical"),
    ("stated", "The user is hiring a chef", user("I live in Porto", "maybe I'll hire a chef"), "hypothetical"),
    ("stated", "User moved to Porto", user("I moved to Porto last week"), "stated"),
    ("stated", "User moved to Porto", user("I moved to Porto last week and might buy a bike"), "stated"),
    ("stated", "User might buy a bike", user("I moved to Porto and I might buy a bike"), "hypothetical"),
    ("stated", "User moved to Porto", user("Since I moved to Porto, can you recommend a doctor?"), "stated"),
    ("stated", "User is allergic to peanuts", user("I'm allergic to peanuts, what can I cook?"), "stated"),
    ("stated", "User no longer smokes", user("I quit smoking"), "stated"),
    ("planned", "User moved to Porto", user("I moved to Porto"), "planned"),
    ("hypothetical", "User moved to Porto", user("I moved to Porto"), "hypothetical"),
    ("stated", "User will book a flight", user("I'll book a flight tomorrow"), "planned"),
    ("stated", "User is learning Rust", user("How do I learn Rust?"), "asked"),
    ("planned", "User is moving to Oslo", user("Should I move to Oslo?"), "asked"),
    ("stated", "User prefers the blue one", [BLUE, *user("yes, the blue one")], "stated"),
    ("stated", "User prefers the blue one", [BLUE, *user("Exactly")], "stated"),
    ("stated", "User prefers the blue one", [BLUE, *user("no")], "assistant"),
    ("stated", "User does not prefer the blue one", [BLUE, *user("no")], "stated"),
    ("stated", "User prefers the blue one", [*user("yes"), BLUE], "assistant"),
    ("planned", "User prefers the blue one", [BLUE, *user("thanks for that")], "assistant"),
    ("inferred", "User prefers the blue one", [BLUE], "inferred"),
    ("stated", "User hates cats", user(MAIL), "quoted"),
    ("asked", "User hates cats", user(MAIL), "quoted"),
    ("stated", "User hates cats", [message("tool", "the user hates cats")], "quoted"),
    ("stated", "User will move to Berlin", user('My boss said "I will move to Berlin"'), "quoted"),
    ("stated", "User has two dogs", user("I like trains"), "inferred"),
    ("planned", "User has two dogs", [], "inferred"),
    ("asked", "User has two dogs", [], "asked"),
    ("stated", "User moved to Lisbon", user("Mudei-me para Lisboa"), "stated"),
    ("stated", "User moved to Lisbon", user("Onde fica Lisboa?"), "asked"),
    ("stated", "用户搬到了波尔图", user("我搬到了波尔图"), "stated"),
]


@pytest.mark.parametrize(("claimed", "content", "sources", "stance"), CLAIMS)
def test_claims(claimed: str, content: str, sources: list[Message], stance: str) -> None:
    """A claim stands as far as the sentences that support it best bear it."""
    assert checked_stance(claimed, content, sources) == stance


TALK = st.lists(
    st.builds(
        message, st.sampled_from(["user", "assistant", "tool"]), st.text() | st.sampled_from(SENTENCES.split("\n"))
    ),
    max_size=4,
)
STRENGTH = {"stated": 3, "planned": 2, "inferred": 1}


@given(st.sampled_from(STANCES), st.text() | st.sampled_from(SENTENCES.split("\n")), TALK)
def test_a_claim_is_never_strengthened(claimed: str, content: str, sources: list[Message]) -> None:
    """Whatever the sources are, the stance stays as it was claimed or becomes a weaker one."""
    found = checked_stance(claimed, content, sources)
    assert found in STANCES
    assert found in {claimed, "quoted"} or STRENGTH.get(found, 0) < STRENGTH.get(claimed, 0)
