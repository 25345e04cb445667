"""The JSON a worker model is asked for, as schemas (contract.md, "What the worker model is asked for")."""

from typing import Any

from construct.memory.learning.proposals import PRIORITIES, STANCES

_TEXT = {"type": "string"}
_MAYBE_TEXT = {"type": ["string", "null"]}
# With the format a small model cannot write "yesterday"; the API enforces it too (anthropic.lib._parse._transform).
_DAY = {"type": "string", "format": "date"}
_MAYBE_DAY = {"type": ["string", "null"], "format": "date"}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


_OBSERVATION = _object(
    {
        "content": _TEXT,
        "priority": {"type": "string", "enum": list(PRIORITIES)},
        "stance": {"type": "string", "enum": list(STANCES)},
        "observation_date": _DAY,
        "referenced_date": _MAYBE_DAY,
        "sources": _list(_TEXT),
    }
)

OBSERVER = _object(
    {
        "observations": _list(_OBSERVATION),
        "current_task": _MAYBE_TEXT,
        "suggested_response": _MAYBE_TEXT,
        "conversation_title": _MAYBE_TEXT,
    }
)

REFLECTOR = _object(
    {
        "observations": _list(_OBSERVATION),
        "superseded": _list(_TEXT),
        "outdated": _list(_object({"old": _TEXT, "by": _TEXT})),
    }
)

GRAPH = _object(
    {
        "entities": _list(_object({"name": _TEXT, "type": _TEXT, "aliases": _list(_TEXT)})),
        "relations": _list(_object({"subject": _TEXT, "predicate": _TEXT, "object": _TEXT})),
    }
)
