"""`construct remind` and what the system runs, from outside."""

import json
import plistlib
import sqlite3
import stat
import sys
import threading
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from construct.operations.schedule import schedule_for
from tests.memory.builders import Life, stated
from tests.support import emulator
from tests.support.program import Program


def at(moment: str) -> dict[str, str]:
    """Return the environment in which it is this time of March 2026, such as `05 09:30`."""
    return {"CONSTRUCT_NOW": f"2026-03-{moment}:00+00:00"}


@pytest.fixture
def reminding(program: Program, life: Life) -> Program:
    """The program with a dentist at 9:30, a tax form, and a letter, all on 5 March."""
    here = life.talk()
    dated: tuple[dict[str, Any], ...] = (
        {"content": "User sees Dr Moura", "referenced_time": "09:30", "label": "Dentist"},
        {"content": "User hands in the tax form", "priority": "high"},
        {"content": "The landlord reads the meter", "referenced_time": "09:30",
         "stance": "quoted", "priority": "high"},
        {"content": "User waters the plants", "priority": "medium"},
    )  # fmt: skip
    for given in dated:
        said = life.exchange(here, given["content"])
        note = replace(stated("", [said.id]), stance="planned", referenced_date="2026-03-05")
        life.observe(here, replace(note, **given))
    life.compact(here)
    return program


def program_file(folder: Path, name: str, script: str) -> None:
    """Write a program that stands for one of the system's."""
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!{sys.executable}\nimport json, sys\n{script}\n")
    path.chmod(stat.S_IRWXU)


@pytest.fixture
def system(reminding: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The program on a machine whose systemctl and notify-send write down what they get."""
    for name in ("systemctl", "notify-send"):
        log = reminding.folder / f"{name}.log"
        script = f"open({str(log)!r}, 'a').write(json.dumps(sys.argv[1:]) + '\\n')"
        program_file(reminding.folder, name, script)
    monkeypatch.setenv("PATH", str(reminding.folder / "bin"))
    reminding.env["HOME"] = str(reminding.folder)
    return reminding


def logged(program: Program, name: str) -> list[list[str]]:
    """Return the arguments that a program of the system got, run by run."""
    log = program.folder / f"{name}.log"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def test_each_reminder_comes_once(reminding: Program) -> None:
    """At its time, on standard output; with nothing due it prints nothing."""
    assert reminding.run("remind", more=at("05 07:59")).stdout == ""
    assert reminding.run("remind", more=at("05 08:00")).stdout == (
        "User hands in the tax form, today\n"
    )
    assert reminding.run("remind", more=at("05 08:30")).stdout == "Dentist, today at 09:30\n"
    done = reminding.run("remind", more=at("05 08:31"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_was_missed_comes_late_and_says_so(reminding: Program) -> None:
    """A day late at most."""
    assert reminding.run("remind", more=at("06 07:30")).stdout.splitlines() == [
        "User hands in the tax form, yesterday, "
        "this reminder is late: it was due yesterday at 08:00",
        "Dentist, yesterday at 09:30, this reminder is late: it was due yesterday at 08:30",
    ]
    assert reminding.run("remind", more=at("06 07:30")).stdout == ""


def test_an_edit_does_not_bring_a_reminder_again(reminding: Program) -> None:
    """Moving it to another time does."""
    reminding.run("remind", more=at("05 08:30"))
    edited = reminding.json("memory", "edit", "1", "User sees Doctor Moura")["id"]
    assert reminding.run("remind", more=at("05 08:35")).stdout == ""
    reminding.env.update(at("05 08:40"))
    reminding.run("agenda", "moved", str(edited), "10:00")
    assert reminding.run("remind", more=at("05 09:00")).stdout == "Dentist, today at 10:00\n"


def test_what_is_settled_does_not_remind(reminding: Program) -> None:
    """Nor what is cancelled."""
    reminding.env.update(at("04 12:00"))
    reminding.run("agenda", "done", "2")
    reminding.run("agenda", "cancelled", "1")
    assert reminding.run("remind", more=at("05 09:00")).stdout == ""


def test_lists_what_is_due_and_what_is_to_come(reminding: Program) -> None:
    """Nothing is delivered by that."""
    listed = reminding.json("remind", "--list", more=at("05 08:10"))
    assert listed == [
        {"id": 2, "text": "User hands in the tax form", "due": "2026-03-05 08:00", "state": "due"},
        {"id": 1, "text": "Dentist", "due": "2026-03-05 08:30", "state": "ahead"},
    ]
    shown = reminding.run("remind", "--list", more=at("05 08:10")).stdout
    assert "1  2026-03-05 08:30  Dentist · today, for today at 09:30" in shown
    delivered = reminding.json("remind", more=at("05 08:10"))
    assert [r["state"] for r in delivered] == ["delivered"]
    assert "No reminders" in reminding.run("remind", "--list", more=at("20 08:00")).stdout


@pytest.mark.parametrize("at_time", ["06:30", "25:00", "soon"])
def test_the_time_of_a_whole_day(reminding: Program, at_time: str) -> None:
    """CONSTRUCT_REMIND_AT says when; a bad one is named."""
    done = reminding.run("remind", more={**at("05 06:30"), "CONSTRUCT_REMIND_AT": at_time})
    if at_time == "06:30":
        assert done.stdout == "User hands in the tax form, today\n"
    else:
        assert done.returncode == 2
        assert "CONSTRUCT_REMIND_AT" in done.stderr


def test_installed_it_goes_to_the_desktop(system: Program) -> None:
    """What is written is printed; uninstalling removes exactly that."""
    before = {path for path in system.folder.rglob("*") if path.is_file()}
    done = system.run("--db", str(system.db), "remind", "install")
    service = system.folder / ".config/systemd/user/construct-remind.service"
    timer = service.with_suffix(".timer")
    assert done.returncode == 0, done.stderr
    assert str(service) in done.stdout
    assert str(timer) in done.stdout
    assert f'"--db" "{system.db}" "remind"' in service.read_text()
    assert stat.S_IMODE(service.stat().st_mode) == 0o600
    assert logged(system, "systemctl")[-1] == [
        "--user", "enable", "--now", "construct-remind.timer",
    ]  # fmt: skip

    assert system.run("remind", more=at("05 08:31")).stdout == ""
    assert [words[-1] for words in logged(system, "notify-send")] == [
        "Reminder, today, this reminder is late: it was due today at 08:00",
        "Dentist, today at 09:30",
    ]
    assert system.run("remind", "uninstall").stdout.splitlines() == [
        "Removed:", f"  {service}", f"  {timer}",
    ]  # fmt: skip
    logs = {system.folder / f"{name}.log" for name in ("systemctl", "notify-send")}
    assert {path for path in system.folder.rglob("*") if path.is_file()} - logs == before
    assert system.run("remind", "uninstall").returncode == 1


def test_a_whole_note_goes_out_only_if_the_user_says_so(system: Program) -> None:
    """It is an argument, whatever is in it."""
    system.run("remind", "install")
    system.env.update(at("02 12:00"))
    system.run("memory", "edit", "2", 'User pays "Rui"; $(rm -rf ~) \\n --urgent')
    system.run("remind", more={**at("05 08:00"), "CONSTRUCT_NOTIFY_TEXT": "full"})
    assert logged(system, "notify-send") == [
        ["--app-name", "Construct", "--", "Construct",
         'User pays "Rui"; $(rm -rf ~) \\n --urgent, today'],
    ]  # fmt: skip


def test_where_the_system_refuses_nothing_is_left(system: Program) -> None:
    """The error says what to run instead."""
    program_file(system.folder, "systemctl", "sys.exit('Failed to connect to bus')")
    before = {path for path in system.folder.rglob("*") if path.is_file()}
    done = system.run("remind", "install")
    assert done.returncode == 1
    assert "Failed to connect to bus" in done.stderr
    assert "-m construct --db" in done.stderr
    assert {path for path in system.folder.rglob("*") if path.is_file()} == before


def test_what_could_not_be_delivered_stays_due(system: Program) -> None:
    """It is tried again, and the brief lists it until then."""
    system.run("remind", "install")
    program_file(system.folder, "notify-send", "sys.exit(1)")
    done = system.run("remind", more=at("05 08:00"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Cannot show a reminder: notify-send failed with status 1.\n")
    line = "Reminder not delivered (2026-03-05 08:00): User hands in the tax form\n"
    assert line in system.run("brief", more=at("06 12:00")).stdout
    (system.folder / "bin/notify-send").unlink()
    assert "is not installed" in system.run("remind", more=at("05 08:05")).stderr
    program_file(system.folder, "notify-send", "")
    assert system.run("remind", more=at("05 08:10")).returncode == 0
    assert line not in system.run("brief", more=at("06 12:00")).stdout


def test_through_apprise(reminding: Program) -> None:
    """To any of its services; its address stands in no error."""
    got: list[dict[str, Any]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            got.append(json.loads(self.rfile.read(length)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"json://me:secret@127.0.0.1:{server.server_port}"
        done = reminding.run("remind", more={**at("05 08:30"), "CONSTRUCT_NOTIFY": address})
        server.shutdown()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [message["message"] for message in got] == [
        "Reminder, today, this reminder is late: it was due today at 08:00",
        "Dentist, today at 09:30",
    ]
    refused = reminding.run(
        "remind", more={**at("05 10:00"), "CONSTRUCT_NOTIFY": "nothing://secret@like/this"}
    )
    assert refused.returncode == 0  # both are delivered
    reminding.env.update(at("05 10:00"))
    reminding.run("agenda", "moved", "1", "11:30")
    failed = reminding.run(
        "remind", more={**at("05 10:30"), "CONSTRUCT_NOTIFY": "nothing://secret@like/this"}
    )
    assert failed.returncode == 1
    assert "secret" not in failed.stderr


def test_an_address_from_an_env_file_does_not_count(reminding: Program) -> None:
    """It may come with somebody else's repository."""
    (reminding.folder / ".env").write_text("CONSTRUCT_NOTIFY=json://elsewhere\n")
    done = reminding.run("remind", more=at("05 08:00"))
    assert done.stdout == "User hands in the tax form, today\n"


def test_what_a_chat_will_show_is_left_to_it(reminding: Program, life: Life) -> None:
    """As long as the user was there within ten minutes, and the chat is alive."""
    from construct.store import cycles

    session = cycles.open_session(life.db, None)
    cycles.note_key(life.db, session, 1e12)
    notify = {"CONSTRUCT_NOTIFY": "nothing://like-this"}
    assert reminding.run("remind", more={**at("05 08:01"), **notify}).returncode == 0
    assert reminding.run("remind", more={**at("05 08:04"), **notify}).returncode == 1
    assert reminding.run("remind", more=at("05 08:04")).stdout.startswith("User hands in")


def test_only_one_of_two_processes_delivers(reminding: Program) -> None:
    """The other finds it begun."""
    with closing(sqlite3.connect(reminding.db)) as db, db:
        db.execute(
            "INSERT INTO deliveries (observation_id, due, claimed_at) VALUES (2, ?, 1e12)",
            ("2026-03-05 08:00",),
        )
    assert reminding.run("remind", more=at("05 08:00")).stdout == ""


def test_it_starts_without_anything_heavy(reminding: Program) -> None:
    """It runs every five minutes, and mostly nothing is due."""
    code = (
        "import sys; from construct.cli.run import run; run(['remind']);"
        "print(sorted({'typer', 'rich', 'asyncio', 'sqlite_utils', 'anthropic', 'apprise',"
        " 'prompt_toolkit', 'tiktoken', 'psutil'} & set(sys.modules)))"
    )
    environment = {**reminding.environment(), **at("05 07:00")}
    terminal = emulator.PseudoTerminal(emulator.python(code), environment)
    try:
        assert terminal.wait() == 0
        assert terminal.screen.text.strip().splitlines()[-1] == "[]"
    finally:
        terminal.close()


def test_what_is_written_on_other_systems() -> None:
    """A launchd agent on macOS, a task on Windows; the arguments stay whole."""
    command = ["/usr/bin/python3", "-m", "construct", "--db", '/a "b"/%h $x.db', "remind"]
    ((path, agent),) = schedule_for("darwin", command).files.items()
    assert path.name == "construct.remind.plist"
    assert plistlib.loads(agent)["ProgramArguments"] == command
    assert plistlib.loads(agent)["StartInterval"] == 300
    (create,) = schedule_for("win32", command).start
    assert create[:3] == ["schtasks", "/Create", "/F"]
    service = next(iter(schedule_for("linux", command).files.values())).decode()
    assert '"/a \\"b\\"/%%h $$x.db"' in service
