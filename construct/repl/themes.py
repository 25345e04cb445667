"""Names for the colours: sixteen ANSI ones that read on light and dark backgrounds alike, so that nobody is asked."""

from collections.abc import Mapping
from typing import TextIO

# Blue, white and the bright colours are left out: each vanishes on one of the two backgrounds.
STYLES: Mapping[str, str] = {
    "accent": "magenta",
    "dim": "dim",
    "error": "bold red",
    "success": "green",
    "high": "bold red",
    "medium": "yellow",
    "low": "dim",
    "heading1": "bold underline magenta",
    "heading2": "bold magenta",
    "heading3": "bold",
    "strong": "bold",
    "em": "italic",
    "s": "strike",
    "code": "cyan",
    "link": "underline",
    "url": "dim",
    "quote": "dim",
    "rule": "dim",
    "bullet": "magenta",
    "table": "bold",
}

# Pygments token types; a type without an entry takes its parent's style.
CODE_STYLES: Mapping[str, str] = {
    "Comment": "dim",
    "Keyword": "magenta",
    "Keyword.Type": "cyan",
    "Operator.Word": "magenta",
    "Name.Builtin": "cyan",
    "Name.Function": "bold",
    "Name.Class": "bold",
    "Name.Decorator": "yellow",
    "Name.Tag": "magenta",
    "Name.Attribute": "cyan",
    "Name.Variable": "cyan",
    "String": "green",
    "Number": "cyan",
    "Generic.Deleted": "red",
    "Generic.Inserted": "green",
    "Generic.Heading": "bold",
    "Generic.Prompt": "dim",
}

_COLOURS = frozenset({"black", "red", "green", "yellow", "blue", "magenta", "cyan"})


def prompt_style() -> dict[str, str]:
    """Return the same styles under the same names as prompt_toolkit spells them."""
    return {name: " ".join(_prompt_word(word) for word in style.split()) for name, style in STYLES.items()}


def wants_plain(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether `stream` is to get no escape sequences: not a terminal, a dumb one, or NO_COLOR is set."""
    return bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb" or not stream.isatty()


def _prompt_word(word: str) -> str:
    return f"ansi{word}" if word in _COLOURS else word
