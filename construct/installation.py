"""How this copy of the program was installed, to name the command that adds an extra."""

import json
import shlex
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import url2pathname

_NAME = "construct-companion"
_BRINGS = {"local": "xllamacpp", "mcp": "mcp", "semantic": "onnxruntime"}


@dataclass(frozen=True, slots=True)
class Installation:
    """One copy of the program."""

    kind: Literal["clone", "tool", "environment"]
    source: str | None
    """Where it was installed from, a folder or what pip takes as an address.

    None for the package index.
    """
    extras: frozenset[str] = frozenset()
    """Those it has."""

    def with_extra(self, extra: str) -> str:
        """Return the command that adds an extra, as a shell takes it.

        In a clone the one that runs with it.
        """
        if self.kind == "clone":
            return f"uv run --extra {extra} construct"
        # A tool that is installed anew has no other extras than those named.
        extras = f"[{','.join(sorted({*self.extras, extra}))}]"
        is_address = self.source is not None and "://" in self.source
        wanted = (
            f"{_NAME}{extras} @ {self.source}" if is_address else f"{self.source or _NAME}{extras}"
        )
        return (
            f"{'uv tool install' if self.kind == 'tool' else 'pip install'} {shlex.quote(wanted)}"
        )


def this_installation() -> Installation:
    """Return the copy that runs."""
    origin = _origin()
    kind: Literal["clone", "tool", "environment"] = "environment"
    if origin.get("dir_info", {}).get("editable"):
        kind = "clone"
    elif (Path(sys.prefix) / "uv-receipt.toml").exists():
        kind = "tool"
    extras = frozenset(extra for extra, module in _BRINGS.items() if find_spec(module) is not None)
    return Installation(kind, _source(origin), extras)


def _origin() -> dict[str, Any]:
    """Return what the installer recorded of this package's origin (PEP 610)."""
    try:
        found: dict[str, Any] = json.loads(distribution(_NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return {}
    return found


def _source(origin: dict[str, Any]) -> str | None:
    url = str(origin.get("url", ""))
    if url.startswith("file:"):
        return url2pathname(urlsplit(url).path)
    if repository := origin.get("vcs_info"):
        wanted = repository.get("requested_revision")
        return f"{repository['vcs']}+{url}{f'@{wanted}' if wanted else ''}"
    return url or None
