"""The times of day and the repetitions that a sentence names."""

import pytest

from construct.language.clock_times import mentioned_recurrence, mentioned_time, read_time


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("I see the dentist tomorrow at 10", "10:00"),
        ("Dentist on Friday at 9:30.", "09:30"),
        ("The train leaves at 6.45pm on Friday", "18:45"),
        ("Call Otto at 9 a.m. tomorrow", "09:00"),
        ("12am on Friday", "00:00"),
        ("12 pm on Friday", "12:00"),
        ("Lunch with Ana at noon on Friday", "12:00"),
        ("Dinner at 8 with Rui", "20:00"),
        ("Dinner tomorrow at 7:30", "19:30"),
        ("A run at 7 in the morning", "07:00"),
        ("The exam is from 9:30 to 10:30", "09:30"),
        ("The exam is 14:00-16:00", "14:00"),
        ("The exam is from 10 to noon", "10:00"),
        ("Am 5.3.2027 um 9 Uhr beim Arzt", "09:00"),
        ("Am 5.3.2027 um 9 Uhr 30 beim Arzt", "09:30"),
        ("Abends um 8 Uhr", "20:00"),
        ("Consulta em 5.3.2027 às 9h30", "09:30"),
        ("Consulta em 5.3.2027 às 15 horas", "15:00"),
        ("Rendez-vous le 5.3.2027 à 18h", "18:00"),
        ("La cita es a las 17:15", "17:15"),
        ("Meet me at 3 tomorrow", None),  # in the night or in the afternoon?
        ("The train at 9:15 or the one at 11:15", None),
        ("It cost 9.30", None),
        ("I bought it at 10 euros", None),
        ("I waited at 25 Main Street", None),
        ("It was 21:3 at half-time", None),
        ("A scale of 1:250", None),
        ("at 25:00", None),
        ("13pm", None),
        ("On 2026-03-05", None),
        ("On 5.3.2027", None),
        ("In 5 days", None),
        ("", None),
    ],
)
def test_the_time_that_a_sentence_names(text: str, time: str | None) -> None:
    """None where it is not sure."""
    found = mentioned_time(text)
    assert (f"{found:%H:%M}" if found else None) == time


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("18:30", "18:30"),
        ("9am", "09:00"),
        ("at 10", "10:00"),
        ("at 18:30", "18:30"),
        ("10", None),
        ("18h30", "18:30"),
        ("18 Uhr", "18:00"),
        ("noon", "12:00"),
        ("7", None),
        ("friday", None),
        ("25:00", None),
        ("2026", None),
    ],
)
def test_a_text_that_is_a_time(text: str, time: str | None) -> None:
    """As typed after a day."""
    found = read_time(text)
    assert (f"{found:%H:%M}" if found else None) == time


@pytest.mark.parametrize(
    ("text", "every"),
    [
        ("Zoe's birthday is on May 5th", "yearly"),
        ("My sister was born on 3 March 1990", "yearly"),
        ("Our wedding anniversary is on June 6th", "yearly"),
        ("Anas Geburtstag ist am 5.3.2027", "yearly"),
        ("Zoe's birthday party is on Saturday", None),
        ("I have choir every Tuesday at 19:00", "weekly"),
        ("I have choir on Tuesday", None),
    ],
)
def test_what_comes_again(text: str, every: str | None) -> None:
    """A party does not."""
    assert mentioned_recurrence(text) == every
