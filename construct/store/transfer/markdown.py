"""The Markdown export: made to be read.

Conversations by date, then what is remembered by day.

What was said stands in block quotes, so that nothing in it, neither a heading nor an
open code fence, reaches beyond its message.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

from construct.clock import Clock, from_text
from construct.store.database import snapshot
from construct.store.messages import messages_of
from construct.store.records import Conversation, Memory, Observation
from construct.store.sql import column, scalar, select
from construct.text import one_line, printable
from construct.vocabulary import MessageStatus, Priority, Role, Stance

_MARKS: Mapping[str, str] = {Priority.HIGH: "!", Priority.MEDIUM: "-", Priority.LOW: "~"}
_SPEAKERS: Mapping[str, str] = {Role.USER: "You", Role.ASSISTANT: "Construct"}
# HTML that would swallow the rest of the page (GitHub's list), and comments.
_GREEDY_HTML = re.compile(
    r"<(?=!--|/?(?:title|textarea|style|xmp|iframe|noembed|noframes|script|plaintext)\b)",
    re.IGNORECASE,
)


def export_markdown(db: sqlite3.Connection, write: Callable[[str], object], clock: Clock) -> None:
    """Write conversations and memory as Markdown, times as the user's clock shows them."""
    with snapshot(db):
        write("# Conversations\n")
        for conversation in select(db, Conversation, "conversations ORDER BY created_at, id"):
            for part in _conversation(db, conversation, clock):
                write(part)
        write("\n# What is remembered\n")
        for part in _remembered(db):
            write(part)
        for part in _memories(db, clock):
            write(part)


def _conversation(
    db: sqlite3.Connection, conversation: Conversation, clock: Clock
) -> Iterator[str]:
    title = _inline(conversation.title or "Without a title")
    yield f"\n## {_local(conversation.created_at, clock, '%Y-%m-%d')} {title}\n"
    if conversation.parent_id is not None:
        before = scalar(
            db, "SELECT title FROM conversations WHERE id = ?", (conversation.parent_id,)
        )
        yield f"\nGoes on from {_inline(before or 'a conversation without a title')}.\n"
    for message in messages_of(db, conversation.id):
        if message.quotes is not None:  # a notebook's reply has no words of its own
            continue
        cut = ", cut short" if message.status == MessageStatus.INTERRUPTED else ""
        when = _local(message.created_at, clock, "%Y-%m-%d %H:%M")
        yield f"\n**{_SPEAKERS[message.role]}**, {when}{cut}\n\n{_quoted(message.text)}"


def _remembered(db: sqlite3.Connection) -> Iterator[str]:
    rows = select(
        db, Observation, "observations WHERE superseded_at IS NULL ORDER BY observation_date, id"
    )
    withheld = set(column(db, "SELECT id FROM observations WHERE withheld"))
    for day, found in groupby(rows, key=lambda o: o.observation_date):
        yield f"\n## {day}\n\n"
        for o in found:
            notes = [o.stance] if o.stance != Stance.STATED else []
            notes += [f"for {o.referenced_date}"] if o.referenced_date else []
            notes += ["pinned"] if o.pinned else []
            notes += ["withheld"] if o.id in withheld else []
            yield f"- {_MARKS[o.priority]} {_inline(o.content)}{_aside(notes)}\n"


def _memories(db: sqlite3.Connection, clock: Clock) -> Iterator[str]:
    found = select(db, Memory, "memories WHERE superseded_at IS NULL ORDER BY created_at, id")
    if found:
        yield "\n# Memories\n\n"
    for memory in found:
        notes = [_inline(memory.category)] if memory.category else []
        day = _local(memory.created_at, clock, "%Y-%m-%d")
        yield f"- [{day}] {_inline(memory.content)}{_aside(notes)}\n"


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
