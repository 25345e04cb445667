"""Which sentences state one fact: when in doubt they are two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.language.fact_match import fact_key

DAY = "2026-03-01"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("I'm allergic to peanuts.", "User is allergic to peanuts"),
        ("I have a cat named Tom", "The user has a cat called Tom."),
        ("My boss lives in Lisbon", "User’s boss lives in Lisbon now"),
        ('I don\'t like "Dune"', 'User doesn\'t like "Dune"!'),
        ("我对花生过敏", "我对花生过敏。"),
        ("moro no Porto", "Moro no Porto"),
    ],
)
def test_one_fact_in_nearly_the_same_words(a: str, b: str) -> None:
    """Letter case, punctuation, articles and who writes it make no difference."""
    assert fact_key(a, DAY, None) == fact_key(b, DAY, None)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("User lives in Lisbon", "User lives in Porto"),
        ("User lives in Lisbon", "User lived in Lisbon"),
        ("User lives in Lisbon", "He lives in Lisbon"),
        ("User lives in Lisbon", "User lives in Lisbon?"),
        ("User likes tea", "User does not like tea"),
        ("User likes tea", "User likes green tea"),
        ("User moved from Porto", "User moved to Porto"),
        ("User loves Anna", "Anna loves the user"),
        ("The dog bit my cat", "My cat bit the dog"),
        ("User's sister is a nurse", "User is a nurse"),
        ("User has a manager", "User is a manager"),
        ("User pays Bill", "User pays bill"),
        ("我对花生过敏", "我对牛奶过敏"),
        ("moro no Porto", "não moro no Porto"),
    ],
)
def test_two_facts_that_look_alike(a: str, b: str) -> None:
    """One word, or its place, makes another fact."""
    assert fact_key(a, DAY, None) != fact_key(b, DAY, None)


def test_what_happened_on_two_days_happened_twice() -> None:
    """What lasts is one fact on whatever day it is said; what is of two days is two."""
    assert fact_key("I like tea", DAY, None) == fact_key("I like tea", "2026-03-02", None)
    assert fact_key("I went running", DAY, None) != fact_key("I went running", "2026-03-02", None)
    assert fact_key("I see Bob", DAY, "2026-03-05") != fact_key("I see Bob", DAY, "2026-03-06")


@given(st.text(max_size=200))
def test_any_text_has_a_key(text: str) -> None:
    """The same text has the same one, around it whatever space."""
    assert fact_key(text, DAY, None) == fact_key(f" {text} ", DAY, None)
