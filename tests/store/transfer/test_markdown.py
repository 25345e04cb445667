import sqlite3
from datetime import timedelta, timezone
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from construct.clock import Clock
from construct.store.transfer.markdown import export_markdown
from tests.store.transfer_world import World, furnish
from tests.support.database import new_database


@pytest.fixture
def db(tmp_path: Path) -> sqlite3.Connection:
    """Return an empty database."""
    return new_database(tmp_path / "a.db")


def markdown(db: sqlite3.Connection, hours: int = 0) -> str:
    """Return the database as Markdown, in a zone."""
    parts: list[str] = []
    export_markdown(db, parts.append, Clock(zone=timezone(timedelta(hours=hours))))
    return "".join(parts)


def test_reads_well(db: sqlite3.Connection) -> None:
    """Conversations come by date, then observations by day.

    Each message says who wrote it and when.
    """
    furnish(db)
    db.execute("UPDATE observations SET priority = 'medium' WHERE content LIKE 'Dentist%'")
    text = markdown(db, hours=2)
    assert (
        "## 2026-03-01 Dentist & “Zähne” 歯医者\n\n"
        "**You**, 2026-03-01 11:05\n\n> I have a dentist\n> appointment\n" in text
    )
    assert "- ! Asks a lot (assistant, for 2026-03-05, pinned)" in text
    assert "- \\- Dentist and teeth (for 2026-03-05)" in text
    assert "never mind" not in text
    assert "- ! tea (kept on request, taste)" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    "words",
    ["# Heading\ntext", "```\nopen fence", "> quote\n- list", "<!-- gone", "<script>alert(1)",
     "</textarea><title>", "a\n---\nb", "    code", "[x]: http://y", "| a |\n|---|", "~~~~\n# no",
     "\u2028# x\u2028", "\x0b# x", "&lt;!--"],
)  # fmt: skip
def test_words_stay_in_their_place(db: sqlite3.Connection, words: str) -> None:
    """All headings are the export's own, whatever the user wrote.

    None of the text is lost.
    """
    w = World(db)
    conversation = w.conversation(words)
    said = w.say(conversation, words, words)
    w.observe(conversation, said, words)
    w.say(conversation, "LAST")
    tokens = MarkdownIt("commonmark").parse(markdown(db))
    headings = [t for t in tokens if t.type == "heading_open" and t.level == 0]
    assert [t.tag for t in headings] == ["h1", "h2", "h1", "h2"]
    assert len([t for t in tokens if t.type == "blockquote_open" and t.level == 0]) == 3
    html = MarkdownIt("commonmark").render(markdown(db))
    assert "<!--" not in html
    assert "<script" not in html
    assert "<p>LAST</p>" in html


def test_empty_database(db: sqlite3.Connection) -> None:
    """An empty database makes two headings."""
    assert markdown(db) == "# Conversations\n\n# What is remembered\n"
