"""Reads the web page that Google's Takeout writes unless JSON is chosen.

Its cards become entries as in the JSON.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone, tzinfo
from html import unescape
from typing import Any

from construct.store.transfer.foreign_values import moment_of
from construct.store.transfer.formats.html_text import html_text

CARD = 'class="outer-cell'
"""What each card of the page begins with."""
_CONTENT = re.compile(r'class="content-cell[^"]*body-1[^"]*"[^>]*>(.*)', re.DOTALL)
_NEXT_CELL = re.compile(r'</div>\s*<div class="content-cell|<b>\w+:</b><br')
"""What follows the content: the next cell, or "Products:"."""
_LINE_END = re.compile(r"<br\s*/?>|(?=<p[\s>])")
_LINK = re.compile(r'href="(https://gemini\.google\.com/[^"]*)"')
_ATTACHED = re.compile(r"^(?:Attached \d+ files?\.?|-\s*(\S.*))$")
_SPACES = re.compile(r"[\s\u00a0\u202f]+")
_CLOCK = (
    r",? (?P<hour>\d{1,2}):(?P<minute>\d{2}):(?P<second>\d{2})(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_ZONE = r"(?: (?P<zone>[A-Z]{2,5}|(?:GMT|UTC)[+\-−]\d{1,2}(?::?\d{2})?))?$"
_DATES = [
    re.compile(rf"^{day}{_CLOCK}{_ZONE}")
    for day in (
        r"(?P<month>[^\W\d]{3,10})\.? (?P<day>\d{1,2}), (?P<year>\d{4})",
        r"(?P<day>\d{1,2})\.?(?: de)? (?P<month>[^\W\d]{3,10})\.?(?: de)? (?P<year>\d{4})",
        r"(?P<day>\d{1,2})[./](?P<month>\d{1,2})[./](?P<year>\d{4})",
        r"(?P<year>\d{4})[-./] ?(?P<month>\d{1,2})[-./] ?(?P<day>\d{1,2})\.?",
    )
]
_MONTHS = (
    "jan ene gen", "feb fev fév", "mar mär maa mrt", "apr abr avr", "may mai mei mag",
    "jun juin giu", "jul juil lug", "aug aoû ago", "sep set", "oct okt out ott", "nov",
    "dec dez déc dic",
)  # fmt: skip
"""How the names of the months begin, in some languages."""
_ZONES = {
    "UTC": 0, "GMT": 0, "WET": 0, "WEST": 60, "BST": 60, "CET": 60, "MEZ": 60, "CEST": 120,
    "MESZ": 120, "EET": 120, "EEST": 180, "MSK": 180, "IST": 330, "JST": 540, "KST": 540,
    "AEST": 600, "AEDT": 660, "BRT": -180, "EDT": -240, "EST": -300, "CDT": -300, "CST": -360,
    "MDT": -360, "MST": -420, "PDT": -420, "PST": -480,
}  # fmt: skip
"""Minutes east of UTC."""


def entries_on(cards: Iterable[str], zone: tzinfo | None) -> Iterator[dict[str, Any]]:
    """Yield the cards of Gemini's activity as entries of the JSON; others have no words."""
    for card in cards:
        if "gemini" in card.lower():
            yield _entry(card, zone)


def _entry(card: str, zone: tzinfo | None) -> dict[str, Any]:
    found = _CONTENT.search(card)
    content = _NEXT_CELL.split(found[1], maxsplit=1)[0] if found else ""
    asked: list[str] = []
    attached: list[str] = []
    start = 0
    for end in [*(one.end() for one in _LINE_END.finditer(content)), len(content)]:
        line = _SPACES.sub(" ", html_text(content[start:end])).strip()
        start = end
        if time := _time(line, zone):
            link = _LINK.search(content[:end])
            return {
                "title": "\n".join(asked),
                "time": time,
                "titleUrl": unescape(link[1]) if link else "",
                "safeHtmlItem": [{"html": content[end:]}],
                "attachedFiles": attached,
            }
        if match := _ATTACHED.match(line):
            attached += [match[1]] if match[1] else []
        elif line:
            asked.append(line)
    return {"title": "\n".join(asked), "safeHtmlItem": []}


def _time(line: str, zone: tzinfo | None) -> str | None:
    """Return the time that a line holds, with its offset; None if it holds none."""
    for pattern in _DATES:
        if match := pattern.match(line):
            with suppress(ValueError):
                return _moment(match, zone).isoformat()
    return None


def _moment(match: re.Match[str], zone: tzinfo | None) -> datetime:
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"].lower() == "p" else 0)
    year, month, day = int(match["year"]), _month(match["month"]), int(match["day"])
    clock = hour, int(match["minute"]), int(match["second"])
    offset = _offset(match["zone"])
    if offset is not None:
        place = timezone(timedelta(minutes=offset))
        return datetime(year, month, day, *clock, tzinfo=place)
    local = datetime(year, month, day, *clock)  # noqa: DTZ001 (moment_of gives it the zone)
    return datetime.fromisoformat(moment_of(local, zone).at)


def _month(text: str) -> int:
    if text.isdigit():
        return int(text)
    for number, beginnings in enumerate(_MONTHS, 1):
        if text.lower().startswith(tuple(beginnings.split())):
            return number
    raise ValueError(text)


def _offset(zone: str | None) -> int | None:
    """Return the minutes east of UTC of a named zone; None if it is not known."""
    if not zone:
        return None
    if zone in _ZONES:
        return _ZONES[zone]
    match = re.fullmatch(r"(?:GMT|UTC)([+\-−])(\d{1,2})(?::?(\d{2}))?", zone)
    if match is None:
        return None
    minutes = int(match[2]) * 60 + int(match[3] or 0)
    return minutes if match[1] == "+" else -minutes
