"""The files that ship with the program: prompts and data.

They stand at the top of the checkout, and inside the package in a wheel.
"""

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent


def shipped(name: str) -> Path:
    """Return the path of a shipped file or folder such as `data/models.toml`."""
    inside = _PACKAGE / "_shipped" / name
    return inside if inside.exists() else _PACKAGE.parent / name


@cache
def prompt(name: str) -> str:
    """Return the text of `prompts/{name}.md`."""
    return shipped(f"prompts/{name}.md").read_text("utf-8").strip()


@cache
def persona(config_dir: Path, default: str = "companion") -> str:
    """Return who the companion is: the user's own `companion.md` when there is one, else the prompt `default`.

    It is read once in a process: every request begins with it, and what is cached by the server lives as long as that.
    """
    own = config_dir / "companion.md"
    if own.is_file():
        text = own.read_text("utf-8", errors="replace").strip()
        if text:
            return text
    return prompt(default)
