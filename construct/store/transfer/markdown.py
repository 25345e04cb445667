"""The Markdown export: made to be read. Conversations by date, then what is remembered by day.

What was said stands in block quotes, so that nothing in it, neither a heading nor an open code
fence, reaches beyond its message.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator
from itertools import groupby

from construct.clock import Clock, from_text
from construct.store.database import snapshot
from construct.store.records import Conversation, Memory, Message, Observation, columns
from construct.text import one_line, printable

_MARKS = {"high": "!", "medium": "-", "low": "~"}
_SPEAKERS = {"user": "You", "assistant": "Construct"}
# HTML that would swallow the rest of the page (GitHub's list), and comments.
_GREEDY_HTML = re.compile(
    r"<(?=!--|/?(?:title|textarea|style|xmp|iframe|noembed|noframes|script|plaintext)\b)", re.IGNORECASE
)


def export_markdown(db: sqlite3.Connection, write: Callable[[str], object], clock: Clock) -> None:
    """Write conversations and memory as Markdown, times as the user's clock shows them."""
    with snapshot(db):
        write("# Conversations\n")
        conversations = db.execute(f"SELECT {columns(Conversation)} FROM conversations ORDER BY created_at, id")
        for row in conversations:
            for part in _conversation(db, Conversation(*row), clock):
                write(part)
        write("\n# What is remembered\n")
        for part in _remembered(db):
            write(part)
        for part in _memories(db, clock):
            write(part)


def _conversation(db: sqlite3.Connection, conversation: Conversation, clock: Clock) -> Iterator[str]:
    title = _inline(conversation.title or "Without a title")
    yield f"\n## {_local(conversation.created_at, clock, '%Y-%m-%d')} {title}\n"
    if conversation.parent_id is not None:
        row = db.execute("SELECT title FROM conversations WHERE id = ?", (conversation.parent_id,)).fetchone()
        yield f"\nGoes on from {_inline((row and row[0]) or 'a conversation without a title')}.\n"
    rows = db.execute(
        f"SELECT {columns(Message)} FROM messages WHERE conversation_id = ? ORDER BY id", (conversation.id,)
    )
    for row in rows:
        message = Message(*row)
        cut = ", cut short" if message.status == "interrupted" else ""
        when = _local(message.created_at, clock, "%Y-%m-%d %H:%M")
        yield f"\n**{_SPEAKERS[message.role]}**, {when}{cut}\n\n{_quoted(message.content)}"


def _remembered(db: sqlite3.Connection) -> Iterator[str]:
    rows = db.execute(
        f"SELECT {columns(Observation)} FROM observations WHERE superseded_at IS NULL ORDER BY observation_date, id"
    )
    for day, found in groupby((Observation(*row) for row in rows), key=lambda o: o.observation_date):
        yield f"\n## {day}\n\n"
        for o in found:
            notes = [o.stance] if o.stance != "stated" else []
            notes += [f"for {o.referenced_date}"] if o.referenced_date else []
            notes += ["pinned"] if o.pinned else []
            yield f"- {_MARKS[o.priority]} {_inline(o.content)}{_aside(notes)}\n"


def _memories(db: sqlite3.Connection, clock: Clock) -> Iterator[str]:
    rows = db.execute(f"SELECT {columns(Memory)} FROM memories WHERE superseded_at IS NULL ORDER BY created_at, id")
    for number, row in enumerate(rows):
        if number == 0:
            yield "\n# Memories\n\n"
        memory = Memory(*row)
        notes = [_inline(memory.category)] if memory.category else []
        yield f"- [{_local(memory.created_at, clock, '%Y-%m-%d')}] {_inline(memory.content)}{_aside(notes)}\n"


def _aside(notes: list[str]) -> str:
    return f" ({', '.join(notes)})" if notes else ""


def _local(time: str, clock: Clock, form: str) -> str:
    try:
        return clock.local(from_text(time)).strftime(form)
    except (ValueError, OverflowError):
        return one_line(time)


def _inline(text: str) -> str:
    """Return text as one line in which Markdown's signs are themselves."""
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", one_line(text))


def _quoted(text: str) -> str:
    lines = _GREEDY_HTML.sub("&lt;", printable(text)).rstrip("\n").split("\n")
    return "".join(f"> {line}".rstrip() + "\n" for line in lines)
