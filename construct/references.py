"""Ids as they are typed: an observation's number, `message:N` or `memory:N`."""

Reference = tuple[str, int]
"""`observation`, `message` or `memory`, and its number."""

_KINDS = ("observation", "message", "memory")


def reference_in(text: str) -> Reference | None:
    """Return the kind and number that an id names; None when it is none."""
    kind, _, number = text.strip().rpartition(":")
    if (kind and kind not in _KINDS) or not (number.isascii() and number.isdigit()):
        return None
    return kind or "observation", int(number[:18])


def written(reference: Reference) -> str:
    """Return an id as it is typed: a bare number for an observation, `message:12`, `memory:3`."""
    kind, number = reference
    return str(number) if kind == "observation" else f"{kind}:{number}"
