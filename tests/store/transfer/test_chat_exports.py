import io
import json
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest

from construct.store.transfer.foreign import LeftOut
from tests.store.transfer_world import bring, exported, refusal
from tests.support.database import new_database

Json = dict[str, Any]
NOON = 1_767_268_800.5  # 2026-01-01T12:00:00.5Z


@pytest.fixture
def db(tmp_path: Path) -> sqlite3.Connection:
    """Return an empty database."""
    return new_database(tmp_path / "a.db")


def said(db: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return roles and words in order of the ids."""
    return db.execute("SELECT role, content FROM messages ORDER BY id").fetchall()


def node(parent: object, role: str, *parts: object, at: object = NOON, **more: Any) -> Json:
    """Return a node of ChatGPT's tree."""
    content = {"content_type": more.pop("content_type", "text"), "parts": list(parts)}
    return {
        "parent": parent,
        "message": {"author": {"role": role}, "create_time": at, "content": content, **more},
    }


def chatgpt(current: object, title: object = "Tea", **nodes: Json) -> Json:
    """Return a conversation of ChatGPT's."""
    mapping = {"root": {"parent": None, "message": None}, **nodes}
    return {
        "title": title,
        "create_time": NOON,
        "conversation_id": "conv",
        "current_node": current,
        "mapping": mapping,
    }


def claude(*messages: object, **more: Any) -> Json:
    """Return a conversation of Claude's."""
    return {
        "uuid": "u",
        "name": "Tea",
        "created_at": "2026-01-01T12:00:00Z",
        "chat_messages": list(messages),
        **more,
    }


def turn(
    sender: str,
    text: object = "",
    *content: Json,
    at: object = "2026-01-01T12:00:00.000000Z",
    **more: Any,
) -> Json:
    """Return a message of Claude's."""
    return {"sender": sender, "text": text, "content": list(content), "created_at": at, **more}


def test_chatgpt_takes_the_way_to_the_current_node(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Of the tree the branch that is current is taken, in its order.

    Time never runs back.
    """
    talk = chatgpt("d", a=node("root", "user", "hello"), b=node("a", "assistant", "dropped"),
                   c=node("a", "assistant", "kept", at=NOON - 9),
                   d=node("c", "user", "more", at=NOON + 1))  # fmt: skip
    report = bring(db, tmp_path, json.dumps([talk], indent=1))
    assert (report.formats, report.conversations, report.messages) == (("ChatGPT",), 1, 3)
    assert said(db) == [("user", "hello"), ("assistant", "kept"), ("user", "more")]
    times = [row[0] for row in db.execute("SELECT created_at FROM messages ORDER BY id")]
    assert times == ["2026-01-01T12:00:00.500000+00:00"] * 2 + ["2026-01-01T12:00:01.500000+00:00"]
    assert (
        db.execute("SELECT title, archived FROM conversations, messages").fetchall()
        == [("Tea", 1)] * 3
    )


def test_chatgpt_takes_only_what_was_said(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Text parts and transcribed speech are words, and a picture leaves a mark.

    Tools, thoughts and hidden messages are counted.
    """
    hidden = {"is_visually_hidden_from_conversation": True}
    talk = chatgpt(
        "z",
        a=node("root", "system", "you are"),
        b=node("a", "user", "about me", content_type="user_editable_context"),
        c=node("b", "user", "hidden", metadata=hidden),
        d=node("c", "assistant", "search()", recipient="web"),
        e=node("d", "tool", "result"), f=node("e", "assistant", "hm", content_type="thoughts"),
        g=node("f", "assistant", "print()", content_type="code"),
        h=node("g", "assistant", "secretly", channel="analysis"),
        i=node("h", "user", {"content_type": "image_asset_pointer"}, "look",
        {"content_type": "audio_transcription", "text": "hear"},
               content_type="multimodal_text"),
        j=node("i", "assistant", "", at=None),
        k=node("j", "user", "me", metadata={"is_user_system_message": True}),
        z=node("k", "assistant", "I see", at=None, recipient="all", metadata=None),
    )  # fmt: skip
    report = bring(db, tmp_path, json.dumps([talk]))
    assert said(db) == [("user", "[image]\n\nlook\n\nhear"), ("assistant", "I see")]
    assert {one.what: one.count for one in report.left_out} == {
        "system messages": 1, "hidden messages": 2, "tool calls": 1, "tool output": 1,
        "thinking": 2, "code": 1, "images": 1,
    }  # fmt: skip


def test_chatgpt_again(db: sqlite3.Connection, tmp_path: Path) -> None:
    """A later export adds what is new.

    Another branch is added after it or, when older, stands apart.
    """
    nodes = {"a": node("root", "user", "hello"), "b": node("a", "assistant", "one", at=NOON + 5)}
    bring(db, tmp_path, json.dumps([chatgpt("b", **nodes)]))
    nodes["c"] = node("b", "user", "two", at=NOON + 6)
    nodes["x"] = node("a", "assistant", "older branch", at=NOON + 1)
    assert bring(db, tmp_path, json.dumps([chatgpt("c", **nodes)])).messages == 1
    assert bring(db, tmp_path, json.dumps([chatgpt("c", **nodes)])).messages == 0
    assert bring(db, tmp_path, json.dumps([chatgpt("x", **nodes)])).conversations == 1
    found = db.execute("SELECT conversation_id, content FROM messages ORDER BY id").fetchall()
    assert found == [(1, "hello"), (1, "one"), (1, "two"), (2, "older branch")]


def test_chatgpt_without_current_node(db: sqlite3.Connection, tmp_path: Path) -> None:
    """A conversation that does not say where it is ends at its last leaf.

    An empty one makes nothing.
    """
    bring(db, tmp_path,
          json.dumps([chatgpt(None, a=node("root", "user", "x"), b=node("a", "assistant", "y")),
                                    chatgpt(None), {"mapping": {}}]))  # fmt: skip
    assert said(db) == [("user", "x"), ("assistant", "y")]
    assert db.execute("SELECT count(*) FROM conversations").fetchone() == (1,)


@pytest.mark.parametrize(
    ("talk", "words"),
    [
        (chatgpt("no", a=node("root", "user", "x")), "x"),
        (chatgpt(7, a=node("root", "user", "x")), "x"),
        (chatgpt("a", a=node("gone", "user", "x")), "x"),
        (chatgpt("b", a=node("b", "user", "x"), b=node("a", "user", "y")), "y"),
        ({"mapping": {"a": node("b", "user", "x"), "b": node("a", "user", "y")}}, "x"),
        ({"mapping": {"a": 7, "b": node(None, "user", "x")}, "current_node": "a"}, "x"),
        (chatgpt("b", a={"message": 7}, b=node("a", "user", "x")), "x"),
        (chatgpt("a", title=["x"], a=node("root", "user", "x")), "x"),
        (chatgpt("a", a=node("root", "user", "x", at=1e300)), "x"),
        (chatgpt("a", a=node({}, "user", "x")), "x"),
        (chatgpt("a", a=node("root", "user", "x", at="soon")), "x"),
        (claude(turn("human", "x", at=[])), "x"),
        (claude(turn("human", "x"), 7, turn("human", 7), name=7), "x"),
    ],
    ids=lambda value: str(value)[:50],
)  # fmt: skip
def test_what_is_odd_comes_in_as_far_as_it_can_be_read(
    db: sqlite3.Connection, tmp_path: Path, talk: Json, words: str
) -> None:
    """A missing parent, a circle or a wrong value costs no words that can be found."""
    bring(db, tmp_path, json.dumps([talk]))
    assert ("user", words) in said(db)


@pytest.mark.parametrize(
    "talk",
    [
        {"mapping": []}, {"mapping": 7, "title": "T"}, {"chat_messages": {}}, 7, None,
        [{"mapping": {}}],
    ],
    ids=str,
)  # fmt: skip
def test_a_conversation_that_cannot_be_read_is_named(
    db: sqlite3.Connection, tmp_path: Path, talk: object
) -> None:
    """The others come in. An empty one is counted."""
    of_chatgpt = chatgpt("a", a=node("root", "user", "fine"))
    good = of_chatgpt if "mapping" in str(talk) else claude(turn("human", "fine"))
    report = bring(db, tmp_path, json.dumps([good, talk, {}]))
    assert said(db) == [("user", "fine")]
    (refused,) = report.refused
    assert refused.conversation == ("“T”" if "'T'" in str(talk) else "conversation 2")
    assert report.left_out == (LeftOut("conversations without messages", 1),)


def test_claude(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Text blocks are words.

    Thinking, tool calls, their output and stand-ins for them are not.
    """
    think, use, result = (
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "name": "x"},
        {"type": "tool_result"},
    )
    talk = claude(
        turn("human", "only text", at="2026-01-01T12:00:00.000000Z"),
        turn("assistant", "```not supported```", think, {"type": "text", "text": "one"}, use,
        {"type": "text", "text": "two"}),
        turn("assistant", "stand-in", use, result), turn("human", ""), turn("system", "no"),
        turn("human", "early", at="2026-01-01T11:00:00+00:00"),
    )  # fmt: skip
    bring(db, tmp_path, json.dumps([talk]))
    assert said(db) == [("user", "early"), ("user", "only text"), ("assistant", "one\n\ntwo")]
    assert bring(db, tmp_path, json.dumps([talk])).known == 3


def test_a_document_may_have_a_whole_object_in_its_first_line(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    """The line ends with a brace and a comma, and the document goes on."""
    talk = json.dumps(claude(turn("human", "hello")))
    bring(db, tmp_path, '{"account": {"uuid": "x"},\n' + talk.removeprefix("{"))
    assert db.execute("SELECT content FROM messages").fetchall() == [("hello",)]


def test_claude_takes_the_way_to_the_current_leaf(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Where branches are told apart, the current one is taken."""
    talk = claude(
        turn("human", "q", uuid="1", parent_message_uuid="0"),
        turn("assistant", "dropped", uuid="2", parent_message_uuid="1"),
        turn("assistant", "kept", uuid="3", parent_message_uuid="1"), current_leaf_message_uuid="3",
    )  # fmt: skip
    bring(db, tmp_path, json.dumps([talk]))
    assert said(db) == [("user", "q"), ("assistant", "kept")]


def test_claude_takes_the_way_to_the_newest_message(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Without a named leaf, a regenerated answer is left out."""
    talk = claude(
        turn("human", "q", uuid="1"),
        turn("assistant", "dropped", uuid="2", parent_message_uuid="1"),
        turn("assistant", "kept", uuid="3", parent_message_uuid="1"),
    )  # fmt: skip
    bring(db, tmp_path, json.dumps([talk]))
    assert said(db) == [("user", "q"), ("assistant", "kept")]


def test_wrappings(db: sqlite3.Connection, tmp_path: Path) -> None:
    """A single conversation and the zip archive as sent are recognised.

    The JSON may be on one line or several.
    """
    talk = claude(turn("human", "hello"))
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("users.json", "[]")
        archive.writestr("data/conversations.json", json.dumps([talk]))
    for wrapped in (json.dumps(talk), json.dumps(talk, indent=2), "\n" + json.dumps([talk]),
                    raw.getvalue(), "\ufeff" + json.dumps([talk]),
                    json.dumps({"conversations": [talk]}, indent=2),
                    json.dumps({"conversations": [talk]}), "\n\n" + json.dumps(talk) + "\n",
                    json.dumps(talk).replace(", ", ",\n"),
                    json.dumps({"conversations": [talk]}).replace("[", "[\n")):  # fmt: skip
        bring(db, tmp_path, wrapped)
        assert said(db) == [("user", "hello")]


def test_archives_that_hold_none(db: sqlite3.Connection, tmp_path: Path) -> None:
    """The error names a zip archive that is cut off or has no conversations."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("users.json", "[1]" * 999)
    assert "seen: users.json" in refusal(db, tmp_path, raw.getvalue())
    assert "zip archive" in refusal(db, tmp_path, raw.getvalue()[:-30])


def test_no_words_are_lost_on_the_way(db: sqlite3.Connection, tmp_path: Path) -> None:
    """What was imported from elsewhere is in the own export, and comes back from it."""
    bring(
        db,
        tmp_path,
        json.dumps([claude(turn("human", "hello"), turn("assistant", "hi\x00\ud800"))]),
    )
    other = new_database(tmp_path / "b.db")
    bring(other, tmp_path, exported(db))
    assert said(other) == [("user", "hello"), ("assistant", "hi?")]
    assert exported(other) == exported(db)
