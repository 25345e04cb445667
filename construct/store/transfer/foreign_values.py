"""Reads values from other programs' JSON. What has another type than expected is absent."""

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time, tzinfo
from typing import Any

from construct.clock import to_text
from construct.store.transfer.foreign import Moment
from construct.text import storable

Json = Mapping[str, Any]
_UNITS_PER_SECOND = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""From which number on a time is in nanoseconds, microseconds or milliseconds."""
_NOON = time(12)
"""When a day is dated without a time: it stays that day in neighbouring time zones."""


def mapping(value: Any) -> Json:
    """Return an object; empty if it is none."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[Json]:
    """Return the objects in a list; empty if it is none."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def string(value: Any) -> str:
    """Return a text that can be stored; empty if it is none."""
    return storable(value) if isinstance(value, str) else ""


def title(value: Any) -> str | None:
    """Return a title, or None if it is blank."""
    return string(value).strip() or None


def moment(value: Any, zone: tzinfo | None = UTC) -> Moment | None:
    """Return a time, or None if there is none or it cannot be read.

    It may be ISO 8601, seconds (or milliseconds and less) since 1970, or MongoDB's `$date`.
    `zone` is that of a time without an offset; None means the system's.
    """
    if isinstance(value, dict):
        inner = value.get("$date", value.get("$numberLong"))
        return None if isinstance(inner, dict) and "$date" in inner else moment(inner, zone)
    if isinstance(value, str) and re.fullmatch(r"\s*\d{9,19}(?:\.\d+)?\s*", value):
        value = float(value)
    with suppress(ValueError, OverflowError, OSError):
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _since_1970(float(value))
        if isinstance(value, str) and re.fullmatch(r"[0-9TWZtz:.,+ -]{8,40}", value.strip()):
            return moment_of(datetime.fromisoformat(value.strip()), zone)
    return None


def moment_of(said: datetime, zone: tzinfo | None = UTC) -> Moment:
    """Return a time with its offset. `Z` and `+00:00` say nothing of the place."""
    if said.tzinfo is None:
        local = said.replace(tzinfo=zone) if zone else said.astimezone()
        return Moment(to_text(local))
    offset = said.utcoffset()
    minutes = round(offset.total_seconds() / 60) if offset else 0
    return Moment(to_text(said), minutes or None)


def noon(day: date, zone: tzinfo | None) -> Moment:
    """Return the time for something that is dated by a day only."""
    return moment_of(datetime.combine(day, _NOON), zone)


def _since_1970(number: float) -> Moment | None:
    if not math.isfinite(number) or number <= 0:
        return None  # 0 stands for no time
    divisor = next((unit for least, unit in _UNITS_PER_SECOND if number >= least), 1.0)
    return Moment(to_text(datetime.fromtimestamp(number / divisor, UTC)))
