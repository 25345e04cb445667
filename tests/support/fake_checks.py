"""What the Messages API rejects in the parameters of a request.

That includes tools and breakpoints. The module knows `output_config` and strict tools,
but the fake rejects both, since Construct asks every server for text.
"""

import re
from collections.abc import Callable, Iterator

from tests.support.fake_messages import RejectedError, check_messages, check_text, mapping, only
from tests.support.fake_types import Json, blocks_of

_REQUIRED = ("model", "max_tokens", "messages")
_NULLABLE = {"cache_control", "container", "diagnostics", "inference_geo", "speed"}
_GONE = {"temperature", "top_p", "top_k"}
_ALLOWED = {
    *_REQUIRED,
    *_NULLABLE,
    "system",
    "tools",
    "tool_choice",
    "metadata",
    "stop_sequences",
    "stream",
    "thinking",
    "service_tier",
}
_TOOL_KEYS = {
    "name",
    "description",
    "input_schema",
    "cache_control",
    "type",
    "input_examples",
    "eager_input_streaming",
    "defer_loading",
    "allowed_callers",
}
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_WEB_SEARCH = "web_search_20260318"
_MAX_BREAKPOINTS = 4
_MAX_OUTPUT = 128_000


def check(body: Json) -> None:
    """Raise `RejectedError` when the API would answer this request with 400."""
    _check_names(body)
    _check_required(body)
    for name, checker in _CHECKERS.items():
        if name in body and not (body[name] is None and name in _NULLABLE):
            checker(body[name])
    if "tool_choice" in body and not body.get("tools"):
        raise RejectedError("tool_choice: tool_choice may only be specified while providing tools")
    check_messages(body["messages"])
    kinds = {b["type"] for m in body["messages"] for b in blocks_of(m["content"])}
    offered = {tool.get("type") for tool in body.get("tools", [])}
    if "server_tool_use" in kinds and _WEB_SEARCH not in offered:
        raise RejectedError("messages: a search of the web, which is no tool of this request")
    _check_breakpoints(body)


def _check_names(body: Json) -> None:
    for name in body:
        if name in _GONE:
            raise RejectedError(f"`{name}` is not supported by this model")
    only(body, _ALLOWED, "")


def _check_required(body: Json) -> None:
    for name in _REQUIRED:
        if name not in body:
            raise RejectedError(f"{name}: Field required")
    if not isinstance(body["model"], str) or not body["model"]:
        raise RejectedError("model: Input should be a valid string")
    most = body["max_tokens"]
    if not isinstance(most, int) or isinstance(most, bool) or most < 0:
        raise RejectedError("max_tokens: Input should be a valid integer, 0 or more")
    if most > _MAX_OUTPUT:
        raise RejectedError(
            f"max_tokens: {most} > {_MAX_OUTPUT}, the maximum allowed number of output tokens"
        )


def _check_system(system: object) -> None:
    if isinstance(system, str):
        check_text({"type": "text", "text": system}, "system")
        return
    if not isinstance(system, list):
        raise RejectedError("system: Input should be a string or a list of text blocks")
    for index, block in enumerate(system):
        path = f"system.{index}"
        if mapping(block, path).get("type") != "text":
            raise RejectedError(f"{path}.type: Input should be 'text'")
        check_text(block, path)


def _check_tools(tools: object) -> None:
    if not isinstance(tools, list):
        raise RejectedError("tools: Input should be a list")
    names: set[str] = set()
    for index, tool in enumerate(tools):
        _check_tool(mapping(tool, f"tools.{index}"), f"tools.{index}")
        if tool["name"] in names:
            raise RejectedError("tools: Tool names must be unique.")
        names.add(tool["name"])


def _check_tool(tool: Json, path: str) -> None:
    if tool.get("type") == _WEB_SEARCH:
        only(tool, {"type", "name", "max_uses", "allowed_callers"}, path)
        if tool.get("name") != "web_search" or tool.get("allowed_callers") != ["direct"]:
            raise RejectedError(f"{path}: the search of the web, called directly")
        return
    only(tool, _TOOL_KEYS, path)
    if tool.get("type") not in (None, "custom"):
        raise RejectedError(f"{path}.type: unknown tool type {tool['type']!r}")
    name = tool.get("name")
    if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
        raise RejectedError(f"{path}.name: String should match pattern '^{_TOOL_NAME.pattern}$'")
    if not isinstance(tool.get("description", ""), str):
        raise RejectedError(f"{path}.description: Input should be a valid string")
    if mapping(tool.get("input_schema"), f"{path}.input_schema").get("type") != "object":
        raise RejectedError(f"{path}.input_schema.type: Input should be 'object'")


def _check_tool_choice(choice: object) -> None:
    choice = mapping(choice, "tool_choice")
    if choice.get("type") in ("any", "tool"):
        raise RejectedError("tool_choice: this model does not support forced tool use")
    if choice.get("type") not in ("auto", "none"):
        raise RejectedError("tool_choice.type: Input should be 'auto' or 'none'")
    only(
        choice,
        {"type", "disable_parallel_tool_use"} if choice["type"] == "auto" else {"type"},
        "tool_choice",
    )


def _check_thinking(thinking: object) -> None:
    thinking = mapping(thinking, "thinking")
    if thinking.get("type") == "enabled" or "budget_tokens" in thinking:
        raise RejectedError(
            "thinking: `budget_tokens` is not supported by this model; use adaptive thinking"
        )
    if thinking.get("type") not in ("adaptive", "disabled", "between_tools"):
        raise RejectedError(
            "thinking.type: Input should be 'adaptive', 'disabled' or 'between_tools'"
        )
    only(thinking, {"type", "display"} if thinking["type"] == "adaptive" else {"type"}, "thinking")


def _check_stop_sequences(value: object) -> None:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise RejectedError("stop_sequences: Input should be a list of strings")
    if not all(text.strip() for text in value):
        raise RejectedError("stop_sequences: each stop sequence must contain non-whitespace")


def _object_of(name: str, *keys: str) -> Callable[[object], None]:
    """Return a check for an object with only these keys.

    Its values are strings or null.
    """

    def checker(value: object) -> None:
        only(mapping(value, name), set(keys), name)
        if not all(isinstance(item, str | None) for item in mapping(value, name).values()):
            raise RejectedError(f"{name}: Input should have strings only")

    return checker


def _one_of(name: str, *allowed: str) -> Callable[[object], None]:
    def checker(value: object) -> None:
        if not isinstance(value, str) or value not in allowed:
            raise RejectedError(f"{name}: Input should be one of {allowed}")

    return checker


def _boolean(name: str) -> Callable[[object], None]:
    def checker(value: object) -> None:
        if not isinstance(value, bool):
            raise RejectedError(f"{name}: Input should be a valid boolean")

    return checker


def _string(name: str) -> Callable[[object], None]:
    def checker(value: object) -> None:
        if not isinstance(value, str):
            raise RejectedError(f"{name}: Input should be a valid string")

    return checker


def _life(mark: object, path: str) -> str:
    """Return the life a `cache_control` asks for; reject one of another form."""
    mark = mapping(mark, path)
    only(mark, {"type", "ttl"}, path)
    if mark.get("type") != "ephemeral":
        raise RejectedError(f"{path}.type: Input should be 'ephemeral'")
    life = mark.get("ttl", "5m")
    if life not in ("5m", "1h"):
        raise RejectedError(f"{path}.ttl: Input should be '5m' or '1h'")
    return str(life)


_CHECKERS: dict[str, Callable[[object], None]] = {
    "system": _check_system,
    "tools": _check_tools,
    "tool_choice": _check_tool_choice,
    "thinking": _check_thinking,
    "stop_sequences": _check_stop_sequences,
    "stream": _boolean("stream"),
    "service_tier": _one_of("service_tier", "auto", "standard_only"),
    "speed": _one_of("speed", "standard", "fast"),
    "metadata": _object_of("metadata", "user_id"),
    "diagnostics": _object_of("diagnostics", "previous_message_id"),
    "inference_geo": _string("inference_geo"),
}


def _marked(body: Json) -> Iterator[tuple[str, Json]]:
    """Yield every block of the prompt with its path, in the order of the prompt."""
    for index, tool in enumerate(body.get("tools", [])):
        yield f"tools.{index}", tool
    for index, block in enumerate(blocks_of(body.get("system"))):
        yield f"system.{index}", block
    for number, message in enumerate(body["messages"]):
        for index, block in enumerate(blocks_of(message["content"])):
            yield f"messages.{number}.content.{index}", block


def _check_breakpoints(body: Json) -> None:
    """Reject malformed or too many breakpoints, and a long life after a short one."""
    blocks = list(_marked(body))
    # The mark at the top level is put on the last block, so it is one more unless that
    # has its own.
    top = body.get("cache_control")
    if top is not None and blocks[-1][1].get("cache_control") is None:
        blocks[-1] = ("", {"cache_control": top})
    lives = [
        _life(block["cache_control"], f"{path}.cache_control".strip("."))
        for path, block in blocks
        if block.get("cache_control") is not None
    ]
    if len(lives) > _MAX_BREAKPOINTS:
        raise RejectedError(
            f"A maximum of 4 blocks with cache_control may be provided. Found {len(lives)}."
        )
    if "5m" in lives and "1h" in lives[lives.index("5m") :]:
        raise RejectedError(
            "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
        )
