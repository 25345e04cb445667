"""Styles by name, for dark, light and unknown backgrounds.

On an unknown background only those of the ANSI colours are used that can be read on
light and dark alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

# Blue, white and the bright colours are left out: each vanishes on one of the two
# backgrounds.
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

_COLOURS = ("red", "green", "yellow", "magenta", "cyan")
_IN_PROMPT_TOOLKIT = {colour: f"ansi{colour}" for colour in _COLOURS}

# What each of the colours above becomes where the background is known: easier to read
# than an unknown palette's.
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
_LIGHT_BACKGROUNDS = frozenset({"7", "9", "10", "11", "12", "13", "14", "15"})


@dataclass(frozen=True, slots=True, eq=False)
class Theme:
    """Styles by name, and by Pygments' token types.

    A `plain` one has no escape sequences at all.
    """

    styles: Mapping[str, str]
    code: Mapping[str, str]
    plain: bool = False


def _respelled(styles: Mapping[str, str], words: Mapping[str, str]) -> dict[str, str]:
    return {
        name: " ".join(words.get(word, word) for word in style.split())
        for name, style in styles.items()
    }


NEUTRAL = Theme(STYLES, CODE_STYLES)
DARK = Theme(_respelled(STYLES, _ON_DARK), _respelled(CODE_STYLES, _ON_DARK))
LIGHT = Theme(_respelled(STYLES, _ON_LIGHT), _respelled(CODE_STYLES, _ON_LIGHT))
PLAIN = Theme(STYLES, CODE_STYLES, plain=True)


def choose_theme(setting: str, environ: Mapping[str, str]) -> Theme:
    """Return the theme that a setting (`auto`, `light`, `dark`) means on this terminal.

    NO_COLOR has the last word.
    """
    if environ.get("NO_COLOR"):
        return PLAIN
    if environ.get("TERM") in _FEW_COLOURS:
        return NEUTRAL
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    is_auto = setting == "auto"
    if setting == "light" or (is_auto and background in _LIGHT_BACKGROUNDS):
        return LIGHT
    if setting == "dark" or (is_auto and background.isdigit()):
        return DARK
    return NEUTRAL


def theme_on(stream: TextIO, environ: Mapping[str, str]) -> Theme:
    """Return the theme for a stream: plain unless it is a capable terminal."""
    if not stream.isatty() or environ.get("TERM") == "dumb":
        return PLAIN
    return choose_theme("auto", environ)


def prompt_style(theme: Theme) -> dict[str, str]:
    """Return a theme's styles as prompt_toolkit spells them."""
    return _respelled(theme.styles, _IN_PROMPT_TOOLKIT)
