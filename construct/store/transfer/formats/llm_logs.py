"""The logs of the program `llm`: its database `logs.db`, or what `llm logs --json` prints."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from construct.store.transfer.foreign import (
    ForeignConversation,
    ForeignFile,
    ForeignMessage,
    Format,
    Found,
    Moment,
    Part,
    Sample,
    file,
    image,
    omitted,
    pasted,
    stable_uid,
    words,
)
from construct.store.transfer.foreign_values import (
    Json,
    mapping,
    moment,
    moment_of,
    objects,
    string,
    title,
)
from construct.store.transfer.grouping import Keyed, grouped
from construct.vocabulary import Role

_TABLES = {"responses", "conversations"}
_RESPONSES = """SELECT r.id, r.prompt, r.response, r.system, r.conversation_id, r.datetime_utc,
                       r.duration_ms, c.name
                FROM responses AS r LEFT JOIN conversations AS c ON c.id = r.conversation_id"""
_COLUMNS = (
    "id",
    "prompt",
    "response",
    "system",
    "conversation_id",
    "datetime_utc",
    "duration_ms",
    "conversation_name",
)
_ATTACHMENTS = """SELECT p.response_id, a.type, coalesce(a.path, a.url, '')
                  FROM prompt_attachments AS p JOIN attachments AS a ON a.id = p.attachment_id
                  ORDER BY p.response_id, p."order" """
_FRAGMENTS = """SELECT p.response_id, f.content FROM prompt_fragments AS p
                JOIN fragments AS f ON f.id = p.fragment_id ORDER BY p.response_id, p."order" """


def looks_like(sample: Sample) -> bool:
    """Return whether this is a logged response, or the database of them."""
    item = mapping(sample.item)
    return sample.tables >= _TABLES or {"prompt", "response", "datetime_utc"} <= item.keys()


def conversations(file: ForeignFile) -> Iterator[Found]:
    """Yield the conversations; a prompt without one is a conversation of its own."""
    items = _in_database(file) if file.tables else file.items()
    for name, responses in grouped(_keyed(items)):
        listed = list(responses)
        heading = next((title(one.get("conversation_name")) for one in listed), None)
        messages = [message for one in listed for message in _messages(one)]
        yield ForeignConversation(stable_uid("llm", name), heading, messages)


def _keyed(items: Iterable[Any]) -> Iterator[Keyed]:
    for number, item in enumerate(items):
        response = mapping(item)
        said_at = moment(response.get("datetime_utc"))
        name = string(response.get("conversation_id")) or string(response.get("id"))
        yield name or str(number), said_at.at if said_at else "", response


def _in_database(file: ForeignFile) -> Iterator[Json]:
    attachments: dict[str, list[Json]] = {}
    fragments: dict[str, list[str]] = {}
    if "prompt_attachments" in file.tables:
        for response, kind, path in file.rows(_ATTACHMENTS):
            attachments.setdefault(response, []).append({"type": kind, "path": path})
    if "prompt_fragments" in file.tables:
        for response, content in file.rows(_FRAGMENTS):
            fragments.setdefault(response, []).append(content)
    for row in file.rows(_RESPONSES):
        values = dict(zip(_COLUMNS, row, strict=True))
        yield values | {
            "attachments": attachments.get(values["id"], []),
            "prompt_fragments": fragments.get(values["id"], []),
        }


def _messages(response: Json) -> Iterator[ForeignMessage]:
    said_at = moment(response.get("datetime_utc"))
    key = string(response.get("id")) or [said_at, string(response.get("prompt"))]
    asked = stable_uid("llm", key, "prompt")
    yield ForeignMessage(asked, Role.USER, tuple(_asked(response)), said_at)
    answered = stable_uid("llm", key, "response")
    parts = tuple(_answered(response))
    yield ForeignMessage(answered, Role.ASSISTANT, parts, _later(said_at, response))


def _later(said_at: Moment | None, response: Json) -> Moment | None:
    """Return when an answer was complete."""
    took = response.get("duration_ms")
    if said_at is None or not isinstance(took, int) or not 0 <= took < 86_400_000:
        return said_at
    return moment_of(datetime.fromisoformat(said_at.at) + timedelta(milliseconds=took))


def _asked(response: Json) -> Iterator[Part]:
    if response.get("system"):
        yield omitted("system messages")
    for one in objects(response.get("attachments")):
        name = (string(one.get("path")) or string(one.get("url"))).rpartition("/")[2]
        yield image(name) if string(one.get("type")).startswith("image") else file(name)
    listed = response.get("prompt_fragments") or response.get("fragments")
    for one in listed if isinstance(listed, list) else []:
        yield pasted(string(one) or string(mapping(one).get("content")))
    yield words(string(response.get("prompt")))


def _answered(response: Json) -> Iterator[Part]:
    for key, what in (("tool_calls", "tool calls"), ("tool_results", "tool output")):
        yield from [omitted(what)] * len(objects(response.get(key)))
    yield words(string(response.get("response")))


LLM_LOGS = Format(
    "llm",
    "The file that `llm logs path` names, or the output of `llm logs --json -n 0`.",
    looks_like,
    conversations,
)
