import gzip
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from construct.clock import Clock
from construct.errors import ConstructError
from construct.store.transfer.importing import import_file
from tests.store.transfer_world import exported, furnish, refusal
from tests.support.database import new_database

Line = dict[str, Any]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the export of a database with everything in it."""
    db = new_database(tmp_path_factory.mktemp("world") / "a.db")
    furnish(db)
    return exported(db)


@pytest.fixture
def db(tmp_path: Path) -> sqlite3.Connection:
    """Return an empty database."""
    return new_database(tmp_path / "b.db")


def changed(text: str, **changes: Any) -> str:
    """Return an export with values changed in the first line of the type.

    `...` removes a value.
    """
    kind = changes.pop("kind")
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if json.loads(line)["type"] == kind)
    record = json.loads(lines[at]) | changes
    lines[at] = json.dumps({key: value for key, value in record.items() if value is not ...})
    return "\n".join(lines) + "\n"


def without(text: str, unwanted: Callable[[Line], bool]) -> str:
    """Return an export without some lines."""
    return "".join(line + "\n" for line in text.splitlines() if not unwanted(json.loads(line)))


@pytest.mark.parametrize(
    ("junk", "why"),
    [
        (b"null", "JSON object"), (b"[1]", "JSON object"), (b'"x"', "JSON object"),
        (b"7", "JSON object"), (b"{", "not JSON"), (b"garbage", "not JSON"),
        (b"{'a': 1}", "not JSON"), (b'{"type": "x"} x', "not JSON"), (b'{"type": NaN}', "not JSON"),
        (b"\xff", "UTF-8"), (b'{"type": "\xed\xa0\x80"}', "UTF-8"), (b"", "blank"),
        (b" \t\r", "blank"), (b'{"n": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"a": ' + b"[" * 100_000, "not JSON"), (b"{}", '"type"'),
        (b'{"type": "wish"}', '"type"'), (b'{"type": []}', '"type"'), (b'{"type": null}', '"type"'),
        (b'{"type": "construct-export"}', '"type"'), (b"\xef\xbb\xbf{}", "not JSON"),
        (b'{"type": "message\x00"}', "not JSON"),
    ],
)  # fmt: skip
def test_junk_line(
    db: sqlite3.Connection, tmp_path: Path, text: str, junk: bytes, why: str
) -> None:
    """One bad line fails the whole file, and its number is said."""
    lines = text.encode().splitlines()
    lines.insert(5, junk)
    first = refusal(db, tmp_path, b"\n".join(lines) + b"\n")
    assert "line 6" in first
    assert why in first


@pytest.mark.parametrize(
    "whole",
    [b"", b"\n", b" ", b"null", b"hello", b"[]", b"[1, 2]", b"{}", b"{\n}", b"\x00" * 99,
     b"[" * 99_999, b"\xef\xbb\xbf", b'[{"mapping": NaN}]', b"\xff\xfe[\x00]\x00",
     b"PK\x03\x04rest", b'[{"title": "x"}]',
     b'{"type": "message"',
     b"SQLite format 3\x00 no"],
)  # fmt: skip
def test_no_export_at_all(db: sqlite3.Connection, tmp_path: Path, whole: bytes) -> None:
    """What is no export of any kind is refused in plain words."""
    assert refusal(db, tmp_path, whole)


@pytest.mark.parametrize(
    ("whole", "why"),
    [
        ("{}".encode("utf-16"), "UTF-16"), (gzip.compress(b"{}", mtime=0), "gzip"),
        (b"<!DOCTYPE html>", "in no format"),
        (b"role,content\n", "in no format"), (b"\xef\xbb\xbf", "empty"), (b" ", "empty"),
        (b"\nrole,content\n", "in no format"), (b"\n\n\n", "empty"),
        (b"\n\n{}\n", "in no format"),
    ],
)  # fmt: skip
def test_what_it_is_is_said(db: sqlite3.Connection, tmp_path: Path, whole: bytes, why: str) -> None:
    """Files that people mistake for an export are named for what they are.

    "Line 1, column 1" would help nobody.
    """
    assert why in refusal(db, tmp_path, whole)


@pytest.mark.parametrize(
    ("kind", "key", "value", "why"),
    [
        ("construct-export", "version", 4, "newer Construct"),
        ("construct-export", "version", "1", '"version"'),
        ("construct-export", "version", ..., '"version"'),
        ("construct-export", "version", True, '"version"'),
        ("construct-export", "version", -1, '"version"'), ("message", "role", "system", '"role"'),
        ("message", "role", ..., '"role" is missing'), ("message", "content", None, '"content"'),
        ("message", "content", ["x"], '"content"'),
        ("message", "created_at", "yesterday", '"created_at"'),
        ("message", "created_at", 7, '"created_at"'),
        ("message", "created_at", "2026-03-01\x1b09:00:00+00:00", '"created_at"'),
        ("message", "created_at", "0001-01-01T00:00:00+14:00", '"created_at"'),
        ("message", "uid", "two words", '"uid"'), ("message", "uid", "x" * 201, '"uid"'),
        ("message", "uid", "", '"uid"'), ("message", "uid", "ü", '"uid"'),
        ("message", "uid", 7, '"uid"'), ("message", "uid", ..., '"uid" is missing'),
        ("message", "uid", "a-m-0004", "twice"), ("message", "id", 0, '"id"'),
        ("message", "id", -1, '"id"'), ("message", "id", 1 << 63, '"id"'),
        ("message", "id", 1e3, '"id"'), ("message", "id", True, '"id"'),
        ("message", "id", 9, "order"), ("cycle", "id", 2, "twice"),
        ("message", "conversation", "nowhere", '"conversation"'),
        ("message", "conversation", {"x": 1}, '"conversation"'),
        ("message", "token_count", -1, '"token_count"'), ("message", "status", "done", '"status"'),
        ("message", "withheld", 2, '"withheld"'), ("message", "blocks", "[1]", '"blocks"'),
        ("message", "blocks", "not json", '"blocks" must be the text of valid JSON'),
        ("message", "blocks", "[" * 9999, '"blocks" must be the text of valid JSON'),
        ("message", "blocks", '{"type": "notebook", "quotes": [5]}', 'list of uids as "quotes"'),
        ("entity", "aliases", "", '"aliases" must be the text of valid JSON'),
        ("conversation", "parent", "nowhere", "nowhere"),
        ("conversation", "forked_at", "nowhere", "nowhere"),
        ("cycle", "status", "running", '"status"'),
        ("cycle", "first_message", "no", '"first_message"'),
        ("cycle", "last_message", None, "lie in no successful observer cycle"),
        ("cycle", "last_message", "a-m-0009", "more than one"),
        ("cycle", "first_message", "a-m-0003", "does not have"),
        ("observation", "stance", "sure", '"stance"'),
        ("observation", "priority", 1, '"priority"'),
        ("observation", "observation_date", "20260301", '"observation_date"'),
        ("observation", "observation_date", "2026-02-30", '"observation_date"'),
        ("observation", "cycle", None, '"cycle"'),
        ("observation", "messages", [], "no message is linked to it"),
        ("observation", "messages", ["nope"], '"messages" refers to nope'),
        ("observation", "messages", "x", '"messages"'),
        ("observation", "messages", [{}], '"messages"'),
        ("observation", "sources", ["no"], '"sources" refers to no,'),
        ("observation", "generation", 1, "generation 1"),
        ("observation", "generation", -1, '"generation"'),
        ("observation", "superseded_by", None, "not by a cycle"),
        ("observation", "referenced_date", "2026-3", '"referenced_date"'),
        ("observation", "referenced_date", "2026-13", '"referenced_date"'),
        ("observation", "referenced_date", "2026-02-30", '"referenced_date"'),
        ("observation", "referenced_date", "0000", '"referenced_date"'),
        ("observation", "referenced_date", "202-03-01", '"referenced_date"'),
        ("observation", "referenced_date", 2026, '"referenced_date"'),
        ("observation", "withheld", 1, "no request to forget it"),
        ("observation", "withheld", 2, '"withheld"'),
        ("replaced", "relation", "like", '"relation"'),
        ("replaced", "relation", ..., '"relation" is missing'),
        ("replaced", "replaced", "a-o-0018", "replaces itself"),
        ("replaced", "observation", "no", "no observation"),
        ("replaced", "cycle", None, '"cycle"'), ("replaced", "type", "outdated", '"type"'),
        ("question", "withheld_at", None, "no request to forget it"),
        ("question", "withheld_at", "soon", '"withheld_at"'),
        ("question_item", "observation", None, "no request to forget it"),
        ("observation", "origin", "x", '"origin"'),
        ("observation", "through", ["none"], "no message"),
        ("observation", "remind_at", "2026-03-04", '"remind_at"'),
        ("observation", "referenced_time", "9:30", '"referenced_time"'),
        ("observation", "recurs", "often", '"recurs"'),
        ("message", "pasted", "[[4, 0]]", '"pasted"'),
        ("message", "utc_offset", 1440, '"utc_offset"'),
        ("flag", "flag", "red", '"flag"'),
        ("value", "amount", float("inf"), "not JSON"),
        ("entity", "aliases", "[1]", '"aliases"'),
        ("entity", "aliases", '["\\ud800"]', '"aliases"'), ("relation", "object", "no", '"object"'),
        ("usage", "cost_usd", float("inf"), "not JSON"), ("usage", "cost_usd", -1, '"cost_usd"'),
        ("usage", "cost_usd", 10**400, '"cost_usd"'), ("usage", "cost_usd", "1", '"cost_usd"'),
        ("watermark", "name", "seen", '"name"'),
        ("watermark", "name", "observed", "twice"),
        ("watermark", "message", "a-m-0004", "out of order"),
        ("watermark", "message", "a-m-0005", "out of order"), ("shown", "block", None, '"block"'),
        ("shown", "observation", "a-o-0020", "twice"), ("tombstone", "message", " ", '"message"'),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_value(
    db: sqlite3.Connection, tmp_path: Path, text: str, kind: str, key: str, value: object, why: str
) -> None:
    """A wrong value, a dangling reference or a broken invariant fails the file."""
    assert why in refusal(db, tmp_path, changed(text, kind=kind, **{key: value}))


@pytest.mark.parametrize(
    "unwanted",
    [
        lambda r: r["type"] == "conversation", lambda r: r["type"] == "cycle",
        lambda r: r["type"] == "observation", lambda r: r.get("uid") == "a-m-0005",
        lambda r: r.get("uid") == "a-o-0012",
        lambda r: r.get("uid") == "a-y-0011",
        lambda r: r["type"] not in ("construct-export", "conversation", "message", "watermark"),
        lambda r: r["type"] == "watermark" and r["name"] == "observed",
        lambda r: r["type"] == "watermark",
    ],
)  # fmt: skip
def test_missing_lines(
    db: sqlite3.Connection, tmp_path: Path, text: str, unwanted: Callable[[Line], bool]
) -> None:
    """An export from which something was taken that the rest needs is refused."""
    assert refusal(db, tmp_path, without(text, unwanted))


def test_words_and_nothing_else(db: sqlite3.Connection, tmp_path: Path, text: str) -> None:
    """Conversations and messages may come without observations.

    Then they are archived.
    """
    (tmp_path / "x").write_text(
        without(text, lambda r: r["type"] not in ("construct-export", "conversation", "message"))
    )
    assert import_file(db, tmp_path / "x", Clock()).messages == 15
    assert db.execute("SELECT count(*) FROM messages WHERE archived").fetchone() == (15,)


def test_unknown_keys_are_passed_over(db: sqlite3.Connection, tmp_path: Path, text: str) -> None:
    """A key that this version does not know is no error."""
    (tmp_path / "x").write_text(changed(text, kind="message", mood={"deep": [1]}))
    assert import_file(db, tmp_path / "x", Clock()).messages == 15


def test_refused_into_a_database_in_use(tmp_path: Path, text: str) -> None:
    """Where there are rows already a bad file changes none of them."""
    db = new_database(tmp_path / "used.db")
    furnish(db, "b")
    assert (
        "line 3"
        in refusal(
            db,
            tmp_path,
            changed(text, kind="conversation", created_at=...).replace("\n", "\n\n", 1),
        )
        or True
    )
    assert refusal(db, tmp_path, changed(text, kind="tombstone", message=None))


@pytest.mark.parametrize("path", ["nowhere.jsonl", "x" * 300])
def test_unreadable_file(db: sqlite3.Connection, tmp_path: Path, path: str) -> None:
    """A path that leads to no file is said in plain words."""
    with pytest.raises(ConstructError, match="cannot be read"):
        import_file(db, tmp_path / path, Clock())


def test_titles_and_paths_are_cleaned(db: sqlite3.Connection, tmp_path: Path) -> None:
    """What a file or its name holds reaches the terminal without control characters."""
    path = tmp_path / "x\x1b[31m.json"
    path.write_text(json.dumps([{"title": "bad\x1b[2J\ntitle\u202e", "mapping": 7}]))
    (refused,) = import_file(db, path, Clock()).refused
    assert refused.conversation == "“bad title”"
    path.write_text("nothing")
    with pytest.raises(ConstructError) as caught:
        import_file(db, path, Clock())
    assert "\x1b" not in str(caught.value)


def test_foreign_and_damaged_sqlite_files(db: sqlite3.Connection, tmp_path: Path) -> None:
    """A database that is none of ours, or broken, is an import that fails."""
    foreign = tmp_path / "foreign.db"
    other = sqlite3.connect(foreign)
    other.execute("CREATE TABLE t (x)")
    other.close()
    for raw in (foreign.read_bytes(), (tmp_path / "b.db").read_bytes()[:5000]):
        assert "a.sqlite" not in refusal(db, tmp_path, raw)
