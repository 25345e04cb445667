"""The Markdown export, for reading: conversations by date, observations by day.

Messages are block quotes, so that a heading or an open code fence in one does not affect
the rest of the document.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

from construct.clock import Clock, from_text
from construct.store.database import snapshot
from construct.store.driver import Connection
from construct.store.messages import messages_of
from construct.store.records import Conversation, Observation
from construct.store.sql import column, scalar, select
from construct.text import one_line, printable
from construct.vocabulary import MessageStatus, Priority, Role, Stance

_PRIORITY_MARKS: Mapping[str, str] = {
    Priority.HIGH: "!",
    Priority.MEDIUM: r"\-",  # a bare one would begin a list within the list
    Priority.LOW: "~",
}
_SPEAKERS: Mapping[str, str] = {Role.USER: "You", Role.ASSISTANT: "Construct"}
# HTML that would hide the rest of the page, such as `<script>`, `</style` or `<!--`. The
# list of tags is GitHub's.
_UNSAFE_HTML = re.compile(
    r"<(?=!--|/?(?:title|textarea|style|xmp|iframe|noembed|noframes|script|plaintext)\b)",
    re.IGNORECASE,
)


def export_markdown(db: Connection, write: Callable[[str], object], clock: Clock) -> None:
    """Write conversations and what is remembered as Markdown, in the user's time zone."""
    with snapshot(db):
        write("# Conversations\n")
        for conversation in select(db, Conversation, "conversations ORDER BY created_at, id"):
            for part in _conversation(db, conversation, clock):
                write(part)
        write("\n# What is remembered\n")
        for part in _remembered(db):
            write(part)


def _conversation(db: Connection, conversation: Conversation, clock: Clock) -> Iterator[str]:
    title = _inline(conversation.title or "Untitled")
    yield f"\n## {_local(conversation.created_at, clock, '%Y-%m-%d')} {title}\n"
    if conversation.parent_id is not None:
        query = "SELECT title FROM conversations WHERE id = ?"
        parent_title = scalar(db, query, (conversation.parent_id,)) or "an untitled conversation"
        yield f"\nForked from {_inline(parent_title)}.\n"
    for message in messages_of(db, conversation.id):
        if message.quotes is not None:  # a notebook's reply only quotes other messages
            continue
        cut = ", cut short" if message.status == MessageStatus.INTERRUPTED else ""
        when = _local(message.created_at, clock, "%Y-%m-%d %H:%M")
        yield f"\n**{_SPEAKERS[message.role]}**, {when}{cut}\n\n{_quoted(message.text)}"


def _remembered(db: Connection) -> Iterator[str]:
    observations = select(
        db, Observation, "observations WHERE superseded_at IS NULL ORDER BY observation_date, id"
    )
    withheld = set(column(db, "SELECT id FROM observations WHERE withheld"))
    for day, of_day in groupby(observations, key=lambda o: o.observation_date):
        yield f"\n## {day}\n\n"
        for o in of_day:
            notes = [o.stance] if o.stance != Stance.STATED else []
            notes += [f"for {o.when}"] if o.when else []
            notes += ["pinned"] if o.pinned else []
            notes += ["kept on request"] if o.kept else []
            notes += [_inline(o.category)] if o.category else []
            notes += ["withheld"] if o.id in withheld else []
            yield f"- {_PRIORITY_MARKS[o.priority]} {_inline(o.content)}{_in_parentheses(notes)}\n"


def _in_parentheses(notes: list[str]) -> str:
    return f" ({', '.join(notes)})" if notes else ""


def _local(time: str, clock: Clock, form: str) -> str:
    try:
        return clock.local(from_text(time)).strftime(form)
    except (ValueError, OverflowError):
        return one_line(time)


def _inline(text: str) -> str:
    """Return text as one line with Markdown's special characters escaped."""
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", one_line(text))


def _quoted(text: str) -> str:
    lines = _UNSAFE_HTML.sub("&lt;", printable(text)).rstrip("\n").split("\n")
    return "".join(f"> {line}".rstrip() + "\n" for line in lines)
