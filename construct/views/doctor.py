"""What was checked, and what was made ready for search."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from construct.operations.doctor import Check
from construct.operations.indexing import Reindexed
from construct.text import printable
from construct.views.widgets import grid

_NAMES = {
    "credentials": "model chosen",
    "integrity": "file",
    "invariants": "memory",
    "meaning": "search by meaning",
    "copy": "older copy",
}
"""What checks are called on the screen; programs get their short names."""


def checks_view(checks: Sequence[Check]) -> RenderableType:
    """Return the checks, a row each."""
    return grid(
        (
            Text(_mark(check), style="success" if check.ok else "error"),
            _NAMES.get(check.name, check.name),
            Text(printable(check.detail), overflow="fold"),
        )
        for check in checks
    )


def checks_text(checks: Sequence[Check]) -> str:
    """Return the checks, a line each."""
    return "\n".join(f"{_mark(check)}  {check.name}: {check.detail}" for check in checks)


def checks_json(checks: Sequence[Check]) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "ok": all(check.ok for check in checks),
        "checks": [asdict(check) for check in checks],
    }


def _mark(check: Check) -> str:
    return "ok " if check.ok else "BAD"


def reindexed_lines(done: Reindexed) -> Iterator[str]:
    """Yield what was made ready for search."""
    if done.entered:
        yield f"{done.entered:,} messages were added to the search index; it is complete."
    if done.has_vectors:
        yield f"{done.made} entries got their vectors; none is missing."


def reindexed_json(done: Reindexed) -> dict[str, Any]:
    """Return the same for programs."""
    return {"entered": done.entered, "made": done.made}
