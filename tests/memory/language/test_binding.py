"""Whether a condensed line still says of each thing what its sources say of it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construct.memory.language.binding import flipped, misbound, misbound_number, same_matter, sayings, unknown_subject

Case = tuple[str, list[str]]

HONEST: list[Case] = [
    ("Anna is 40, Ben is 30", ["Anna is 40", "Ben is 30"]),
    ("Anna (40), Ben (30)", ["Anna is 40", "Ben is 30"]),
    ("Anna: 40; Ben: 30", ["Anna is 40", "Ben is 30"]),
    ("Anna is 40 and Ben is 30", ["Anna is 40 and Ben is 30"]),
    ("User has a sister Anna, a nurse in Porto", ["User has a sister Anna", "Anna is a nurse in Porto"]),
    ("User's sister Anna is a nurse in Porto", ["User has a sister Anna", "Anna is a nurse in Porto"]),
    ("Anna, User's sister, is a nurse in Porto", ["User has a sister Anna", "Anna is a nurse in Porto"]),
    ("User plays tennis on Mondays and piano on Fridays",
     ["User plays tennis on Mondays", "User plays piano on Fridays"]),
    ("User likes tea and coffee", ["User likes tea", "User likes coffee"]),
    ("Flight to Porto on March 5 at 9:30 from gate B12",
     ["User's flight to Porto is on March 5", "The flight leaves at 9:30 from gate B12"]),
    ("Flight to Porto leaves at 9:30 from gate B12, on March 5",
     ["User's flight to Porto is on March 5", "The flight leaves at 9:30 from gate B12"]),
    ("User's dentist: Dr Costa, Rua Augusta 12", ["User's dentist is Dr Costa at Rua Augusta 12"]),
    ("User works at Acme in Porto", ["User works at Acme", "User lives in Porto"]),
    ("User is a 34-year-old nurse", ["User is 34", "User is a nurse"]),
    ("User Marta lives in Porto", ["User's name is Marta", "User lives in Porto"]),
    ("User is an engineer at Acme", ["User works at Acme", "User is an engineer"]),
    ("User has a dentist appointment on March 5th at 9am with Dr. Silva",
     ["User has a dentist appointment on March 5th", "Dentist appointment is at 9am", "The dentist is Dr. Silva"]),
    ("Anna is a 40-year-old nurse in Porto with 2 kids", ["Anna is a nurse in Porto", "Anna is 40 and has 2 kids"]),
    ("Anna, 40, nurse in Porto, has 2 kids", ["Anna is a nurse in Porto", "Anna is 40 and has 2 kids"]),
    ("User moved to Porto in 2019", ["In 2019 User moved to Porto"]),
    ("User earned 3000, pays 900 for rent", ["User pays 900 rent", "User earns 3000"]),
    ("User: live Porto; sister Anna nurse; Ben likes tea",
     ["User said: I live in Porto.", "User said: My sister Anna is a nurse.", "User said: Ben likes tea."]),
    ("User: friend Ana Braga likes walks, tells stories; friend Bruno Melo likes walks, tells stories",
     ["User said: My friend Ana Braga likes walks, and tells stories.",
      "User said: My friend Bruno Melo likes walks, and tells stories."]),
    ("User visited Faro with Ben and Porto with Anna", ["User visited Porto with Anna", "User visited Faro with Ben"]),
    ("User has two cats, Milo and Luna", ["User's cat is Milo", "User has two cats", "User's second cat is Luna"]),
    ("Anna is User's sister", ["User has a sister Anna"]),
    ("Wife Rita, 40, is a nurse", ["User's wife Rita is a nurse", "User's wife is 40"]),
    ("User likes jazz, blues and tea", ["Likes jazz and blues", "User likes tea"]),
    ("User's sister Ana is pregnant and due in June", ["User's sister Ana is pregnant", "Ana's baby is due in June"]),
    ("User does not eat fish, meat or eggs", ["User does not eat meat, fish or eggs", "User is vegan"]),
    ("User moved from Lisbon to Porto in 2020", ["User lives in Porto since 2020", "User moved from Lisbon to Porto"]),
    ("User flew to Faro from Porto", ["User flew from Porto to Faro"]),
    ("Dr. Silva is User's dentist", ["User's dentist is Dr. Silva"]),
    ("用户有3只猫，住在北京", ["用户有3只猫", "用户住在北京"]),
]  # fmt: skip

SWAPPED: list[Case] = [
    ("Anna is 30, Ben is 40", ["Anna is 40", "Ben is 30"]),
    ("Anna (30), Ben (40)", ["Anna is 40", "Ben is 30"]),
    ("Anna, 30, and Ben, 40", ["Anna is 40", "Ben is 30"]),
    ("Anna is 30 with Ben 40", ["Anna is 40", "Ben is 30"]),
    ("Anna is 30 and Ben is 40", ["Anna is 40 and Ben is 30"]),
    ("Anna is 30 and Ben is 40, they like tea", ["Anna is 40 and Ben is 30", "Anna and Ben like tea"]),
    ("Sister Anna turned 30 as brother Ben turned 40 in Porto",
     ["Sister Anna turned 40 in Porto", "Brother Ben turned 30"]),
    ("User plays tennis on Fridays and piano on Mondays",
     ["User plays tennis on Mondays", "User plays piano on Fridays"]),
    ("User has 34 cats and is 2", ["User is 34", "User has 2 cats"]),
    ("User lives in Porto since 2019", ["User lives in Porto and works at Acme since 2019"]),
    ("User lives in Porto since 2019 and works at Acme", ["User lives in Porto", "User works at Acme since 2019"]),
    ("Anna is allergic to peanuts", ["User is allergic to peanuts", "Anna is a nurse"]),
    ("Anna is a nurse and allergic to peanuts", ["User is allergic to peanuts", "Anna is a nurse"]),
    ("User's sister Anna is allergic to peanuts", ["User is allergic to peanuts", "User's sister Anna is a nurse"]),
    ("User is allergic to peanuts", ["Anna is allergic to peanuts"]),
    ("Allergic to peanuts", ["Anna is allergic to peanuts"]),
    ("User is pregnant", ["User's sister Ana is pregnant"]),
    ("User is pregnant and has a sister Ana", ["User's sister Ana is pregnant"]),
    ("User has a sister Ana and is pregnant", ["User has a sister Ana", "Ana is pregnant"]),
    ("User and Anna are allergic to peanuts", ["User is allergic to peanuts", "Anna is a nurse"]),
    ("Anna is a nurse in Faro", ["Anna is a nurse", "Ben lives in Faro"]),
    ("User works at Acme in Faro", ["User works at Acme", "Ben lives in Faro"]),
    ("Anna lives in Faro, Ben lives in Porto", ["Anna lives in Porto", "Ben lives in Faro"]),
    ("User is allergic to penicillin and buys celery", ["User is allergic to celery", "User buys penicillin"]),
    ("User flew from Faro to Porto", ["User flew from Porto to Faro"]),
    ("User works from 17:00 to 9:00", ["User works from 9:00 to 17:00"]),
    ("User was in Rosa with Evora", ["User was in Evora with Rosa"]),
    ("Lagos moved to Sven in 2005", ["Sven moved to Lagos in 2005"]),
    ("User earns 900, pays 3000 rent", ["User pays 900 rent", "User earns 3000"]),
    ("Deposit of the flat is 900", ["Rent of the flat is 900", "Deposit of the flat is 1800"]),
    ("Dentist on April 7 and flight on March 5", ["Dentist on March 5", "Flight on April 7"]),
    ("Anna arrives April 7, Ben arrives March 5", ["Anna arrives March 5", "Ben arrives April 7"]),
    ("The nurse is Ben Costa, the cook Anna Silva", ["The nurse is Anna Silva", "The cook is Ben Costa"]),
    ("User visited Porto with Ben and Faro with Anna", ["User visited Porto with Anna", "User visited Faro with Ben"]),
    ("Anna moved to Porto in 2023 and to Lisbon in 2019",
     ["Anna moved to Porto in 2019", "Anna moved to Lisbon in 2023"]),
    ("Anna is 30 and brother Ben is 40", ["Anna is 40 and his brother Ben is 30"]),
    ("Anna's cat is 5 and Ben's dog is 3", ["Anna's cat is 3", "Ben's dog is 5"]),
    ("Anna pays €5 and Ben $7", ["Anna pays $5", "Ben pays €7"]),
]  # fmt: skip

DENIED: list[Case] = [
    ("Anna is 40 and Ben is 30", ["Anna is not 40", "Ben is 30"]),
    ("Anna is not 40 and Ben is 30", ["Anna is 40", "Ben is not 30"]),
    ("Anna eats meat; Ben does not eat fish", ["Anna does not eat meat", "Ben eats fish and meat"]),
    ("User drinks coffee, never tea", ["User never drinks coffee", "User drinks tea"]),
    ("User eats meat", ["User doesn't eat meat"]),
]


@pytest.mark.parametrize(("line", "sources"), HONEST)
def test_an_honest_merge_passes(line: str, sources: list[str]) -> None:
    """What joins its sources truly, in whatever order and wording, is let through."""
    assert (misbound(line, sources), flipped(line, sources), unknown_subject(line, sources)) == (None, None, None)


@pytest.mark.parametrize(("line", "sources"), SWAPPED)
def test_a_swap_is_caught(line: str, sources: list[str]) -> None:
    """A number, name or fact that stands with another's is noticed, though every word is in the sources."""
    assert misbound(line, sources) is not None


def test_numbers_alone() -> None:
    """Where only numbers are looked at, a swapped one is found, and swapped names are not."""
    assert misbound_number("Anna is 30, Ben is 40", ["Anna is 40", "Ben is 30"]) == "30"
    swapped = "Anna lives in Faro, Ben lives in Porto", ["Anna lives in Porto", "Ben lives in Faro"]
    assert misbound(*swapped) is not None
    assert misbound_number(*swapped) is None


def test_what_each_clause_says() -> None:
    """A line is read clause by clause, inflections and small words aside."""
    line = "User lives in Porto since 2019, likes tea and does not eat meat"
    assert sayings(line) == [{"liv", "porto", "2019"}, {"lik", "tea"}, {"eat", "meat"}]


@pytest.mark.parametrize(("line", "sources"), DENIED)
def test_a_moved_denial_is_caught(line: str, sources: list[str]) -> None:
    """What one source denies and another affirms keeps its sign."""
    assert flipped(line, sources) is not None


@pytest.mark.parametrize(
    ("line", "source", "stranger"),
    [
        ("Bob likes tea", "User likes tea", "bob"),
        ("User likes tea. Bob has a dog", "User likes tea and has a dog", "bob"),
        ("NASA works on it", "User works on it", "nasa"),
        ("Maria's cat is ill", "User's cat is ill", "maria"),
        ("Enjoys tea", "User likes tea", None),
        ("Currently lives in Porto", "User lives in Porto", None),
        ("Working at Acme", "User works at Acme", None),
        ("Dentist is on Friday", "User sees the dentist on Friday", None),
    ],
)
def test_an_invented_subject_is_caught(line: str, source: str, stranger: str | None) -> None:
    """A name that begins a sentence is no term, and is missed in the sources all the same."""
    assert unknown_subject(line, [source]) == stranger


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("User lives in Lisbon", "User moved to Porto", True),
        ("I live in Lisbon", "User moved to Porto", True),
        ("Dentist is on March 5", "User moved the dentist to March 9", True),
        ("User's sister Anna lives in Lisbon", "Anna moved to Porto", True),
        ("User's sister Anna lives in Lisbon", "User moved to Porto", False),
        ("Anna is allergic to peanuts", "User is no longer allergic to peanuts", False),
        ("Anna visited Porto", "User moved to Porto", False),
        ("User's dog is called Rex", "User moved to Porto", False),
        ("用户住在北京", "用户搬到上海", True),
        ("Lives in Lisbon", "Moved to Porto", True),
        ("Vive em Lisboa", "Mudou-se para o Porto", True),
        ("User's sister Anna has a cat", "User's brother Ben has a cat", True),
    ],
)
def test_what_one_line_can_make_outdated(old: str, new: str, same: bool) -> None:
    """Matters differ when lines are plainly about two persons, or about two things and share no word."""
    assert same_matter(old, new) is same


WORD = st.sampled_from(
    "Anna Ben Porto 40 30 March 5 is has likes tea in not and User the of she, ; . ( ) €7 9:30 with sister's 猫".split()
)
SENTENCE = st.lists(WORD, min_size=1, max_size=12).map(" ".join)


@settings(deadline=None)
@given(SENTENCE | st.text(max_size=60))
def test_a_line_is_true_to_itself(text: str) -> None:
    """Nothing in a line contradicts the same line."""
    assert (misbound(text, [text]), flipped(text, [text]), unknown_subject(text, [text])) == (None, None, None)


@settings(deadline=None)
@given(st.lists(SENTENCE, min_size=1, max_size=4))
def test_sentences_side_by_side_are_true(sources: list[str]) -> None:
    """The sources one after the other say nothing new of anything."""
    line = ". ".join(f"User {text}" for text in sources)
    assert misbound(line, [f"User {text}" for text in sources]) is None
