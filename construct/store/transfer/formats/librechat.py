"""LibreChat's exports: one conversation in a file, its messages a list or a tree."""

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
from construct.vocabulary import Role

_LISTS = ("messages", "messagesTree")


def looks_like(sample: Sample) -> bool:
    """Return whether this is a conversation with messages as LibreChat writes them."""
    item = mapping(sample.item)
    has_messages = any(isinstance(item.get(key), list) for key in _LISTS)
    return "conversationId" in item and has_messages


def conversations(file: ForeignFile) -> Iterator[Found]:
    """Yield the conversations."""
    return each(file.items(), _conversation, lambda item: mapping(item).get("title"))


def _conversation(item: Any) -> Iterator[Found]:
    about = mapping(item)
    listed = next((about[key] for key in _LISTS if isinstance(about.get(key), list)), None)
    if listed is None:
        raise UnreadableError('"messages" must be a list')
    name = string(about.get("conversationId"))
    nodes: dict[str, Json] = {}
    parents: dict[str, object] = {}
    _collect(objects(listed), None, nodes, parents)
    times = {key: _time(one) for key, one in nodes.items()}
    current = mapping(about.get("options")).get("currentMessageId")
    branch = current_branch(parents, current, times)
    messages = []
    for key in branch:
        message = nodes[key]
        is_user = message.get("isCreatedByUser") is True or message.get("sender") == "User"
        uid = stable_uid("librechat", name, key)
        parts = tuple(_parts(message))
        said_at = moment(message.get("createdAt"))
        messages.append(
            ForeignMessage(uid, Role.USER if is_user else Role.ASSISTANT, parts, said_at)
        )
    if len(branch) < len(nodes):
        yield LeftOut("messages of other branches", len(nodes) - len(branch))
    dated = moment(about.get("createdAt")) or moment(about.get("exportAt"))
    yield ForeignConversation(
        stable_uid("librechat", name), title(about.get("title")), messages, dated
    )


def _collect(
    listed: list[Json], above: str | None, nodes: dict[str, Json], parents: dict[str, object]
) -> None:
    """Collect the messages of a list, and of the lists in them, with their parents."""
    waiting = [(message, above) for message in reversed(listed)]
    while waiting:
        message, parent = waiting.pop()
        key = string(message.get("messageId")) or str(len(nodes))
        nodes[key] = message
        named = message.get("parentMessageId")
        parents[key] = parent or (named if isinstance(named, str) else None)
        waiting += [(child, key) for child in reversed(objects(message.get("children")))]
    has_tree = any(parent in nodes for parent in parents.values())
    for number, key in enumerate(list(parents)):
        if parents[key] not in nodes:  # the first message has a parent of zeros
            before = list(nodes)[number - 1] if number and not has_tree else None
            parents[key] = before


def _time(message: Json) -> str:
    said_at = moment(message.get("createdAt"))
    return said_at.at if said_at else ""


def _parts(message: Json) -> Iterator[Part]:
    for one in objects(message.get("files")):
        name = string(one.get("filename")) or string(one.get("name"))
        if text := string(one.get("text")):
            yield from attached_text(name, text)
        else:
            yield image(name) if string(one.get("type")).startswith("image") else file(name)
    blocks = objects(message.get("content"))
    for block in blocks:
        yield from _block(block)
    if not blocks:
        yield words(string(message.get("text")))


def _block(block: Json) -> Iterator[Part]:
    kind = string(block.get("type"))
    if kind == "text":
        text = block.get("text")
        yield words(string(text) or string(mapping(text).get("value")))
    elif kind in ("think", "thinking", "reasoning"):
        yield omitted("thinking")
    elif kind == "tool_call":
        yield omitted("tool calls")
    elif kind.startswith("image"):
        yield image(mapping(block.get(kind)).get("filename"))
    elif kind == "error":
        yield omitted("error messages")
    else:
        yield mark(kind or "part", left_out="other parts")


LIBRECHAT = Format(
    "LibreChat",
    "The menu of a conversation, Export, as JSON; one file each.",
    looks_like,
    conversations,
)
