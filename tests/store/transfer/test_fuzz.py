import json
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from construct.clock import from_text, to_text
from construct.errors import ConstructError
from construct.store.invariants import index_violations, violations
from construct.text import printable, storable
from tests.store.transfer_world import bring, exported, furnish
from tests.support.database import new_database

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
QUICK = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    database=None,
)
ANY_TEXT = st.text(st.characters(), min_size=1, max_size=40)
TIMES = st.datetimes().map(lambda t: t.isoformat()) | st.sampled_from(
    ["2026-03-01T09:00:00Z", "2026-03-01T10:00:00+01:00"]
)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of an empty database to copy."""
    path = tmp_path_factory.mktemp("fuzz") / "empty.db"
    new_database(path).close()
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return the lines of an export with everything in it."""
    db = new_database(tmp_path_factory.mktemp("fuzz") / "a.db")
    furnish(db)
    return [json.loads(line) for line in exported(db).splitlines()]


@contextmanager
def fresh(empty: Path) -> Iterator[tuple[sqlite3.Connection, Path]]:
    """Open a copy of the empty database in a folder of its own."""
    with tempfile.TemporaryDirectory(dir=empty.parent) as folder:
        shutil.copy(empty, Path(folder) / "x.db")
        with closing(new_database(Path(folder) / "x.db")) as db:
            yield db, Path(folder)


def told(title: str, role: str, content: str, at: str | None) -> dict[str, Any]:
    """Return a hand-made line."""
    return {
        "type": "message",
        "conversation": title,
        "role": role,
        "content": content,
        "created_at": at,
    }


@QUICK
@given(
    lines=st.lists(
        st.builds(
            told,
            st.sampled_from(["T", "歯", "a\nb"]),
            st.sampled_from(["user", "assistant"]),
            ANY_TEXT,
            TIMES | st.none(),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_any_hand_made_file(empty: Path, lines: list[dict[str, Any]]) -> None:
    """Each message of a file is there once, in order of time.

    They survive export and import. Conversations without any time are left out.
    """
    dated = {line["conversation"] for line in lines if line["created_at"]}
    text = "\n".join(json.dumps(line) for line in lines)
    blank = [line for line in lines if not storable(line["content"]).strip()]
    with fresh(empty) as (db, folder):
        if blank:
            with pytest.raises(ConstructError, match="blank"):
                bring(db, folder, text)
            return
        known = [line for line in lines if line["conversation"] in dated]
        report = bring(db, folder, text)
        assert (report.messages, len(report.refused)) == (
            len(known),
            len({line["conversation"] for line in lines} - dated),
        )
        stored = db.execute(
            "SELECT title, role, content FROM messages "
            "JOIN conversations AS c ON c.id = conversation_id"
        )
        assert Counter(stored.fetchall()) == Counter(
            (x["conversation"], x["role"], storable(x["content"])) for x in known
        )
        for times in _by_conversation(db).values():
            assert times == sorted(times)
        assert violations(db) == []
        first = exported(db)
        assert bring(db, folder, text).messages == 0
        assert exported(db) == first
    with fresh(empty) as (db, folder):
        bring(db, folder, first)
        assert exported(db) == first
        assert index_violations(db) == []


def _by_conversation(db: sqlite3.Connection) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for conversation, at in db.execute(
        "SELECT conversation_id, created_at FROM messages ORDER BY id"
    ):
        assert at == to_text(from_text(at))
        found.setdefault(conversation, []).append(at)
    return found


def survives(empty: Path, text: str | bytes) -> None:
    """Import a file: it is refused in plain words, or comes in sound and stable.

    A refused file changes nothing.
    """
    with fresh(empty) as (db, folder):
        before = exported(db)
        refused = ""
        try:
            bring(db, folder, text)
        except ConstructError as error:
            refused = str(error)
        assert not db.in_transaction
        if refused:
            assert len(refused.splitlines()) <= 2
            assert refused == printable(refused)
            assert exported(db) == before
            return
        assert violations(db) == []
        first = exported(db)
    with fresh(empty) as (db, folder):
        bring(db, folder, first)
        assert exported(db) == first


@settings(QUICK, max_examples=40)
@given(data=st.data())
def test_any_value_in_an_export(
    empty: Path, world: list[dict[str, Any]], data: st.DataObject
) -> None:
    """An export with one value replaced is refused or comes in sound."""
    lines = [dict(line) for line in world]
    line = data.draw(st.sampled_from(lines))
    key = data.draw(st.sampled_from(sorted(line)))
    others = [value for other in lines for value in other.values()]
    line[key] = data.draw(JSON | st.sampled_from(others))
    survives(empty, "\n".join(json.dumps(x) for x in lines))


@settings(QUICK, max_examples=20)
@given(data=st.data())
def test_any_lines_of_an_export(
    empty: Path, world: list[dict[str, Any]], data: st.DataObject
) -> None:
    """An export with lines taken out, doubled or moved is refused or comes in sound."""
    lines = list(world)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        to = data.draw(st.integers(0, len(lines) - 1) | st.none())
        line = lines[at] if data.draw(st.booleans()) else lines.pop(at)
        if to is not None:
            lines.insert(to, line)
    survives(empty, "\n".join(json.dumps(x) for x in lines))


@QUICK
@given(raw=st.binary(max_size=60) | JSON.map(lambda x: json.dumps(x).encode()))
def test_any_bytes(empty: Path, raw: bytes) -> None:
    """Any bytes at all are refused or come in sound."""
    survives(empty, raw)


NAMES = st.sampled_from(["a", "b", "root"])
CONTENT = st.fixed_dictionaries(
    {
        "content_type": st.sampled_from(["text", "multimodal_text", "code"]) | JSON,
        "parts": st.lists(JSON, max_size=3) | JSON,
    }
)
AUTHOR = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]) | JSON})
MESSAGE = st.fixed_dictionaries(
    {"author": AUTHOR, "content": CONTENT, "create_time": JSON, "metadata": JSON, "recipient": JSON}
)
NODE = st.fixed_dictionaries({"parent": NAMES | JSON, "message": MESSAGE | JSON}) | JSON
CHATGPT = st.fixed_dictionaries(
    {
        "title": JSON,
        "mapping": st.dictionaries(NAMES, NODE, max_size=3) | JSON,
        "current_node": NAMES | JSON,
        "id": JSON,
    }
)
TURN = st.fixed_dictionaries(
    {"sender": st.sampled_from(["human", "assistant"]) | JSON, "text": JSON,
     "created_at": TIMES | JSON, "uuid": JSON,
     "content": st.lists(
         st.fixed_dictionaries({"type": st.just("text") | JSON, "text": JSON}) | JSON, max_size=3)}
)  # fmt: skip
CLAUDE = st.fixed_dictionaries(
    {
        "uuid": JSON,
        "name": JSON,
        "chat_messages": st.lists(TURN | JSON, max_size=4) | JSON,
        "current_leaf_message_uuid": JSON,
    }
)


@settings(QUICK, max_examples=30)
@given(talks=st.lists(CHATGPT | CLAUDE | JSON, min_size=1, max_size=3))
def test_any_conversations(empty: Path, talks: list[Any]) -> None:
    """Conversations with any JSON in any place are refused or come in sound."""
    survives(empty, json.dumps(talks))


AT = "2026-03-01T09:00:00+02:00"
SAMPLES: dict[str, list[Any]] = {
    "deepseek": [
        {"id": "a", "title": "T", "inserted_at": AT, "mapping": {
            "1": {"parent": None, "message": {"inserted_at": AT, "files": [{"file_name": "f"}],
                  "fragments": [{"type": "REQUEST", "content": "x"}]}},
            "2": {"parent": "1", "message": {"content": "y", "reasoning_content": "z"}}}},
    ],
    "grok": [
        {"conversation": {"id": "g", "title": "T", "create_time": AT, "leaf_response_id": "2"},
         "responses": [{"response": {"_id": "1", "sender": "human", "message": "x",
                        "create_time": {"$date": {"$numberLong": "1767268800000"}},
                        "file_attachments": ["f"], "generated_image_urls": ["u"]}},
                       {"response": {"_id": "2", "parent_response_id": "1", "message": "y"}}]},
    ],
    "gemini": [
        {"header": "Gemini Apps", "title": "Prompted x", "time": AT, "titleUrl": "u",
         "products": ["Gemini Apps"], "safeHtmlItem": [{"html": "<p>y</p>"}],
         "attachedFiles": ["f.png"], "details": [{"name": "Request", "value": "v", "url": "u"}],
         "subtitles": [{"name": "n", "url": "http://x"}]},
    ],
    "ai studio": [
        {"createTime": AT, "systemInstruction": {"parts": [{"text": "s"}]}, "chunkedPrompt": {
            "chunks": [{"text": "x", "role": "user"}, {"driveImage": {"id": "i"}, "role": "user"},
                       {"parts": [{"text": "y", "thought": False}], "role": "model"}]}},
    ],
    "open webui": [
        {"id": "o", "title": "T", "created_at": 1767268800, "chat": {"history": {
            "currentId": "2", "messages": {
                "1": {"id": "1", "parentId": None, "role": "user", "content": "x",
                      "files": [{"type": "file", "file": {"data": {"content": "c"}}}]},
                "2": {"id": "2", "parentId": "1", "role": "assistant",
                      "content": [{"type": "text", "text": "y"}], "timestamp": 1767268801}}}}},
    ],
    "librechat": [
        {"conversationId": "l", "title": "T", "exportAt": AT, "messages": [
            {"messageId": "1", "text": "x", "isCreatedByUser": True, "createdAt": AT,
             "files": [{"filename": "f"}],
             "children": [{"messageId": "2", "content": [{"type": "text", "text": "y"}]}]}]},
    ],
    "claude code": [
        {"sessionId": "s", "type": "user", "uuid": "1", "timestamp": AT,
         "message": {"role": "user", "content": "x"}},
        {"sessionId": "s", "type": "assistant", "uuid": "2", "isMeta": False,
         "message": {"role": "assistant", "content": [{"type": "text", "text": "y"}]}},
    ],
    "llm": [
        {"id": "1", "prompt": "x", "response": "y", "datetime_utc": AT, "duration_ms": 5,
         "conversation_id": "c", "conversation_name": "T", "fragments": ["f"],
         "attachments": [{"type": "image/png", "path": "p"}], "tool_calls": [{}]},
    ],
    "sillytavern": [
        {"user_name": "A", "character_name": "B", "create_date": "2026-3-1 @9h 0m 0s 1ms"},
        {"mes": "x", "is_user": True, "send_date": "March 1, 2026 9:00am",
         "extra": {"image": "i", "file": {"name": "f"}, "media": [{}]}, "swipes": ["x", "y"]},
    ],
    "memories": [
        {"conversations_memory": "**Work**\nSails.", "project_memories": {"p": "Rows."}},
        {"memory": "Has a boat", "created_at": AT},
        {"memories": ["Likes tea", {"text": "No nuts"}]},
    ],
}  # fmt: skip
"""What each program writes, to be changed in one place."""


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container in a value with each of its keys."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places_in(inner)


@pytest.mark.parametrize("name", SAMPLES)
@settings(QUICK, max_examples=8)
@given(data=st.data())
def test_any_value_in_another_programs_file(empty: Path, name: str, data: st.DataObject) -> None:
    """With values replaced in what a program writes, it is refused or comes in sound."""
    items = json.loads(json.dumps(SAMPLES[name])) * 2
    items = json.loads(json.dumps(items))
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(list(places_in(items))))
        container[key] = data.draw(JSON)
    survives(empty, json.dumps(items))
    survives(empty, "\n".join(json.dumps(item) for item in items))


MARKUP = st.lists(
    st.sampled_from(
        ["<", ">", "</", "<br>", "<p>", "<![", "<!--", "&#", "&amp;", '"', "=", "div", "Prompted x",
         "Jan 1, 2026, 7:00:00 AM EST", 'class="outer-cell', 'class="content-cell body-1">', "\n"]
    ),
    max_size=20,
)  # fmt: skip


@QUICK
@given(markup=MARKUP)
def test_any_page(empty: Path, markup: list[str]) -> None:
    """A page of Google's Takeout with any markup is refused or comes in sound."""
    page = '<html><div class="outer-cell">Gemini Apps<div class="content-cell body-1">'
    survives(empty, page + "".join(markup))
