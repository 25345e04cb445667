"""Find out how the program was installed, to suggest the command that installs an extra."""

import json
import shlex
import sys
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

_PACKAGE = "construct-companion"
_MODULE_OF_EXTRA = {
    "encrypted": "sqlcipher3",
    "local": "xllamacpp",
    "mcp": "mcp",
    "notify": "apprise",
    "openai": "openai",
    "semantic": "onnxruntime",
    "sync": "pyrage",
}
"""A module that each extra installs: the extra is installed if it can be found."""


class InstallKind(StrEnum):
    """How a copy of the program is installed."""

    CLONE = "clone"
    """In a clone of the repository, run with `uv run`."""
    TOOL = "tool"
    """With `uv tool install`."""
    ENVIRONMENT = "environment"
    """In any other Python environment, with pip."""


@dataclass(frozen=True, slots=True)
class Installation:
    """How one copy of the program was installed."""

    kind: InstallKind
    source: str | None
    """The folder or pip URL it was installed from; None for the package index."""
    extras: frozenset[str] = frozenset()
    """The extras that are installed."""

    def with_extra(self, extra: str) -> str:
        """Return the shell command that installs an extra.

        In a clone it is the command that runs Construct with the extra.
        """
        if self.kind == InstallKind.CLONE:
            return f"uv run --extra {extra} construct"
        # Installing a tool again drops the extras that are not named.
        extras = f"[{','.join(sorted({*self.extras, extra}))}]"
        if self.source is not None and "://" in self.source:
            requirement = f"{_PACKAGE}{extras} @ {self.source}"
        else:
            requirement = f"{self.source or _PACKAGE}{extras}"
        install = "uv tool install" if self.kind == InstallKind.TOOL else "pip install"
        return f"{install} {shlex.quote(requirement)}"


def this_installation() -> Installation:
    """Return how the running program was installed."""
    origin = _origin()
    kind = InstallKind.ENVIRONMENT
    if origin.get("dir_info", {}).get("editable"):
        kind = InstallKind.CLONE
    elif (Path(sys.prefix) / "uv-receipt.toml").exists():
        kind = InstallKind.TOOL
    extras = frozenset(
        extra for extra, module in _MODULE_OF_EXTRA.items() if find_spec(module) is not None
    )
    return Installation(kind, _source(origin), extras)


def _origin() -> dict[str, Any]:
    """Return the installer's `direct_url.json` (PEP 610); empty if there is none."""
    try:
        text = distribution(_PACKAGE).read_text("direct_url.json")
        origin: dict[str, Any] = json.loads(text or "{}")
    except (PackageNotFoundError, ValueError):
        return {}
    return origin


def _source(origin: dict[str, Any]) -> str | None:
    """Return the folder or pip URL in a `direct_url.json`, or None for the package index."""
    url = str(origin.get("url", ""))
    if url.startswith("file:"):
        return url2pathname(urlsplit(url).path)
    if repository := origin.get("vcs_info"):
        revision = repository.get("requested_revision")
        suffix = f"@{revision}" if revision else ""
        return f"{repository['vcs']}+{url}{suffix}"
    return url or None
