"""Which day a sentence refers to: tables, and round trips of generated dates."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.language.dates import (
    arranging_words,
    mentioned_days,
    referenced_date,
    tenses,
)
from construct.language.periods import period, relative_words

WEDNESDAY = date(2026, 3, 4)
MONTHS = "January February March April May June July August September October November December"

REFERENCES: list[tuple[str, str | None]] = [
    ("The dentist moved to Friday, not Thursday anymore", "2026-03-06"),
    ("Not tomorrow but on Friday", "2026-03-06"),
    ("Dr Wu gave me an appointment tomorrow, 5 March", "2026-03-05"),
    ("Dinner with Ana yesterday (3 March)", "2026-03-03"),
    ("Dinner with Ana tomorrow, 5 March 2026", "2026-03-05"),
    ("Instead of Thursday we meet on Friday", "2026-03-06"),
    ("It is no longer on Friday", None),
    ("I moved it from March 6th to March 13th", "2026-03-13"),
    ("I moved my Friday class to Monday", "2026-03-09"),
    ("The class is postponed from the 6th to the 13th", "2026-03-13"),
    ("I changed the flight to March 13", "2026-03-13"),
    ("It moved from March 5 to 7th", "2026-03-07"),
    ("I moved it from March 5 to 7, 2027", "2027-03-07"),
    ("I am moving the dentist from 6 March to 13 March", "2026-03-13"),
    ("I need to reschedule the dentist from 6 March to 13 March", "2026-03-13"),
    ("The dentist on 6 March was moved to 13 March", "2026-03-13"),
    ("The dentist on Friday is pushed back to the 13th", "2026-03-13"),
    ("I moved to Porto on 1 March to stay until 13 March", "2026-03-01"),
    ("The movie festival runs from 6 March to 13 March", "2026-03-06"),
    ("I have the night shifts from 6 March to 13 March", "2026-03-06"),
    ("the trip is March 10 to 12th", "2026-03-10"),
    ("I moved on Friday to be nearer", "2026-02-27"),
    ("I moved it from March 6 (Friday) to March 13", "2026-03-13"),
    ("Why not on Friday?", "2026-03-06"),
    ("I was not there on Monday", "2026-03-02"),
    ("We will not be back until Friday", "2026-03-06"),
    ("today I moved", "2026-03-04"),
    ("tonight we cook", "2026-03-04"),
    ("I felt ill this morning", "2026-03-04"),
    ("tomorrow I fly", "2026-03-05"),
    ("see you tmrw", "2026-03-05"),
    ("the day after tomorrow", "2026-03-06"),
    ("yesterday I ran", "2026-03-03"),
    ("I slept badly last night", "2026-03-03"),
    ("the day before yesterday", "2026-03-02"),
    ("I ran on Friday", "2026-02-27"),
    ("I'll run on Friday", "2026-03-06"),
    ("I don't work on Friday", "2026-03-06"),
    ("On Friday, I went to the doctor", "2026-02-27"),
    ("see you on Wednesday", "2026-03-11"),
    ("next Tuesday", "2026-03-10"),
    ("next Friday", "2026-03-13"),
    ("last Monday I slept", "2026-03-02"),
    ("I saw him last Friday", "2026-02-27"),
    ("this Sunday", "2026-03-08"),
    ("Friday next week", "2026-03-13"),
    ("next week on Friday", "2026-03-13"),
    ("the Monday of next week", "2026-03-09"),
    ("we talked on Tuesday last week", "2026-02-24"),
    ("on Fri", "2026-03-06"),
    ("I've been sick since Friday", "2026-02-27"),
    ("my daughter turns 6 on march 21st and she's obsessed with whales", "2026-03-21"),
    ("I was told that the exam is on Friday", "2026-03-06"),
    ("I had a great time, and on Friday we fly home", "2026-03-06"),
    ("Yesterday I booked the dentist for Friday", "2026-03-06"),
    ("I've got a meeting with the bank on Monday at 9", "2026-03-09"),
    ("Have we got anything on Monday?", "2026-03-09"),
    ("I've got back from Rome on Monday", "2026-03-02"),
    ("Ana's brother got married on Monday", "2026-03-02"),
    ("We've been invited to dinner on Saturday", "2026-03-07"),
    ("I invited Ana to the dinner that we gave on Saturday", "2026-02-28"),
    ("I signed up for the Graz half marathon on 11 October", "2026-10-11"),
    ("I signed up on 11 October", "2025-10-11"),
    ("I signed up for the gym on 2 March", "2026-03-02"),
    ("I signed for a parcel on Monday", "2026-03-02"),
    ("We bought two tickets for the opera and the ballet on Sunday", "2026-03-08"),
    ("I bought a bed for the baby on Sunday", "2026-03-01"),
    ("I agreed to help Jonas move on 28 March", "2026-03-28"),
    ("They gave me an appointment on Thursday", "2026-03-05"),
    ("I got back from an appointment on Monday", "2026-03-02"),
    ("I got home from the flight to Oslo on Monday", "2026-03-02"),
    ("I woke at 7:30 on Monday", "2026-03-02"),
    ("on Sundays I rest", None),
    ("every Friday I swim", None),
    ("every other Friday we play", None),
    ("I usually swim on Friday", None),
    ("Monday to Friday I work", None),
    ("we met on a Friday", None),
    ("the first Monday of the month", None),
    ("Friday nights are for pizza", None),
    ("Black Friday", None),
    ("in two weeks we move", "2026-03-18"),
    ("in 3 days", "2026-03-07"),
    ("in a month", "2026-04-04"),
    ("in a year", "2027-03-04"),
    ("in 2 years", "2028-03-04"),
    ("in a fortnight", "2026-03-18"),
    ("two weeks from now", "2026-03-18"),
    ("a week from tomorrow", "2026-03-12"),
    ("two days ago", "2026-03-02"),
    ("a week ago", "2026-02-25"),
    ("a month ago", "2026-02-04"),
    ("we met a year ago today", "2025-03-04"),
    ("3 years ago", None),
    ("in a few days", None),
    ("in a day or two", None),
    ("I lost 3 kilos in two weeks", None),
    ("I haven't slept in two days", None),
    ("twice in a week", None),
    ("next week", None),
    ("last week", None),
    ("next month", None),
    ("next year", None),
    ("this weekend", None),
    ("March 5th", "2026-03-05"),
    ("March 5, 2027", "2027-03-05"),
    ("5 March 2027", "2027-03-05"),
    ("the 5th of March, 2027", "2027-03-05"),
    ("first of May", "2026-05-01"),
    ("on may 5th", "2026-05-05"),
    ("I fly to Rome on may 5", "2026-05-05"),
    ("My passport, renewed last year, expires on May 5", "2026-05-05"),
    ("Next year, on May 5, we marry", "2027-05-05"),
    ("Jan 5", "2027-01-05"),
    ("the trip is March 10-12", "2026-03-10"),
    ("the trip is March 10th–12th, 2027", "2027-03-10"),
    ("the trip is on the 10th-12th of March", "2026-03-10"),
    ("I was in Oslo on March 10", "2025-03-10"),
    ("I was in Oslo on March 1", "2026-03-01"),
    ("I booked a flight for March 10", "2026-03-10"),
    ("I have a dentist appointment on March 5th at 9am", "2026-03-05"),
    ("March 5th next year", "2027-03-05"),
    ("I was born on 5 May 1990", "1990-05-05"),
    ("every March 5th", None),
    ("in May I turn 30", None),
    ("May 2023", None),
    ("I may 5 times go", None),
    ("We march 5 miles", None),
    ("the 5th may be late", None),
    ("Feb 30", None),
    ("31 April 2026", None),
    ("the meeting is on the 12th", "2026-03-12"),
    ("I was at the doctor on the 2nd", "2026-03-02"),
    ("on the 3rd of next month", "2026-04-03"),
    ("Friday the 13th", "2026-03-13"),
    ("the rent is due by the 31st", "2026-03-31"),
    ("the 12th grade", None),
    ("I met my team on the 15th after my trip", "2026-02-15"),
    ("we fly on the 15th before the heat comes", "2026-03-15"),
    ("on the 15th attempt I got it", None),
    ("the 3rd floor", None),
    ("2026-03-05", "2026-03-05"),
    ("at 2026-03-05T10:00", "2026-03-05"),
    ("2026/03/05", "2026-03-05"),
    ("2026年3月5日", "2026-03-05"),
    ("5.3.2027", "2027-03-05"),
    ("13/5/2027", "2027-05-13"),
    ("5/13/27", "2027-05-13"),
    ("3/5", None),
    ("3/5/2027", None),
    ("open 24/7", None),
    ("scored 18/20", None),
    ("Python 3.11", None),
    ("v1.2.2024 is out", None),
    ("the Christmas tree", None),
    ("around Christmas", None),
    ("Happy Halloween", None),
    ("I lent Paulo my drill on Friday", "2026-02-27"),
    ("Ana shook his hand on Friday", "2026-02-27"),
    ("Ana will have lunch with us on Friday", "2026-03-06"),
    ("", None),
    ("nothing at all", None),
]


@pytest.mark.parametrize(("text", "day"), REFERENCES)
def test_reference(text: str, day: str | None) -> None:
    """A sentence refers to the day that it names, or to none.

    The day is counted from when it was said.
    """
    found = referenced_date(text, WEDNESDAY)
    assert (found.isoformat() if found else None) == day


def test_all_days_are_mentioned() -> None:
    """A sentence may speak of several days; the one ahead comes before yesterday."""
    days = mentioned_days("Yesterday I booked the dentist for Friday", WEDNESDAY)
    assert days == [date(2026, 3, 6), date(2026, 3, 3)]


def test_a_weekday_in_brackets_is_no_other_day() -> None:
    """It stands for the date before it, so that what moved away from both is seen."""
    days = mentioned_days("I moved it from March 6 (Friday) to March 13 (Friday)", WEDNESDAY)
    assert days == [date(2026, 3, 13)]


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("I moved to Porto", ["past"]),
        ("I went home and will sleep", ["past", "now"]),
        ("She was told that it is cheap", ["past", "past", "now"]),
        ("I will move", ["now"]),
        ("I need sleep", ["now"]),
        ("I live here", []),
        ("it is scheduled", ["now"]),
        ("we're excited", ["now"]),
        ("she left on Friday", ["past"]),
        ("the dentist, for the lower left one", []),
        ("she's got a dog", ["now"]),
    ],
)
def test_tenses(text: str, signs: list[str]) -> None:
    """The word "now" stands for the present and the future."""
    assert tenses(text) == signs


def test_words_that_arrange() -> None:
    """They are returned as they stand in the sentence, without their objects."""
    assert arranging_words("I booked a table and got my ticket") == ["booked", "got"]
    assert arranging_words("I went to Porto") == []


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (0, "today"),
        (1, "tomorrow"),
        (-1, "yesterday"),
        (3, "in 3 days"),
        (-7, "7 days ago"),
        (14, "in 2 weeks"),
        (-20, "3 weeks ago"),
        (59, "in 8 weeks"),
        (100, "in 3 months"),
        (-364, "12 months ago"),
        (365, "next year"),
        (-400, "last year"),
        (800, "in 2 years"),
        (-5000, "14 years ago"),
    ],
)
def test_relative_words(days: int, words: str) -> None:
    """A day is told in the largest unit that still says when."""
    assert relative_words(WEDNESDAY + timedelta(days=days), WEDNESDAY) == words


DATES = st.dates(min_value=date(1900, 1, 1), max_value=date(2199, 12, 31))


@given(
    DATES,
    st.dates(),
    st.sampled_from(["{0}", "{m} {d}, {y}", "{d} {m} {y}", "{d}. {m} {y}", "{d}.{n}.{y}"]),
)
def test_explicit_dates_round_trip(day: date, base: date, form: str) -> None:
    """A date with its year is read as that day, whatever day it is said on."""
    name = MONTHS.split(" ")[day.month - 1]
    text = form.format(day.isoformat(), m=name, d=day.day, y=day.year, n=day.month)
    assert referenced_date(f"The meeting is on {text}.", base) == day


@given(DATES, st.integers(min_value=0, max_value=364))
def test_dates_without_year_are_the_next_such_day(base: date, ahead: int) -> None:
    """A month and day without a year mean the next such day.

    It is counted from the day they are said.
    """
    day = base + timedelta(days=ahead)
    if (day.month, day.day) != (2, 29):
        name = MONTHS.split(" ")[day.month - 1]
        assert referenced_date(f"I have an exam on {name} {day.day}", base) == day


@given(st.text(), st.dates())
def test_no_text_raises(text: str, base: date) -> None:
    """Any text on any day gives a day or None."""
    assert referenced_date(text, base) is None or mentioned_days(text, base)
    tenses(text)


WORDS = st.sampled_from(
    (
        "in on the next last this every Friday Mon May march 5 31st 2026 99 "
        "999 days weeks years months ago from now "
        "tomorrow yesterday Christmas Eve New Year's , . - / "
        "of was will booked for 29 February 30 24/7 12/25 0 00 "
        "first fİrst sİx"
    ).split()
)


@given(
    st.lists(WORDS, max_size=12).map(" ".join),
    st.sampled_from([date.min, date.max, WEDNESDAY, date(2024, 2, 29)]),
)
def test_no_heap_of_date_words_raises(text: str, base: date) -> None:
    """Date words in any order give a day or None, at the ends of the calendar too."""
    assert all(isinstance(day, date) for day in mentioned_days(text, base))


@given(st.dates(), st.dates())
def test_relative_words_say_the_direction(day: date, today: date) -> None:
    """What lies ahead never reads as past, nor the other way round."""
    words = relative_words(day, today)
    if day > today:
        assert words.startswith(("in ", "tomorrow", "next"))
    elif day < today:
        assert words.endswith(" ago") or words in {"yesterday", "last year"}


@pytest.mark.parametrize(
    ("month", "day", "near"), [(3, 31, date(2026, 3, 31)), (2, 29, date(2026, 2, 28))]
)
def test_a_day_of_every_year_is_near_that_day(month: int, day: int, near: date) -> None:
    """Also at the end of a month; 29 February is 28 February in a common year."""
    assert period(None, month, day).nearness(near) == 1
