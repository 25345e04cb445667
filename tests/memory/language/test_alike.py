"""Same fact or newer value: tables of what is and what is not, and what holds for all sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.memory.language.alike import same_fact, says_more
from construct.memory.language.values import newer_value

SAME = [
    ("User is allergic to peanuts", "The user has a peanut allergy"),
    ("I am allergic to peanuts.", "User is allergic to peanuts"),
    ("User's dentist appointment is on March 5th at 9am", "User has a dentist appointment on March 5th at 9 am"),
    ("User works as a nurse at the general hospital", "User works as a nurse at the general hospital on weekends"),
    ("My rent is 1,200 euros a month, by the way.", "User's rent is 1200 euros a month"),
    ("User has a cat called Tom", "User has a cat named Tom."),
    ("Remember that I live in Lisbon", "User lives in Lisbon"),
    ("My favourite color is blue", "User's favorite colour is blue"),
    ("User resides in Lisbon", "User lives in Lisbon"),
    ("Please note: User is vegetarian", "User is a vegetarian"),
    ("我对花生过敏", "我对花生过敏。"),
    ("I love my cat Rex very much", "I really love my cat Rex very much!"),
]
DIFFERENT = [
    ("User lives in Lisbon", "User lives in Porto"),
    ("User likes tea", "User doesn't like tea"),
    ("User loves Anna", "Anna loves the user"),
    ("User lives in Lisbon", "User lived in Lisbon"),
    ("User moved from Porto", "User moved to Porto"),
    ("User cooks for Anna", "User cooks with Anna"),
    ("User's sister works as a nurse at the general hospital", "User works as a nurse at the general hospital"),
    ("Anna likes green tea with honey and lemon slices", "User likes green tea with honey and lemon slices"),
    ("He lives in Lisbon", "User lives in Lisbon"),
    ("User has a cat called Tom", "User has a cat called Kit"),
    ("locker 3 code 1003", "locker 4 code 1004"),
    ("Anna is older than Ben", "Ben is older than Anna"),
    ("User takes vitamin tablets every morning", "User stopped taking vitamin tablets every morning"),
    ("User's wife is Ana", "User's ex wife is Ana"),
    ("User might move to Porto", "User moves to Porto"),
    ("User prefers tea over coffee", "User prefers coffee over tea"),
    ("The dog bit my cat", "My cat bit the dog"),
    ("I love Anna", "She loves Anna"),
    ("I see my friend Ann each week", "I used to see my friend Ann each week"),
    ("Does the user live in Lisbon?", "User lives in Lisbon"),
    ("我对花生过敏", "我对牛奶过敏"),
    ("User is allergic to peanuts", "User is allergic to peanuts and shellfish"),
]
NEWER = [
    ("My rent is 1200", "User's rent is 1300"),
    ("User's rent is 1200 euros a month", "User's rent is now 1300 euros a month"),
    ("The rent is 1200", "Rent went up to 1300"),
    ("User lives in Lisbon", "User lives in Porto"),
    ("I live in Lisbon", "User moved to Porto (lived in Lisbon before)"),
    ("Anna lives in Lisbon", "Anna lives in Porto"),
    ("User works at Acme", "User joined Initech"),
    ("User is 34", "User is 35 years old"),
    ("User weighs 80 kg", "User weighs 78 kg"),
    ("My doctor is Dr. Silva", "My doctor is Dr. Costa"),
    ("My favourite book is Dune", "My favourite book is Emma"),
    ("User's job is nurse", "User's job is teacher"),
    ("My wifi password is abc123", "My wifi password is xyz789"),
    ("The code of locker 3 is 1003", "Locker 3 code is 1004"),
    ("My locker number 3 has the code 1003", "My locker number 3 has the code 1009"),
]
SIDE_BY_SIDE = [
    ("User has a cat called Tom", "User has a cat called Kit"),
    ("locker 3 code 1003", "locker 4 code 1004"),
    ("The code of locker 3 is 1003", "The code of locker 4 is 1004"),
    ("My locker number 3 has the code 1003", "My locker number 4 has the code 1003"),
    ("My sister is Anna", "My sister is Clara"),
    ("My sister lives in Rome", "My sister lives in Bonn"),
    ("My cat weighs 4 kg", "My cat weighs 5 kg"),
    ("User lives in Lisbon", "Anna lives in Porto"),
    ("User lives in Lisbon", "User lives in Lisbon, Portugal"),
    ("User lives in Porto", "User used to live in Lisbon"),
    ("User lives in Lisbon", "User will live in Porto"),
    ("User lives in Lisbon", "User might move to Porto"),
    ("User lives in Lisbon", "User lives in Porto and Lisbon"),
    ("User weighs 80 kg", "User weighs 170 pounds"),
    ("User's flight is at 9:30", "User's flight is at 10:15"),
    ("User's rent is 1200", "User's rent isn't 1300"),
    ("My favourite book is Dune", "My favourite film is Emma"),
    ("Anna's phone number is 555 1234", "Ben's phone number is 555 9999"),
    ("User likes jazz", "User likes rock"),
    ("User speaks Portuguese", "User speaks German"),
]
WORDS = (
    "User user's I my Anna Ben Lisbon Porto rent lives works moved to in at from is was not never now 1200 1300 "
    "locker 3 4 code cat called tea likes and , . ? the a 我 é"
).split()
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)


@pytest.mark.parametrize(("a", "b"), SAME)
def test_one_fact_in_other_words(a: str, b: str) -> None:
    """It is the same either way round."""
    assert same_fact(a, b)
    assert same_fact(b, a)


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_two_facts_that_look_alike(a: str, b: str) -> None:
    """One word, or its place, makes another fact."""
    assert not same_fact(a, b)
    assert not same_fact(b, a)


@pytest.mark.parametrize(("old", "new"), NEWER)
def test_another_value_for_the_same(old: str, new: str) -> None:
    """Of what there is one of at a time."""
    assert newer_value(old, new)
    assert not same_fact(old, new)


@pytest.mark.parametrize(("one", "other"), SIDE_BY_SIDE)
def test_what_may_stand_side_by_side(one: str, other: str) -> None:
    """Nothing is taken for a newer value that may be true as well."""
    assert not newer_value(one, other)


def test_a_detail_at_the_end_is_more() -> None:
    """Of two sentences for one fact the longer may say more."""
    less, more = SAME[3]
    assert says_more(more, less)
    assert not says_more(less, more)


@given(sentences, sentences)
def test_both_are_even_handed(a: str, b: str) -> None:
    """The order of the two does not matter, and no pair is both."""
    assert same_fact(a, b) == same_fact(b, a)
    assert newer_value(a, b) == newer_value(b, a)
    assert not (same_fact(a, b) and newer_value(a, b))


@given(st.text(max_size=200))
def test_whatever_is_said_says_itself(text: str) -> None:
    """A sentence states the same fact as itself, and no newer value of it."""
    assert same_fact(text, text)
    assert not newer_value(text, text)


@given(st.sampled_from(["{} has a cat called {}", "locker {} code {}", "User's friend {} lives in {}", "{} met {}"]))
def test_lists_of_things_are_never_values(form: str) -> None:
    """Filled with two different names or numbers, such a sentence never supersedes another."""
    assert not newer_value(form.format("Ana", "Rome"), form.format("Rui", "Bonn"))
    assert not newer_value(form.format("3", "1003"), form.format("4", "1004"))
