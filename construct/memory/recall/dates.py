"""Times named in a query ("on 31 October 2022", "in May", "last week"), and how near a day is to them. Pure."""

import math
import re
from dataclasses import dataclass
from datetime import date, timedelta

from construct.memory.language.wordlists import MONTHS, WEEKDAYS, word_set

FADE_DAYS = 7.0  # what happened on a day is told within about a week of it

_NAMES = "|".join([*MONTHS, *(m[:3] for m in MONTHS), "sept"])
_BEFORE = r"(?:in|on|of|since|by|during|until|till|last|this|early|late|mid|before|after|around|from|between)"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})(?:-(\d{1,2}))?\b")
_DAY_MONTH = re.compile(rf"\b{_DAY}(?:\s+of)?\s+({_NAMES})\b\.?(?:,?\s+(\d{{4}}))?", re.IGNORECASE)
_MONTH_DAY = re.compile(rf"\b({_NAMES})\b\.?\s+(?:the\s+)?{_DAY}\b(?!\d)(?:,?\s+(\d{{4}}))?", re.IGNORECASE)
_MONTH_YEAR = re.compile(rf"\b({_NAMES})\b\.?,?\s+(?:of\s+)?(\d{{4}})\b", re.IGNORECASE)
_MONTH = re.compile(rf"\b{_BEFORE}[\s-]+({_NAMES})\b", re.IGNORECASE)
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_AGO = re.compile(r"\b(\d{1,3}|an?|one|two|three|four|five|six|seven)\s+(day|week|month|year)s?\s+ago\b", re.IGNORECASE)
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_LAST = re.compile(r"\b(last|this|past)\s+(week|weekend|month|year)\b", re.IGNORECASE)
_DAYS_AGO = re.compile(r"\b(today|tonight|this morning|yesterday|last night)\b", re.IGNORECASE)
_WEEKDAY = re.compile(rf"\b(?:last|on|this|since)\s+({'|'.join(WEEKDAYS)})\b", re.IGNORECASE)
_UNIT = {"day": 1, "week": 7, "month": 30, "year": 365}


@dataclass(frozen=True, slots=True)
class Span:
    """The days from first to last; `yearly`: of any year."""

    first: date
    last: date
    yearly: bool = False

    def nearness(self, day: date) -> float:
        """Return 1 for a day within, less the farther it is."""
        return math.exp(-self._gap(day) / FADE_DAYS)

    def _gap(self, day: date) -> int:
        if not self.yearly:
            return max(0, (self.first - day).days, (day - self.last).days)
        length = (self.last - self.first).days
        starts = [date(year, self.first.month, min(self.first.day, 28)) for year in _years(day)]
        return min(max(0, (start - day).days, (day - start).days - length) for start in starts)


def spans(text: str, today: date | None = None) -> tuple[Span, ...]:
    """Return the times a query names, each once; relative ones only when `today` is known."""
    found = _absolute(text)
    if today:
        found += _relative(text, today)
    return tuple(dict.fromkeys(found))


def may_name_time(word: str) -> bool:
    """Tell whether a folded word may be a part of a time that is named."""
    return (word.isdigit() and len(word) <= 4) or word in _TIME_WORDS


_TIME_WORDS = frozenset((*_NAMES.split("|"), *WEEKDAYS, *_NUMBERS, *_UNIT, *(f"{unit}s" for unit in _UNIT))) | word_set(
    "ago last this past weekend today tonight morning yesterday night date time long old recently"
)


def _years(day: date) -> list[int]:
    return [year for year in (day.year - 1, day.year, day.year + 1) if 1 <= year <= 9999]


def _absolute(text: str) -> list[Span]:
    found: list[Span | None] = []

    def take(pattern: re.Pattern[str], order: tuple[int, int, int]) -> None:
        nonlocal text

        def keep(match: re.Match[str]) -> str:
            year, month, day = (match[i] if i else None for i in order)
            found.append(_span(year, month, day))
            return " "

        text = pattern.sub(keep, text)

    take(_ISO, (1, 2, 3))
    take(_DAY_MONTH, (3, 2, 1))
    take(_MONTH_YEAR, (2, 1, 0))
    take(_MONTH_DAY, (3, 1, 2))
    take(_MONTH, (0, 1, 0))
    take(_YEAR, (1, 0, 0))
    return [span for span in found if span]


def _span(year: str | None, month: str | None, day: str | None) -> Span | None:
    y = int(year) if year else 2000  # a leap year
    m = _month_number(month) if month else None
    try:
        if m is None:
            return Span(date(y, 1, 1), date(y, 12, 31))
        if day:
            return Span(date(y, m, int(day)), date(y, m, int(day)), yearly=year is None)
        last = date(y, m + 1, 1) - timedelta(days=1) if m < 12 else date(y, 12, 31)
        return Span(date(y, m, 1), last, yearly=year is None)
    except ValueError:
        return None


def _month_number(name: str) -> int:
    if name.isdigit():
        return int(name)
    return next(i for i, month in enumerate(MONTHS, 1) if month.startswith(name.lower()[:3]))


def _relative(text: str, today: date) -> list[Span]:
    found = []
    try:
        for match in _DAYS_AGO.finditer(text):
            day = today - timedelta(days=match[1].lower() in ("yesterday", "last night"))
            found.append(Span(day, day))
        for match in _AGO.finditer(text):
            number = _NUMBERS.get(match[1].lower()) or int(match[1])
            unit = _UNIT[match[2].lower()]
            day = today - timedelta(days=number * unit)
            found.append(Span(day - timedelta(days=unit // 4), day + timedelta(days=unit // 4)))
        found += [_period(m[2].lower(), today, back=m[1].lower() != "this") for m in _LAST.finditer(text)]
        for match in _WEEKDAY.finditer(text):
            back = (today.weekday() - WEEKDAYS.index(match[1].lower()) - 1) % 7 + 1
            found.append(Span(today - timedelta(days=back), today - timedelta(days=back)))
    except OverflowError:  # before the calendar begins
        pass
    return found


def _period(unit: str, today: date, *, back: bool) -> Span:
    if unit in ("week", "weekend"):
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return Span(monday + timedelta(days=5 * (unit == "weekend")), monday + timedelta(days=6))
    if unit == "month":
        last = today.replace(day=1) - timedelta(days=1) if back else today
        return Span(last.replace(day=1), last)
    year = today.year - back
    return Span(date(year, 1, 1), date(year, 12, 31))
