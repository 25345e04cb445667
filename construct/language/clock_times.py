"""Read the times of day and the repetitions that a sentence names. No I/O.

Where it is not sure it reads nothing: "at 3" may be in the night or in the afternoon.
"""

import re
from datetime import time

from construct.language.wordlists import WEEKDAYS
from construct.vocabulary import Recurrence

_MAX_CHARACTERS = 1000
"""Only this many characters of a sentence are searched."""
_HOUR, _MINUTE = r"(?<![\w:.,/€$£-])(?P<hour>\d{1,2})", r"(?P<minute>[0-5]\d)"
_AT = r"\b(?:at|from|by|until|till|um|ab|bis|om|alle|a las|às|as|à)\s+"
_WITH_HALF = re.compile(rf"(?i){_HOUR}(?:[:.]{_MINUTE})?\s?(?P<half>[ap])\.?m\b\.?")
_WITH_COLON = re.compile(rf"{_HOUR}:{_MINUTE}(?![:\d%])(?!\s?[ap]\.?m\b)", re.IGNORECASE)
_WITH_UHR = re.compile(rf"(?i){_HOUR}(?:\.{_MINUTE})?\s?(?:Uhr|uur)\b(?!\s\d)")
_AFTER_UHR = re.compile(rf"(?i){_HOUR}\s?(?:Uhr|uur)\s{_MINUTE}\b")
_WITH_H = re.compile(rf"(?i){_HOUR}\s?h\s?{_MINUTE}\b")
_NOON = re.compile(r"(?i)\b(?P<hour>noon|midday|meio-dia|mediodía|midi)\b")
# "at 10 tomorrow", "às 9 horas"; not "at 10 euros" or "at 10%"
_BARE = re.compile(
    rf"(?i){_AT}(?P<hour>\d{{1,2}})(?:\s?h(?:oras?|eures?)?\b|\s?o['’]clock\b)?"
    r"(?=\s*(?:$|[;!?)–-]|[.,](?!\d)|(?:in|on|with|and|at|for|tomorrow|today|tonight|next|this|every|"
    r"sharp|then|to|until|till|bis|am|im|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b))"
)
_SURE = (_WITH_HALF, _WITH_COLON, _WITH_UHR, _AFTER_UHR, _WITH_H, _NOON)
_LATE = re.compile(
    r"(?i)\b(?:tonight|evenings?|afternoons?|dinner|supper|abends?|nachmittags?|noite|tarde|noche)\b"
)
_EARLY = re.compile(r"(?i)\b(?:mornings?|breakfast|morgens|vormittags?|manhã|mañana|matin)\b")
# Between two times of which the first is the beginning.
_RANGE = re.compile(r"(?i)\s*(?:-|–|to|until|till|bis|até|hasta|à|and)\s*(?:at |um )?")
_SURE_HOURS = range(9, 24)
"""Hours that need no "in the morning" or "pm" to be understood."""

_BIRTHDAY = re.compile(
    r"(?i)\b(?:birthdays?(?!\s+(?:part(?:y|ies)|dinner|lunch|brunch|breakfast|cakes?|presents?|"
    r"gifts?|cards?|trips?|celebrations?|drinks|meal|bash|week(?:end)?|songs?|wish(?:es)?|"
    r"surprise))|(?:was|were|is) born|wedding anniversary|Geburtstag|geboren|aniversário|"
    r"faz anos|cumpleaños|anniversaire|compleanno|verjaardag)\b"
)
_EVERY_WEEKDAY = re.compile(rf"(?i)\b(?:every|each)\s+(?P<day>{'|'.join(WEEKDAYS)})s?\b")


def mentioned_time(text: str) -> time | None:
    """Return the time of day that a sentence names, the first of "9:30 to 10:30".

    None if it names none, or several.
    """
    text = text[:_MAX_CHARACTERS]
    matches = [match for pattern in (*_SURE, _BARE) for match in pattern.finditer(text)]
    matches.sort(key=lambda match: match.start())
    found = [(match, moment) for match in matches if (moment := _time_of(match, text))]
    if not found:
        return None
    first_match, first = found[0]
    if len(found) == 2 and _RANGE.fullmatch(text, first_match.end(), found[1][0].start("hour")):
        return first
    return first if {moment for _, moment in found} == {first} else None


def read_time(text: str) -> time | None:
    """Return the time that a whole text says: "18:30", "9am", "at 18h30", "at 10"."""
    words = text.strip()
    for pattern in (*_SURE, _BARE):
        for said in (words, words.removeprefix("at ")):
            if match := pattern.fullmatch(said):
                return _time_of(match, words)
    return None


def _time_of(match: re.Match[str], text: str) -> time | None:
    """Return the time of a match; None if there is no such time, or it is not sure."""
    if match.re is _NOON:
        return time(12)
    parts = match.groupdict()
    hour, minute = int(parts["hour"]), int(parts.get("minute") or 0)
    half = parts.get("half")
    if half:
        if not 1 <= hour <= 12:
            return None
        return time(hour % 12 + (12 if half in "pP" else 0), minute)
    if hour > 23:
        return None
    is_early, is_late = bool(_EARLY.search(text)), bool(_LATE.search(text))
    if is_late and not is_early and 1 <= hour < 12:
        return time(hour + 12, minute)
    is_sure = match.re is not _BARE or hour in _SURE_HOURS or is_early
    return time(hour, minute) if is_sure else None


def mentioned_recurrence(text: str) -> Recurrence | None:
    """Return YEARLY for a birthday or a wedding anniversary, WEEKLY for "every Tuesday"."""
    text = text[:_MAX_CHARACTERS]
    if _BIRTHDAY.search(text):
        return Recurrence.YEARLY
    return Recurrence.WEEKLY if _EVERY_WEEKDAY.search(text) else None


def weekday_named(text: str) -> int | None:
    """Return the weekday of "every Tuesday", Monday being 0; None if there is none."""
    match = _EVERY_WEEKDAY.search(text[:_MAX_CHARACTERS])
    return WEEKDAYS.index(match["day"].casefold()) if match else None
