"""Claude's exports: a list of messages for each conversation, which may form a tree."""

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
    UnreadableError,
    attached_text,
    each,
    file,
    image,
    mark,
    omitted,
    stable_uid,
    words,
)
from construct.store.transfer.foreign_values import Json, mapping, moment, objects, string, title
from construct.store.transfer.formats.memory_list import facts
from construct.vocabulary import Role

_MEMORY = "Claude's memory"
_ROLES = {"human": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT}
_SILENT = {"token_budget", "flag"}
"""Blocks that say nothing."""
_THINKING = {"thinking", "redacted_thinking"}
_RESULTS = {"web_search_tool_result", "knowledge"}
_PASTES = {"", "paste.txt", "pasted.txt", "paste-2.txt"}
"""How Claude names a paste that the user did not name."""
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".heic", ".svg")


def looks_like(sample: Sample) -> bool:
    """Return whether this is a conversation with a list of Claude's messages."""
    return isinstance(sample.item, dict) and "chat_messages" in sample.item


def conversations(file: ForeignFile) -> Iterator[Found]:
    """Yield the conversations, and what Claude kept in memory."""
    return each(file.items(), _conversation, lambda item: mapping(item).get("name"))


def _conversation(item: Any) -> Iterator[Found]:
    if not isinstance(item, dict):
        raise UnreadableError("it is not a conversation")
    listed = item.get("chat_messages")
    if listed is not None and not isinstance(listed, list):
        raise UnreadableError('"chat_messages" must be a list')
    created_at = moment(item.get("created_at"))
    name = string(item.get("uuid")) or [
        title(item.get("name")),
        created_at.at if created_at else None,
    ]
    said = objects(listed)
    branch = _branch(item, said)
    messages = []
    for number, message in enumerate(branch):
        said_at = moment(message.get("created_at"))
        for note in _kept(message):
            yield from facts(note, _MEMORY, said_at)
        uid = stable_uid("claude", name, string(message.get("uuid")) or number)
        role = _ROLES.get(string(message.get("sender")).lower())
        parts = _parts(message) if role else (omitted("system messages"),)
        messages.append(ForeignMessage(uid, role or Role.ASSISTANT, parts, said_at))
    if len(branch) < len(said):
        yield LeftOut("messages of other branches", len(said) - len(branch))
    dated = created_at or moment(item.get("updated_at"))
    yield ForeignConversation(stable_uid("claude", name), title(item.get("name")), messages, dated)


def _branch(item: Json, messages: list[Json]) -> list[Json]:
    """Return the messages of the current branch.

    If they form no tree, return all, ordered by time if each has one.
    """
    by_uid = {string(message.get("uuid")): message for message in messages}
    by_uid.pop("", None)
    parents: dict[str, object] = {}
    for uid, message in by_uid.items():
        parent = message.get("parent_message_uuid")
        parents[uid] = parent if isinstance(parent, str) and parent in by_uid else None
    times = {uid: _time(message) for uid, message in by_uid.items()}
    current = item.get("current_leaf_message_uuid")
    roots = sum(parent is None for parent in parents.values())
    is_tree = len(by_uid) == len(messages) and roots == 1
    if is_tree or (isinstance(current, str) and parents.get(current)):
        return [by_uid[uid] for uid in current_branch(parents, current, times)]
    if all(map(_time, messages)):
        return sorted(messages, key=_time)
    return messages


def _time(message: Json) -> str:
    said_at = moment(message.get("created_at"))
    return said_at.at if said_at else ""


def _parts(message: Json) -> tuple[Part, ...]:
    """Return the parts of a message: files first, as they were attached to what is said."""
    parts: list[Part] = []
    for attachment in objects(message.get("attachments")):
        parts += _attachment(attachment)
    names = {
        string(one.get("file_name")): one
        for key in ("files", "files_v2")
        for one in objects(message.get(key))
    }
    parts += [_file(name, one) for name, one in names.items()]
    blocks = objects(message.get("content"))
    for block in blocks:
        parts += _block(block)
    if not blocks:  # else `text` repeats them, with stand-ins for tool calls
        parts.append(words(string(message.get("text"))))
    return tuple(parts)


def _attachment(attachment: Json) -> tuple[Part, ...]:
    name = string(attachment.get("file_name"))
    content = string(attachment.get("extracted_content"))
    if not content.strip():
        return (_file(name, attachment),)
    return attached_text("" if name in _PASTES else name, content)


def _file(name: str, value: Json) -> Part:
    is_image = value.get("file_kind") == "image" or name.lower().endswith(_IMAGES)
    return image(name) if is_image else file(name)


def _block(block: Json) -> tuple[Part, ...]:
    """Return the parts of a content block."""
    kind = string(block.get("type"))
    if kind in _SILENT:
        return ()
    if kind in ("text", "voice_note"):
        return (words(string(block.get("text"))),)
    if kind in _THINKING:
        return (omitted("thinking"),)
    if kind == "tool_use":
        return _tool_use(string(block.get("name")), mapping(block.get("input")))
    if kind in _RESULTS:
        return (omitted("search results"),)
    if kind.endswith("tool_result"):
        return _tool_result(block)
    if kind.endswith("tool_use"):
        return (omitted("tool calls"),)
    name = string(block.get("file_name")) or string(block.get("title"))
    if kind == "image":
        return (image(name),)
    if kind in ("document", "file"):
        return (file(name),)
    heading = mark(kind or "part", name, f"parts of the kind {kind}")
    return (heading, words(string(block.get("text"))))


def _tool_use(tool: str, given: Json) -> tuple[Part, ...]:
    """Return the text that the assistant wrote with a tool; a call of another is left out."""
    if tool == "artifacts":
        name = string(given.get("title")) or string(given.get("id"))
        text = string(given.get("content")) or string(given.get("new_str"))
        return (mark("artifact", name, "" if text else "artifact changes"), words(text))
    if tool in ("create_file", "str_replace"):
        text = string(given.get("file_text")) or string(given.get("new_str"))
        return (mark("file", given.get("path"), "" if text else "files"), words(text))
    return (omitted("memory writes" if "memory" in tool else "tool calls"),)


def _tool_result(block: Json) -> tuple[Part, ...]:
    found = objects(block.get("content"))
    results = sum(string(one.get("type")) in _RESULTS for one in found)
    parts = [image() for one in found if one.get("type") == "image"]
    parts += [omitted("search results")] * results
    return tuple(parts) or (omitted("tool output"),)


def _kept(message: Json) -> Iterator[str]:
    """Yield what Claude wrote into its memory in a message."""
    for block in objects(message.get("content")):
        given = mapping(block.get("input"))
        if block.get("type") == "tool_use" and "memory" in string(block.get("name")):
            yield string(given.get("control")) or string(given.get("replacement"))


CLAUDE = Format(
    "Claude",
    "Settings, Privacy, Export data; the link to the ZIP comes by mail.",
    looks_like,
    conversations,
)
