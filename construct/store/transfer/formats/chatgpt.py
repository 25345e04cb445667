"""ChatGPT's exports: a tree of messages for each conversation, one leaf of which is current."""

import json
import re
from collections.abc import Iterator
from typing import Any

from construct.store.transfer.branches import current_branch
from construct.store.transfer.foreign import (
    ForeignConversation,
    ForeignFile,
    ForeignMemory,
    ForeignMessage,
    Format,
    Found,
    LeftOut,
    Moment,
    Part,
    Sample,
    UnreadableError,
    each,
    file,
    image,
    mark,
    omitted,
    pasted,
    stable_uid,
    words,
)
from construct.store.transfer.foreign_values import Json, mapping, moment, objects, string, title
from construct.store.transfer.formats.memory_list import facts
from construct.vocabulary import Role

_MEMORY = "ChatGPT's memory"
_INSTRUCTIONS = "ChatGPT's custom instructions"
_THINKING = ("thoughts", "reasoning_recap")
_RESULTS = ("tether_quote", "tether_browsing_display", "tether_browsing_code", "sonic_webpage")
_TOOL_CALLS = {"code": "code", "execution_output": "tool output", "system_error": "tool output"}
_SOUND = "audio_asset_pointer", "real_time_user_audio_video_asset_pointer"
_OPEN, _CLOSE, _SEPARATOR = "\ue200", "\ue201", "\ue202"
_CODE = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
"""A code for the screen, such as a citation: private characters around its parts."""
_BRACKETS = re.compile(r"【[^【】\n]{0,80}†[^【】\n]{0,200}】")
_GAPS = re.compile("(?: ?[\ue200-\ue20f]+)+(?=(\\w)?)")
"""Where codes were that show nothing."""


def looks_like(sample: Sample) -> bool:
    """Return whether this is a conversation with a tree of messages."""
    return isinstance(sample.item, dict) and "mapping" in sample.item


def conversations(file: ForeignFile) -> Iterator[Found]:
    """Yield the conversations, and what ChatGPT kept in memory."""
    return each(file.items(), _conversation, _title)


def _title(item: Any) -> Any:
    return item.get("title") if isinstance(item, dict) else None


def _conversation(item: Any) -> Iterator[Found]:
    if not isinstance(item, dict):
        raise UnreadableError("it is not a conversation")
    nodes = item.get("mapping")
    if nodes is not None and not isinstance(nodes, dict):
        raise UnreadableError('"mapping" must be an object')
    nodes = {key: mapping(node) for key, node in (nodes or {}).items()}
    created_at = moment(item.get("create_time"))
    name = (
        string(item.get("conversation_id"))
        or string(item.get("id"))
        or [title(item.get("title")), created_at.at if created_at else None]
    )
    branch = _branch(nodes, item.get("current_node"))
    messages = []
    for key in branch:
        message = mapping(nodes[key].get("message"))
        said_at = moment(message.get("create_time"))
        yield from _memories(message, said_at)
        role = _role(message)
        parts = _parts(message)
        messages.append(ForeignMessage(stable_uid("chatgpt", name, key), role, parts, said_at))
    others = sum(_has_words(nodes[key]) for key in nodes.keys() - set(branch))
    if others:
        yield LeftOut("messages of other branches", others)
    uid = stable_uid("chatgpt", name)
    dated = created_at or moment(item.get("update_time"))
    yield ForeignConversation(uid, title(item.get("title")), messages, dated)


def _branch(nodes: dict[str, Json], current: object) -> list[str]:
    """Return the keys of the current branch; those without a message are left out."""
    times: dict[str, str] = {}
    for key, node in nodes.items():
        if message := mapping(node.get("message")):
            said_at = moment(message.get("create_time"))
            times[key] = said_at.at if said_at else ""
    parents = {key: node.get("parent") for key, node in nodes.items()}
    return [key for key in current_branch(parents, current, times) if key in times]


def _has_words(node: Json) -> bool:
    message = mapping(node.get("message"))
    is_said = mapping(message.get("author")).get("role") in ("user", "assistant")
    return is_said and any(part.text.strip() for part in _parts(message))


def _role(message: Json) -> Role:
    return Role.USER if mapping(message.get("author")).get("role") == "user" else Role.ASSISTANT


# What a message says


def _parts(message: Json) -> tuple[Part, ...]:
    """Return the parts of a message, in their order."""
    role = string(mapping(message.get("author")).get("role"))
    content, metadata = mapping(message.get("content")), mapping(message.get("metadata"))
    kind = string(content.get("content_type"))
    recipient = string(message.get("recipient")) or "all"
    if kind in ("user_editable_context", "model_editable_context") or recipient == "bio":
        return ()  # becomes memories
    if kind in _THINKING or message.get("channel") == "analysis":
        return (omitted("thinking"),)
    if kind in _RESULTS:
        return (omitted("search results"),)
    if recipient.startswith("canmore."):
        return _canvas(_text(content))
    if recipient != "all":
        return (omitted("code" if kind == "code" or recipient == "python" else "tool calls"),)
    if kind in _TOOL_CALLS:
        return (omitted(_TOOL_CALLS[kind]),)
    if role == "tool":
        return _of_tool(content, metadata)
    if role not in ("user", "assistant"):
        return (omitted("system messages"),) if _text(content).strip() else ()
    hidden = ("is_visually_hidden_from_conversation", "is_user_system_message")
    if any(metadata.get(key) for key in hidden):
        return (omitted("hidden messages"),) if _text(content).strip() else ()
    return _said(content, metadata)


def _said(content: Json, metadata: Json) -> tuple[Part, ...]:
    """Return the parts of what the user or the assistant said."""
    kind = string(content.get("content_type"))
    if kind not in ("", "text", "multimodal_text"):
        return (mark(kind, left_out=f"parts of the kind {kind}"), *_written(_text(content)))
    listed = content.get("parts")
    inner = listed if isinstance(listed, list) else [content.get("text")]
    attached = {string(one.get("id")): one for one in objects(metadata.get("attachments"))}
    is_heard = any(mapping(part).get("content_type") == "audio_transcription" for part in inner)
    parts: list[Part] = []
    for part in inner:
        parts += _part(part, attached, is_heard)
    return (*_attachments(attached), *parts)


def _part(part: Any, attached: dict[str, Json], is_heard: bool) -> tuple[Part, ...]:
    """Return one part of a message. Takes the pictures it shows from `attached`."""
    if isinstance(part, str):
        return _written(part)
    value = mapping(part)
    kind = string(value.get("content_type"))
    if kind == "audio_transcription":
        return (words(string(value.get("text"))),)
    if kind == "image_asset_pointer":
        return (image(_image_name(value, attached)),)
    if kind in _SOUND:
        heard = omitted("voice recordings")
        return (heard,) if is_heard else (mark("voice", left_out="voice recordings"),)
    if text := string(value.get("text")):
        return _written(text)
    return (mark(kind.removesuffix("_asset_pointer"), left_out="other parts"),) if kind else ()


def _image_name(part: Json, attached: dict[str, Json]) -> str:
    """Return the name of a picture: of its file, or what it was asked to show."""
    pointer = string(part.get("asset_pointer")).rpartition("://")[2]
    if upload := attached.pop(pointer.partition("#")[0], None):
        return string(upload.get("name"))
    made = mapping(mapping(part.get("metadata")).get("dalle"))
    return string(made.get("prompt"))


def _attachments(attached: dict[str, Json]) -> Iterator[Part]:
    """Yield the marks of the files that came with a message and are not shown in it."""
    for one in attached.values():
        name = string(one.get("name"))
        kind = string(one.get("mimeType")) or string(one.get("mime_type"))
        yield image(name) if kind.startswith("image/") else file(name)
        if text := string(one.get("extracted_content")):
            yield pasted(text)


def _of_tool(content: Json, metadata: Json) -> tuple[Part, ...]:
    """Return the marks of the pictures that a tool made; what it wrote is nobody's words."""
    shown = [
        image(_image_name(part, {}) or string(metadata.get("image_gen_title")))
        for part in objects(content.get("parts"))
        if part.get("content_type") == "image_asset_pointer"
    ]
    return tuple(shown) or ((omitted("tool output"),) if _text(content).strip() else ())


def _canvas(text: str) -> tuple[Part, ...]:
    """Return the text that the assistant wrote into a canvas."""
    try:
        call = mapping(json.loads(text))
    except (ValueError, RecursionError):
        call = {}
    name = string(call.get("name"))
    if content := string(call.get("content")):
        return (mark("canvas", name), words(content))
    changes = [string(one.get("replacement")) for one in objects(call.get("updates"))]
    if any(changes):
        return (mark("canvas", name or "changed"), *(words(change) for change in changes))
    return (mark("canvas", name, "canvas comments"),)


def _written(text: str) -> tuple[Part, ...]:
    """Return text without citation codes."""
    clean, count = without_codes(text)
    return (words(string(clean)), *[omitted("citation codes")] * count)


def without_codes(text: str) -> tuple[str, int]:
    """Return text without ChatGPT's codes for citations and such, and how many there were.

    The name in a code for a thing or a link stays.
    """
    clean, count = _CODE.subn(_shown, text)
    clean, brackets = _BRACKETS.subn(_OPEN, clean)
    return _GAPS.sub(lambda gap: " " if gap[1] else "", clean), count + brackets


def _shown(match: re.Match[str]) -> str:
    """Return what a code shows in the text, empty for a citation."""
    code = match[1]
    kind, _, rest = code.partition(_SEPARATOR)
    if kind == "url":
        return rest.partition(_SEPARATOR)[0]
    if kind == "entity" or code.startswith("entity"):
        name = re.search(r'\[\s*"[^"]*"\s*,\s*"((?:[^"\\]|\\.)*)"', code)
        return name[1] if name else _OPEN
    return _OPEN


def _text(content: Json) -> str:
    """Return the text of a message that is not shown as it is."""
    parts = content.get("parts")
    texts = parts if isinstance(parts, list) else []
    texts = texts or [content.get("text"), content.get("content")]
    return "\n".join(string(text) for text in texts if isinstance(text, str))


# What ChatGPT kept


def _memories(message: Json, said_at: Moment | None) -> Iterator[ForeignMemory]:
    """Yield what a message says that ChatGPT kept about the user."""
    content = mapping(message.get("content"))
    kind = content.get("content_type")
    if kind == "model_editable_context":
        yield from facts(string(content.get("model_set_context")), _MEMORY, said_at)
    elif message.get("recipient") == "bio":
        yield from facts(_text(content), _MEMORY, said_at)
    elif kind == "user_editable_context":
        yield from facts(string(content.get("user_profile")), _INSTRUCTIONS, said_at)
        yield from facts(string(content.get("user_instructions")), _INSTRUCTIONS, said_at)


CHATGPT = Format(
    "ChatGPT",
    "Settings, Data controls, Export data; the link to the ZIP comes by mail.",
    looks_like,
    conversations,
)
