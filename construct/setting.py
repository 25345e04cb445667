"""Declare a setting: everything there is to say about it, in one place.

The fields of `config.Settings` are declared with `setting`. Loading, the rules for a
stranger's `.env`, docs/settings.md, `.env.example` and `construct doctor` go by it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, TypeVar, overload

T = TypeVar("T")

_SETTING, _PARTS = "setting", "parts"
"""The keys in a field's metadata: the one setting that it is, or those that it is made of."""


class Section(StrEnum):
    """The sections of docs/settings.md."""

    COMMON = "Common settings"
    MACHINE = "Terminal and machine"
    MEMORY = "Memory thresholds"


class AllowedIn(StrEnum):
    """Which files may have a setting. The environment may have each."""

    ANY_FILE = "any file"
    """Also a `.env` that may have come with somebody else's repository."""
    TRUSTED_FILE = "trusted files"
    """A `.env` that the user trusts, and `config.env`."""
    OWN_FILE = "config.env"
    """Only `config.env`."""
    NO_FILE = "no file"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, as it is read, checked and explained."""

    name: str
    section: Section
    read: Callable[[str], Any]
    """Returns the value of a text; raises ValueError, whose message says what it must be."""
    meaning: str
    """What it means, in Markdown, to follow its name and a colon."""
    default: str = ""
    """The text of the value it has if it is not set; empty if there is no fixed one."""
    otherwise: str = ""
    """What holds if it is not set and has no fixed default, in words."""
    allowed_in: AllowedIn = AllowedIn.TRUSTED_FILE
    is_secret: bool = False
    """Whether its value must not be shown."""


@overload
def setting(
    name: str,
    section: Section,
    read: Callable[[str], T],
    meaning: str,
    *,
    default: str,
    allowed_in: AllowedIn = ...,
) -> T: ...
@overload
def setting(
    name: str,
    section: Section,
    read: Callable[[str], T],
    meaning: str,
    *,
    otherwise: str = ...,
    allowed_in: AllowedIn = ...,
    is_secret: bool = ...,
) -> T | None: ...
def setting(
    name: str,
    section: Section,
    read: Callable[[str], Any],
    meaning: str,
    *,
    default: str = "",
    otherwise: str = "",
    allowed_in: AllowedIn = AllowedIn.TRUSTED_FILE,
    is_secret: bool = False,
) -> Any:
    """Declare a field of a dataclass as a setting. Without a default it is None if not set."""
    declared = Setting(name, section, read, meaning, default, otherwise, allowed_in, is_secret)
    value = read(default) if default else None
    return field(default=value, repr=not is_secret, metadata={_SETTING: declared})


def made_of(*settings: Setting) -> dict[str, tuple[Setting, ...]]:
    """Return the metadata of a field that is made of these settings in a way of its own."""
    return {_PARTS: settings}


def setting_of_each_field(holder: type) -> dict[str, Setting]:
    """Return the fields of a dataclass that `setting` declared, and what it declared."""
    return {f.name: f.metadata[_SETTING] for f in fields(holder) if _SETTING in f.metadata}


def declared_in(holder: type) -> Iterator[Setting]:
    """Yield the settings of a dataclass, in the order of its fields."""
    for one in fields(holder):
        if _SETTING in one.metadata:
            yield one.metadata[_SETTING]
        yield from one.metadata.get(_PARTS, ())
