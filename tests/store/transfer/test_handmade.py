import json
import sqlite3
import tracemalloc
from pathlib import Path

import pytest

from construct.clock import Clock
from construct.store.invariants import violations
from construct.store.transfer import foreign_writer
from construct.store.transfer.importing import import_file
from tests.store.transfer_world import World, bring, exported, message, refusal
from tests.support.database import new_database


@pytest.fixture
def db(tmp_path: Path) -> sqlite3.Connection:
    """Return an empty database."""
    return new_database(tmp_path / "a.db")


def rows(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Return title, words and time of all messages in order of their ids."""
    return db.execute(
        """SELECT title, content, messages.created_at FROM messages
           JOIN conversations ON conversations.id = conversation_id ORDER BY messages.id"""
    ).fetchall()


def test_the_contract_s_own_line(db: sqlite3.Connection, tmp_path: Path) -> None:
    """A line with only a message imports, archived and with its time in UTC.

    Its conversation's name becomes the title.
    """
    line = (
        '{"type": "message", "conversation": "title", "role": "user", "content": "…",'
        ' "created_at": "2026-03-01T14:30:00+01:00"}'
    )
    report = bring(db, tmp_path, line)
    assert (report.formats, report.conversations, report.messages) == (("JSONL of messages",), 1, 1)
    assert rows(db) == [("title", "…", "2026-03-01T13:30:00.000000+00:00")]
    assert db.execute(
        "SELECT role, archived, status, titled_by FROM messages, conversations"
    ).fetchall() == [("user", 1, "complete", "user")]
    assert (
        db.execute(
            "SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'title OR x'"
        ).fetchall()
        == []
    )


def test_one_conversation_may_be_larger_than_memory(
    db: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a file that is one long talk a few messages are held at a time."""
    monkeypatch.setattr(foreign_writer, "_MESSAGES_AT_ONCE", 10)
    (tmp_path / "long").write_text("".join(message(f"{n} {'x' * 40_000}") for n in range(100)))
    tracemalloc.start()
    report = import_file(db, tmp_path / "long", Clock())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (report.messages, report.conversations) == (100, 1)
    assert peak < (tmp_path / "long").stat().st_size / 2


def test_a_first_line_that_is_long(db: sqlite3.Connection, tmp_path: Path) -> None:
    """It is told from a document in one line, which needs no further lines."""
    text = message("long " * 40_000)
    assert bring(db, tmp_path, text + message("short")).messages == 2
    other = new_database(tmp_path / "b.db")
    talk = {"uuid": "a", "chat_messages": [{"sender": "human", "text": "long " * 40_000}]}
    document = json.dumps({"conversations": [talk | {"created_at": "2026-03-01"}]})
    assert bring(other, tmp_path, document).messages == 1


def test_conversations_and_order(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Lines with the same title are one conversation.

    Its messages are in order of time, then of lines.
    """
    text = "".join(
        message(words, conversation=title, created_at=at)
        for title, words, at in (
            ("B", "b2", "2026-03-01T11:00:00Z"), ("A", "a1", "2026-03-01T09:00:00"),
            ("B", "b1", "2026-03-01T11:30:00+01:00"),
            ("B", "b3", "2026-03-01T11:00:00+00:00"), ("A", "a0", "2026-02-28"),
        )
    )  # fmt: skip
    bring(db, tmp_path, text)
    assert [(title, words) for title, words, _ in rows(db)] == [
        ("B", "b1"), ("B", "b2"), ("B", "b3"), ("A", "a0"), ("A", "a1")]  # fmt: skip
    assert db.execute("SELECT title, created_at FROM conversations ORDER BY id").fetchall() == [
        ("B", "2026-03-01T10:30:00.000000+00:00"),
        ("A", "2026-02-28T00:00:00.000000+00:00")]  # fmt: skip


def test_import_twice_adds_nothing(db: sqlite3.Connection, tmp_path: Path) -> None:
    """The same file adds nothing a second time, whenever that is.

    The same words said twice are two messages.
    """
    text = (
        message("yes")
        + message("yes")
        + message("no", created_at=...)
        + message("no", created_at=None)
    )
    assert bring(db, tmp_path, text).messages == 4
    before = exported(db)
    report = bring(db, tmp_path, text, now="2030-01-01T00:00:00+00:00")
    assert (report.messages, report.conversations, report.known) == (0, 0, 4)
    assert exported(db) == before


def test_uids_are_the_same_everywhere(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Two machines that import one file give its messages the same uids.

    The way times are written makes no difference.
    """
    other = new_database(tmp_path / "b.db")
    bring(db, tmp_path, message(created_at="2026-03-01T14:30:00+01:00"))
    bring(other, tmp_path, message(created_at="2026-03-01T13:30:00Z"))
    uids = "SELECT messages.uid, conversations.uid FROM messages, conversations"
    assert db.execute(uids).fetchall() == other.execute(uids).fetchall()
    assert bring(db, tmp_path, exported(other)).messages == 0


def test_a_file_that_grows(db: sqlite3.Connection, tmp_path: Path) -> None:
    """New lines at the end go on the conversation.

    An earlier one that comes late is one of its own, in order.
    """
    text = message("one", created_at="2026-03-01T10:00:00Z") + message(
        "three", created_at="2026-03-01T12:00:00Z"
    )
    bring(db, tmp_path, text)
    text += message("four", created_at="2026-03-01T13:00:00Z")
    assert bring(db, tmp_path, text).conversations == 0
    text += message("two", created_at="2026-03-01T11:00:00Z")
    report = bring(db, tmp_path, text)
    assert (report.conversations, report.messages) == (1, 1)
    found = db.execute("SELECT conversation_id, content FROM messages ORDER BY id").fetchall()
    assert found == [(1, "one"), (1, "three"), (1, "four"), (2, "two")]
    assert bring(db, tmp_path, text).messages == 0


def test_times_that_are_missing(db: sqlite3.Connection, tmp_path: Path) -> None:
    """A message without a time gets that of the one before it, else of the one after it.

    A conversation without any time is left out, and named: it was not today.
    """
    text = (
        message("never", created_at=...)
        + message("before", conversation="U", created_at=...)
        + message("then", conversation="U", created_at="2026-02-01T00:00:00Z")
        + message("after", conversation="U", created_at=None)
    )
    report = bring(db, tmp_path, text, now="2026-05-05T05:05:05+00:00")
    assert [one.conversation for one in report.refused] == ["“T”"]
    assert [(words, at[:10]) for _, words, at in rows(db)] == [
        ("before", "2026-02-01"), ("then", "2026-02-01"), ("after", "2026-02-01")]  # fmt: skip


def test_lives_beside_a_talk_of_the_same_title(db: sqlite3.Connection, tmp_path: Path) -> None:
    """A conversation here that merely has the same title is not touched."""
    w = World(db)
    w.say(w.conversation("T"), "mine")
    bring(db, tmp_path, message("theirs"))
    assert db.execute("SELECT title FROM conversations").fetchall() == [("T",), ("T",)]
    assert violations(db) == []


def test_going_on_with_an_imported_talk(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Once it has been talked on here, what the file adds later stands apart."""
    bring(db, tmp_path, message("one"))
    World(db).say(1, "live")
    bring(db, tmp_path, message("one") + message("two", created_at="2026-03-01T09:00:30Z"))
    assert db.execute(
        "SELECT conversation_id, content, archived FROM messages ORDER BY id"
    ).fetchall() == [(1, "one", 1), (1, "live", 0), (2, "two", 1)]


def test_what_was_deleted_does_not_come_back(db: sqlite3.Connection, tmp_path: Path) -> None:
    """A message with a tombstone, of a conversation deleted since, is left out."""
    bring(db, tmp_path, message("secret") + message("tea"))
    db.execute(
        "INSERT INTO tombstones (message_uid, created_at)"
        " SELECT uid, created_at FROM messages WHERE content = 'secret'"
    )
    db.execute("DELETE FROM conversations")
    bring(db, tmp_path, message("secret") + message("tea"))
    found = db.execute("SELECT content, withheld, archived FROM messages ORDER BY id").fetchall()
    assert found == [("tea", 0, 1)]


def test_text_that_cannot_be_stored(db: sqlite3.Connection, tmp_path: Path) -> None:
    """NUL is removed, and a lone surrogate becomes a question mark.

    Everything else stays as it is.
    """
    bring(db, tmp_path, message("a\x00b\ud800c\x1b[31m\u202e 🦷\r\n", conversation="t\x00\udfff"))
    assert [row[:2] for row in rows(db)] == [("t?", "ab?c\x1b[31m\u202e 🦷\r\n")]


@pytest.mark.parametrize(
    "text",
    ["\ufeff" + message(), message().replace("\n", "\r\n"), message() + "\n  \n\n", message()[:-1]],
)
def test_line_ends(db: sqlite3.Connection, tmp_path: Path, text: str) -> None:
    """A byte order mark, Windows line ends and blank last lines do no harm.

    Nor does a missing last line feed.
    """
    assert bring(db, tmp_path, text).messages == 1


def test_other_keys_are_passed_over(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Other keys of a line are ignored.

    Ids and flags of other programs mean nothing here.
    """
    bring(db, tmp_path, message(id=77, uid="x", archived=0, status="odd", token_count="many"))
    assert db.execute("SELECT id, archived, status, token_count FROM messages").fetchall() == [
        (1, 1, "complete", 6)
    ]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"role": "human"}, '"role"'), ({"role": ...}, '"role"'), ({"role": ["user"]}, '"role"'),
        ({"content": ...}, '"content" is missing'), ({"content": ""}, "blank"),
        ({"content": " \n\x00"}, "blank"), ({"content": None}, '"content"'),
        ({"content": {"text": "x"}}, '"content"'), ({"content": 7}, '"content"'),
        ({"conversation": ...}, '"conversation" is missing'),
        ({"conversation": None}, '"conversation"'),
        ({"conversation": " "}, '"conversation" must not be blank'),
        ({"conversation": 7}, '"conversation"'), ({"created_at": "soon"}, '"created_at"'),
        ({"created_at": ""}, '"created_at"'),
        ({"created_at": 1.5}, '"created_at"'),
        ({"created_at": "9999-12-31T23:59:59-14:00"}, '"created_at"'),
        ({"created_at": [1]}, '"created_at"'),
        ({"created_at": "2026-02-30T00:00:00"}, '"created_at"'),
        ({"created_at": False}, '"created_at"'),
        ({"type": "conversation"}, '"type"'), ({"type": 7}, '"type"'),
        ({"type": "construct-export"}, '"type"'), ({"type": ...}, '"type"'),
        ({"content": "y" * (64 << 20)}, "longer than"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_wrong_line(
    db: sqlite3.Connection, tmp_path: Path, wrong: dict[str, object], why: str
) -> None:
    """A line that lacks something or has it wrong fails the file and is named."""
    text = message("one") + json.dumps(
        {**json.loads(message("two")), **{k: v for k, v in wrong.items() if v is not ...}}
    )
    if ... in wrong.values():
        text = message("one") + message("two", **wrong)
    first = refusal(db, tmp_path, text)
    assert "line 2" in first
    assert why in first


def test_progress(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Reading is told in bytes, up to the file's size."""
    from construct.clock import Clock
    from construct.store.transfer.importing import import_file

    path = tmp_path / "x.jsonl"
    path.write_text("".join(message(f"word {i}") for i in range(1200)))
    told: list[tuple[str, int, int]] = []
    import_file(db, path, Clock(), lambda *step: told.append(step))
    seen = [(done, total) for doing, done, total in told if doing == "Reading"]
    size = path.stat().st_size
    assert seen[-1] == (size, size)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert len(seen) == 3
