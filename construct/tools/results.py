"""Turn a tool's result into the text that the model is given. No I/O."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from construct.text import printable, shorten, storable

MAX_CHARACTERS = 20_000
"""Characters of a result that are kept."""
_LINE_WIDTH = 60


def result_text(content: Iterable[Mapping[str, Any]], structured: object = None) -> str:
    """Return the text of a result, cut; a mark stands for what is not text."""
    parts = [_text_of(block) for block in content]
    if not parts and structured is not None:
        parts = [json.dumps(structured, ensure_ascii=False)]
    text = printable(storable("\n".join(parts)))
    left_out = len(text) - MAX_CHARACTERS
    if left_out <= 0:
        return text or "[empty]"
    return f"{text[:MAX_CHARACTERS]}\n[{left_out:,} more characters are left out.]"


def _text_of(block: Mapping[str, Any]) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource", "resource": {"uri": uri}} | {"type": "resource_link", "uri": uri}:
            return f"[file: {uri}]"
        case {"type": "image" | "audio" as kind}:
            return f"[{kind}]"
    return "[something that is not text]"


def result_line(text: str) -> str:
    """Return a result as one line for the screen."""
    size = f"{len(text):,} character{'' if len(text) == 1 else 's'}"
    return f"{size}: {shorten(text, _LINE_WIDTH)}"


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """Return a call's arguments as text, all of them: the user decides by what they see."""
    return printable(json.dumps(dict(arguments), ensure_ascii=False))
