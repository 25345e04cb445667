"""Dates as people have them, over a fortnight: timed, all day, repeated, moved, from a letter."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from icalendar import Calendar

from tests.memory.builders import Life, stated
from tests.support.fake_api import FakeApi
from tests.support.program import Program


def on(day: str, time: str = "12:00") -> dict[str, str]:
    """Return the environment in which it is this time of this day in March 2026."""
    return {"CONSTRUCT_NOW": f"2026-03-{day}T{time}:00+00:00"}


@pytest.fixture
def fortnight(program: Program, life: Life) -> Program:
    """The program on Monday 2 March, with eight dated notes and one without a day."""
    here = life.talk()
    dated: tuple[dict[str, Any], ...] = (
        {"content": "User sees the dentist Moura", "referenced_date": "2026-03-03",
         "referenced_time": "09:30", "label": "Dentist"},
        {"content": "User hands in the tax form", "referenced_date": "2026-03-04"},
        {"content": "User sings in the choir", "referenced_date": "2026-02-17",
         "referenced_time": "19:00", "recurs": "weekly", "label": "Choir"},
        {"content": "Zoe's birthday is on March 10", "referenced_date": "1990-03-10",
         "recurs": "yearly", "stance": "stated"},
        {"content": "User pays the rent", "referenced_date": "2026-01-31", "recurs": "monthly",
         "stance": "stated"},
        {"content": "The landlord reads the meter", "referenced_date": "2026-03-05",
         "stance": "quoted"},
        {"content": "User paints the kitchen", "referenced_date": "2026-03"},
        {"content": "User ran for the bus", "referenced_date": "2025-12-01"},
        {"content": "User learns to sail one day"},
    )  # fmt: skip
    for note in dated:
        said = life.exchange(here, note["content"])
        life.observe(here, replace(stated("", [said.id]), **{"stance": "planned"} | note))
    life.compact(here)
    program.env.update(on("02"))
    return program


def listed(program: Program, *arguments: str, **more: Any) -> list[tuple[Any, ...]]:
    """Return id, date, time and state of what is on the agenda."""
    return [
        (item["id"], item["date"], item["time"], item["state"])
        for item in program.json("agenda", *arguments, **more)
    ]


def test_the_agenda_of_a_fortnight(fortnight: Program) -> None:
    """What comes again is listed by its next day; the next list is of the day after."""
    assert listed(fortnight) == [
        (1, "2026-03-03", "09:30", "ahead"),
        (3, "2026-03-03", "19:00", "ahead"),
        (2, "2026-03-04", None, "ahead"),
        (6, "2026-03-05", None, "ahead"),
        (4, "2026-03-10", None, "ahead"),
        (7, "2026-03", None, "ahead"),
        (5, "2026-03-31", None, "ahead"),
    ]
    assert fortnight.json("agenda")[1] == {
        "id": 3, "content": "User sings in the choir", "label": "Choir", "date": "2026-03-03",
        "time": "19:00", "recurs": "weekly", "stance": "planned", "state": "ahead",
    }  # fmt: skip
    assert listed(fortnight, more=on("06"))[:4] == [
        (1, "2026-03-03", "09:30", "outcome unknown"),
        (2, "2026-03-04", None, "outcome unknown"),
        (4, "2026-03-10", None, "ahead"),
        (3, "2026-03-10", "19:00", "ahead"),
    ]
    assert (3, "2026-03-10", "19:00", "today") in listed(fortnight, more=on("10"))
    assert (4, "2026-03-10", None, "today") in listed(fortnight, more=on("10"))
    assert (4, "2027-03-10", None, "ahead") in listed(fortnight, more=on("11"))


def test_all_adds_what_has_no_day_and_what_is_long_past(fortnight: Program) -> None:
    """Without --all one line says how many there are."""
    whole = listed(fortnight, "--all")
    assert whole[0] == (8, "2025-12-01", None, "outcome unknown")
    assert whole[-1] == (9, None, None, "ahead")
    assert len(whole) == 9
    shown = fortnight.run("agenda").stdout
    assert "Not listed: 2 plans without a day, or long past it. `construct agenda --all`" in shown
    everything = fortnight.run("agenda", "--all").stdout
    assert everything.index("Without a day") > everything.index("Passed, outcome unknown")
    assert "9  User learns to sail one day" in everything
    assert fortnight.run("agenda", "done", "9").stdout.startswith("Marked as done:\n")
    assert 9 not in [id for id, *_ in listed(fortnight, "--all")]


def test_the_screen_has_labels_times_and_repetitions(fortnight: Program) -> None:
    """What only a letter says says so."""
    shown = fortnight.run("agenda", more=on("03")).stdout
    for line in (
        "1  Dentist · 09:30\n",
        "3  Choir · 19:00, every week\n",
        "6  The landlord reads the meter (from a text) · Thu 2026-03-05, in 2 days\n",
        "4  Zoe's birthday is on March 10 · Tue 2026-03-10, in 7 days, every year\n",
    ):
        assert line in shown


def test_brief_and_chat_say_the_time(fortnight: Program, api: FakeApi) -> None:
    """The brief has the label, the model the fact."""
    assert fortnight.run("brief").stdout.splitlines() == [
        "Tomorrow at 09:30: Dentist",
        "Tomorrow at 19:00: Choir",
        "In 2 days: User hands in the tax form",
    ]
    fortnight.run("ask", "--no-wait", "--new", "Good morning!")
    sent = api.of("chat")[-1].body["messages"][-1]["content"][-1]["text"]
    assert "Due tomorrow at 09:30: User sees the dentist Moura\n" in sent
    then = fortnight.run("brief", more=on("05")).stdout
    assert "Today: The landlord reads the meter (from a text)\n" in then


@pytest.mark.parametrize("how", ["done", "cancelled"])
def test_one_day_of_what_comes_again_is_settled(fortnight: Program, how: str) -> None:
    """The next one is; with --series all are. Undo takes either back."""
    before = listed(fortnight)
    said = fortnight.run("agenda", how, "3").stdout
    assert said.startswith(f"Marked as {how} on 2026-03-03; it comes again:\n")
    assert [entry[1:3] for entry in listed(fortnight) if entry[2] == "19:00"] == [
        ("2026-03-10", "19:00")
    ]
    assert fortnight.run("undo", "--yes").returncode == 0
    assert listed(fortnight) == before
    assert fortnight.run("agenda", how, "3", "--series").stdout.startswith(f"Marked as {how}:\n")
    assert not [entry for entry in listed(fortnight) if entry[2] == "19:00"]
    assert fortnight.run("undo", "--yes").returncode == 0
    assert listed(fortnight) == before
    assert fortnight.run("doctor").returncode == 0


def test_one_day_of_what_comes_again_moves(fortnight: Program) -> None:
    """The others stay; with --series all of them move."""
    before = listed(fortnight)
    said = fortnight.run("agenda", "moved", "3", "2026-03-05", "8pm").stdout
    assert said.startswith("Moved from 2026-03-03 to 2026-03-05 20:00, this once:\n")
    choir = [i for i in fortnight.json("agenda") if i["label"] == "Choir"]
    assert [(i["date"], i["time"], i["recurs"]) for i in choir] == [
        ("2026-03-05", "20:00", None),
        ("2026-03-10", "19:00", "weekly"),
    ]
    assert fortnight.run("undo", "--yes").returncode == 0
    assert listed(fortnight) == before
    fortnight.run("agenda", "moved", "--series", "3", "thursday", "at", "20:00")
    choir = [i for i in fortnight.json("agenda") if i["label"] == "Choir"]
    assert [(i["date"], i["time"], i["recurs"]) for i in choir] == [
        ("2026-03-05", "20:00", "weekly")
    ]
    assert fortnight.run("doctor").returncode == 0


@pytest.mark.parametrize(
    ("typed", "date", "time"),
    [
        (["2026-03-09"], "2026-03-09", "09:30"),
        (["friday", "18:30"], "2026-03-06", "18:30"),
        (["friday", "at", "9", "am"], "2026-03-06", "09:00"),
        (["18h30"], "2026-03-03", "18:30"),
        (["2026-04"], "2026-04", None),
    ],
    ids=["day", "day and time", "at a time", "time alone", "month"],
)
def test_a_timed_plan_moves(fortnight: Program, typed: list[str], date: str, time: str) -> None:
    """It keeps its time, unless another is given or its new date is no day."""
    new = fortnight.json("agenda", "moved", "1", *typed)
    assert (new["id"], date, time) in [entry[:3] for entry in listed(fortnight)]


@pytest.mark.parametrize(
    "typed",
    [["1", "2026-03-09", "soon"], ["1", "2026-04", "9:30"], ["3", "2026-04"], ["9", "9:30"],
     ["7", "9:30"]],
    ids=" ".join,
)  # fmt: skip
def test_what_is_no_day_and_time_moves_nothing(fortnight: Program, typed: list[str]) -> None:
    """One or two plain lines say why."""
    before = listed(fortnight, "--all")
    done = fortnight.run("agenda", "moved", *typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert 1 <= len(done.stderr.splitlines()) <= 2
    assert listed(fortnight, "--all") == before


@pytest.mark.parametrize(
    ("text", "date", "time"),
    [
        ("User sees Doctor Moura", "2026-03-03", "09:30"),
        ("User sees Doctor Moura at 10:15", "2026-03-03", "10:15"),
        ("User sees Doctor Moura on 2026-03-09", "2026-03-09", "09:30"),
        ("User sees Doctor Moura on 2026-03-09 at 10:15", "2026-03-09", "10:15"),
    ],
)
def test_an_edit_keeps_the_time_and_the_label(
    fortnight: Program, text: str, date: str, time: str
) -> None:
    """Unless the new words name another time."""
    new = fortnight.json("memory", "edit", "1", text)["id"]
    (edited,) = [i for i in fortnight.json("agenda") if i["id"] == new]
    assert (edited["date"], edited["time"], edited["label"]) == (date, time, "Dentist")


def test_an_edit_keeps_the_repetition_and_the_days_left_out(fortnight: Program) -> None:
    """Choir is cancelled on the 3rd; a typo is put right."""
    new = fortnight.json("agenda", "cancelled", "3")["id"]
    again = fortnight.json("memory", "edit", str(new), "User sings in the Lisbon choir")["id"]
    (edited,) = [i for i in fortnight.json("agenda") if i["id"] == again]
    assert (edited["date"], edited["recurs"]) == ("2026-03-10", "weekly")


def test_the_calendar_has_times_and_rules(fortnight: Program) -> None:
    """As a library for calendars reads it."""
    fortnight.run("agenda", "cancelled", "3")
    done = fortnight.process("agenda", "--ics")
    events = {str(e["SUMMARY"]): e for e in Calendar.from_ical(done.stdout).walk("VEVENT")}
    assert set(events) == {
        "Dentist", "Choir", "User hands in the tax form", "Zoe's birthday is on March 10",
        "User pays the rent", "The landlord reads the meter (from a text)",
        "User paints the kitchen",
    }  # fmt: skip
    assert not any(event.errors for event in events.values())
    dentist, choir = events["Dentist"], events["Choir"]
    birthday = events["Zoe's birthday is on March 10"]
    assert dentist.decoded("DTSTART").isoformat() == "2026-03-03T09:30:00"
    assert dentist.decoded("DURATION") == timedelta(minutes=30)
    assert choir.decoded("DTSTART").isoformat() == "2026-02-17T19:00:00"
    assert choir["RRULE"].to_ical() == b"FREQ=WEEKLY"
    assert choir["EXDATE"].to_ical() == b"20260303T190000"
    assert birthday.decoded("DTSTART").isoformat() == "1990-03-10"
    assert birthday["RRULE"].to_ical() == b"FREQ=YEARLY"


def test_a_birthday_on_the_29th_of_february(program: Program, life: Life) -> None:
    """It is on the last of February, in the calendar too."""
    here = life.talk()
    said = life.exchange(here, "Rui was born on 29 February 2024")
    note = replace(stated("Rui was born on 29 February 2024", [said.id]), recurs="yearly")
    life.observe(here, replace(note, referenced_date="2024-02-29"))
    life.compact(here)
    assert listed(program) == [(1, "2027-02-28", None, "ahead")]
    assert "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1" in program.process("agenda", "--ics").stdout
