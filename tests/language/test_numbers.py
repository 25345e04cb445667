"""Numbers are compared by value, however they are written."""

import pytest

from construct.language.numbers import unfound_numbers, values_in, values_of_day


@pytest.mark.parametrize(
    ("fact", "heard", "unfound"),
    [
        ("The rent is €950", "950 euros", []),
        ("at 9:30", "um 9.30 Uhr", []),
        ("at 9:30", "às 21h30", []),
        ("at 21:00", "9pm", []),
        ("at 9:30", "half past nine", ["9:30"]),
        ("1,300.50 zł", "1.300,50 zł", []),
        ("1 300 zł", "1300", []),
        ("2.5 km", "2,5 km", []),
        ("2.5 km", "25 km", ["2.5"]),
        ("7 books", "٧ كتب", []),
        ("12 eggs", "twelve eggs", []),
        ("since 2019", "há sete anos", ["2019"]),
        ("on 2026-03-05", "5/3/2026", []),
        ("-5 degrees", "5 degrees", ["-5"]),
        ("room 12B", "B12", []),
        ("34 years", "43 years", ["34"]),
    ],
)
def test_numbers_that_were_not_heard(fact: str, heard: str, unfound: list[str]) -> None:
    """Digits of any script, separators, times, dates, and the number words known."""
    assert unfound_numbers(fact, values_in([heard])) == unfound


def test_a_day_gives_its_numbers() -> None:
    """As a whole and in parts."""
    assert values_of_day("2026-03-05") == {"2026-03-05", "2026", "3", "5"}
    assert values_of_day(None) == set()
