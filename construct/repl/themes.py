"""Names for the colours, and what they are on the three kinds of background.

Where nobody says what the background is, the sixteen ANSI colours serve that read on light and dark alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass
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


# What each of the colours above becomes where the background is known: easier to read than an unknown palette's.
_ON_DARK = {
    "magenta": "#d787ff",
    "red": "#ff8787",
    "green": "#87d787",
    "yellow": "#ffd75f",
    "cyan": "#87d7ff",
    "dim": "#9e9e9e",
}
_ON_LIGHT = {
    "magenta": "#8700af",
    "red": "#af0000",
    "green": "#005f00",
    "yellow": "#875f00",
    "cyan": "#005f87",
    "dim": "#626262",
}
# Terminals with no more than sixteen colours.
_FEW_COLOURS = frozenset({"linux", "eterm-color", "ansi", "vt100", "vt220"})
_LIGHT_GROUNDS = frozenset({"7", "9", "10", "11", "12", "13", "14", "15"})


@dataclass(frozen=True, slots=True, eq=False)
class Theme:
    """Styles by name, and by Pygments' token types; a `plain` one has no escape sequences at all."""

    styles: Mapping[str, str]
    code: Mapping[str, str]
    plain: bool = False


def _themed(colours: Mapping[str, str]) -> Theme:
    def spelt(styles: Mapping[str, str]) -> dict[str, str]:
        return {name: " ".join(colours.get(word, word) for word in style.split()) for name, style in styles.items()}

    return Theme(spelt(STYLES), spelt(CODE_STYLES))


NEUTRAL = _themed({})
DARK = _themed(_ON_DARK)
LIGHT = _themed(_ON_LIGHT)
PLAIN = Theme(STYLES, CODE_STYLES, plain=True)


def choose_theme(setting: str, environ: Mapping[str, str]) -> Theme:
    """Return the theme that a setting (`auto`, `light`, `dark`) means on this terminal; NO_COLOR has the last word."""
    if environ.get("NO_COLOR"):
        return PLAIN
    if environ.get("TERM") in _FEW_COLOURS:
        return NEUTRAL
    ground = environ.get("COLORFGBG", "").rpartition(";")[2]
    if setting == "auto":
        setting = "light" if ground in _LIGHT_GROUNDS else "dark" if ground.isdigit() else ""
    return {"light": LIGHT, "dark": DARK}.get(setting, NEUTRAL)


def theme_on(stream: TextIO, environ: Mapping[str, str]) -> Theme:
    """Return the theme for a stream: a plain one unless it is a terminal that can show more."""
    return choose_theme("auto", environ) if stream.isatty() and environ.get("TERM") != "dumb" else PLAIN


def prompt_style(theme: Theme) -> dict[str, str]:
    """Return a theme's styles under the same names as prompt_toolkit spells them."""
    return {name: " ".join(_prompt_word(word) for word in style.split()) for name, style in theme.styles.items()}


def _prompt_word(word: str) -> str:
    return f"ansi{word}" if word in _COLOURS else word
