"""The marks of a note that say when it is, are read and written."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.memory.shown.date_marks import read_label, read_moment, read_when
from construct.memory.shown.lines import line_tokens, plain_line, read_notes, shown_line
from construct.vocabulary import Recurrence
from tests.memory.making import observation


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("2026-03-05", ("2026-03-05", None, None)),
        ("2026-03-05 09:30", ("2026-03-05", "09:30", None)),
        ("2026-03-05t9:30", ("2026-03-05", "09:30", None)),
        ("2026-03-05 09:30:00", ("2026-03-05", "09:30", None)),
        ("2026-03-05 yearly", ("2026-03-05", None, "yearly")),
        ("2026-03-05 19:00 weekly", ("2026-03-05", "19:00", "weekly")),
        ("2026-03-05 25:00 weekly", ("2026-03-05", None, "weekly")),
        ("2026-03", ("2026-03", None, None)),
        ("2026-03 yearly", ("2026-03", None, None)),
        ("2026 09:30", ("2026", None, None)),
        ("2026-02-30", None),
        ("2026-03-05 sometimes", None),
        ("2026-03-05 09:30 to 10:30", None),
        ("3 days", None),
        ("", None),
    ],
)
def test_when(text: str, when: tuple[str, str | None, str | None] | None) -> None:
    """A month or a year has no time of day and does not come again."""
    assert read_when(text) == when


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-05 08:00", "2026-03-05 08:00"),
        ("2026-03-05 8:00", "2026-03-05 08:00"),
        ("2026-03-05T08:00", "2026-03-05 08:00"),
        ("2026-03-05", None),
        ("2026-02-30 08:00", None),
        ("2026-03-05 24:00", None),
        ("tomorrow", None),
    ],
)
def test_reminders(text: str, moment: str | None) -> None:
    """Both a day and a time are needed."""
    assert read_moment(text) == moment


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Dentist, Dr. Moura", "Dentist, Dr. Moura"),
        (" Zoe’s  birthday ", "Zoe’s birthday"),
        ("牙医", "牙医"),
        ("…", None),
        ("x" * 61, None),
    ],
)
def test_labels(text: str, label: str | None) -> None:
    """One without a word, or too long for a calendar, is none."""
    assert read_label(text) == label


@pytest.mark.parametrize(
    ("label", "is_kept"),
    [
        ("Dentist, Dr Moura", True),
        ("dentist", True),
        ("Zahnarzt", True),
        ("Dentist, Dr Lopes", False),
        ("Dentist at 10", False),
    ],
)
def test_a_label_says_no_more_than_its_fact(label: str, is_kept: bool) -> None:
    """A name or number that the fact lacks was checked by nobody."""
    line = f"- 2026-03-01 M1 User sees the dentist Dr Moura at 9:30 | as {label}"
    ((read,), _) = read_notes([line], "M", {"M1"})
    assert read.label == (label if is_kept else None)


def test_the_marks_of_a_line() -> None:
    """The label is for calendars: the main model does not see it."""
    note = observation(1, "User sees Dr Moura", stance="planned", ahead="2026-03-05")._replace(
        referenced_time="09:30", recurs="weekly", label="Dentist", remind_at="2026-03-04 20:00"
    )
    line = "User sees Dr Moura | planned | for 2026-03-05 09:30 weekly | remind 2026-03-04 20:00"
    assert shown_line(note) == f"- [2026-03-01] {line}"
    assert plain_line(note) == f"- 2026-03-01 {line} | as Dentist"
    assert line_tokens(note) > line_tokens(note._replace(referenced_time=None))
    assert plain_line(note._replace(label="a | planned")).endswith(" | as a / planned")


@given(
    st.dates().map(str),
    st.none() | st.times().map(lambda time: f"{time:%H:%M}"),
    st.none() | st.sampled_from(Recurrence),
    st.none() | st.sampled_from(["Dentist", "Moura's visit", "a|b <notes>"]),
    st.none() | st.datetimes().map(lambda moment: f"{str(moment)[:16]}"),
)
def test_what_is_written_is_read(
    day: str, time: str | None, recurs: str | None, label: str | None, remind_at: str | None
) -> None:
    """Whatever is stored comes back from a worker that repeats it."""
    note = observation(1, "User sees Dr Moura", ahead=day)._replace(
        referenced_time=time, recurs=recurs, label=label, remind_at=remind_at
    )
    sign, date, rest = plain_line(note).split(" ", 2)
    ((read,), _) = read_notes([f"{sign} {date} M1 {rest}"], "M", {"M1"})
    assert (read.referenced_date, read.referenced_time, read.recurs) == (day, time, recurs)
    assert (read.label, read.remind_at) == (label, remind_at)


def test_the_first_of_several_counts() -> None:
    """A `for` or `remind` with a digit that is no date is dropped."""
    line = (
        "- 2026-03-01 M1 User sings | for 31 days | for 2026-03-05 | for 2026-03-06 | as Choir "
        "| as Songs | remind 2026-03-05 | remind 2026-03-05 08:00"
    )
    ((read,), _) = read_notes([line], "M", {"M1"})
    assert replace(read, anchors=()).content == "User sings"
    assert (read.referenced_date, read.label, read.remind_at) == (
        "2026-03-05", "Choir", "2026-03-05 08:00",
    )  # fmt: skip
