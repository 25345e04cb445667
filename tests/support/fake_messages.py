"""What the Messages API rejects in the messages.

It checks roles, blocks, and how tool calls and results pair up.
"""

import base64
import binascii
import re
from itertools import pairwise

from tests.support.fake_types import Json, blocks_of

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_KEYS: dict[str, set[str]] = {
    "text": {"type", "text", "cache_control", "citations"},
    "image": {"type", "source", "cache_control"},
    "document": {"type", "source", "title", "context", "citations", "cache_control"},
    "tool_use": {"type", "id", "name", "input", "cache_control"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "server_tool_use": {"type", "id", "name", "input", "cache_control", "caller"},
    "web_search_tool_result": {"type", "tool_use_id", "content", "cache_control", "caller"},
}
_REQUIRED: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "image": {"source": dict},
    "document": {"source": dict},
    "tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"tool_use_id": str},
    "thinking": {"thinking": str, "signature": str},
    "redacted_thinking": {"data": str},
    "server_tool_use": {"id": str, "name": str, "input": dict},
    "web_search_tool_result": {"tool_use_id": str, "content": list},
}
_OF_ROLE = {
    "user": {"text", "image", "document", "tool_result"},
    "assistant": {
        "text",
        "tool_use",
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "web_search_tool_result",
    },
}


_MAGIC = {
    "image/jpeg": b"\xff\xd8\xff",
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
_MAX_PICTURE = 5 * 1024 * 1024
_MAX_BODY = 32 * 1024 * 1024


class RejectedError(Exception):
    """The request is one that the API answers with 400."""


def only(value: Json, allowed: set[str], path: str) -> None:
    """Reject any key that is not among `allowed`."""
    prefix = f"{path}." if path else ""
    for key in value:
        if key not in allowed:
            raise RejectedError(f"{prefix}{key}: Extra inputs are not permitted")


def mapping(value: object, path: str) -> Json:
    """Return `value` if it is an object, else reject it."""
    if not isinstance(value, dict):
        raise RejectedError(f"{path}: Input should be an object")
    return value


def check_messages(messages: object) -> None:
    """Reject messages that the API would not take."""
    if not isinstance(messages, list):
        raise RejectedError("messages: Input should be a list")
    if not messages:
        raise RejectedError("messages: at least one message is required")
    for index, message in enumerate(messages):
        _check_message(mapping(message, f"messages.{index}"), f"messages.{index}")
    is_paused = _check_searches(messages)
    _check_order([message["role"] for message in (messages[:-1] if is_paused else messages)])
    _check_pairs(messages)


def _check_searches(messages: list[Json]) -> bool:
    """Reject a search without its result, unless the server is asked to go on with it.

    Return whether it is.
    """
    for index, message in enumerate(messages):
        blocks = blocks_of(message["content"])
        calls = [block["id"] for block in blocks if block["type"] == "server_tool_use"]
        results = [b["tool_use_id"] for b in blocks if b["type"] == "web_search_tool_result"]
        is_last = index == len(messages) - 1
        if calls[: len(results)] != results or (len(calls) > len(results) and not is_last):
            raise RejectedError(f"messages.{index}: `server_tool_use` without its result")
        if is_last and calls:
            return True
    return False


def check_text(block: Json, path: str) -> None:
    """Reject a text block that is blank or of another form."""
    _check_form(block, path)
    if not block["text"]:
        raise RejectedError(f"{path}: text content blocks must be non-empty")
    if not block["text"].strip():
        raise RejectedError(f"{path}: text content blocks must contain non-whitespace text")


def _check_message(message: Json, path: str) -> None:
    only(message, {"role", "content"}, path)
    for name in ("role", "content"):
        if name not in message:
            raise RejectedError(f"{path}.{name}: Field required")
    role, content = message["role"], message["content"]
    if not isinstance(role, str) or role not in _OF_ROLE:
        raise RejectedError(
            f"{path}.role: Unexpected role {role!r}. Allowed roles are 'user' or 'assistant'."
        )
    if not isinstance(content, str | list):
        raise RejectedError(f"{path}.content: Input should be a string or a list of blocks")
    if not content:
        raise RejectedError(f"{path}: all messages must have non-empty content")
    if isinstance(content, list):
        for index, block in enumerate(content):
            mapping(block, f"{path}.content.{index}")
    for index, block in enumerate(blocks_of(content)):
        _check_block(block, _OF_ROLE[role], f"{path}.content.{index}")
    if blocks_of(content)[-1]["type"] in ("thinking", "redacted_thinking"):
        raise RejectedError(f"{path}: the final block in an assistant message cannot be `thinking`")


def _check_block(block: Json, allowed: set[str], path: str) -> None:
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in allowed:
        raise RejectedError(f"{path}.type: Input should be one of {sorted(allowed)}, not {kind!r}")
    if kind == "text":
        check_text(block, path)
        return
    _check_form(block, path)
    if kind == "tool_result":
        _check_tool_result(block, path)
    if kind in ("image", "document"):
        _check_source(kind, block["source"], f"{path}.{kind}.source")
    if kind == "tool_use" and not _ID.fullmatch(block["id"]):
        raise RejectedError(f"{path}.id: String should match pattern '^{_ID.pattern}$'")


def _check_source(kind: str, source: Json, path: str) -> None:
    """Reject what is not the data of a picture, PDF or text."""
    only(source, {"type", "media_type", "data"}, path)
    form, media_type, data = source.get("type"), source.get("media_type"), source.get("data")
    if not isinstance(data, str) or not data:
        raise RejectedError(f"{path}.data: Field required")
    if (kind, form, media_type) == ("document", "text", "text/plain"):
        return
    allowed = _MAGIC if kind == "image" else {"application/pdf": b"%PDF-"}
    if form != "base64" or media_type not in allowed:
        raise RejectedError(f"{path}.media_type: Input should be one of {sorted(allowed)}")
    try:
        found = base64.b64decode(data, validate=True)
    except binascii.Error:
        raise RejectedError(f"{path}.data: invalid base64 data") from None
    most = _MAX_PICTURE if kind == "image" else _MAX_BODY
    if len(data) > most:
        raise RejectedError(f"{path}: {kind} exceeds {most} bytes: {len(data)} bytes > {most}")
    if not found.startswith(allowed[media_type]):
        raise RejectedError(f"{path}: the data does not appear to be of the type {media_type}")


def _check_form(block: Json, path: str) -> None:
    kind = block["type"]
    only(block, _KEYS[kind], path)
    for name, form in _REQUIRED[kind].items():
        if name not in block:
            raise RejectedError(f"{path}.{name}: Field required")
        if not isinstance(block[name], form):
            raise RejectedError(f"{path}.{name}: Input should be a valid {form.__name__}")


def _check_tool_result(block: Json, path: str) -> None:
    if not isinstance(block.get("is_error", False), bool):
        raise RejectedError(f"{path}.is_error: Input should be a valid boolean")
    content = block.get("content", "")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise RejectedError(f"{path}.content: Input should be a string or a list of blocks")
    for index, inner in enumerate(content):
        where = f"{path}.content.{index}"
        _check_block(mapping(inner, where), {"text", "image", "document"}, where)
        if inner.get("cache_control") is not None:
            raise RejectedError(
                f"{where}: blocks inside a block cannot be cached; "
                "put cache_control on the tool_result"
            )


def _check_order(roles: list[str]) -> None:
    if roles[0] != "user":
        raise RejectedError('messages: first message must use the "user" role')
    for index, (before, role) in enumerate(pairwise(roles), 1):
        if before == role:
            raise RejectedError(
                f'messages.{index}: roles must alternate between "user" and "assistant", '
                f"found two {role!r}"
            )
    if roles[-1] != "user":
        raise RejectedError(
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )


def _check_pairs(messages: list[Json]) -> None:
    """Reject tool calls without a result in the next message.

    And results without a call in the message before.
    """
    seen: set[str] = set()
    open_calls: set[str] = set()
    for index, message in enumerate(messages):
        blocks = blocks_of(message["content"])
        if message["role"] == "user":
            _check_results(blocks, open_calls, f"messages.{index}")
            open_calls = set()
            continue
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(calls)) < len(calls) or seen & set(calls):
            raise RejectedError(f"messages.{index}: `tool_use` ids must be unique")
        seen |= set(calls)
        open_calls = set(calls)


def _check_results(blocks: list[Json], open_calls: set[str], path: str) -> None:
    kinds = [block["type"] for block in blocks]
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    for found in results:
        if found not in open_calls:
            raise RejectedError(
                f"{path}: unexpected `tool_use_id` found in `tool_result` blocks: {found}. "
                "Each `tool_result` block must have a corresponding `tool_use` block "
                "in the previous message."
            )
    if len(set(results)) < len(results):
        raise RejectedError(f"{path}: each tool_use must have a single result; found more than one")
    if missing := sorted(open_calls - set(results)):
        raise RejectedError(
            f"{path}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}"
        )
    if "tool_result" in kinds[len(results) :]:
        raise RejectedError(f"{path}: `tool_result` blocks must come first in the content")
