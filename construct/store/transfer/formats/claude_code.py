"""Claude Code's sessions: a line for each message."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from construct.store.transfer.foreign import (
    ForeignConversation,
    ForeignFile,
    ForeignMessage,
    Format,
    Found,
    Part,
    Sample,
    file,
    image,
    mark,
    omitted,
    stable_uid,
    words,
)
from construct.store.transfer.foreign_values import Json, mapping, moment, objects, string, title
from construct.store.transfer.grouping import Keyed, grouped
from construct.vocabulary import Role

_TITLES = ("summary", "customTitle", "aiTitle")
_ECHO = re.compile(
    r"<(command-[a-z]+|local-command-[a-z]+|bash-[a-z]+|system-reminder|user-memory-input|"
    r"task-notification)>.*?</\1>\s*",
    re.DOTALL,
)
"""What the program itself put into the user's messages."""
_INTERRUPTED = "[Request interrupted by user"


def looks_like(sample: Sample) -> bool:
    """Return whether this is a line of a session."""
    item = mapping(sample.item)
    return "sessionId" in item and ("message" in item or isinstance(item.get("type"), str))


def conversations(file: ForeignFile) -> Iterator[Found]:
    """Yield the sessions. What an agent said to its helpers is not among what was said."""
    for name, lines in grouped(_keyed(file.items())):
        listed = list(lines)
        titles = [string(line.get(key)) for line in listed for key in _TITLES if line.get(key)]
        messages = _messages(listed)
        heading = title(titles[-1]) if titles else None
        yield ForeignConversation(stable_uid("claude-code", name), heading, messages)


def _keyed(items: Iterable[Any]) -> Iterator[Keyed]:
    session = ""
    before: list[Json] = []
    for item in items:
        line = mapping(item)
        session = string(line.get("sessionId")) or session
        if not session:  # such as the title, which comes first
            before.append(line)
            continue
        for earlier in before:
            yield session, "", earlier
        before.clear()
        yield session, "", line


def _messages(lines: Iterable[Json]) -> Iterator[ForeignMessage]:
    for number, line in enumerate(lines):
        message = mapping(line.get("message"))
        role = string(message.get("role")) or string(line.get("type"))
        if role in tuple(Role) and message:
            uid = stable_uid("claude-code", string(line.get("uuid")) or [number, str(line)])
            parts = tuple(_parts(line, message))
            yield ForeignMessage(uid, Role(role), parts, moment(line.get("timestamp")))


def _parts(line: Json, message: Json) -> Iterator[Part]:
    if line.get("isSidechain"):
        yield omitted("messages of helpers")
        return
    if line.get("isMeta") or line.get("isCompactSummary"):
        yield omitted("hidden messages")
        return
    content = message.get("content")
    if isinstance(content, str):
        yield from _said(content)
    for block in objects(content):
        yield from _block(block)


def _said(text: str) -> Iterator[Part]:
    clean, count = _ECHO.subn("", string(text))
    yield from [omitted("commands")] * count
    if not clean.startswith(_INTERRUPTED):
        yield words(clean)


def _block(block: Json) -> Iterator[Part]:
    kind = string(block.get("type"))
    if kind == "text":
        yield from _said(string(block.get("text")))
    elif kind in ("thinking", "redacted_thinking"):
        yield omitted("thinking")
    elif kind.endswith("tool_use"):
        yield omitted("tool calls")
    elif kind.endswith("tool_result"):
        yield omitted("tool output")
    elif kind == "image":
        yield image()
    elif kind == "document":
        yield file(block.get("title"))
    else:
        yield mark(kind or "part", left_out="other parts")


CLAUDE_CODE = Format(
    "Claude Code",
    "The files in ~/.claude/projects, or that folder.",
    looks_like,
    conversations,
)
