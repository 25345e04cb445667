"""Checks of the values in the lines of an export, each returning a value as it is stored."""

import base64
import json
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from typing import Any

from construct.clock import from_text, to_text
from construct.text import storable

SqlValue = str | int | float | bytes | None
Check = Callable[[Any], SqlValue]
"""Returns a value of a line as it is stored. Raises ValueError: "must be ..."."""
_MAX_INTEGER = 1 << 53


def text(value: Any) -> str:
    """Return a text without characters that cannot be stored."""
    if not isinstance(value, str):
        raise ValueError("must be text")  # noqa: TRY004 (a file's value is wrong, not a caller's type)
    return storable(value)


def uid(value: Any) -> str:
    """Return a uid: printable ASCII characters without spaces."""
    if not isinstance(value, str) or not re.fullmatch(r"[!-~]{1,200}", value):
        raise ValueError("must be a word of at most 200 ASCII characters")
    return value


def whole(minimum: int) -> Check:
    """Return a check that allows whole numbers from `minimum` up."""

    def check(value: Any) -> int:
        if type(value) is not int or not minimum <= value <= _MAX_INTEGER:
            raise ValueError(f"must be a whole number, {minimum} or more")
        return value

    return check


def flag(value: Any) -> int:
    """Return a flag as 0 or 1; false and true are allowed too."""
    if not isinstance(value, int) or value not in (0, 1):
        raise ValueError("must be 0 or 1")
    return int(value)


def amount(value: Any) -> float:
    """Return an amount of money."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= _MAX_INTEGER:  # NaN fails this too
        raise ValueError("must be a number, 0 or more")
    return float(value)


def time(value: Any) -> str:
    """Return a time in UTC. One that ends in +00:00 is returned unchanged."""
    with suppress(TypeError, ValueError, OverflowError):
        # fromisoformat() allows any separator, even an escape character
        if re.fullmatch(r"[0-9TWZtz:.,+ -]{8,40}", value):
            moment = from_text(value)
            return str(value) if value.endswith("+00:00") else to_text(moment)
    raise ValueError("must be a time such as 2026-03-01T14:30:00+01:00")


def day(value: Any) -> str:
    """Return a day as YYYY-MM-DD."""
    with suppress(TypeError, ValueError):
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
            return date.fromisoformat(value).isoformat()
    raise ValueError("must be a date such as 2026-03-01")


def day_month_or_year(value: Any) -> str:
    """Return a valid day, month or year: YYYY-MM-DD, YYYY-MM or YYYY."""
    with suppress(TypeError, ValueError):
        if re.fullmatch(r"[0-9]{4}(?:-[0-9]{2}){0,2}", value):
            date.fromisoformat(value + "0000-01-01"[len(value) :])
            return str(value)
    raise ValueError("must be a date such as 2026-03-01, a month such as 2026-03 or a year")


def clock_time(value: Any) -> str:
    """Return a time on the clock as HH:MM."""
    if isinstance(value, str) and re.fullmatch(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]", value):
        return value
    raise ValueError("must be a time such as 09:30")


def clock_moment(value: Any) -> str:
    """Return a day and a time on the clock as YYYY-MM-DD HH:MM."""
    with suppress(AttributeError, ValueError):
        day_part, time_part = value.split(" ")
        return f"{day(day_part)} {clock_time(time_part)}"
    raise ValueError("must be a moment such as 2026-03-01 09:30")


def minutes_east(value: Any) -> int:
    """Return a time zone's offset from UTC in minutes."""
    if type(value) is not int or not -24 * 60 < value < 24 * 60:
        raise ValueError("must be a number of minutes, less than a day")
    return value


def finite(value: Any) -> float:
    """Return a number that is neither infinite nor NaN."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not -_MAX_INTEGER <= value <= _MAX_INTEGER:  # NaN fails this too
        raise ValueError("must be a number")
    return float(value)


def spans(value: Any) -> str:
    """Return the text of a JSON list of [start, end] pairs, in order and without overlap."""
    pairs = _from_json(text(value))
    bounds: list[Any] = []
    with suppress(TypeError, ValueError):
        for start, end in pairs:
            bounds += [start, end]
        if all(type(bound) is int for bound in bounds) and bounds == sorted(bounds):
            return json.dumps(pairs)
    raise ValueError("must be the text of a JSON list of [start, end]")


def one_of(*words: str) -> Check:
    """Return a check that allows only these words."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError("must be " + " or ".join(f'"{word}"' for word in words))
        return value

    return check


def _from_json(source: str) -> Any:
    """Parse the JSON that the text of a field holds."""
    try:
        return read_json(source)
    except ValueError:
        raise ValueError("must be the text of valid JSON") from None


def json_list(element_type: type) -> Check:
    """Return a check that allows the text of a JSON list with elements of this type."""

    def check(value: Any) -> str:
        elements = _from_json(text(value))
        if not isinstance(elements, list) or not all(isinstance(e, element_type) for e in elements):
            raise ValueError("must be the text of a JSON list")
        if re.search("[\ud800-\udfff]", json.dumps(elements, ensure_ascii=False)):
            raise ValueError("must not contain lone surrogates")  # they cannot be stored
        return text(value)

    return check


def base64_data(value: Any) -> bytes:
    """Return the bytes that a base64 text encodes.

    Bytes (from an SQLite file) are returned unchanged.
    """
    if isinstance(value, bytes):
        return value
    with suppress(TypeError, ValueError):
        return base64.b64decode(value, validate=True)
    raise ValueError("must be base64")


def message_blocks(value: Any) -> SqlValue:
    """Return a message's blocks: a JSON list of objects, or what a notebook's reply quotes."""
    blocks = _from_json(text(value))
    if not isinstance(blocks, dict):
        return json_list(dict)(value)
    quotes = blocks.get("quotes")
    if blocks.keys() != {"type", "quotes"} or blocks["type"] != "notebook":
        raise ValueError("must be the text of a JSON list, or a notebook's reply")
    with suppress(ValueError):
        if isinstance(quotes, list):
            return json.dumps({"type": "notebook", "quotes": [uid(name) for name in quotes]})
    raise ValueError('must have a list of uids as "quotes"')


def optional(check: Check) -> Check:
    """Return a check that also allows null."""
    return lambda value: None if value is None else check(value)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


# Made only once, because that takes as long as parsing a line.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def read_json(source: str) -> Any:
    """Parse JSON. Raises ValueError if it is invalid, contains NaN or is nested too deeply."""
    try:
        return _DECODER.decode(source)
    except RecursionError:
        raise ValueError("nested too deeply") from None
