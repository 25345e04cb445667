"""Reading what servers answer: untrusted JSON of any shape. Pure."""

from typing import Any

from construct.llm.capable import parameters_in
from construct.llm.servers.types import FoundModel


def entries(answer: Any, key: str) -> list[dict[str, Any]] | None:
    """Return the objects listed under a key of an answer; None when there is no such list."""
    listed = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        return None
    return [entry for entry in listed if isinstance(entry, dict)]


def at(answer: Any, *path: str) -> Any:
    """Return the value at a path of keys, None where there is none."""
    for key in path:
        answer = answer.get(key) if isinstance(answer, dict) else None
    return answer


def count(value: Any) -> int | None:
    """Return a positive whole number as it came, None for anything else."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and value > 0 else None


def name_of(entry: dict[str, Any], *keys: str) -> str | None:
    """Return the first printable name under one of the keys; None when there is none."""
    for key in keys:
        value = entry.get(key)
        if isinstance(value, str) and value.strip() and value.isprintable():
            return value.strip()
    return None


def owned_by(answer: Any, owner: str) -> bool:
    """Tell whether a list of models names this owner, by which most servers can be told."""
    return any(entry.get("owned_by") == owner for entry in entries(answer, "data") or [])


def listed_models(answer: Any, base_url: str, source: str, *windows: str) -> list[FoundModel]:
    """Return the models of a `/v1/models` answer that can chat, as far as names tell.

    `windows` names the keys under which the list may give a model's context window; the
    first that does counts.
    """
    named = [(name_of(entry, "id"), entry) for entry in entries(answer, "data") or []]
    return [
        FoundModel(
            name,
            base_url,
            source,
            next(filter(None, (count(entry.get(key)) for key in windows)), None),
            parameters=count(at(entry, "meta", "n_params")) or parameters_in(name),
        )
        for name, entry in named
        if name is not None and "embed" not in name.lower()
    ]
