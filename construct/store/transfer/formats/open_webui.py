"""Open WebUI's exports: a tree of messages in each chat."""

import re
from collections.abc import Iterator
from typing import Any

from construct.store.transfer.branches import current_branch
from construct.store.transfer.foreign import (
    ForeignConversation,
    ForeignFile,
    ForeignMessage,
    Format,
    Found,
    LeftOut,
    Part,
    Sample,
    attached_text,
    each,
    file,
    image,
    omitted,
    stable_uid,
    words,
)
from construct.store.transfer.foreign_values import Json, mapping, moment, objects, string, title
from construct.vocabulary import Role

_DETAILS = re.compile(r'<details\b[^>]*\btype="(\w+)"[^>]*>.*?</details>\s*', re.DOTALL)
"""What a model or a tool did beside its answer."""
_KINDS = {"reasoning": "thinking", "code_interpreter": "code", "tool_calls": "tool calls"}


def looks_like(sample: Sample) -> bool:
    """Return whether this is a chat with a history."""
    chat = _chat(mapping(sample.item))
    history = mapping(chat.get("history"))
    return isinstance(history.get("messages"), dict) or (
        isinstance(chat.get("messages"), list) and "models" in chat
    )


def conversations(file: ForeignFile) -> Iterator[Found]:
    """Yield the chats."""
    return each(file.items(), _conversation, lambda item: mapping(item).get("title"))


def _chat(item: Json) -> Json:
    return mapping(item.get("chat")) or item


def _conversation(item: Any) -> Iterator[Found]:
    chat = _chat(mapping(item))
    history = mapping(chat.get("history"))
    nodes = {key: mapping(one) for key, one in mapping(history.get("messages")).items()}
    if not nodes:
        nodes = {str(number): one for number, one in enumerate(objects(chat.get("messages")))}
        branch = list(nodes)
    else:
        parents = {key: one.get("parentId") for key, one in nodes.items()}
        times = {key: _time(one) for key, one in nodes.items()}
        branch = current_branch(parents, history.get("currentId"), times)
    created_at = moment(mapping(item).get("created_at")) or moment(chat.get("timestamp"))
    name = string(mapping(item).get("id")) or string(chat.get("id")) or [chat.get("title")]
    messages = []
    for key in branch:
        message = nodes[key]
        role = string(message.get("role"))
        parts = tuple(_parts(message)) if role in tuple(Role) else (omitted("system messages"),)
        uid = stable_uid("open-webui", name, string(message.get("id")) or key)
        speaker = Role.USER if role == "user" else Role.ASSISTANT
        messages.append(ForeignMessage(uid, speaker, parts, moment(message.get("timestamp"))))
    if len(branch) < len(nodes):
        yield LeftOut("messages of other branches", len(nodes) - len(branch))
    heading = title(mapping(item).get("title")) or title(chat.get("title"))
    dated = created_at or moment(mapping(item).get("updated_at"))
    yield ForeignConversation(stable_uid("open-webui", name), heading, messages, dated)


def _time(message: Json) -> str:
    said_at = moment(message.get("timestamp"))
    return said_at.at if said_at else ""


def _parts(message: Json) -> Iterator[Part]:
    for one in objects(message.get("files")):
        inner = mapping(one.get("file"))
        name = string(one.get("name")) or string(inner.get("filename"))
        if text := string(mapping(inner.get("data")).get("content")):
            yield from attached_text(name, text)
        else:
            yield image(name) if one.get("type") == "image" else file(name)
    content = message.get("content")
    if isinstance(content, list):
        for block in objects(content):
            is_text = block.get("type") == "text"
            yield words(string(block.get("text"))) if is_text else image()
        return
    text = string(content)
    for found in _DETAILS.finditer(text):
        yield omitted(_KINDS.get(found[1], "tool calls"))
    yield words(_DETAILS.sub("", text))
    if message.get("sources") or message.get("citations"):
        yield omitted("search results")


OPEN_WEBUI = Format(
    "Open WebUI",
    "Settings, Data controls (earlier: Chats), Export chats.",
    looks_like,
    conversations,
)
