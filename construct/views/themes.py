"""Named styles for dark, light and unknown backgrounds.

On an unknown background, only ANSI colours readable on both dark and light are used.
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

# Exact colours for a known background; how ANSI colours look depends on the terminal.
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
# Values of TERM for terminals with at most sixteen colours.
_FEW_COLOURS = frozenset({"linux", "eterm-color", "ansi", "vt100", "vt220"})
# Light colours in the last part of COLORFGBG, such as "0;15".
_LIGHT_BACKGROUNDS = frozenset({"7", "9", "10", "11", "12", "13", "14", "15"})


@dataclass(frozen=True, slots=True, eq=False)
class Theme:
    """Styles by name, and code styles by Pygments token type.

    Text rendered with a `plain` theme has no escape sequences at all.
    """

    styles: Mapping[str, str]
    code: Mapping[str, str]
    plain: bool = False


def _replace_colours(styles: Mapping[str, str], colours: Mapping[str, str]) -> dict[str, str]:
    return {
        name: " ".join(colours.get(word, word) for word in style.split())
        for name, style in styles.items()
    }


NEUTRAL = Theme(STYLES, CODE_STYLES)
DARK = Theme(_replace_colours(STYLES, _ON_DARK), _replace_colours(CODE_STYLES, _ON_DARK))
LIGHT = Theme(_replace_colours(STYLES, _ON_LIGHT), _replace_colours(CODE_STYLES, _ON_LIGHT))
PLAIN = Theme(STYLES, CODE_STYLES, plain=True)


def choose_theme(setting: str, environ: Mapping[str, str]) -> Theme:
    """Return the theme for a setting (`auto`, `light`, `dark`) on this terminal.

    NO_COLOR overrides the setting, and so does a terminal with few colours.
    """
    if environ.get("NO_COLOR"):
        return PLAIN
    if environ.get("TERM") in _FEW_COLOURS:
        return NEUTRAL
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    if setting == "auto" and background.isdigit():
        setting = "light" if background in _LIGHT_BACKGROUNDS else "dark"
    return {"light": LIGHT, "dark": DARK}.get(setting, NEUTRAL)


def theme_on(stream: TextIO, setting: str, environ: Mapping[str, str]) -> Theme:
    """Return the theme for a setting and a stream; plain unless it is a capable terminal."""
    if not stream.isatty() or environ.get("TERM") == "dumb":
        return PLAIN
    return choose_theme(setting, environ)


def prompt_style(theme: Theme) -> dict[str, str]:
    """Return a theme's styles in prompt_toolkit's syntax."""
    return _replace_colours(theme.styles, _IN_PROMPT_TOOLKIT)
