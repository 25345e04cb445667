"""`construct agenda` and `construct brief`, from outside."""

import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from icalendar import Calendar

from construct.memory.undo import undo
from construct.operations.agenda import Agenda
from construct.store.agenda import revised_at
from construct.store.records import Observation
from construct.views.agenda import agenda_view
from construct.views.console import to_text
from tests.memory.builders import Life, stated
from tests.support import emulator
from tests.support.fake_api import FakeApi
from tests.support.program import Program

NOW = "2026-03-01T12:00:00+00:00"


def plan(life: Life, here: int, text: str, when: str, stance: str = "planned") -> Observation:
    """Say something with a date, observe and commit it."""
    said = life.exchange(here, text)
    fact = replace(stated(text, [said.id]), stance=stance, referenced_date=when)
    (found,) = life.observe(here, fact)
    life.compact(here)
    return life.read(found)


@pytest.fixture
def planned(program: Program, life: Life) -> Program:
    """The program on 1 March with plans behind it, 1 to 7 by id."""
    program.env["CONSTRUCT_NOW"] = NOW
    here = life.talk()
    for text, when in (
        ("User sees the dentist, with X-rays; at 9am", "2026-03-01"),
        ("User takes the train to Porto", "2026-03-06"),
        ("User hands in the tax form", "2026-02-20"),
        ("User paints the kitchen", "2026-03"),
        ("User runs a marathon", "2027"),
    ):
        plan(life, here, text, when)
    plan(life, here, "Zoe's birthday is on May 5th", "2026-05-05", "stated")
    plan(life, here, "User saw a film", "2026-02-28", "stated")
    plan(life, here, "User might move to Faro", "2026-06", "hypothetical")
    return program


def states(program: Program, **more: str) -> list[tuple[Any, ...]]:
    """Return id, date and state of all that stands on the agenda."""
    return [
        (i["id"], i["date"], i["state"])
        for i in program.json("agenda", more={f"CONSTRUCT_{k}": v for k, v in more.items()})
    ]


def events(program: Program) -> dict[str, tuple[str, date, date]]:
    """Return the calendar as a library reads it: uid to summary, first and last day."""
    done = program.process("agenda", "--ics")
    assert done.returncode == 0
    calendar = Calendar.from_ical(done.stdout)
    found = {}
    for event in calendar.walk("VEVENT"):
        assert not event.errors
        found[str(event["UID"])] = (str(event["SUMMARY"]), event.start, event.end)  # type: ignore[attr-defined]
    assert len(found) == len(calendar.walk("VEVENT"))
    return found


def test_lists_by_date_with_states(planned: Program) -> None:
    """A month is ahead through its last day.

    What is only stated leaves the list the day after.
    """
    assert states(planned) == [
        (3, "2026-02-20", "outcome unknown"),
        (1, "2026-03-01", "today"),
        (2, "2026-03-06", "ahead"),
        (4, "2026-03", "ahead"),
        (6, "2026-05-05", "ahead"),
        (5, "2027", "ahead"),
    ]
    assert (4, "2026-03", "ahead") in states(planned, NOW="2026-03-31T12:00:00+00:00")
    assert (4, "2026-03", "outcome unknown") in states(planned, NOW="2026-04-01T12:00:00+00:00")
    assert 6 not in [id for id, *_ in states(planned, NOW="2026-05-06T12:00:00+00:00")]


def test_shows_today_first_and_what_has_passed_last(planned: Program) -> None:
    """Vague days stand under their month or year."""
    shown = planned.run("agenda").stdout
    titles = ["Today", "Ahead", "Sometime in March 2026", "Sometime in 2027", "Passed"]
    places = [shown.index(title) for title in titles]
    assert places == sorted(places)
    assert "2  User takes the train to Porto · Fri 2026-03-06, in 5 days" in shown


@pytest.mark.parametrize("how", ["done", "cancelled"])
@pytest.mark.parametrize("id", ["1", "2", "3", "4"])
def test_settles(planned: Program, how: str, id: str) -> None:
    """What is settled leaves the list and keeps its day; undo brings it back."""
    before = states(planned)
    new = planned.json("agenda", how, id)
    assert new["text"].endswith(f"({how})")
    assert states(planned) == [item for item in before if str(item[0]) != id]
    assert planned.run("agenda", how, id).returncode == 1
    assert f"replaced by {new['id']}" in planned.run("agenda", how, id).stderr
    assert "already marked" in planned.run("agenda", how, str(new["id"])).stderr
    assert f"you wrote: {new['text']}" in planned.run("memory", "why", str(new["id"])).stdout
    assert planned.run("undo", "--yes").returncode == 0
    assert states(planned) == before
    assert planned.run("doctor").returncode == 0
    assert planned.run("agenda", how, id).stdout.startswith(f"Marked as {how}:\n")


def test_correcting_the_words_of_what_is_settled_does_not_bring_it_back(planned: Program) -> None:
    """Only another day does."""
    new = planned.json("agenda", "done", "2")["id"]
    typo = planned.json("memory", "edit", str(new), "User takes the bus to Porto")["id"]
    assert typo not in [id for id, *_ in states(planned)]
    again = planned.json("memory", "edit", str(typo), "User takes the bus on 2026-03-07")["id"]
    assert (again, "2026-03-07", "ahead") in states(planned)


@pytest.mark.parametrize(
    ("day", "date"),
    [
        (["2026-03-09"], "2026-03-09"),
        (["friday"], "2026-03-06"),
        (["in", "3", "days"], "2026-03-04"),
        (["March 9th"], "2026-03-09"),
        (["2026-04"], "2026-04"),
        (["May 2027"], "2027-05"),
        (["in", "May", "2027"], "2027-05"),
        (["to", "2028"], "2028"),
        (["this month"], "2026-03"),
        (["2028"], "2028"),
    ],
    ids=" ".join,
)
def test_moves(planned: Program, day: Sequence[str], date: str) -> None:
    """A plan that was moved is a plan for then, and says so once."""
    new = planned.json("agenda", "moved", "3", *day)
    assert (new["id"], date, "ahead") in states(planned)
    assert new["text"] == f"User hands in the tax form (moved to {date})"
    again = planned.json("agenda", "moved", str(new["id"]), "2026-02-21")
    assert again["text"] == "User hands in the tax form (moved to 2026-02-21)"
    assert (again["id"], "2026-02-21", "outcome unknown") in states(planned)


def test_a_plan_moves_into_no_past_day_of_this_week(planned: Program) -> None:
    """Today is the Sunday of a week that began in February."""
    new = planned.json("agenda", "moved", "3", "this week")
    assert (new["id"], "2026-03-01", "today") in states(planned)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["moved", "2", "sometime"], 2),
        (["moved", "2", "2026-02-30"], 2),
        (["moved", "2", "12/05/2026"], 2),
        (["moved", "2", "31.02.2027"], 2),
        (["moved", "2", "the first monday in may 2027"], 2),
        (["moved", "2"], 2),
        (["done", "7"], 1),
        (["done", "99"], 1),
        (["--json", "done", "1"], 2),
        (["--ics", "done", "1"], 2),
        (["--ics", "--json"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_wrong_use_changes_nothing(planned: Program, arguments: list[str], status: int) -> None:
    """It is one or two lines on standard error."""
    before = states(planned)
    done = planned.run("agenda", *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert 1 <= len(done.stderr.splitlines()) <= 2
    assert states(planned) == before


def test_a_calendar_that_reads_it_again_updates_and_removes(planned: Program, life: Life) -> None:
    """Uids stay through edits, moves, reflections and undo; what is settled is gone."""
    first = events(planned)
    by_summary = {summary: uid for uid, (summary, *_) in first.items()}
    assert planned.process("agenda", "--ics").stdout == planned.process("agenda", "--ics").stdout
    dentist = by_summary["User sees the dentist, with X-rays; at 9am"]
    train, kitchen = (
        by_summary["User takes the train to Porto"],
        by_summary["User paints the kitchen"],
    )
    marathon, tax = by_summary["User runs a marathon"], by_summary["User hands in the tax form"]
    assert first[dentist][1:] == (date(2026, 3, 1), date(2026, 3, 2))
    assert first[kitchen][1:] == (date(2026, 3, 1), date(2026, 4, 1))
    assert first[marathon][1:] == (date(2027, 1, 1), date(2028, 1, 1))

    long = "User sees the dentist — " + "où l’on répète “ça” 🦷, again; \\n and " * 5
    planned.run("memory", "edit", "1", long)
    planned.run("agenda", "moved", "2", "2026-03-09")
    planned.run("agenda", "cancelled", "3")
    moved_again = planned.json("agenda", "moved", "4", "2026-04")["id"]
    planned.run("agenda", "moved", str(moved_again), "2026-05")
    with closing(sqlite3.connect(planned.db)) as db:
        (on_marathon,) = db.execute("SELECT count(*) FROM observations WHERE id = 5").fetchone()
    assert on_marathon
    old = life.read(_observation(life, 5))
    (new,) = life.reflect(("User runs a marathon", [old]))
    life.db.execute("UPDATE observations SET referenced_date = '2027' WHERE id = ?", (new.id,))

    second = events(planned)
    assert set(second) == set(first) - {tax}
    assert second[dentist] == (" ".join(long.split()), *first[dentist][1:])
    assert second[train][1:] == (date(2026, 3, 9), date(2026, 3, 10))
    assert second[kitchen][1:] == (date(2026, 5, 1), date(2026, 6, 1))
    assert second[marathon] == first[marathon]


def _observation(life: Life, id: int) -> Observation:
    from construct.store.observations import observation

    return observation(life.db, id)


def test_an_undone_reflection_revises_what_it_was_made_from(life: Life) -> None:
    """A calendar takes the event for newer than that of the reflection."""
    old = plan(life, life.talk(), "User sees Ana and Zoe", "2026-03-04")
    (new,) = life.reflect(("User sees Ana and Zoe", [old]))
    life.pass_days(1)
    undo(life.db, life.clock)
    assert revised_at(life.db, old.id) > revised_at(life.db, new.id)


def test_events_that_began_alike_are_still_two(program: Program, life: Life) -> None:
    """Two lines of one reflection share their oldest source, and no uid."""
    program.env["CONSTRUCT_NOW"] = NOW
    here = life.talk()
    both = plan(life, here, "User sees Ana and Zoe", "2026-03")
    pair = life.reflect(("User sees Ana", [both]), ("User sees Zoe", [both]))
    for one, when in zip(pair, ("2026-03-04", "2026-03-05"), strict=True):
        life.db.execute("UPDATE observations SET referenced_date = ? WHERE id = ?", (when, one.id))
    assert sorted(summary for summary, *_ in events(program).values()) == [
        "User sees Ana",
        "User sees Zoe",
    ]


def test_lines_end_and_fold_as_the_standard_says(planned: Program) -> None:
    """CRLF after each row, and none of more than 75 octets."""
    planned.run("memory", "edit", "1", "é🦷" * 60)
    code = "from construct.cli.run import run; run(['agenda', '--ics'])"
    raw = python(planned, code)
    rows = raw.split(b"\r\n")
    assert rows[-1] == b""
    assert b"\n" not in raw.replace(b"\r\n", b"")
    assert max(map(len, rows)) <= 75
    assert raw.decode().replace("\r\n ", "").count("é🦷" * 60) == 1


def test_on_a_terminal_it_has_the_colours_of_the_setting(planned: Program) -> None:
    """They are those that suit the background."""
    drawn = set()
    for theme in ("light", "dark"):
        environment = {**planned.environment(), "CONSTRUCT_THEME": theme}
        code = "from construct.cli.run import run; run(['agenda'])"
        terminal = emulator.PseudoTerminal(emulator.python(code), environment)
        try:
            assert terminal.wait() == 0
            drawn.add(terminal.screen.raw)
        finally:
            terminal.close()
    assert len(drawn) == 2


def test_every_door_has_what_was_noted_and_is_due_on_the_same_day(
    program: Program, life: Life, api: FakeApi
) -> None:
    """Agenda, brief, the memory page and the chat agree on what is due."""
    program.env["CONSTRUCT_NOW"] = NOW
    plan(life, life.talk(), "User calls Otto before noon", "2026-03-01")
    assert states(program) == [(1, "2026-03-01", "today")]
    assert program.run("brief").stdout == "Today: User calls Otto before noon\n"
    program.run("ask", "--no-wait", "--new", "Good morning!")
    sent = api.of("chat")[-1].body["messages"][-1]["content"]
    assert "Due today: User calls Otto before noon" in sent[-1]["text"]


def test_the_chat_asks_about_an_outcome_once(program: Program, life: Life, api: FakeApi) -> None:
    """Agenda and brief keep it."""
    program.env["CONSTRUCT_NOW"] = NOW
    plan(life, life.talk(), "User calls Otto", "2026-02-27")
    for _ in range(2):
        program.run("ask", "--no-wait", "--new", "Good morning!")
    asked = ["Outcome unknown" in str(r.body["messages"][-1]) for r in api.of("chat")]
    assert asked == [True, False]
    assert states(program) == [(1, "2026-02-27", "outcome unknown")]
    assert program.run("brief").stdout == "Outcome unknown (2 days ago): User calls Otto\n"


def test_an_empty_agenda(program: Program) -> None:
    """It says so, and the calendar is empty; no file is made."""
    assert "Nothing on the agenda" in program.run("agenda").stdout
    assert program.json("agenda") == []
    assert events(program) == {}
    assert not program.db.exists()


def test_the_agenda_says_that_the_newest_messages_are_not_in_it(program: Program) -> None:
    """A plan that was just told is missing, and the last line says how to add it."""
    program.run("ask", "--no-wait", "I see the dentist on Friday.")
    assert "the last 2 messages of the current conversation." in program.run("agenda").stdout
    program.run("compact")
    assert "Not included" not in program.run("agenda").stdout


def test_one_message_that_is_not_in_the_agenda() -> None:
    """The sentence about it is in the singular."""
    shown = to_text(agenda_view(Agenda([], date(2026, 3, 1), not_compacted=1)))
    assert (
        "the last message of the current conversation. `construct compact` adds its plans." in shown
    )


def test_brief_says_what_is_due(planned: Program) -> None:
    """Today, what comes within two days, and plans that have just passed."""
    assert planned.run("brief").stdout.splitlines() == [
        "Today: User sees the dentist, with X-rays; at 9am",
        "Outcome unknown (9 days ago): User hands in the tax form",
    ]
    then = planned.run("brief", more={"CONSTRUCT_NOW": "2026-03-31T12:00:00+00:00"})
    assert then.stdout == "By today: User paints the kitchen\n"
    before = planned.run("brief", more={"CONSTRUCT_NOW": "2026-03-29T12:00:00+00:00"})
    assert before.stdout == "Within 2 days: User paints the kitchen\n"
    later = planned.run("brief", more={"CONSTRUCT_NOW": "2026-07-01T12:00:00+00:00"})
    assert (later.returncode, later.stdout, later.stderr) == (0, "", "")
    assert planned.run("--db", str(planned.db), "brief").stdout.startswith("Today: ")


def test_brief_is_five_lines_at_most(planned: Program, life: Life) -> None:
    """The last says how many more there are."""
    here = life.talk()
    for number in range(9):
        plan(life, here, f"User calls person {number}", "2026-03-02")
    lines = planned.run("brief").stdout.splitlines()
    assert len(lines) == 5
    assert lines[1] == "Tomorrow: User calls person 0"
    assert lines[-1] == "7 more: construct agenda"


@pytest.mark.parametrize("state", ["none", "empty", "old"])
def test_brief_is_silent_where_there_is_nothing_to_read(
    program: Program, life: Life, state: str
) -> None:
    """No file, an empty or an older one: nothing is said, made or migrated."""
    plan(life, life.talk(), "User sees the dentist", "2026-03-10")
    assert program.run("brief").stdout
    if state == "old":
        life.db.execute("PRAGMA user_version = 8")
    life.db.close()
    if state in {"none", "empty"}:
        program.db.unlink()
    if state == "empty":
        program.db.touch()
    before = _folder(program.folder)
    done = program.run("brief")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert _folder(program.folder) == before


def test_brief_does_not_wait_for_who_holds_the_file(program: Program, life: Life) -> None:
    """`--brief` reads beside a writer.

    It prints nothing while a program holds the file exclusively.
    """
    plan(life, life.talk(), "User sees the dentist", "2026-03-10")
    life.db.execute("BEGIN IMMEDIATE")
    assert program.run("brief").stdout.startswith("Today: ")
    life.db.execute("ROLLBACK")
    life.db.close()
    with closing(sqlite3.connect(program.db, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("UPDATE messages SET model = 'other'")
        done = program.run("brief")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("state", ["rest", "in use"])
def test_brief_only_reads(planned: Program, life: Life, state: str) -> None:
    """Not a byte changes, and no file appears beside it; a chat may be open."""
    if state == "rest":
        life.db.close()
    before = _folder(planned.folder)
    assert planned.process("brief").stdout.startswith("Today: ")
    after = _folder(planned.folder)
    if state == "rest":
        assert after == before
    assert after["construct.db"] == before["construct.db"]


@pytest.mark.parametrize("state", ["newer", "foreign", "garbage"])
def test_brief_says_that_a_file_is_unusable(program: Program, state: str) -> None:
    """As every command does, and the file is left as it is."""
    if state == "garbage":
        program.db.write_bytes(b"no database at all" * 500)
    else:
        with closing(sqlite3.connect(program.db)) as db:
            db.execute("CREATE TABLE t (x)")
            if state == "newer":
                db.execute(f"PRAGMA application_id = {0x434E5354}")
                db.execute("PRAGMA user_version = 99")
    before = _folder(program.folder)
    done = program.run("brief")
    assert (done.returncode, done.stdout) == (4, "")
    assert len(done.stderr.splitlines()) == 2
    assert _folder(program.folder) == before


def test_brief_imports_nothing_heavy(planned: Program) -> None:
    """It comes in every new shell."""
    code = (
        "import sys; from construct.cli.run import run; run(['brief']);"
        "print(sorted({'typer', 'rich', 'asyncio', 'sqlite_utils', 'anthropic',"
        " 'prompt_toolkit', 'tiktoken'} & set(sys.modules)))"
    )
    assert python(planned, code).splitlines()[-1] == b"[]"


def python(program: Program, code: str) -> bytes:
    """Return what a program prints that runs beside this one's database."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=program.environment(),
        capture_output=True,
        check=True,
        cwd=program.folder,
    )
    return done.stdout


def _folder(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
