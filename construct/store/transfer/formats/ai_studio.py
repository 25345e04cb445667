"""Google AI Studio's chats, one file each, as they lie in Google Drive."""

from collections.abc import Iterator
from typing import Any

from construct.store.transfer.foreign import (
    ForeignConversation,
    ForeignFile,
    ForeignMessage,
    Format,
    Found,
    Part,
    Sample,
    UnreadableError,
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

_ATTACHED = {
    "driveImage": "image",
    "inlineImage": "image",
    "driveDocument": "file",
    "inlineFile": "file",
    "driveVideo": "video",
    "youtubeVideo": "video",
    "driveAudio": "voice",
    "inlineAudio": "voice",
}
_TOOLS = {"executableCode": "code", "codeExecutionResult": "tool output"}


def looks_like(sample: Sample) -> bool:
    """Return whether this is a prompt in chunks."""
    return "chunks" in mapping(mapping(sample.item).get("chunkedPrompt"))


def conversations(file: ForeignFile) -> Iterator[Found]:
    """Yield the conversation of each file; its title is the file's name."""
    return each(
        file.items(),
        lambda item: [_conversation(mapping(item), file.title)],
        lambda item: file.title,
    )


def _conversation(item: Json, name: str) -> ForeignConversation:
    chunks = mapping(item.get("chunkedPrompt")).get("chunks")
    if not isinstance(chunks, list):
        raise UnreadableError('"chunks" must be a list')
    messages = []
    if mapping(item.get("systemInstruction")).get("parts"):
        messages.append(_message(name, "system", {}, (omitted("system messages"),)))
    for number, chunk in enumerate(objects(chunks)):
        messages.append(_message(name, number, chunk, tuple(_parts(chunk))))
    created_at = moment(item.get("createTime")) or moment(item.get("updateTime"))
    uid = stable_uid("ai-studio", name, messages[0].uid if messages else None)
    return ForeignConversation(uid, title(item.get("title")) or name, messages, created_at)


def _message(name: str, key: object, chunk: Json, parts: tuple[Part, ...]) -> ForeignMessage:
    role = Role.USER if chunk.get("role") == "user" else Role.ASSISTANT
    text = [part.text for part in parts]
    uid = stable_uid("ai-studio", name, key, text)
    return ForeignMessage(uid, role, parts, moment(chunk.get("createTime")))


def _parts(chunk: Json) -> Iterator[Part]:
    if chunk.get("isThought") or chunk.get("thought"):
        yield omitted("thinking")
        return
    for key, kind in _ATTACHED.items():
        if key in chunk:
            yield _mark(kind, mapping(chunk[key]))
    yield from [omitted(what) for key, what in _TOOLS.items() if key in chunk]
    inner = [part for part in objects(chunk.get("parts")) if not part.get("thought")]
    if text := string(chunk.get("text")):
        yield words(text)
    else:
        yield words("".join(string(part.get("text")) for part in inner))
    if mapping(chunk.get("grounding")):
        yield omitted("search results")


def _mark(kind: str, value: Json) -> Part:
    name: Any = value.get("name") or value.get("title") or ""
    if kind == "image":
        return image(name)
    if kind == "file":
        return file(name)
    return mark(kind, name, "voice recordings" if kind == "voice" else "videos")


AI_STUDIO = Format(
    "Google AI Studio",
    "Google Drive, the folder Google AI Studio: download it. Its chats have no date, so pass"
    " --date.",
    looks_like,
    conversations,
)
