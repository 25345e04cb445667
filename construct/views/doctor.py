"""Render the results of `construct doctor` and `construct reindex`."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from construct.operations.doctor import Check
from construct.operations.indexing import Reindexed
from construct.text import printable
from construct.views.widgets import grid
from construct.views.words import counted

_SHOWN_NAMES = {
    "credentials": "model chosen",
    "integrity": "file",
    "invariants": "memory",
    "meaning": "search by meaning",
    "copy": "older copy",
}
"""Names on the screen that differ from those in plain text and JSON."""


def checks_view(checks: Sequence[Check]) -> RenderableType:
    """Return the checks as a table, one per row."""
    return grid(
        (
            Text(_mark(check), style="success" if check.ok else "error"),
            _SHOWN_NAMES.get(check.name, check.name),
            Text(printable(check.detail), overflow="fold"),
        )
        for check in checks
    )


def checks_text(checks: Sequence[Check]) -> str:
    """Return the checks as plain text, one per line."""
    return "\n".join(f"{_mark(check)}  {check.name}: {check.detail}" for check in checks)


def checks_json(checks: Sequence[Check]) -> dict[str, Any]:
    """Return the JSON form of the checks."""
    return {
        "ok": all(check.ok for check in checks),
        "checks": [asdict(check) for check in checks],
    }


def _mark(check: Check) -> str:
    return "ok " if check.ok else "BAD"


def reindexed_lines(done: Reindexed) -> Iterator[str]:
    """Yield a line about messages added to the text index, and one about vectors.

    Each only if it applies.
    """
    if done.entered:
        yield f"Added {counted(done.entered, 'message')} to the search index; it is complete."
    if done.has_vectors:
        yield f"Made {counted(done.made, 'vector')}; none is missing."


def reindexed_json(done: Reindexed) -> dict[str, Any]:
    """Return the JSON form of `reindexed_lines`."""
    return {"entered": done.entered, "made": done.made}
