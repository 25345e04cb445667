"""DeepSeek's exports: a tree of messages, each made of fragments."""

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

_SPOKEN = {"REQUEST": Role.USER, "RESPONSE": Role.ASSISTANT}
_OMITTED = {
    "THINK": "thinking",
    "SEARCH": "search results",
    "READ_LINK": "search results",
    "TIP": "hints",
}


def looks_like(sample: Sample) -> bool:
    """Return whether this is a tree of messages as DeepSeek dates it."""
    return isinstance(sample.item, dict) and {"mapping", "inserted_at"} <= sample.item.keys()


def conversations(file: ForeignFile) -> Iterator[Found]:
    """Yield the conversations."""
    return each(file.items(), _conversation, lambda item: mapping(item).get("title"))


def _conversation(item: Any) -> Iterator[Found]:
    if not isinstance(item, dict) or not isinstance(item.get("mapping"), dict):
        raise UnreadableError('"mapping" must be an object')
    name = string(item.get("id"))
    nodes = {key: mapping(node) for key, node in item["mapping"].items()}
    with_words = {key for key, node in nodes.items() if mapping(node.get("message"))}
    parents = {key: node.get("parent") for key, node in nodes.items()}
    times = {key: _time(nodes[key]) for key in with_words}
    branch = [
        key for key in current_branch(parents, item.get("current_node"), times) if key in with_words
    ]
    messages = []
    for place, key in enumerate(branch):
        message = mapping(nodes[key].get("message"))
        role = _role(message, place)
        said_at = moment(message.get("inserted_at"))
        uid = stable_uid("deepseek", name, key)
        messages.append(ForeignMessage(uid, role, tuple(_parts(message)), said_at))
    if len(with_words) > len(branch):
        yield LeftOut("messages of other branches", len(with_words) - len(branch))
    dated = moment(item.get("inserted_at")) or moment(item.get("updated_at"))
    uid = stable_uid("deepseek", name, None if name else dated)
    yield ForeignConversation(uid, title(item.get("title")), messages, dated)


def _time(node: Json) -> str:
    said_at = moment(mapping(node.get("message")).get("inserted_at"))
    return said_at.at if said_at else ""


def _role(message: Json, place: int) -> Role:
    """Return who speaks. Earlier exports do not say it: question and answer take turns."""
    kinds = [string(one.get("type")) for one in objects(message.get("fragments"))]
    for kind in kinds:
        if kind in _SPOKEN:
            return _SPOKEN[kind]
    if named := string(message.get("role")).lower():
        return Role.USER if named == "user" else Role.ASSISTANT
    return Role.USER if place % 2 == 0 and not kinds else Role.ASSISTANT


def _parts(message: Json) -> Iterator[Part]:
    for one in objects(message.get("files")):
        name = string(one.get("file_name")) or string(one.get("name"))
        if text := string(one.get("content")):
            yield from attached_text(name, text)
        else:
            yield image(name) if name.lower().endswith((".png", ".jpg", ".jpeg")) else file(name)
    fragments = objects(message.get("fragments"))
    for fragment in fragments:
        kind, text = string(fragment.get("type")), string(fragment.get("content"))
        if kind in _SPOKEN:
            yield words(text)
        elif kind in _OMITTED:
            yield omitted(_OMITTED[kind])
        else:
            yield mark(kind.lower() or "part", left_out="other parts")
    if not fragments:
        if message.get("reasoning_content"):
            yield omitted("thinking")
        yield words(string(message.get("content")))
    if message.get("search_results"):
        yield omitted("search results")


DEEPSEEK = Format(
    "DeepSeek",
    "On the website: Settings, Data, Export all chats.",
    looks_like,
    conversations,
)
