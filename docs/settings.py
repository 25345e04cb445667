"""Generate `.env.example` and the tables of docs/settings.md: `uv run python -m docs.settings`."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from construct.config import SETTINGS
from construct.setting import AllowedIn, Section, Setting
from docs.tables import table, with_tables

PAGE = Path(__file__).parent / "settings.md"
EXAMPLE = Path(__file__).parents[1] / ".env.example"
_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
_STRANGERS = {
    AllowedIn.ANY_FILE: "counts",
    AllowedIn.TRUSTED_FILE: "if you trust it",
    AllowedIn.OWN_FILE: "never",
    AllowedIn.NO_FILE: "never, nor in `config.env`",
}
"""What the last column says of a `.env` that may be somebody else's."""
_HEAD = """\
# Every setting that a file can set, with its default. Copy this to .env in the directory
# where you start `construct`, or to config.env in the configuration directory
# (~/.config/construct/ on Linux). The environment overrides .env, and .env overrides config.env.
# A blank value counts as not set.
#
# A .env may come with somebody else's repository, so Construct asks whether you trust it, and asks
# again when the file changes. Until you say yes, its keys, addresses, files and some other settings
# do not count. Construct never asks about config.env.
#
# `uv run python -m docs.settings` generates this file from the program.
"""


def main() -> None:
    """Write both files."""
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
    EXAMPLE.write_text(example(), "utf-8")
    print(PAGE, EXAMPLE)


def page(text: str) -> str:
    """Return the page with its tables made anew."""
    return with_tables(text, {section: _table(section) for section in Section})


def example() -> str:
    """Return the file of settings."""
    return _HEAD + "".join(
        f"\n{f'# --- {section} '.ljust(90, '-')}\n"
        + "".join(map(_example_lines, _settings_of(section)))
        for section in Section
    )


def _settings_of(section: Section) -> Iterator[Setting]:
    return (one for one in SETTINGS.values() if one.section is section)


def _table(section: Section) -> str:
    rows = (
        (f"`{one.name}`", _default(one), one.meaning, _STRANGERS[one.allowed_in])
        for one in _settings_of(section)
    )
    return table(("setting", "default", "means", "in a `.env`"), rows)


def _default(one: Setting) -> str:
    return f"`{one.default}`" if one.default else one.otherwise


def _example_lines(one: Setting) -> str:
    if one.allowed_in is AllowedIn.NO_FILE:
        return ""
    meaning = _LINK.sub(r"\1", one.meaning)
    sentences = [meaning[0].upper() + meaning[1:]]
    if one.otherwise:
        sentences.append(f"Default: {one.otherwise}")
    if one.allowed_in is AllowedIn.OWN_FILE:
        sentences.append("It counts in config.env, never in a .env")
    comment = textwrap.fill(
        ". ".join(sentences) + ".",
        98,
        initial_indent="# ",
        subsequent_indent="# ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return f"\n{comment}\n{one.name}={one.default}\n"


if __name__ == "__main__":
    main()
