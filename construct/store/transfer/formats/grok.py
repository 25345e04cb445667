"""Grok's exports (`prod-grok-backend.json`)."""

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

_RENDERED = re.compile(r"\s?<grok:render\b.*?</grok:render>|\s?<grok:[^>]*/>", re.DOTALL)
"""Codes for the screen: citations and cards."""
_ARTIFACT = re.compile(r"<xaiArtifact\b([^>]*)>(.*?)</xaiArtifact>", re.DOTALL)
_TITLE = re.compile(r'title="([^"]*)"')
_THINKING = ("thinking_trace", "agent_thinking_traces")
_RESULTS = ("web_search_results", "xpost_ids", "xposts", "search_results")


def looks_like(sample: Sample) -> bool:
    """Return whether this is a conversation with responses."""
    return isinstance(sample.item, dict) and isinstance(sample.item.get("responses"), list)


def conversations(file: ForeignFile) -> Iterator[Found]:
    """Yield the conversations."""
    return each(file.items(), _conversation, lambda item: _about(mapping(item)).get("title"))


def _about(item: Json) -> Json:
    return mapping(item.get("conversation")) or item


def _conversation(item: Any) -> Iterator[Found]:
    if not isinstance(item, dict) or not isinstance(item.get("responses"), list):
        raise UnreadableError('"responses" must be a list')
    about = _about(item)
    created_at = moment(about.get("create_time"))
    name = string(about.get("id")) or string(about.get("conversation_id"))
    listed = objects(item["responses"])
    responses = [mapping(one.get("response")) or one for one in listed]
    branch = _branch(responses, about)
    messages = []
    for number, response in enumerate(branch):
        key = string(response.get("_id")) or string(response.get("id")) or number
        is_user = string(response.get("sender")).lower() in ("human", "user")
        messages.append(
            ForeignMessage(
                stable_uid("grok", name, key),
                Role.USER if is_user else Role.ASSISTANT,
                tuple(_parts(response)),
                moment(response.get("create_time")),
            )
        )
    if len(branch) < len(responses):
        yield LeftOut("messages of other branches", len(responses) - len(branch))
    uid = stable_uid("grok", name, None if name else [about.get("title"), created_at])
    dated = created_at or moment(about.get("modify_time"))
    yield ForeignConversation(uid, title(about.get("title")), messages, dated)


def _branch(responses: list[Json], about: Json) -> list[Json]:
    """Return the current branch if the responses name what they answer, else all of them."""
    by_id = {string(one.get("_id")): one for one in responses}
    parents = {
        key: parent if (parent := string(one.get("parent_response_id"))) in by_id else None
        for key, one in by_id.items()
    }
    roots = sum(parent is None for parent in parents.values())
    if "" in by_id or len(by_id) < len(responses) or roots != 1:
        return responses
    times = {key: _time(one) for key, one in by_id.items()}
    return [by_id[key] for key in current_branch(parents, about.get("leaf_response_id"), times)]


def _time(response: Json) -> str:
    said_at = moment(response.get("create_time"))
    return said_at.at if said_at else ""


def _parts(response: Json) -> Iterator[Part]:
    for key, what in (("file_attachments", file), ("image_attachments", image)):
        attached = response.get(key)
        for one in attached if isinstance(attached, list) else []:
            name = mapping(one).get("file_name") or mapping(one).get("name")
            yield what(name)
    yield from _said(string(response.get("message")))
    made = response.get("generated_image_urls")
    for _ in made if isinstance(made, list) else []:
        yield image()
    if any(response.get(key) for key in _THINKING):
        yield omitted("thinking")
    yield from [omitted("search results") for key in _RESULTS if response.get(key)]


def _said(text: str) -> Iterator[Part]:
    """Yield what was said, without codes for the screen, and the texts written beside it."""
    text, count = _RENDERED.subn("", text)
    yield from [omitted("citation codes")] * count
    end = 0
    for artifact in _ARTIFACT.finditer(text):
        yield words(text[end : artifact.start()].strip())
        name = _TITLE.search(artifact[1])
        yield mark("artifact", name[1] if name else "")
        yield words(artifact[2].strip())
        end = artifact.end()
    yield words(text[end:].strip() if end else text)


GROK = Format(
    "Grok",
    "accounts.x.ai, Data, Download account data; the chats are in prod-grok-backend.json.",
    looks_like,
    conversations,
)
