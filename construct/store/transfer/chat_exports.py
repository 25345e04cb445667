"""Converts the conversations of ChatGPT's and Claude's exports.

Only what the user and the assistant said is kept. Thinking, tool calls and their output,
hidden messages and custom instructions are left out.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from construct.clock import to_text
from construct.store.transfer.checks import text, time
from construct.store.transfer.imported import ImportedConversation, ImportedMessage, stable_uid
from construct.store.transfer.refused import RefusedError
from construct.text import shorten
from construct.vocabulary import Role

_Json = Mapping[str, Any]


def is_conversation(value: Any) -> bool:
    """Return whether a value looks like a conversation from ChatGPT or Claude."""
    return isinstance(value, dict) and ("mapping" in value or "chat_messages" in value)


def read_conversations(conversations: Iterable[Any]) -> Iterator[ImportedConversation]:
    """Convert the conversations of an export.

    Raises RefusedError, which names the conversation, if one cannot be read.
    """
    for number, conversation in enumerate(conversations, 1):
        where = f"conversation {number}"
        if not is_conversation(conversation):
            raise RefusedError(where, "it is not a conversation from ChatGPT or Claude")
        try:
            is_chatgpt = "mapping" in conversation
            imported = _chatgpt(conversation) if is_chatgpt else _claude(conversation)
        except ValueError as error:
            title = conversation.get("title") or conversation.get("name")
            name = f" “{shorten(title, 60)}”" if isinstance(title, str) and title.strip() else ""
            raise RefusedError(where + name, error) from None
        del conversation  # free it before the next is read, as both may be large
        yield imported


# ChatGPT: a tree of messages, one leaf of which is current


def _chatgpt(conversation: _Json) -> ImportedConversation:
    created_at = _moment(conversation, "create_time")
    title = _text(conversation, "title")
    name = conversation.get("conversation_id") or conversation.get("id") or [title, created_at]
    imported = []
    for key, message in _current_branch(conversation):
        words = _chatgpt_words(message)
        if words:
            uid = stable_uid("chatgpt", name, key)
            role = message["author"]["role"]
            time_said = _moment(message, "create_time")
            imported.append(ImportedMessage(uid, role, words, time_said))
    uid = stable_uid("chatgpt", name)
    return ImportedConversation(uid, title, created_at, _in_time_order(imported))


def _current_branch(conversation: _Json) -> list[tuple[str, _Json]]:
    """Return (key, message) from the root to the current leaf."""
    mapping = conversation["mapping"]
    if not isinstance(mapping, dict) or not all(
        isinstance(node, dict) for node in mapping.values()
    ):
        raise ValueError('"mapping" must be an object of objects')
    key = conversation.get("current_node") or _last_leaf(mapping) or next(iter(mapping), None)
    branch: list[tuple[str, _Json]] = []
    visited: set[str] = set()
    while key is not None:
        if not isinstance(key, str) or key not in mapping:
            raise ValueError("the current message, or one above it, is missing")
        if key in visited:
            raise ValueError("the messages above the current one form a circle")
        visited.add(key)
        message = mapping[key].get("message")
        if message is not None:
            branch.append((key, _mapping(message, "message")))
        key = mapping[key].get("parent")
    return branch[::-1]


def _last_leaf(mapping: _Json) -> str | None:
    """Return the last leaf, for a conversation that does not say which one is current."""
    parents = [node.get("parent") for node in mapping.values()]
    inner = {parent for parent in parents if isinstance(parent, str)}
    return next((key for key in reversed(list(mapping)) if key not in inner), None)


def _chatgpt_words(message: _Json) -> str:
    """Return the text of a message, empty if it is not part of the conversation proper."""
    role = _mapping(message.get("author"), "author").get("role")
    metadata = _mapping(message.get("metadata"), "metadata")
    content = _mapping(message.get("content"), "content")
    is_hidden = metadata.get("is_visually_hidden_from_conversation") or metadata.get(
        "is_user_system_message"
    )
    is_for_tool = message.get("recipient") not in (None, "all")
    is_thinking = message.get("channel") == "analysis"
    if role not in tuple(Role) or is_hidden or is_for_tool or is_thinking:
        return ""
    if content.get("content_type") not in ("text", "multimodal_text"):
        return ""
    parts = content.get("parts") or []
    if not isinstance(parts, list):
        raise ValueError('"parts" must be a list')  # noqa: TRY004 (a file's value)
    return _joined([_part_words(part) for part in parts])


def _part_words(part: Any) -> str:
    """Return the text of a part, or the transcription if it is spoken."""
    if isinstance(part, dict) and part.get("content_type") == "audio_transcription":
        part = part.get("text")
    return part if isinstance(part, str) else ""


# Claude: a list of messages, which may form a tree with one current leaf


def _claude(conversation: _Json) -> ImportedConversation:
    created_at = _moment(conversation, "created_at")
    title = _text(conversation, "name")
    name = conversation.get("uuid") or [title, created_at]
    messages = conversation["chat_messages"]
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise ValueError('"chat_messages" must be a list of objects')
    imported = []
    for number, message in enumerate(_branch(conversation, messages)):
        role = _claude_role(message)
        words = _claude_words(message) if role else ""
        if role and words:
            uid = stable_uid("claude", name, message.get("uuid") or number)
            time_said = _moment(message, "created_at")
            imported.append(ImportedMessage(uid, role, words, time_said))
    uid = stable_uid("claude", name)
    return ImportedConversation(uid, title, created_at, _in_time_order(imported))


def _branch(conversation: _Json, messages: list[_Json]) -> list[_Json]:
    """Return the messages from the root to the current or newest leaf.

    If they form no tree, return all, ordered by time if each has one.
    """
    by_uid = {
        message.get("uuid"): message for message in messages if isinstance(message.get("uuid"), str)
    }
    uid = conversation.get("current_leaf_message_uuid") or _newest_leaf(messages, by_uid)
    branch: list[_Json] = []
    while isinstance(uid, str) and uid in by_uid:
        message = by_uid.pop(uid)
        branch.append(message)
        uid = message.get("parent_message_uuid")
    if len(branch) > 1:
        return branch[::-1]
    times = [_moment(message, "created_at") for message in messages]
    if None in times:
        return messages
    return [messages[i] for i in sorted(range(len(messages)), key=lambda i: times[i] or "")]


def _newest_leaf(messages: list[_Json], by_uid: Mapping[object, _Json]) -> object:
    """Return the uid of the newest message if the messages form a tree, otherwise None.

    In a tree all messages but the root have a known parent.
    """
    parents = [message.get("parent_message_uuid") for message in messages]
    children = sum(isinstance(parent, str) and parent in by_uid for parent in parents)
    if not messages or len(by_uid) < len(messages) or children < len(messages) - 1:
        return None
    times = [_moment(message, "created_at") or "" for message in messages]
    newest = max(range(len(messages)), key=lambda i: (times[i], i))
    return messages[newest]["uuid"]


def _claude_role(message: _Json) -> Role | None:
    match message.get("sender"):
        case "human":
            return Role.USER
        case "assistant":
            return Role.ASSISTANT
        case _:
            return None


def _claude_words(message: _Json) -> str:
    blocks = message.get("content")
    if isinstance(blocks, list) and blocks:  # `text` also has placeholders for tool calls
        words = [b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text"]
        return _joined([part for part in words if isinstance(part, str)])
    return _joined([_text(message, "text") or ""])


# Helpers for both


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


def _in_time_order(messages: list[ImportedMessage]) -> tuple[ImportedMessage, ...]:
    """Return the messages with times that never go back: each has the latest time so far."""
    latest: str | None = None
    adjusted = []
    for message in messages:
        latest = max(latest or "", message.created_at or "") or None
        adjusted.append(replace(message, created_at=latest))
    return tuple(adjusted)
