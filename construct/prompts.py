"""Find and read the files that ship with the program: prompts and data.

In a checkout they are beside the package; in a wheel they are inside it.
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
    """Return the persona: the text of the user's own file, or else the prompt `default`.

    A comment at the beginning of the file is for the user only, and is left out. The file
    is read each time, so that a change takes effect with the next message.
    """
    if own.is_file():
        text = _COMMENT.sub("", own.read_text("utf-8", errors="replace")).strip()
        if text:
            return text
    return prompt(default)
