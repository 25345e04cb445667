"""What code can prove of an observer's line: its terms, and whose words it rests on."""

import pytest

from construct.memory.learning.grounding import (
    rests_on_files,
    strongest_stance,
    ungrounded_terms,
    weaker,
)
from tests.memory.making import message

DAYS = ["2026-03-05"]


@pytest.mark.parametrize(
    ("fact", "heard", "strange"),
    [
        ("User met Zoltan in Porto", "I was in porto", {"zoltan"}),
        ("User pays 1300 euros", "the rent is 1200", {"1300"}),
        ("User has two cats", "I have 2 cats", set()),
        ("User reads “The Lean Startup”", "i am reading the lean startup", set()),
        ("User's flight is on March 7th, 2026", "the day after tomorrow I fly", set()),
        ("User flies on the 7th", "the day after tomorrow I fly", {"7th"}),
        ("User moved in June 2025", "I moved last June", set()),
        ("User has lived there since 2019", "for seven years now", set()),
        ("User has lived there since 2001", "for seven years now", {"2001"}),
        ("User was there on 2026-03-04", "yesterday", set()),
        (
            "User hat am Freitag einen Zahnarzttermin",
            "ich muss freitag zum zahnarzt, das ist doof",
            set(),
        ),
        ("User zahlt 900 Euro für die Wohnung", "die wohnung kostet 800 und ist klein", {"900"}),
        ("User assina na semana de 23 de março de 2026", "assinamos na próxima semana", set()),
        ("User assina a 44 de março de 2026", "assinamos na próxima semana", {"44"}),
        ("Annas Hund heißt Rex", "anna hat einen hund der rex heißt", set()),
        ("User's sister Ana lives in Faro", "Ana's in Faro", set()),
        ("ユーザーは7時に起きる", "6時に起きる", {"7"}),
    ],
)
def test_terms_come_from_what_was_heard(fact: str, heard: str, strange: set[str]) -> None:
    """Names and numbers that nobody said are found.

    Dates may be worked out, and endings may differ.
    """
    assert ungrounded_terms(fact, [heard], DAYS) == strange


def test_a_day_the_line_gives_may_stand_in_its_words() -> None:
    """The days of the messages and of the line itself can be written in any way."""
    assert not ungrounded_terms("User flies on the 7th", ["I fly then"], [*DAYS, "2026-03-07"])


OWN = message(
    1,
    "user",
    "Look what my landlord wrote, and I told Colin: I quit!\n> The rent rises to 1300 euros",
)
REPLY = message(2, "assistant", "You could ask the Mieterverein.")


@pytest.mark.parametrize(
    ("fact", "sources", "limit"),
    [
        ("User quit their job", [OWN], "stated"),
        ("User told Colin that they quit", [OWN], "stated"),
        ("User's rent rises to 1300 euros", [OWN], "quoted"),
        ("User could ask the Mieterverein", [REPLY], "assistant"),
        ("User quit, and could ask the Mieterverein", [OWN, REPLY], "stated"),
        ("User pays rent", [message(3, "user", "> The rent is due")], "quoted"),
    ],
)
def test_what_sources_prove_of_stance(fact: str, sources: list, limit: str) -> None:  # type: ignore[type-arg]
    """All the assistant's, or standing only in quoted lines.

    Quotation of one's own words proves nothing.
    """
    assert strongest_stance(fact, sources, sources) == limit


def test_what_was_quoted_before_is_quoted_still() -> None:
    """A later message does not make an earlier quoted line the user's own."""
    thanks = message(3, "user", "Thanks, bye")
    assert (
        strongest_stance("User's rent rises to 1300 euros", [thanks], [OWN, REPLY, thanks])
        == "quoted"
    )


def test_what_the_user_takes_up_is_the_users_own() -> None:
    """A plan about a quoted bill is the user's own statement.

    Whoever says "I'll pay it on Friday" has said so: the model's word counts.
    """
    promise, thanks = message(3, "user", "OK, I'll pay that on Friday"), message(4, "user", "Bye")
    fact = "User will pay the 1300 euros on Friday"
    assert strongest_stance(fact, [OWN, promise], [OWN, REPLY, promise]) == "stated"
    assert strongest_stance(fact, [OWN, thanks], [OWN, REPLY, thanks]) == "quoted"


def test_what_the_user_takes_up_of_a_picture_is_the_users_own() -> None:
    """A plan made of a note on a photo is a plan.

    What only the photo says is quoted.
    """
    photo = message(3, "user", "What does it want of me?")._replace(attached="[image: note.webp]")
    promise = message(5, "user", "I'll do that on Monday before work")
    fact = "User will ring Signora Conti on Monday before work"
    assert not rests_on_files(fact, [photo, promise], [photo, promise], [])
    assert rests_on_files(fact, [photo], [photo], [])
    assert rests_on_files("Signora Conti has a garden wall", [photo, promise], [photo, promise], [])


@pytest.mark.parametrize("day", ["on Wednesday", "on 2026-03-04", "on 4 March 2026"])
def test_a_day_worked_out_from_the_users_words_is_the_users(day: str) -> None:
    """A date for "yesterday" does not come from the picture beside it."""
    rent = message(3, "user", "I paid the rent yesterday, here is the receipt")
    sources = [rent._replace(attached="[image: receipt.webp]")]
    assert not rests_on_files(f"User paid the rent {day}", sources, sources, ["2026-03-04"])
    assert rests_on_files(f"User paid the rent {day}", sources, sources, [])


@pytest.mark.parametrize(
    "fact", ["User's sister Ana moved to Porto", "User should ask Ana about Aspirin"]
)
def test_what_was_piped_in_is_quoted_though_the_question_names_it(fact: str) -> None:
    """One term that stands in the quoted lines only is enough."""
    asked = message(
        3, "user", "Summarise this mail from Ana\n\n> I, Ana, moved to Porto\n> and take Aspirin"
    )
    assert strongest_stance(fact, [asked], [asked]) == "quoted"


def test_many_blank_lines_are_read_once() -> None:
    """Else a message of them would take minutes."""
    blank = message(3, "user", "\n" * 1_000_000 + "I moved to Porto")
    assert strongest_stance("User moved to Porto", [blank], [blank]) == "stated"


def test_a_limit_never_strengthens() -> None:
    """The model's word stands where it is weaker than the limit."""
    assert weaker("stated", "assistant") == "assistant"
    assert weaker("quoted", "assistant") == "quoted"
    assert weaker("hypothetical", "stated") == "hypothetical"
