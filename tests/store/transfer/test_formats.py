"""Each format of other programs, in the shapes that these programs write."""

import json
import sqlite3
import zipfile
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from construct.clock import Clock
from construct.errors import ConstructError
from construct.store.invariants import violations
from construct.store.transfer import sources
from construct.store.transfer.foreign import Moment
from construct.store.transfer.foreign_writer import ImportOptions
from construct.store.transfer.formats import activity_page
from construct.store.transfer.import_report import ImportReport
from construct.store.transfer.importing import import_files
from tests.store.transfer_world import exported
from tests.support.database import new_database

Json = dict[str, Any]
NOON = "2026-01-01T12:00:00.000000+00:00"
SECONDS = 1_767_268_800  # the same


@pytest.fixture
def db(tmp_path: Path) -> sqlite3.Connection:
    """Return an empty database."""
    return new_database(tmp_path / "a.db")


def bring(
    db: sqlite3.Connection,
    folder: Path,
    name: str,
    content: object,
    options: ImportOptions = ImportOptions(),
) -> ImportReport:
    """Import a file, and see that the same again adds nothing."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return bring_paths(db, [path], options)


def bring_paths(
    db: sqlite3.Connection, paths: Sequence[Path], options: ImportOptions = ImportOptions()
) -> ImportReport:
    """Import files, and see that the same again adds nothing."""
    report = import_files(db, paths, Clock(zone=UTC), options=options)
    assert violations(db) == []
    before = exported(db)
    again = import_files(db, paths, Clock(zone=UTC), options=options)
    found = report.messages + report.proposals + report.known
    assert (again.messages, again.proposals, again.known) == (0, 0, found)
    assert exported(db) == before
    return report


def said(db: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return who said what, in order."""
    return db.execute("SELECT role, content FROM messages ORDER BY id").fetchall()


def times(db: sqlite3.Connection) -> list[str]:
    """Return when it was said, to the second."""
    return [at[:19] for (at,) in db.execute("SELECT created_at FROM messages ORDER BY id")]


def titles(db: sqlite3.Connection) -> list[str | None]:
    """Return the titles of the conversations."""
    return [title for (title,) in db.execute("SELECT title FROM conversations ORDER BY id")]


def left_out(report: ImportReport) -> dict[str, int]:
    """Return what was left out, by kind."""
    return {one.what: one.count for one in report.left_out}


def lines(*records: Json) -> str:
    """Return JSONL."""
    return "".join(json.dumps(record) + "\n" for record in records)


# ChatGPT


def chatgpt(*messages: Json, **more: Any) -> Json:
    """Return a conversation whose messages follow each other."""
    mapping: Json = {"0": {"id": "0", "parent": None, "message": None}}
    for number, message in enumerate(messages, 1):
        mapping[str(number)] = {"parent": str(number - 1), "message": message}
    return {
        "title": "Talk", "create_time": SECONDS, "update_time": SECONDS + 60, "id": "c",
        "mapping": mapping, "current_node": str(len(messages)), **more,
    }  # fmt: skip


def node(role: str, *parts: Any, kind: str = "text", **more: Any) -> Json:
    """Return a message of ChatGPT's."""
    content = {"content_type": kind, "parts": list(parts)} | more.pop("content", {})
    return {"author": {"role": role}, "create_time": SECONDS, "content": content} | more


def test_chatgpt_files_and_pictures_leave_marks(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Each in its place, by its name; a picture that was made by what it shows."""
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-a"}
    made = {
        "content_type": "image_asset_pointer", "asset_pointer": "sediment://file-z",
        "metadata": {"dalle": {"prompt": "A red [boat]"}},
    }  # fmt: skip
    attached = [
        {"id": "file-a", "name": "map.png", "mimeType": "image/png"},
        {"id": "file-b", "name": "lease.pdf", "mimeType": "application/pdf"},
    ]
    talk = chatgpt(
        node("user", picture, "Where is this?", kind="multimodal_text",
             metadata={"attachments": attached}),
        node("tool", made, kind="multimodal_text"),
        node("assistant", {"content_type": "video_container_asset_pointer"}, "There.",
             kind="multimodal_text"),
    )  # fmt: skip
    report = bring(db, tmp_path, "conversations.json", [talk])
    assert said(db) == [
        ("user", "[file: lease.pdf]\n\n[image: map.png]\n\nWhere is this?"),
        ("assistant", "[image: A red (boat)]"),
        ("assistant", "[video_container]\n\nThere."),
    ]
    assert left_out(report) == {"images": 2, "files": 1, "other parts": 1}


def test_chatgpt_voice(db: sqlite3.Connection, tmp_path: Path) -> None:
    """What was heard are words; a recording that nobody wrote down leaves a mark."""
    heard = {"content_type": "audio_transcription", "text": "I have a niece"}
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_1"}
    talk = chatgpt(
        node("user", heard, sound, kind="multimodal_text"),
        node("user", sound, kind="multimodal_text"),
    )
    bring(db, tmp_path, "conversations.json", [talk])
    assert said(db) == [("user", "I have a niece"), ("user", "[voice]")]


def test_chatgpt_canvas_and_codes(db: sqlite3.Connection, tmp_path: Path) -> None:
    """The text of a canvas is the assistant's. Codes go; the names in them stay."""
    new = json.dumps({"name": "Speech", "type": "document", "content": "Dear Ana"})
    changed = json.dumps({"updates": [{"pattern": ".*", "replacement": "Dear Bea"}]})
    talk = chatgpt(
        node("assistant", new, recipient="canmore.create_textdoc"),
        node("assistant", kind="code", recipient="canmore.update_textdoc",
             content={"text": changed}),
        node("assistant", "It \ue200cite\ue202turn0search1\ue201is "
             "\ue200url\ue202here\ue202https://x.example\ue201, at "
             '\ue200entity\ue202["place","Vigo",0]\ue201【3†a.pdf】.'),
    )  # fmt: skip
    report = bring(db, tmp_path, "conversations.json", [talk])
    assert [content for _, content in said(db)] == [
        "[canvas: Speech]\n\nDear Ana",
        "[canvas: changed]\n\nDear Bea",
        "It is here, at Vigo.",
    ]
    assert left_out(report) == {"citation codes": 4}


@pytest.mark.parametrize(
    ("first", "second", "more", "expected"),
    [
        (None, SECONDS, {}, [0, 0]),
        (SECONDS, None, {}, [0, 0]),
        (None, None, {}, [0, 0]),
        (None, None, {"create_time": None}, [60, 60]),
        (0, (SECONDS + 5) * 1000, {}, [5, 5]),
        (SECONDS + 9, SECONDS, {}, [9, 9]),
        (str(SECONDS), "soon", {}, [0, 0]),
    ],
)
def test_chatgpt_times(
    db: sqlite3.Connection,
    tmp_path: Path,
    first: object,
    second: object,
    more: Json,
    expected: list[int],
) -> None:
    """A time that is missing is the neighbour's, else the conversation's; none runs back."""
    talk = chatgpt(node("user", "a", create_time=first), node("user", "b", create_time=second))
    bring(db, tmp_path, "conversations.json", [talk | more])
    assert times(db) == [f"2026-01-01T12:{n // 60:02}:{n % 60:02}" for n in expected]


def test_what_has_no_date_is_named_or_dated(db: sqlite3.Connection, tmp_path: Path) -> None:
    """It is never dated today."""
    undated = chatgpt(node("user", "a", create_time=None), create_time=None, update_time=None)
    report = bring(db, tmp_path, "conversations.json", [undated])
    (refused,) = report.refused
    assert (refused.conversation, "--date" in refused.why) == ("“Talk”", True)
    bring(db, tmp_path, "conversations.json", [undated], ImportOptions(Moment(NOON)))
    assert times(db) == ["2026-01-01T12:00:00"]


# Claude


def claude(*messages: Json, **more: Any) -> Json:
    """Return a conversation of Claude's."""
    return {"uuid": "u", "name": "Talk", "created_at": NOON, "chat_messages": list(messages)} | more


def turn(sender: str, *content: Json, **more: Any) -> Json:
    """Return a message of Claude's."""
    return {"sender": sender, "text": "", "content": list(content), "created_at": NOON} | more


def test_claude_attachments_and_blocks(db: sqlite3.Connection, tmp_path: Path) -> None:
    """What was pasted, attached and dictated is the user's; what was written is Claude's."""
    paste = {"file_name": "paste.txt", "extracted_content": "My diary"}
    pdf = {"file_name": "lease.pdf", "extracted_content": "Rent 900"}
    talk = claude(
        turn("human", {"type": "voice_note", "title": "Walk", "text": "I moved"},
             attachments=[paste, pdf, {"file_name": "empty.bin", "extracted_content": ""}],
             files=[{"file_name": "cat.JPG"}, {"file_name": "a.csv"}]),
        turn("assistant", {"type": "thinking", "thinking": "hm"},
             {"type": "tool_use", "name": "artifacts",
              "input": {"title": "Poem", "content": "Roses", "command": "create"}},
             {"type": "tool_use", "name": "artifacts",
              "input": {"id": "poem", "old_str": "Roses", "new_str": "Lilies"}},
             {"type": "tool_result", "content": [{"type": "knowledge", "title": "x"}]},
             {"type": "tool_use", "name": "web_search", "input": {"query": "q"}},
             {"type": "hologram", "title": "Sun"},
             {"type": "text", "text": "Here.", "citations": [{"url": "x"}]}),
    )  # fmt: skip
    report = bring(db, tmp_path, "conversations.json", [talk])
    assert said(db) == [
        ("user", "My diary\n\n[file: lease.pdf]\n\nRent 900\n\n[file: empty.bin]\n\n"
                 "[image: cat.JPG]\n\n[file: a.csv]\n\nI moved"),
        ("assistant", "[artifact: Poem]\n\nRoses\n\n[artifact: poem]\n\nLilies\n\n"
                      "[hologram: Sun]\n\nHere."),
    ]  # fmt: skip
    assert left_out(report) == {
        "files": 2, "images": 1, "thinking": 1, "search results": 1, "tool calls": 1,
        "parts of the kind hologram": 1,
    }  # fmt: skip


def test_claude_of_2024(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Early exports have artifacts and thinking in the text, and stand-ins for tool calls."""
    text = (
        "<antThinking>Worth an artifact.</antThinking>\n\nHere it is:\n"
        '<antArtifact identifier="a" title="Poem">\nRoses\n</antArtifact>\nEnjoy.'
    )
    stand_in = "```\nThis block is not supported on your current device yet.\n```\n\nDone."
    talk = claude(
        turn("assistant", text=text, content=[]), turn("assistant", text=stand_in, content=[])
    )
    report = bring(db, tmp_path, "conversations.json", [talk])
    assert said(db) == [
        ("assistant", "Here it is:\n\n[artifact: Poem]\n\nRoses\n\nEnjoy."),
        ("assistant", "Done."),
    ]
    assert left_out(report) == {"thinking": 1, "parts not exported": 1}


def marked(db: sqlite3.Connection) -> list[tuple[str, list[str]]]:
    """Return each message with the parts of it that count as pasted."""
    rows = db.execute("SELECT content, pasted FROM messages ORDER BY id").fetchall()
    return [(text, [text[a:b] for a, b in json.loads(spans or "[]")]) for text, spans in rows]


def test_what_was_pasted_is_marked(db: sqlite3.Connection, tmp_path: Path) -> None:
    """It is not the user's own words, unless they say so with --own."""
    attached = [{"file_name": "", "extracted_content": "Ärger\U0001f600"},
                {"file_name": "a.txt", "extracted_content": "Rent 900"}]  # fmt: skip
    talk = claude(turn("human", {"type": "text", "text": "What is it?"}, attachments=attached),
                  turn("assistant", {"type": "text", "text": "A lease."}))  # fmt: skip
    bring(db, tmp_path, "c.json", [talk])
    text = "Ärger\U0001f600\n\n[file: a.txt]\n\nRent 900\n\nWhat is it?"
    assert marked(db) == [(text, ["Ärger\U0001f600", "Rent 900"]), ("A lease.", [])]
    other = new_database(tmp_path / "b.db")
    bring(other, tmp_path, "c.json", [talk], ImportOptions(is_own_text=True))
    assert marked(other) == [(text, []), ("A lease.", [])]


@pytest.mark.parametrize(
    ("at", "offset"),
    [("2026-01-01T20:00:00+08:00", 480), ("2026-01-01T06:30:00-05:30", -330),
     ("2026-01-01T12:00:00+00:00", None), ("2026-01-01T12:00:00Z", None)],
)  # fmt: skip
def test_an_offset_is_kept(
    db: sqlite3.Connection, tmp_path: Path, at: str, offset: int | None
) -> None:
    """It says where something was written; UTC says nothing of the place."""
    bring(db, tmp_path, "c.json", [claude(turn("human", text="x", content=[], created_at=at))])
    assert times(db) == ["2026-01-01T12:00:00"]
    assert db.execute("SELECT utc_offset FROM messages").fetchone() == (offset,)


def test_claude_projects(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Documents are texts that the user brought; instructions wait as a memory list does."""
    project = {
        "uuid": "p", "name": "Garden", "created_at": NOON, "prompt_template": "Use metric units.",
        "docs": [{"uuid": "d", "filename": "plan.md", "content": "Tulips", "created_at": NOON}],
    }  # fmt: skip
    bring(db, tmp_path, "projects.json", [project])
    assert (titles(db), marked(db)) == (["plan.md"], [("[file: plan.md]\n\nTulips", ["Tulips"])])
    assert listed(db) == [("Use metric units.", "2026-01-01")]


# Memory lists


def listed(db: sqlite3.Connection) -> list[tuple[str, str | None]]:
    """Return the facts that wait for the user, with the days on which they were noted."""
    return db.execute("SELECT text, noted_on FROM questions WHERE kind = 'list'").fetchall()


@pytest.mark.parametrize(
    ("name", "content", "facts"),
    [
        ("memories.txt", "Has a boat.\n\n- Is allergic to nuts.\n2. Likes tea.\n\n## Work\n",
         [("Has a boat.", None), ("Is allergic to nuts.", None), ("Likes tea.", None)]),
        ("memory.md", "# Memory\n\n**Family**\n- [2025-01-15] - Has a sister.\n",
         [("Has a sister.", "2025-01-15")]),
        ("memories.json", [{"conversations_memory": "**Work**\nSails.\n\nRows.",
                            "project_memories": {"p": "Builds a shed."}}],
         [("Sails.", None), ("Rows.", None), ("Builds a shed.", None)]),
        ("m.json", ["Has a boat.", "Has a boat"], [("Has a boat.", None)]),
        ("m.json", {"memories": [{"content": "Sails.", "updated_at": "2025-06-01T08:00:00Z"}]},
         [("Sails.", "2025-06-01")]),
        ("m.jsonl", lines({"memory": "Sails.", "created_at": SECONDS}), [("Sails.", "2026-01-01")]),
    ],
)  # fmt: skip
def test_memory_lists(
    db: sqlite3.Connection, tmp_path: Path, name: str, content: object, facts: list[Any]
) -> None:
    """Each fact waits for the user's decision, once."""
    report = bring(db, tmp_path, name, content)
    assert listed(db) == facts
    assert (report.proposals, len(report.listed)) == (len(facts), len(facts))


def test_an_export_without_conversations(db: sqlite3.Connection, tmp_path: Path) -> None:
    """What else is in it comes in, and the empty files are counted."""
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("conversations.json", "[]")
        archive.writestr("users.json", "[]")
        archive.writestr("memories.json", '[{"conversations_memory": "Plays the viola."}]')
    report = bring_paths(db, [tmp_path / "data.zip"])
    assert (listed(db), left_out(report)) == ([("Plays the viola.", None)], {"empty files": 2})
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("conversations.json", "[]")
    with pytest.raises(ConstructError, match="all files in it are empty"):
        bring_paths(db, [tmp_path / "data.zip"])


def test_what_chatgpt_kept_waits_for_the_user(db: sqlite3.Connection, tmp_path: Path) -> None:
    """What it wrote into its memory, and what the user told it to know; the same fact once."""
    talk = chatgpt(
        node("user", kind="user_editable_context", content={
            "user_profile": "I keep bees", "user_instructions": "Answer briefly"}),
        node("user", kind="model_editable_context", content={
            "model_set_context": "1. [2025-01-15]. Has a sister.\n2. [2025-02-01]. Likes tea."}),
        node("assistant", "User likes tea.", recipient="bio"),
        node("assistant", "Noted."),
    )  # fmt: skip
    report = bring(db, tmp_path, "c.json", [talk])
    assert listed(db) == [
        ("I keep bees", "2026-01-01"), ("Answer briefly", "2026-01-01"),
        ("Has a sister.", "2025-01-15"), ("Likes tea.", "2025-02-01"),
    ]  # fmt: skip
    assert (said(db), left_out(report)) == ([("assistant", "Noted.")], {})


# Gemini


def activity(question: str, answer: str, at: str, **more: Any) -> Json:
    """Return an entry of Google's Takeout."""
    return {
        "header": "Gemini Apps", "title": question, "time": at, "products": ["Gemini Apps"],
        "safeHtmlItem": [{"html": answer}], **more,
    }  # fmt: skip


def test_gemini_takeout(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Questions without a pause are one conversation; the order is turned round."""
    entries = [
        activity("Prompted And tomorrow?", "<p>Rain.</p>", "2026-01-02T09:00:00Z"),
        activity("Prompted Again?", "<ul><li>One</li><li>Two &amp; three</li></ul>",
                 "2026-01-01T12:10:00Z", attachedFiles=["a.png", "b.pdf"]),
        activity("Prompted How is the weather?", "<p>Fair,<br>and <b>warm</b>.</p><p>Enjoy.</p>",
                 "2026-01-01T12:00:00Z"),
        {"header": "Gemini Apps", "title": "Used Gemini Apps", "time": "2026-01-01T11:00:00Z"},
    ]  # fmt: skip
    report = bring(db, tmp_path, "MyActivity.json", entries)
    assert titles(db) == ["How is the weather?", "And tomorrow?"]
    assert said(db) == [
        ("user", "How is the weather?"), ("assistant", "Fair,\nand warm.\n\nEnjoy."),
        ("user", "[image: a.png]\n\n[file: b.pdf]\n\nAgain?"),
        ("assistant", "- One\n- Two & three"),
        ("user", "And tomorrow?"), ("assistant", "Rain."),
    ]  # fmt: skip
    assert left_out(report) == {"images": 1, "files": 1, "entries that are no questions": 1}


def test_gemini_takeout_names_conversations(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Where entries name their conversation, they are put together by that."""
    link = {"details": [{"url": "https://gemini.google.com/app/abc123"}]}
    details = [
        {"name": "Request", "value": "Third"},
        {"name": "Response", "value": "C"},
    ]
    entries = [
        {"header": "Gemini", "title": "Used Gemini Apps", "time": "2026-01-05T12:00:00Z",
         "titleUrl": "https://gemini.google.com/app/c/abc123", "details": details},
        activity("Eingegebener Prompt: Zweitens", "B", "2026-01-03T12:00:00Z", **link),
        activity("Prompted Elsewhere", "X", "2026-01-02T12:00:00Z"),
        activity("Prompted First", "A", "2026-01-01T12:00:00Z", **link),
    ]  # fmt: skip
    bring(db, tmp_path, "MyActivity.json", entries)
    assert sorted(str(title) for title in titles(db)) == ["Elsewhere", "First"]
    query = """SELECT content FROM messages JOIN conversations AS c ON c.id = conversation_id
               WHERE title = 'First' ORDER BY messages.id"""
    found = [content for (content,) in db.execute(query)]
    assert found == ["First", "A", "Zweitens", "B", "Third", "C"]


def card(said: str) -> str:
    """Return a card of the page that Google's Takeout writes unless JSON is chosen."""
    cell = "content-cell mdl-cell mdl-cell--"
    return (
        '<div class="outer-cell mdl-cell mdl-shadow--2dp"><div class="mdl-grid"><div>'
        f'<p class="mdl-typography--title">Gemini Apps<br></p></div><div class="{cell}6-col '
        f'mdl-typography--body-1">{said}</div><div class="{cell}6-col mdl-typography--text-right">'
        f'</div><div class="{cell}12-col"><b>Products:</b><br>&emsp;Gemini Apps</div></div></div>'
    )


def test_gemini_takeout_as_a_page(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Its times are written as people of a country write them."""
    link = '<a href="https://gemini.google.com/app/abc">Prompted Again?</a>'
    page = "<html><head><style>" + "x{} " * 9_000 + "</style></head><body>" + "".join(
        card(said)
        for said in (
            "Created Gemini Canvas titled Plan<br>Jan 3, 2026, 1:00:00 PM EST<br>",
            f"{link}<br>1. Jan. 2026, 14:10:00 MEZ<br><p>Rain.</p>",
            "Prompted&nbsp;How is<br>the weather?<br>Attached 1 file.<br>-&nbsp;<a>map.png</a><br>"
            "Jan 1, 2026, 7:00:00\u202fAM EST<br><p>Fair &amp; <b>warm</b>.</p>",
        )
    )  # fmt: skip
    with zipfile.ZipFile(tmp_path / "takeout.zip", "w") as archive:
        archive.writestr("Takeout/My Activity/Gemini Apps/My Activity.html", page)
    report = bring_paths(db, [tmp_path / "takeout.zip"])
    assert said(db) == [
        ("user", "Again?"), ("assistant", "Rain."),
        ("user", "[image: map.png]\n\nHow is\nthe weather?"), ("assistant", "Fair & warm."),
    ]  # fmt: skip
    assert times(db) == [
        "2026-01-01T13:10:00", "2026-01-01T13:10:00", "2026-01-01T12:00:00", "2026-01-01T12:00:00",
    ]  # fmt: skip
    assert left_out(report) == {"entries that are no questions": 1, "images": 1}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("May 19, 2026, 7:07:02 PM GMT-03:00", "2026-05-19T19:07:02-03:00"),
        ("10 de mai. de 2026, 03:46:09 BRT", "2026-05-10T03:46:09-03:00"),
        ("17 févr. 2026, 15:08:20 CET", "2026-02-17T15:08:20+01:00"),
        ("19.05.2026, 07:07:02 MESZ", "2026-05-19T07:07:02+02:00"),
        ("2026/05/19 07:07:02 JST", "2026-05-19T07:07:02+09:00"),
        ("8 Feb 2026, 12:14:25 AM UTC", "2026-02-08T00:14:25+00:00"),
        ("May 19, 2026, 7:07:02 PM XYZ", "2026-05-19T19:07:02+00:00"),
        ("Tea 19, 2026, 7:07:02 PM UTC", None),
        ("May 39, 2026, 7:07:02 PM UTC", None),
        ("See you on May 19, 2026, 7:07:02 PM UTC", None),
    ],
)
def test_times_on_a_page(written: str, meant: str | None) -> None:
    """A zone that is not known is taken for the user's."""
    (entry,) = activity_page.entries_on([card(f"Prompted x<br>{written}<br>y")], UTC)
    assert entry.get("time") == meant


def test_ai_studio(db: sqlite3.Connection, tmp_path: Path) -> None:
    """A file without an ending, in chunks; thoughts are left out."""
    chunks = [
        {"driveImage": {"id": "x"}, "role": "user", "createTime": NOON},
        {"text": "Plan my garden", "role": "user"},
        {"text": "hm", "role": "model", "isThought": True},
        {"text": "Tulips.", "role": "model", "finishReason": "STOP"},
        {"parts": [{"text": "And "}, {"text": "no", "thought": True}, {"text": "roses."}],
         "role": "model"},
    ]  # fmt: skip
    chat = {"runSettings": {}, "systemInstruction": {}, "chunkedPrompt": {"chunks": chunks}}
    report = bring(db, tmp_path, "Garden plan", json.dumps(chat, indent=2))
    assert titles(db) == ["Garden plan"]
    assert said(db) == [
        ("user", "[image]"), ("user", "Plan my garden"), ("assistant", "Tulips."),
        ("assistant", "And roses."),
    ]  # fmt: skip
    assert left_out(report) == {"images": 1, "thinking": 1}


# DeepSeek, Grok


def test_deepseek(db: sqlite3.Connection, tmp_path: Path) -> None:
    """The newest branch; earlier exports have no fragments and do not say who speaks."""
    at = "2026-01-01T20:00:00.000000+08:00"

    def fragments(*pairs: tuple[str, str], **more: Any) -> Json:
        listed = [{"type": kind, "content": text} for kind, text in pairs]
        return {"inserted_at": at, "fragments": listed, **more}

    tree = {
        "root": {"parent": None, "message": None},
        "1": {"parent": "root",
              "message": fragments(("REQUEST", "Plan"), files=[{"file_name": "a.pdf"}])},
        "2": {"parent": "1", "message": fragments(("RESPONSE", "Dropped"))},
        "3": {"parent": "1",
              "message": fragments(("THINK", "hm"), ("SEARCH", "s"), ("RESPONSE", "Go"),
                                   ("CHART", "c"))},
    }  # fmt: skip
    old = {
        "root": {"parent": None, "message": None},
        "1": {"parent": "root", "message": {"content": "Hello", "inserted_at": at}},
        "2": {"parent": "1", "message": {"content": "Hi", "reasoning_content": "hm"}},
    }
    talks = [
        {"id": "a", "title": "New", "inserted_at": at, "mapping": tree},
        {"id": "b", "title": "Old", "inserted_at": at, "mapping": old},
    ]
    report = bring(db, tmp_path, "conversations.json", talks)
    assert said(db) == [
        ("user", "[file: a.pdf]\n\nPlan"), ("assistant", "Go\n\n[chart]"),
        ("user", "Hello"), ("assistant", "Hi"),
    ]  # fmt: skip
    assert times(db) == ["2026-01-01T12:00:00"] * 4
    assert left_out(report) == {
        "messages of other branches": 1, "files": 1, "thinking": 2, "search results": 1,
        "other parts": 1,
    }  # fmt: skip


def test_grok(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Its list stands in an object; artifacts are texts, codes for the screen go."""

    def response(key: str, sender: str, text: str, parent: str | None = None, **more: Any) -> Json:
        at = {"$date": {"$numberLong": str(SECONDS * 1000)}}
        inner = {"_id": key, "sender": sender, "message": text, "create_time": at}
        return {"response": inner | {"parent_response_id": parent} | more}

    first = {
        "conversation": {"id": "g", "title": "Garden", "create_time": NOON},
        "responses": [
            response("1", "human", "Hello", file_attachments=["id-1"]),
            response("2", "ASSISTANT", "Dropped", "1"),
            response("3", "assistant",
                     'Look <grok:render card_id="x"><a>1</a></grok:render>: '
                     '<xaiArtifact id="1" title="Poem" contentType="text">Tulips</xaiArtifact>',
                     "1", thinking_trace="hm"),
        ],
    }  # fmt: skip
    flat = {"id": "f", "title": "Flat", "create_time": SECONDS * 1000,
            "responses": [{"sender": "human", "message": "Hi"}]}  # fmt: skip
    export = {"projects": [], "conversations": [first, flat], "tasks": []}
    report = bring(db, tmp_path, "prod-grok-backend.json", export)
    assert said(db) == [
        ("user", "[file]\n\nHello"), ("assistant", "Look:\n\n[artifact: Poem]\n\nTulips"),
        ("user", "Hi"),
    ]  # fmt: skip
    assert left_out(report) == {
        "messages of other branches": 1, "files": 1, "citation codes": 1, "thinking": 1,
    }  # fmt: skip


# Programs of one's own


def test_open_webui(db: sqlite3.Connection, tmp_path: Path) -> None:
    """The branch that is current; what a model thought stands in its answer."""
    thought = '<details type="reasoning" done="true"><summary>x</summary>hm</details>\n'
    file = {"type": "file", "name": "a.txt", "file": {"data": {"content": "Rent 900"}}}
    messages = {
        "x": {"id": "x", "parentId": None, "role": "user", "content": "Read this",
              "timestamp": SECONDS, "files": [file, {"type": "image", "name": "b.png"}]},
        "y": {"id": "y", "parentId": "x", "role": "assistant", "content": "Dropped",
              "timestamp": SECONDS + 9},
        "z": {"id": "z", "parentId": "x", "role": "assistant", "content": thought + "Done",
              "timestamp": SECONDS + 1},
    }  # fmt: skip
    chat = {"title": "Rent", "history": {"messages": messages, "currentId": "z"}, "models": ["m"]}
    only_list = {"models": ["m"], "messages": [{"role": "user", "content": "Hi"}], "title": "L"}
    exported_chats = [
        {"id": "o", "title": "Rent", "chat": chat, "created_at": SECONDS},
        {"id": "p", "chat": only_list, "updated_at": SECONDS * 1_000_000_000},
    ]
    report = bring(db, tmp_path, "chat-export.json", exported_chats)
    assert said(db) == [
        ("user", "[file: a.txt]\n\nRent 900\n\n[image: b.png]\n\nRead this"),
        ("assistant", "Done"), ("user", "Hi"),
    ]  # fmt: skip
    assert titles(db) == ["Rent", "L"]
    assert left_out(report) == {
        "messages of other branches": 1, "images": 1, "thinking": 1,
    }  # fmt: skip


@pytest.mark.parametrize("is_tree", [True, False])
def test_librechat(db: sqlite3.Connection, tmp_path: Path, is_tree: bool) -> None:
    """A list of messages, or a tree of them."""
    zeros = "00000000-0000-0000-0000-000000000000"
    blocks = [
        {"type": "think", "think": "hm"},
        {"type": "text", "text": {"value": "Fine."}},
        {"type": "tool_call", "tool_call": {}},
    ]
    answer = {"messageId": "2", "parentMessageId": "1", "sender": "GPT", "content": blocks,
              "isCreatedByUser": False, "createdAt": "2026-01-01T12:00:09Z"}  # fmt: skip
    dropped = answer | {"messageId": "3", "content": [], "text": "No", "createdAt": NOON}
    question = {"messageId": "1", "parentMessageId": zeros, "text": "How are you?",
                "isCreatedByUser": True, "createdAt": NOON}  # fmt: skip
    listed = [question, dropped, answer]
    tree = [question | {"children": [dropped, answer]}]
    messages = tree if is_tree else listed
    talk = {"conversationId": "l", "title": "Hello", "exportAt": NOON, "messages": messages}
    report = bring(db, tmp_path, "hello.json", json.dumps(talk, indent=2))
    assert said(db) == [("user", "How are you?"), ("assistant", "Fine.")]
    assert left_out(report) == {
        "messages of other branches": 1, "thinking": 1, "tool calls": 1,
    }  # fmt: skip


def test_claude_code(db: sqlite3.Connection, tmp_path: Path) -> None:
    """What the program itself wrote among it is nobody's words; a cut last line is named."""

    def line(uid: str, role: str, content: object, **more: Any) -> Json:
        return {"type": role, "sessionId": "s", "uuid": uid, "timestamp": NOON,
                "message": {"role": role, "content": content}, **more}  # fmt: skip

    text = lines(
        {"type": "summary", "summary": "Boats", "leafUuid": "x"},
        {"type": "mode", "mode": "normal", "sessionId": "s"},
        line("1", "user", "My boat is Tern"),
        line("2", "user", "<command-name>/model</command-name>"),
        line("3", "user", "Caveat: …", isMeta=True),
        line("4", "assistant", [{"type": "thinking"}, {"type": "text", "text": "Nice"}]),
        line("5", "user", [{"type": "tool_result", "content": "ls"}]),
        line("6", "user", "Task", isSidechain=True),
        line("7", "user", [{"type": "image"}, {"type": "text", "text": "And this?"}]),
    )
    report = bring(db, tmp_path, "s.jsonl", text + '{"type": "user", "sess')
    assert said(db) == [
        ("user", "My boat is Tern"), ("assistant", "Nice"), ("user", "[image]\n\nAnd this?"),
    ]  # fmt: skip
    assert left_out(report) == {
        "commands": 1, "hidden messages": 1, "thinking": 1, "tool output": 1,
        "messages of helpers": 1, "images": 1,
    }  # fmt: skip
    assert [one.conversation.rpartition("/")[2] for one in report.refused] == ["s.jsonl, line 10"]


def test_llm_json(db: sqlite3.Connection, tmp_path: Path) -> None:
    """What `llm logs --json` prints: newest first, and prompts without a conversation."""

    def entry(key: str, prompt: str, at: str, conversation: str | None = "c") -> Json:
        return {"id": key, "prompt": prompt, "response": prompt.upper(), "system": "Be brief",
                "conversation_id": conversation, "conversation_name": "Boats",
                "datetime_utc": at, "duration_ms": 2000,
                "attachments": [{"type": "image/png", "path": "/x/cat.png"}]}  # fmt: skip

    entries = [
        entry("2", "b", "2026-01-01T12:01:00"),
        entry("1", "a", "2026-01-01T12:00:00"),
        entry("3", "c", "2026-01-01T11:00:00", None),
    ]
    report = bring(db, tmp_path, "logs.json", entries)
    assert said(db)[:4] == [
        ("user", "[image: cat.png]\n\na"), ("assistant", "A"),
        ("user", "[image: cat.png]\n\nb"), ("assistant", "B"),
    ]  # fmt: skip
    assert times(db)[:2] == ["2026-01-01T12:00:00", "2026-01-01T12:00:02"]
    assert report.conversations == 2
    assert left_out(report) == {"system messages": 3, "images": 3}


def test_llm_database(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Its database, with the texts that were given along with a prompt."""
    with closing(sqlite3.connect(tmp_path / "logs.db")) as logs:
        logs.executescript(
            """CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
            CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT,
                response TEXT, conversation_id TEXT, duration_ms INTEGER, datetime_utc TEXT);
            CREATE TABLE fragments (id INTEGER PRIMARY KEY, content TEXT);
            CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
            INSERT INTO conversations VALUES ('c', 'Boats', 'm');
            INSERT INTO responses VALUES
                ('1', 'm', 'Whose is it?', NULL, 'Yours', 'c', 5, '2026-01-01T12:00:00');
            INSERT INTO fragments VALUES (1, 'Tern, owner: you');
            INSERT INTO prompt_fragments VALUES ('1', 1, 0);"""
        )
    bring_paths(db, [tmp_path / "logs.db"])
    assert titles(db) == ["Boats"]
    assert said(db) == [("user", "Tern, owner: you\n\nWhose is it?"), ("assistant", "Yours")]


@pytest.mark.parametrize(
    ("date", "at"),
    [
        ("January 1, 2026 12:00pm", "2026-01-01T12:00:00"),
        ("2026-1-1 @12h 00m 00s 7ms", "2026-01-01T12:00:00"),
        ("2026-01-01@12h00m00s", "2026-01-01T12:00:00"),
        (SECONDS * 1000, "2026-01-01T12:00:00"),
        (NOON, "2026-01-01T12:00:00"),
    ],
)
def test_sillytavern(db: sqlite3.Connection, tmp_path: Path, date: object, at: str) -> None:
    """A chat with a character; the program has written times in many ways."""
    text = lines(
        {"user_name": "Ana", "character_name": "Captain", "create_date": date, "chat_metadata": {}},
        {"name": "Captain", "is_user": False, "mes": "Ahoy", "send_date": date,
         "swipes": ["Ahoy", "Hey"], "swipe_id": 0},
        {"name": "Ana", "is_user": True, "mes": "Hello", "send_date": date,
         "extra": {"image": "a.png", "title": "A boat"}},
        {"name": "SillyTavern", "is_user": False, "is_system": True, "mes": "Saved"},
    )  # fmt: skip
    report = bring(db, tmp_path, "Captain - 1.jsonl", text)
    assert said(db) == [("assistant", "Ahoy"), ("user", "[image: A boat]\n\nHello")]
    assert (titles(db), times(db)) == (["Captain"], [at, at])
    assert left_out(report) == {"other answers": 1, "images": 1, "system messages": 1}


# Notes


def test_markdown_notes(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Each file is a conversation, dated by its front matter, its name or its headings."""
    notes = tmp_path / "Notes"
    (notes / "Diary").mkdir(parents=True)
    (notes / ".obsidian").mkdir()
    (notes / ".obsidian" / "app.json").write_text("{}")
    (notes / "cat.png").write_bytes(b"x")
    (notes / "Boat.md").write_text("---\ntitle: My boat\ndate: 2025-05-04\n---\nIt is *Tern*.\n")
    (notes / "Diary" / "2025-02-03.md").write_text("# Monday\n\nRained.\n")
    (notes / "Diary" / "Log.MD").write_text(
        "Begun in spring.\n\n## 4 March 2025\nLate.\n\n## 2025-03-01\nEarly.\n"
    )
    (notes / "Undated.md").write_text("# Ideas\n\nA shed.\n")
    report = bring_paths(db, [notes])
    assert titles(db) == ["My boat", "Monday", "Log"]
    contents = [content for _, content in said(db)]
    assert contents[1:] == [
        "# Monday\n\nRained.", "Begun in spring.", "## 2025-03-01\nEarly.",
        "## 4 March 2025\nLate.",
    ]  # fmt: skip
    assert [at[:10] for at in times(db)] == [
        "2025-05-04", "2025-02-03", "2025-03-01", "2025-03-01", "2025-03-04"]  # fmt: skip
    assert [one.conversation for one in report.refused] == ["“Ideas”"]
    assert left_out(report) == {".png files": 1}


# Containers


def test_folders_archives_and_several_paths(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Whatever the files are called and wherever they lie."""

    def talk(name: str) -> str:
        return json.dumps([chatgpt(node("user", name), id=name)])

    inner, outer = tmp_path / "inner.zip", tmp_path / "Portal.ZIP"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("CONVERSATIONS-000.JSON", talk("zip in zip"))
        archive.writestr("conversations-001.json", "[]")
        archive.writestr("__MACOSX/._conversations.json", "x")
    with zipfile.ZipFile(outer, "w") as archive:
        archive.write(inner, "User Online Activity/Chats.Zip")
        archive.writestr("user.json", '{"id": "u"}')
        archive.writestr("chat.html", "<html>")
    folder = tmp_path / "folder"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "x.json").write_text(talk("in a folder"))
    (folder / "README.txt").write_text("Thanks for your order. " * 40)
    (folder / "link.json").symlink_to(folder / "deep" / "er" / "x.json")
    single = tmp_path / "one.json"
    single.write_text(talk("named"))
    report = bring_paths(db, [outer, folder, single])
    assert {content for _, content in said(db)} == {"zip in zip", "in a folder", "named"}
    assert left_out(report) == {
        "empty files": 1, "hidden files": 1, "other files": 3, "links": 1,
    }  # fmt: skip


@pytest.mark.parametrize("limit", ["MAX_FILES", "MAX_BYTES"])
@pytest.mark.parametrize("is_zipped", [True, False])
def test_more_than_the_limits_is_refused(
    db: sqlite3.Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    is_zipped: bool,
) -> None:
    """Before anything is read."""
    monkeypatch.setattr(sources, limit, 2)
    (tmp_path / "many").mkdir()
    for name in "abc":
        (tmp_path / "many" / f"{name}.json").write_text("[]")
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for name in "abc":
            archive.writestr(f"{name}.json", "[]")
    with pytest.raises(ConstructError, match=r"it has more than .*\nNothing was imported"):
        bring_paths(db, [tmp_path / ("many.zip" if is_zipped else "many")])


def test_a_web_page_is_named(db: sqlite3.Connection, tmp_path: Path) -> None:
    """Google's Takeout writes one unless JSON is chosen."""
    with zipfile.ZipFile(tmp_path / "takeout.zip", "w") as archive:
        archive.writestr("Takeout/My Activity/Gemini Apps/MyActivity.html", "<html>")
    with pytest.raises(ConstructError, match=r"seen: MyActivity.html.*\n.*JSON"):
        bring_paths(db, [tmp_path / "takeout.zip"])


def test_an_archive_too_deep_or_damaged_costs_only_itself(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    """A ZIP in a ZIP in a ZIP is not opened; one that is damaged is named."""
    name = tmp_path / "0.zip"
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr("c.json", json.dumps([chatgpt(node("user", "too deep"))]))
    for level in (1, 2):
        outer = tmp_path / f"{level}.zip"
        with zipfile.ZipFile(outer, "w") as archive:
            archive.write(name, "inner.zip")
            archive.writestr("bad.zip", b"PK\x03\x04 no")
            archive.writestr(
                f"{level}.json", json.dumps([chatgpt(node("user", f"{level}"), id=f"{level}")])
            )
        name = outer
    report = bring_paths(db, [name])
    assert sorted(content for _, content in said(db)) == ["1", "2"]
    assert left_out(report) == {"archives in an archive in an archive": 2}
    assert [one.conversation.rpartition("/")[2] for one in report.refused] == ["bad.zip"]


def test_what_breaks_off_keeps_what_came_before(db: sqlite3.Connection, tmp_path: Path) -> None:
    """The rest of the file is named."""
    whole = json.dumps([chatgpt(node("user", "first"), id="1"), chatgpt(node("user", "second"))])
    report = bring(db, tmp_path, "conversations.json", whole[:-40])
    assert said(db) == [("user", "first")]
    (refused,) = report.refused
    assert refused.conversation.startswith("the rest of ")
    assert "ends in the middle" in refused.why


def test_thinking_before_an_answer_is_left_out(db: sqlite3.Connection, tmp_path: Path) -> None:
    """As local models write it, whatever program keeps it."""
    talk = claude(
        turn("assistant", {"type": "text", "text": "<think>\nhm\n</think>\n\nYes."}),
        turn("assistant", {"type": "text", "text": "<think>\nhm"}),
        turn("human", {"type": "text", "text": "<think>aloud</think>"}),
    )
    report = bring(db, tmp_path, "conversations.json", [talk])
    assert said(db) == [("assistant", "Yes."), ("user", "<think>aloud</think>")]
    assert left_out(report) == {"thinking": 2}
