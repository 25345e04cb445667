"""`construct export` and `import`, from outside."""

import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from construct.prompts import shipped
from tests.support.program import Program

LINE = {
    "type": "message",
    "conversation": "A trip",
    "role": "user",
    "content": "We went to Sintra",
    "created_at": "2026-03-01T14:30:00+01:00",
}


def text(*lines: object) -> str:
    """Return lines of JSON."""
    return "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)


def test_jsonl_begins_with_its_header(lived: Program) -> None:
    """The first line says what it is; every line is an object with a type.

    Nothing of the machine is in it.
    """
    done = lived.run("export")
    first, *rest = [json.loads(line) for line in done.stdout.splitlines()]
    assert (first["type"], first["version"]) == ("construct-export", 3)
    assert {"conversation", "message", "observation", "cycle", "relation"} <= {
        line["type"] for line in rest
    }
    assert str(lived.folder) not in done.stdout
    assert done.stdout.isascii()
    assert done.stderr == ""


def test_an_export_is_deterministic(lived: Program, tmp_path: Path) -> None:
    """At another time, by `-o -` and to a file, it is the same bytes."""
    whole = lived.run("export").stdout
    assert (
        lived.run("export", "-o", "-", more={"CONSTRUCT_NOW": "2031-01-01T00:00:00+00:00"}).stdout
        == whole
    )
    assert lived.run("export", "--format", "jsonl", "-o", "out.jsonl").stdout == ""
    assert (tmp_path / "out.jsonl").read_text() == whole


@pytest.mark.parametrize("form", ["jsonl", "sqlite"])
def test_a_round_trip_gives_the_same_bytes(lived: Program, form: str) -> None:
    """Imported into an empty database and exported again.

    A second time it adds nothing.
    """
    whole = lived.run("export").stdout
    lived.run("export", "--format", form, "-o", "out")
    other = ("--db", str(lived.folder / "other.db"))
    for _ in range(2):
        assert lived.run(*other, "import", "out").returncode == 0
        assert lived.run(*other, "export").stdout == whole
    assert lived.json(*other, "import", "out")["messages"] == 0
    assert lived.json(*other, "doctor")["ok"] is True


@pytest.mark.parametrize("form", ["jsonl", "sqlite", "markdown"])
def test_files_are_private(lived: Program, tmp_path: Path, form: str) -> None:
    """An export is 0600, one that takes the place of a public file too.

    Folders it makes are 0700.
    """
    new, old = tmp_path / "a" / "b" / "out", tmp_path / "old"
    old.touch(0o644)
    for target in (new, old):
        assert lived.run("export", "--format", form, "-o", str(target)).returncode == 0
        assert target.stat().st_mode & 0o777 == 0o600
    assert {folder.stat().st_mode & 0o777 for folder in (new.parent, new.parent.parent)} == {0o700}


def test_sqlite_is_a_database_by_itself(lived: Program, tmp_path: Path) -> None:
    """It is one file that any SQLite tool reads; standard output is refused."""
    lived.run("export", "--format", "sqlite", "-o", "out.db")
    with closing(sqlite3.connect(tmp_path / "out.db")) as db:
        assert db.execute("SELECT count(*) FROM messages").fetchone() == (10,)
    assert not (tmp_path / "out.db-wal").exists()
    assert lived.run("export", "--format", "sqlite").returncode == 2
    assert lived.run("export", "--format", "sqlite", "-o", "-").returncode == 2
    assert lived.run("export", "--format", "xml").returncode == 2


def test_markdown_holds_the_words(lived: Program) -> None:
    """What was said and what is remembered."""
    words = lived.run("export", "--format", "markdown").stdout
    assert "Which chain fits a tandem?" in words
    assert "The alarm code is 9917" in words


@pytest.mark.parametrize("form", ["jsonl", "sqlite", "markdown"])
def test_the_database_itself_is_refused(lived: Program, tmp_path: Path, form: str) -> None:
    """By its name, by links of both kinds, and what stands beside it.

    Not a byte changes.
    """
    (tmp_path / "soft").symlink_to(lived.db)
    os.link(lived.db, tmp_path / "hard")
    before = lived.db.read_bytes()
    for target in ("construct.db", "./soft", "hard", "construct.db-wal", "construct.db-shm"):
        done = lived.run("export", "--format", form, "-o", target)
        assert (done.returncode, done.stdout) == (2, "")
        assert "database" in done.stderr
    assert (
        lived.run("--db", "soft", "export", "--format", form, "-o", "construct.db").returncode == 2
    )
    assert lived.run("import", "soft").returncode == 2
    assert lived.db.read_bytes() == before


@pytest.mark.parametrize("command", [("export",), ("export", "--format", "markdown"), ("report",)])
def test_text_takes_no_databases_place(lived: Program, command: tuple[str, ...]) -> None:
    """Another memory, or an earlier copy: `--format sqlite` was forgotten.

    A newer copy may take its place.
    """
    lived.run("export", "--format", "sqlite", "-o", "copy.db")
    before = (lived.folder / "copy.db").read_bytes()
    done = lived.run(*command, "-o", "copy.db", "--force")
    assert (done.returncode, done.stdout) == (2, "")
    assert (lived.folder / "copy.db").read_bytes() == before
    assert lived.run("export", "--format", "sqlite", "-o", "copy.db").returncode == 0


def test_hand_made_lines_are_archived(program: Program, tmp_path: Path) -> None:
    """They are searchable, in no window and not due.

    Importing them twice adds nothing.
    """
    reply = LINE | {
        "role": "assistant",
        "content": "How was it?",
        "created_at": "2026-03-01T14:31:00+01:00",
    }
    (tmp_path / "talk.jsonl").write_text(text(LINE, reply))
    report = program.json("import", "talk.jsonl")
    assert (report["conversations"], report["messages"]) == (1, 2)
    assert "`construct observe` learns from" in program.run("memory", "list").stdout
    found = program.json("memory", "search", "Sintra")
    assert found[0]["text"] == "We went to Sintra"
    assert found[0]["date"] == "2026-03-01T13:30:00.000000+00:00"
    assert program.json("conversations", "list")[0]["title"] == "A trip"
    messages = program.json("status")["messages"]
    assert (messages["unobserved"], messages["window"]) == (0, 0)
    before = program.run("export").stdout
    again = program.json("import", "talk.jsonl")
    assert (again["conversations"], again["messages"], again["known"]) == (0, 0, 2)
    assert program.run("export").stdout == before
    assert program.run("import", "talk.jsonl").returncode == 0
    reply["content"] = "And the weather?"
    (tmp_path / "talk.jsonl").write_text(text(LINE, reply))
    assert "`construct observe`" in program.run("import", "talk.jsonl").stderr
    assert program.json("doctor")["ok"] is True


def test_chatgpt_and_claude_are_recognised(program: Program, tmp_path: Path) -> None:
    """Of ChatGPT's tree the way to `current_node`; of Claude's export the text.

    Tool output is nobody's words.
    """

    def node(name: str, parent: str | None, role: str, words: str) -> dict[str, object]:
        content = {"content_type": "text", "parts": [words]}
        message = {
            "id": name,
            "author": {"role": role},
            "content": content,
            "create_time": 1767225600.0,
        }
        return {"id": name, "parent": parent, "children": [], "message": message}

    mapping = {
        "a": node("a", None, "user", "Tell me of Evora"),
        "b": node("b", "a", "assistant", "A road not taken"),
        "c": node("c", "a", "assistant", "It has a temple"),
        "d": node("d", "c", "tool", "tool output here"),
    }
    talk = {
        "id": "t1",
        "title": "Evora",
        "create_time": 1767225600.0,
        "mapping": mapping,
        "current_node": "d",
    }
    (tmp_path / "conversations.json").write_text(json.dumps([talk]))
    assert program.json("import", "conversations.json")["messages"] == 2
    said = [
        one["text"] for one in program.json("memory", "search", "Evora temple road tool output")
    ]
    assert sorted(said) == ["It has a temple", "Tell me of Evora"]
    message = {
        "uuid": "m1",
        "sender": "human",
        "text": "I like Beja",
        "created_at": "2026-01-01T10:00:00Z",
    }
    claude = {
        "uuid": "c1",
        "name": "Beja",
        "created_at": "2026-01-01T10:00:00Z",
        "chat_messages": [message],
    }
    (tmp_path / "claude.json").write_text(json.dumps([claude]))
    assert program.json("import", "claude.json")["messages"] == 1
    assert program.json("import", "claude.json")["messages"] == 0


def test_an_export_without_messages_is_said_to_be_one(program: Program, tmp_path: Path) -> None:
    """It brings in nothing, and that is no mystery."""
    (tmp_path / "conversations.json").write_text('[{"mapping": {}}]')
    done = program.run("import", "conversations.json")
    assert done.stdout == "Nothing new. Left out: conversations without messages (1).\n"
    assert done.returncode == 1


BAD = {
    "not JSON": text(LINE, "{no"),
    "not an object": text(LINE, [1]),
    "no content": text(LINE, {"type": "message"}),
    "another role": text(LINE, LINE | {"role": "system"}),
    "no time": text(LINE, LINE | {"created_at": "yesterday"}),
    "content of another kind": text(LINE, LINE | {"content": 5}),
    "another type": text(LINE, {"type": "observation"}),
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_a_wrong_line_fails_the_file(lived: Program, tmp_path: Path, content: str) -> None:
    """It exits 1, names the line, and nothing of the file is taken."""
    before = lived.run("export").stdout
    (tmp_path / "bad.jsonl").write_text(content)
    done = lived.run("import", "bad.jsonl")
    assert (done.returncode, done.stdout) == (1, "")
    assert "line 2" in done.stderr
    assert len(done.stderr.splitlines()) <= 2
    assert lived.run("export").stdout == before


def test_what_is_no_utf8_fails_the_file(lived: Program, tmp_path: Path) -> None:
    """The line is named."""
    (tmp_path / "bad.jsonl").write_bytes(text(LINE).encode() + b'{"type": "\xff"}\n')
    done = lived.run("import", "bad.jsonl")
    assert done.returncode == 1
    assert "line 2" in done.stderr


def test_half_an_export_is_refused(lived: Program, tmp_path: Path) -> None:
    """A cut-off export changes nothing in an empty database.

    Nor does one whose observations have no sources.
    """
    lines = lived.run("export").stdout.splitlines(keepends=True)
    without = [line for line in lines if json.loads(line)["type"] != "message"]
    other = ("--db", str(tmp_path / "other.db"))
    empty = lived.run(*other, "export").stdout
    for content in ("".join(lines)[:-40], "".join(lines[: len(lines) // 2]), "".join(without)):
        (tmp_path / "bad.jsonl").write_text(content)
        assert lived.run(*other, "import", "bad.jsonl").returncode == 1
        assert lived.run(*other, "export").stdout == empty


@pytest.mark.parametrize("name", ["nothing-here", "empty", "/dev/null"])
def test_what_cannot_be_read_is_a_failure(lived: Program, name: str) -> None:
    """It exits 1 with a line or two."""
    (lived.folder / "empty").mkdir()
    done = lived.run("import", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 2


def test_what_was_forgotten_here_stays_forgotten_and_is_counted(lived: Program) -> None:
    """Importing one's own earlier export does not bring it back, and says so."""
    assert lived.run("export", "-o", "earlier.jsonl").returncode == 0
    observation = lived.json("memory", "list")[0]["id"]
    assert lived.run("memory", "forget", str(observation), "--words", "--yes").returncode == 0
    said = lived.run("import", "earlier.jsonl").stdout
    assert re.search(r"Nothing new\..* Forgotten or deleted here, so left out: \d+ entr", said)


def test_a_deleted_conversation_does_not_come_back(tmp_path: Path) -> None:
    """An earlier export brings back nothing of it, and what it had replaced stays active."""
    program = Program(tmp_path, {"CONSTRUCT_NOW": "2026-06-22T10:00:00+00:00"})
    life = str(shipped("data/demo.jsonl"))
    assert program.run("import", life).returncode == 0
    gone, *others = program.json("conversations", "list")
    assert program.run("conversations", "delete", str(gone["id"]), "--yes").returncode == 0
    lines = program.run("export").stdout
    said = program.run("import", life).stdout
    assert re.search(r"Nothing new\..* Forgotten or deleted here, so left out: \d+ entries", said)
    assert program.run("export").stdout == lines
    assert len(program.json("conversations", "list")) == len(others)
    assert gone["title"] not in lines
    assert program.run("doctor").returncode == 0


def _said_on(day: str, words: str) -> str:
    """Return a line of a hand-made file."""
    line = {"conversation": "Notes", "role": "user", "content": words, "created_at": day}
    return json.dumps({"type": "message", **line}) + "\n"


@pytest.mark.parametrize(
    ("day", "words"), [("2026-02-01", "I skate"), ("2026-05-01", "Ana can eat no nuts")]
)
def test_a_deleted_conversation_brings_only_what_is_new(
    tmp_path: Path, day: str, words: str
) -> None:
    """Words that were deleted stay away, even if the file now begins with another message.

    What was said before or after them was never deleted.
    """
    program = Program(tmp_path)
    old = [("2026-03-01", "I ride a bike to work"), ("2026-03-02", "My bike is red")]
    for name, lines in (("old", old), ("new", sorted([*old, (day, words)]))):
        text = "".join(_said_on(f"{on}T10:00:00+00:00", said) for on, said in lines)
        (tmp_path / f"{name}.jsonl").write_text(text)
    assert program.run("import", "old.jsonl").returncode == 0
    assert program.run("conversations", "delete", "1", "--yes").returncode == 0
    said = program.run("import", "new.jsonl").stdout
    assert said.startswith("Imported 1 message, 1 new conversation.")
    assert "Forgotten or deleted here, so left out: 2 messages." in said
    assert "1 imported message" in program.run("status").stdout
    exported = program.run("export").stdout
    assert words in exported
    assert "bike" not in exported
    assert "[removed]" not in exported
    assert program.run("import", "new.jsonl").stdout.startswith("Nothing new.")


@pytest.mark.parametrize(
    ("said", "deletion", "listed"),
    [
        ("/remember I like bananas", ("memory", "forget", "1"), ("memory", "list", "--all")),
        ("/new Plans", ("conversations", "delete", "1"), ("conversations", "list")),
    ],
)
def test_what_has_no_messages_does_not_come_back(
    tmp_path: Path, said: str, deletion: tuple[str, ...], listed: tuple[str, ...]
) -> None:
    """A memory that was typed, and a conversation in which nothing was said."""
    program = Program(tmp_path)
    assert program.run("chat", "--commands", stdin=f"{said}\n").returncode == 0
    assert program.run("export", "-o", "earlier.jsonl").returncode == 0
    assert len(program.json(*listed)) == 1
    assert program.run(*deletion, "--yes").returncode == 0
    assert "Forgotten or deleted here" in program.run("import", "earlier.jsonl").stdout
    assert program.json(*listed) == []


def test_a_newer_database_needs_a_newer_program(lived: Program) -> None:
    """The advice is to update, not to export again."""
    assert lived.run("export", "--format", "sqlite", "-o", "newer.db").returncode == 0
    with closing(sqlite3.connect(lived.folder / "newer.db")) as db:
        db.execute("PRAGMA user_version = 999")
    done = lived.run("--db", str(lived.folder / "x.db"), "import", "newer.db")
    assert (done.returncode, "Update Construct, then import it again" in done.stderr) == (1, True)
