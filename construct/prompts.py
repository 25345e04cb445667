"""The files that ship with the program: prompts and data.

They stand at the top of the checkout, and inside the package in a wheel.
"""

import re
from functools import cache
from pathlib import Path

_COMMENT = re.compile(r"\A\s*<!--.*?-->", re.DOTALL)
_PACKAGE = Path(__file__).parent


def shipped(name: str) -> Path:
    """Return the path of a shipped file or folder such as `data/models.toml`."""
    inside = _PACKAGE / "_shipped" / name
    return inside if inside.exists() else _PACKAGE.parent / name


@cache
def prompt(name: str) -> str:
    """Return the text of `prompts/{name}.md`."""
    return shipped(f"prompts/{name}.md").read_text("utf-8").strip()


def persona(own: Path, default: str = "companion") -> str:
    """Return how the companion talks: what the user's own file says, else the prompt `default`.

    A comment at the beginning of the file is for the user, not for the model. What is saved
    counts from the next message.
    """
    if own.is_file():
        text = _COMMENT.sub("", own.read_text("utf-8", errors="replace")).strip()
        if text:
            return text
    return prompt(default)
