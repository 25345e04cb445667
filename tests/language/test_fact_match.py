import pytest

from construct.language.fact_match import (
    fact_names,
    is_specific,
    revealing_words,
    reveals,
    search_marks,
    states_fact,
)

CODE = "User's locker code at the gym is 4471"


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("My locker code is 4471, keep it secret", CODE),
        ("Locker code: 4471", CODE),
        ("user's locker code at  the gym is 4471.", CODE),
        ("Ana moved, she lives in Porto now", "Ana lives in Porto"),
        ("vegetarian", "User is vegetarian"),
        ("用户住在上海，喜欢猫", "用户住在上海"),
        ("我喜欢猫", "猫"),
        ("Call Ana.", "Ana"),
        ("Annas cat", "Anna"),
        ("_hunter2_", "hunter2"),
        ("หมอบอกว่าฉันแพ้ถั่วลิสงนะคะ", "ฉันแพ้ถั่วลิสง"),
        ("لكنني قلت وأنا مصاب بالسكري", "أنا مصاب بالسكري"),
        ("הרופא יודע שאני חולה בסוכרת", "אני חולה בסוכרת"),
    ],
)
def test_a_text_says_a_fact_in_other_words(text: str, fact: str) -> None:
    """All its names and half of the rest are enough, in any order and case."""
    assert states_fact(text, fact)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("The bike lock's code is 9902", CODE),
        ("Ana and her sister went to Paris", "Ana smokes"),
        ("User likes vegetarian restaurants near work", "User is vegetarian"),
        ("User likes bananas", "Ana"),
        ("anaemia", "Ana"),
        ("Market day", "Mark"),
        ("He has been away", "bee"),
        ("I don't eat meat", "I do"),
        ("I sing as I do the dishes", "I do"),
        ("I live in a house with okra plants", "ok"),
        ("My car seats 500", "5"),
        ("My car seats 5", "5"),
        ("No peanuts for Ana", "No"),
        ("User lives in a houseboat", "User lives in a house"),
        ("", CODE),
        (CODE, ""),
        (CODE, "…!."),
    ],
)
def test_a_text_about_something_else_does_not_say_it(text: str, fact: str) -> None:
    """One name, or one word in common, is not the fact."""
    assert not states_fact(text, fact)


@pytest.mark.parametrize("text", ["Rui is pregnant", "hunter2", "我怀孕了", "Red house"])
def test_a_statement_is_specific(text: str) -> None:
    """Whatever states it goes with it."""
    assert is_specific(text)


@pytest.mark.parametrize("text", ["Tea.", "In Porto.", "Ok, thanks, Ana", "It is red.", "猫", "5"])
def test_a_single_word_is_not(text: str) -> None:
    """It is in many texts, which say something else."""
    assert not is_specific(text)


def test_names_are_terms_without_the_calendar() -> None:
    """Days and months are in too many texts to identify a fact."""
    assert fact_names("Ana has surgery on Monday, March 5th") == {"ana", "5th"}
    assert search_marks("User is a vegetarian") == {"vegetarian"}


def test_pieces_give_a_text_away() -> None:
    """Names, longer words, and pairs of signs where there are no words."""
    assert reveals("Xylophone practice", revealing_words("User secretly plays the xylophone"))
    assert not reveals("Violin practice", revealing_words("User secretly plays the xylophone"))
    assert reveals("上海的天气", revealing_words("用户住在上海"))
    assert not reveals(None, revealing_words("anything"))
