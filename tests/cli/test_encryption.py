"""An encrypted database, as the program meets it."""

import shutil
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.test_trust import on_terminal
from tests.store.old_versions import make_version_7
from tests.support.emulator import PseudoTerminal
from tests.support.program import Program

WORDS = b"Momo"
SAID = "I live in Ghent with my cat Momo. I see Dr Maes on 2026-12-07."
NOW = {"CONSTRUCT_NOW": "2026-12-05T09:00:00+01:00", "CONSTRUCT_TZ": "Europe/Brussels"}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """The program with something said, and a key file that is not there yet."""
    env = {"CONSTRUCT_PROVIDER": "notebook", "CONSTRUCT_LOOK_FOR": "", **NOW}
    program = Program(tmp_path, env | {"XDG_CONFIG_HOME": str(tmp_path / "config")})
    program.run("ask", SAID)
    program.run("compact")
    program.env["CONSTRUCT_KEY_FILE"] = str(tmp_path / "key")
    return program


def holds_words(program: Program) -> list[str]:
    """Return the files beside the database that hold what was said."""
    return [file.name for file in program.folder.iterdir()
            if file.is_file() and WORDS in file.read_bytes()]  # fmt: skip


def test_everything_works_on_an_encrypted_file(program: Program) -> None:
    """Not a word is readable; what was said is the same before, meanwhile and after."""
    before = program.run("export").stdout
    agenda, brief = program.run("agenda").stdout, program.run("brief").stdout
    done = program.run("encrypt")
    assert done.returncode == 0, done.stderr
    assert "Out of reach: backups, exports and snapshots" in done.stdout
    assert holds_words(program) == []
    for file in ("construct.db", "construct.db.key", "key"):
        assert (program.folder / file).stat().st_mode & 0o777 == 0o600
    assert program.run("export").stdout == before
    assert "Momo" in program.run("memory", "search", "cat").stdout
    assert "Dr Maes" in agenda
    assert program.run("agenda").stdout == agenda
    assert program.run("brief").stdout == brief
    assert "the database is encrypted" in program.run("doctor").stdout
    program.run("ask", "My sister Rosa sings alto.")
    (program.folder / "old.jsonl").write_text(before)
    program.run("import", "old.jsonl")
    forgotten = program.run("memory", "forget", "1", "--words", "--yes")
    assert forgotten.returncode == 0
    assert program.run("memory", "search", "Momo").stdout == "Nothing was found.\n"
    program.run("export", "--format", "sqlite", "-o", "plain.db")
    with closing(sqlite3.connect(program.folder / "plain.db")) as plain:
        assert plain.execute("SELECT count(*) FROM messages").fetchone() == (4,)
    middle = program.run("export").stdout
    assert "construct.db" in program.run("decrypt").stdout
    assert not (program.folder / "construct.db.key").exists()
    program.env["CONSTRUCT_KEY_FILE"] = ""
    assert program.run("export").stdout == middle
    with closing(sqlite3.connect(program.db)) as plain:
        assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_without_a_key(program: Program) -> None:
    """One line says what to set; `brief` and `remind` say nothing. No byte changes."""
    program.run("encrypt")
    stored = program.db.read_bytes()
    wrong = program.folder / "wrong"
    wrong.write_text("another secret\n")
    for key_file, said in (("", "Set CONSTRUCT_KEY_COMMAND"), (str(wrong), "does not open")):
        program.env["CONSTRUCT_KEY_FILE"] = key_file
        done = program.run("memory", "list")
        assert (done.returncode, said in done.stderr) == (4, True), done.stderr
        assert len(done.stderr.splitlines()) <= 2
    program.env["CONSTRUCT_KEY_FILE"] = ""
    for command in ("brief", "remind"):
        assert program.run(command).stdout == ""
        assert program.run(command).returncode == 0
    refused = program.run("remind", "install")
    assert (refused.returncode, "is encrypted" in refused.stderr) == (1, True)
    assert program.db.read_bytes() == stored
    program.env["CONSTRUCT_KEY_COMMAND"] = f"cat {program.folder / 'key'}"
    assert "Momo" in program.run("memory", "list").stdout
    program.env["CONSTRUCT_KEY_COMMAND"] = "exit 3"
    assert "CONSTRUCT_KEY_COMMAND gave no key" in program.run("memory", "list").stderr
    assert program.run("brief").returncode == 0


def test_what_is_refused(program: Program) -> None:
    """Each says why, and what to do."""
    assert "is not encrypted" in program.run("decrypt").stderr
    with closing(sqlite3.connect(program.db)) as other:
        other.execute("SELECT count(*) FROM messages").fetchone()
        assert "is open in another program" in program.process("encrypt").stderr
    assert program.db.read_bytes().startswith(b"SQLite format 3")
    program.run("encrypt")
    assert "is encrypted already" in program.run("encrypt").stderr
    program.env["CONSTRUCT_KEY_FILE"] = ""
    assert "No terminal" in program.run("export", "--encrypt").stderr
    missing = program.run("--db", "none.db", "encrypt")
    assert (missing.returncode, "There is no database" in missing.stderr) == (1, True)


def test_a_passphrase(program: Program) -> None:
    """It is asked for once a start, again if it is wrong, and shown nowhere."""
    program.env["CONSTRUCT_KEY_FILE"] = ""
    with on_terminal(program, "encrypt") as terminal:
        answer(terminal, "New passphrase (not shown):", "open sesame")
        answer(terminal, "Once more:", "open sesame")
        terminal.see("Encrypted:")
        assert "sesame" not in terminal.screen.text
    assert holds_words(program) == []
    with on_terminal(program, "memory", "list") as terminal:
        answer(terminal, "Passphrase of construct.db:", "wrong")
        answer(terminal, "That is not it. Passphrase:", "open sesame")
        terminal.see("Momo")
    secret = program.folder / "secret"
    secret.write_text("open sesame")
    program.env["CONSTRUCT_KEY_FILE"] = str(secret)  # it may hold the passphrase, too
    wrapped = (program.folder / "construct.db.key").read_bytes()
    assert "Encrypted" in program.run("encrypt", "--rekey").stdout
    assert (program.folder / "construct.db.key").read_bytes() != wrapped


def answer(terminal: PseudoTerminal, question: str, line: str) -> None:
    """Type a line once a question is asked and what is typed is hidden."""
    terminal.see(question)
    time.sleep(0.1)
    terminal.type(f"{line}\r")


def test_the_copy_that_a_migration_made(tmp_path: Path) -> None:
    """It is encrypted too, and opens with the key of the database."""
    program = Program(tmp_path, {"CONSTRUCT_KEY_FILE": str(tmp_path / "key"), **NOW})
    make_version_7(program.db).close()
    (copy,) = [Path(word) for word in program.run("encrypt").stdout.split() if ".before-" in word]
    assert not copy.read_bytes().startswith(b"SQLite format 3")
    assert program.run("--db", str(copy), "memory", "list").returncode == 0
    new, main = Path(f"{copy}.converting"), Path(f"{program.db}.converting")
    # Killed before the database was in its place: nothing has changed, and the new files go.
    main.write_bytes(b"the new database")
    new.write_bytes(b"half of the new copy")
    assert "was interrupted" in program.run("memory", "list").stderr
    assert not new.exists()
    assert not main.exists()
    # Killed after it: the copy follows.
    new.write_bytes(copy.read_bytes())
    copy.write_bytes(b"the old copy")
    assert "was interrupted" in program.run("memory", "list").stderr
    assert not new.exists()
    assert "construct.db.before" in program.run("decrypt").stdout
    assert copy.read_bytes().startswith(b"SQLite format 3")


def test_an_encrypted_export(program: Program) -> None:
    """Only its passphrase opens it again, on a terminal."""
    with on_terminal(program, "export", "--encrypt", "-o", "backup.age") as terminal:
        answer(terminal, "New passphrase (not shown):", "open sesame")
        answer(terminal, "Once more:", "open sesame")
        terminal.see("Written:")
    made = program.folder / "backup.age"
    assert made.read_bytes().startswith(b"age-encryption.org/v1")
    assert made.stat().st_mode & 0o777 == 0o600
    assert WORDS not in made.read_bytes()
    program.db.unlink()
    refused = program.run("import", "backup.age")
    assert (refused.returncode, "is encrypted with a passphrase" in refused.stderr) == (1, True)
    with on_terminal(program, "import", "backup.age") as terminal:
        answer(terminal, "Passphrase of backup.age:", "open sesame")
        terminal.see("1 new conversation")


@pytest.mark.parametrize("command", [["encrypt"], ["encrypt", "--rekey"], ["decrypt"]])
def test_killed_anywhere_one_file_is_whole(program: Program, command: list[str]) -> None:
    """The next start says what happened; the same command then does it."""
    if command != ["encrypt"]:
        program.run("encrypt")
    before = program.run("export").stdout
    for wait in (0.25, 0.4):
        with program.start(*command) as process:
            time.sleep(wait)
            process.send_signal(signal.SIGKILL)
        assert program.run("export").stdout == before
        assert not (program.folder / "construct.db.converting").exists()
    shutil.copy(program.db, program.folder / "construct.db.converting")
    assert "was interrupted" in program.run("memory", "list").stderr
    assert program.run("export").stdout == before
