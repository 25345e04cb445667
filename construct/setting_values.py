"""Read the text of a setting, one function for each kind of value.

Each raises ValueError, whose message says what the value must be.
"""

import math
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from construct.user_rules import MAX_RULES_BYTES, RulesFile

_MAX_NUMBER = 1_000_000_000
"""The highest whole number that a setting can have."""
_MIN_WINDOW = 2_048
"""The smallest context window that can be set, in tokens."""


def whole_number(low: int) -> Callable[[str], int]:
    """Return a function that reads a whole number from `low` up."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= _MAX_NUMBER:
            raise ValueError(f"it must be a whole number from {low} to {_MAX_NUMBER:,}")
        return value

    return read


def context_window(text: str) -> int:
    """Read the size of a context window in tokens."""
    tokens = whole_number(1)(text)
    if tokens < _MIN_WINDOW:
        raise ValueError(f"it must be at least {_MIN_WINDOW}")
    return tokens


def number(low: float, high: float = math.inf) -> Callable[[str], float]:
    """Return a function that reads a number in a range."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (low <= value <= high and math.isfinite(value)):
            raise ValueError(
                f"it must be a number from {low:g}"
                + (f" to {high:g}" if math.isfinite(high) else " up")
            )
        return value

    return read


def one_of(*words: str) -> Callable[[str], str]:
    """Return a function that reads one of some words, in any letter case."""

    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(f"it must be one of {', '.join(words)}")
        return text.lower()

    return read


def on_or_off(text: str) -> bool:
    """Read `on` or `off`."""
    return one_of("on", "off")(text) == "on"


def line(text: str) -> str:
    """Read a text of one line, without control characters."""
    if not text.isprintable():
        raise ValueError("it must be one line without control characters")
    return text


def secret(text: str) -> str:
    """Read a key or a token."""
    if not text.isascii() or not text.isprintable():
        raise ValueError("it contains characters that no key has")
    return text


def server_address(text: str) -> str:
    """Read the address of a server that speaks HTTP."""
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # the port is not a number, or a bracket is not closed
        is_address = False
    if not is_address or not text.isprintable() or " " in text:
        raise ValueError("it must be an address such as http://localhost:8080")
    return text


def notify_address(text: str) -> str:
    """Read where reminders go."""
    if text.lower() == "desktop":
        return "desktop"
    if "://" not in text or not text.isprintable():
        raise ValueError("it must be desktop, or an Apprise URL such as ntfy://topic")
    return text


def path(text: str) -> Path:
    """Read a path; `~` is the home folder."""
    if "\0" in text:
        raise ValueError("it must not contain a NUL byte")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ValueError("it begins with the home folder of an unknown user") from None


def readable_file(text: str) -> Path:
    """Read the path of a file that can be read."""
    file = path(text)
    try:
        file.read_bytes()
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror or error})") from None
    return file


def rules_file(text: str) -> RulesFile:
    """Read the path of a file of memory rules."""
    file = readable_file(text)
    if file.stat().st_size > MAX_RULES_BYTES:
        raise ValueError("it is larger than 100 kB; make your memory rules shorter")
    return RulesFile(file, must_exist=True)


def model_name(text: str) -> str:
    """Read the name of a model."""
    if not text.strip() or not text.isprintable():
        raise ValueError("it must be the name of a model")
    return text.strip()
