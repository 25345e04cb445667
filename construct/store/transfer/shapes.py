"""What ChatGPT and Claude export, read as talks: who said which words, and when. Pure.

Only what the user and the assistant said is taken. Thinking, tool calls and tool
output, hidden messages and custom instructions are nobody's words.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from construct.clock import from_text, to_text
from construct.store.transfer.format import RefusedError, one_of, text, time
from construct.text import shorten
from construct.vocabulary import Role

_Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """One message of another program."""

    uid: str
    role: str
    content: str
    created_at: str | None


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation of another program."""

    uid: str
    title: str | None
    created_at: str | None
    said: Iterable[Said]
    """In order of time; it may be gone through once."""


def identity(*parts: object) -> str:
    """Return the uid of what these parts name: the same in every import, on every machine."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def is_conversation(value: Any) -> bool:
    """Return whether an object is a conversation as one of the two exports it."""
    return isinstance(value, dict) and ("mapping" in value or "chat_messages" in value)


def talks(conversations: Iterable[Any]) -> Iterator[Talk]:
    """Yield the conversations.

    Raises RefusedError naming the one that cannot be read.
    """
    for number, conversation in enumerate(conversations, 1):
        where = f"conversation {number}"
        if not is_conversation(conversation):
            raise RefusedError(where, "it is none as ChatGPT or Claude export them")
        try:
            talk = _chatgpt(conversation) if "mapping" in conversation else _claude(conversation)
        except ValueError as error:
            title = conversation.get("title") or conversation.get("name")
            name = f" “{shorten(title, 60)}”" if isinstance(title, str) and title.strip() else ""
            raise RefusedError(where + name, error) from None
        del conversation  # it may be large, and so may the next
        yield talk


# ChatGPT: a tree of messages, of which one leaf is current


def _chatgpt(conversation: _Json) -> Talk:
    created_at = _moment(conversation, "create_time")
    title = _text(conversation, "title")
    name = conversation.get("conversation_id") or conversation.get("id") or [title, created_at]
    said = [
        Said(
            identity("chatgpt", name, key),
            message["author"]["role"],
            words,
            _moment(message, "create_time"),
        )
        for key, message in _way(conversation)
        if (words := _chatgpt_words(message))
    ]
    return Talk(identity("chatgpt", name), title, created_at, _never_back(said))


def _way(conversation: _Json) -> list[tuple[str, _Json]]:
    mapping = conversation["mapping"]
    if not isinstance(mapping, dict) or not all(
        isinstance(node, dict) for node in mapping.values()
    ):
        raise ValueError('"mapping" must be an object of objects')
    at = conversation.get("current_node") or _last_leaf(mapping) or next(iter(mapping), None)
    way: list[tuple[str, _Json]] = []
    passed: set[str] = set()
    while at is not None:
        if not isinstance(at, str) or at not in mapping:
            raise ValueError("the way to the current message leads to one that is not there")
        if at in passed:
            raise ValueError("the way to the current message leads round in a circle")
        passed.add(at)
        message = mapping[at].get("message")
        if message is not None:
            way.append((at, _mapping(message, "message")))
        at = mapping[at].get("parent")
    return way[::-1]


def _last_leaf(mapping: _Json) -> str | None:
    """Return the leaf that stands last, for a conversation that does not say which is current."""
    inner = {parent for node in mapping.values() if isinstance(parent := node.get("parent"), str)}
    return next((key for key in reversed(list(mapping)) if key not in inner), None)


def _chatgpt_words(message: _Json) -> str:
    """Return what was said in a message, nothing when it is not the talk itself."""
    role = _mapping(message.get("author"), "author").get("role")
    metadata = _mapping(message.get("metadata"), "metadata")
    content = _mapping(message.get("content"), "content")
    hidden = metadata.get("is_visually_hidden_from_conversation") or metadata.get(
        "is_user_system_message"
    )
    aside = message.get("recipient") not in (None, "all") or message.get("channel") == "analysis"
    if role not in tuple(Role) or hidden or aside:
        return ""
    if content.get("content_type") not in ("text", "multimodal_text"):
        return ""
    parts = content.get("parts") or []
    if not isinstance(parts, list):
        raise ValueError('"parts" must be a list')  # noqa: TRY004 (a file's value)
    return _joined([_part_words(part) for part in parts])


def _part_words(part: Any) -> str:
    """Return a part's text; spoken words were written down beside the sound."""
    if isinstance(part, dict) and part.get("content_type") == "audio_transcription":
        part = part.get("text")
    return part if isinstance(part, str) else ""


# Claude: a list of messages, or branches of which one leaf is current


def _claude(conversation: _Json) -> Talk:
    created_at = _moment(conversation, "created_at")
    title = _text(conversation, "name")
    name = conversation.get("uuid") or [title, created_at]
    messages = conversation["chat_messages"]
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise ValueError('"chat_messages" must be a list of objects')
    said = [
        Said(
            identity("claude", name, message.get("uuid") or number),
            Role.USER if message["sender"] == "human" else Role.ASSISTANT,
            words,
            _moment(message, "created_at"),
        )
        for number, message in enumerate(_branch(conversation, messages))
        if message.get("sender") in ("human", "assistant") and (words := _claude_words(message))
    ]
    return Talk(identity("claude", name), title, created_at, _never_back(said))


def _branch(conversation: _Json, messages: list[_Json]) -> list[_Json]:
    """Return the way to the current leaf, or to the newest message of a whole tree.

    Else all in order of time.
    """
    by_uid = {
        message.get("uuid"): message for message in messages if isinstance(message.get("uuid"), str)
    }
    at = conversation.get("current_leaf_message_uuid") or _newest_leaf(messages, by_uid)
    way: list[_Json] = []
    while isinstance(at, str) and at in by_uid:
        message = by_uid.pop(at)
        way.append(message)
        at = message.get("parent_message_uuid")
    if len(way) > 1:
        return way[::-1]
    times = [_moment(message, "created_at") for message in messages]
    if None in times:
        return messages
    return [messages[i] for i in sorted(range(len(messages)), key=lambda i: times[i] or "")]


def _newest_leaf(messages: list[_Json], by_uid: Mapping[object, _Json]) -> object:
    """Return the uid of the newest message of a tree; None when it is none.

    In a tree all messages but one say which known message they answer.
    """
    answers = sum(
        isinstance(up := m.get("parent_message_uuid"), str) and up in by_uid for m in messages
    )
    if not messages or len(by_uid) < len(messages) or answers < len(messages) - 1:
        return None
    return max(enumerate(messages), key=lambda one: (_moment(one[1], "created_at") or "", one[0]))[
        1
    ]["uuid"]


def _claude_words(message: _Json) -> str:
    blocks = message.get("content")
    if isinstance(blocks, list) and blocks:  # `text` would hold stand-ins for tool calls too
        words = [b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text"]
        return _joined([part for part in words if isinstance(part, str)])
    return _joined([_text(message, "text") or ""])


# Lines of messages, each with the title of its conversation


@dataclass(frozen=True, slots=True)
class HandMade:
    """One line of a hand-made file."""

    title: str
    role: str
    content: str
    created_at: str | None


def hand_made(record: _Json) -> HandMade:
    """Return what a line says. Raises ValueError naming what is wrong."""
    if record.get("type") != "message":
        raise ValueError(
            '"type" must be "message" in a file'
            ' that does not begin with a line of type "construct-export"'
        )
    checks = {"conversation": text, "role": one_of(*Role), "content": text}
    values: dict[str, str] = {}
    for key, check in checks.items():
        try:
            values[key] = str(check(record[key]))
        except KeyError:
            raise ValueError(f'"{key}" is missing') from None
        except ValueError as error:
            raise ValueError(f'"{key}" {error}') from None
        if not values[key].strip():
            raise ValueError(f'"{key}" must not be blank')
    given = record.get("created_at")
    try:
        created_at = None if given is None else to_text(from_text(time(given)))
    except ValueError as error:
        raise ValueError(f'"created_at" {error}') from None
    return HandMade(values["conversation"], values["role"], values["content"], created_at)


# All three


def _joined(parts: list[str]) -> str:
    words = text("\n\n".join(part for part in parts if part.strip()))
    return words if words.strip() else ""


def _mapping(value: Any, name: str) -> _Json:
    if value is not None and not isinstance(value, dict):
        raise ValueError(f'"{name}" must be an object')
    return value or {}


def _text(record: _Json, key: str) -> str | None:
    value = record.get(key)
    try:
        return None if value is None else text(value) or None
    except ValueError as error:
        raise ValueError(f'"{key}" {error}') from None


def _moment(record: _Json, key: str) -> str | None:
    value = record.get(key)
    if value is None:
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return to_text(datetime.fromtimestamp(value, UTC))
        return to_text(datetime.fromisoformat(time(value)))
    except (ValueError, OverflowError, OSError):
        raise ValueError(f'"{key}" must be a time') from None


def _never_back(said: list[Said]) -> tuple[Said, ...]:
    """Return the messages in their order, none before the one it follows."""
    latest: str | None = None
    straight = []
    for message in said:
        latest = max(latest or "", message.created_at or "") or None
        straight.append(
            message if message.created_at == latest else replace(message, created_at=latest)
        )
    return tuple(straight)
