"""Read the times a query names: "in May", "last week", "two years ago". No I/O.

Since a query looks back, "Friday" is the last one. The patterns for weekdays and amounts
of time are shared with `dates`, which reads sentences.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta
from functools import cache

from construct.language.periods import Period, add_months, period
from construct.language.wordlists import FOREIGN_MONTHS, MONTHS, TIME_WORDS, WEEKDAYS, word_set
from construct.language.written_days import written_days
from construct.stems import fold

_MAX_CHARACTERS = 2_000
"""Only this many characters at the end are read: a pasted page names too many dates."""
_LONGEST_LEAD = 40
"""Characters before a weekday that are searched for words such as "every"."""
_MONTH_ABBREVIATIONS = [name[:3] for name in MONTHS]
DAYS = [name[:3] for name in WEEKDAYS]
_SMALL = "a|an|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
NUMBERS = dict(zip(_SMALL.split("|"), (1, 1, *range(1, 13)), strict=True))
UNIT_DAYS = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}
"""Days in each unit, roughly."""

_NUMBER = rf"(?P<n>\d{{1,3}}|{_SMALL})"
_UNIT = r"(?P<unit>day|week|fortnight|month|year)s?"
_WEEKDAY = r"(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
# "in two weeks", "3 days ago", "a month from now"; not "in two weeks or so"
RELATIVE = re.compile(
    rf"(?ia)\bin\s+(?:about\s+|around\s+|exactly\s+|just\s+)?{_NUMBER}\s+{_UNIT}\b(?!\s+(?:or|of)\b)"
    rf"|\b{_NUMBER.replace('<n>', '<n2>')}\s+{_UNIT.replace('<unit>', '<unit2>')}\s+"
    r"(?:(?P<ago>ago(?:\s+(?P<exact>today))?)|from\s+(?P<origin>now|today|tomorrow))\b"
)
# After a weekday: "Sunday mornings", "Monday to Friday"
_MANY_DAYS = (
    r"\s+after (?:next|that)\b"
    r"|\s+(?:nights|mornings|afternoons|evenings|school|roast|papers?|"
    r"of (?:the|each|every) month)\b"
    r"|\s*(?:-|–|to|thru|through)\s*(?:mon|tue|wed|thu|fri|sat|sun)\w*"
)
# "next Friday", "on Fri"; an abbreviation needs a capital and a word before it.
NAMED_DAY = re.compile(
    r"(?ia)(?:(?P<lead>\b(?:the|this|next|last|past|previous|coming|upcoming|following)\s+"
    rf"(?:past\s+|coming\s+)?)?\b{_WEEKDAY}\b|\b(?P<lead2>(?:on|this|next|last|by|until|till)\s+)"
    rf"(?P<short>(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun))\b)(?P<many>{_MANY_DAYS})?"
)
# "A week on Tuesday", "a fortnight tomorrow", "Tuesday week", "Tuesday in two weeks"
WEEKS_ON = re.compile(
    rf"(?ia)\b(?:{_NUMBER}\s+weeks?|an?\s+(?P<fortnight>fortnight))\s+(?:(?:on|from|come)\s+)?"
    rf"(?:(?:this|next|coming)\s+)?(?P<day>{_WEEKDAY}|today|tonight|tomorrow)\b"
    rf"|\b(?P<day2>{_WEEKDAY.replace('<weekday>', '<weekday2>')}|today|tomorrow)\s+"
    rf"(?:week|(?P<fortnight2>fortnight))\b"
    rf"|\b{_WEEKDAY.replace('<weekday>', '<weekday3>')}\s+in\s+(?:\w+)\s+(?:weeks?|fortnight)\b"
)
# Before a day: "every Friday", "Black Friday", "a week from Friday"
INDEFINITE = re.compile(
    r"(?i)\b(?:every|each|any|most|all|some|other|an?|one|per|many|another|first|second|third|fourth|black|good|ash|"
    r"palm|cyber|casual|super|bloody|taco|easter|single|free|"
    r"weeks? (?:from|last)|days? (?:before|after))\s+$"
)
# Anywhere in the sentence: "I usually swim on Friday"
HABIT = re.compile(
    r"(?i)\b(?:usually|always|often|typically|normally|generally|whenever|weekly|"
    r"every (?:week|month|year|other))\b"
)
# "Friday of next week"
_WEEK_AFTER = re.compile(r"(?i)\s*,?\s*(?:of\s+|the\s+)*(?:(?P<next>next)|last) week\b")
# "last week, on Friday"
_WEEK_BEFORE = re.compile(r"(?i)\b(?:(?P<next>next)|last) week\s*,?\s*(?:on\s+)?$")
DAY_WORD = re.compile(
    r"(?i)\b(?:(?P<plus2>(?:the )?day after tomorrow)|(?P<minus2>(?:the )?day before yesterday)|"
    r"(?P<plus1>tomm?orr?ow|tmrw?)|(?P<minus1>yesterday|last night)|"
    r"(?P<zero>today|tonight|this (?:morning|afternoon|evening)))\b"
)
DAY_WORD_OFFSETS = {
    "plus2": 2,
    "minus2": -2,
    "plus1": 1,
    "minus1": -1,
    "zero": 0,
}
"""Days from today, by the group of DAY_WORD that matched."""

# "May" and "March" alone may be other words: a month needs a day, a year or one of these
# words beside it.
_LEAD = (
    "in|on|of|since|by|during|until|till|last|this|early|late|mid|before|after|around|from|between"
)
# "2026-03-05", "in May", "5th of May 2026", "May 5, 2026", "2026"
_NAMED_PERIOD = re.compile(
    rf"(?i)\b(?P<iso>\d{{4}}-\d{{1,2}}(?:-\d{{1,2}})?)\b"
    rf"|(?:\b(?P<lead>{_LEAD})[\s-]+)?(?:\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+)?"
    rf"\b(?P<month>{'|'.join([*MONTHS, *_MONTH_ABBREVIATIONS, 'sept'])})\b\.?"
    r"(?:,?\s+(?:of\s+)?(?P<year>\d{4})\b(?!-)"
    r"|\s+(?:the\s+)?(?P<day2>\d{1,2})(?:st|nd|rd|th)?\b(?!\d)(?:,?\s+(?P<year2>\d{4}))?)?"
    r"|\b(?P<year3>(?:19|20)\d\d)\b"
)
_LAST_PERIOD = re.compile(r"(?i)\b(?P<lead>last|this|past)\s+(?P<unit>week|weekend|month|year)\b")
# Words that occur in a date or a period.
_TIME_PARTS = frozenset(
    (*TIME_WORDS, *_MONTH_ABBREVIATIONS, "sept", *NUMBERS, *UNIT_DAYS)
) | word_set("days past date time long old")


def named_periods(text: str, today: date | None = None) -> tuple[Period, ...]:
    """Return the periods that a query names, each once.

    Relative ones, such as "last week", are read only if `today` is given.
    """
    text = text[-_MAX_CHARACTERS:]
    periods: list[Period] = []
    for match in _NAMED_PERIOD.finditer(text):
        year = match["year"] or match["year2"] or match["year3"]
        day = match["day"] or match["day2"]
        with suppress(ValueError):  # the calendar has no such day
            if match["iso"]:
                periods.append(period(*match["iso"].split("-")))
            elif year or day or match["lead"]:
                month = month_number(match["month"]) if match["month"] else None
                periods.append(period(year, month, day))
    for year, month, day in sorted(written_days(text), key=str):  # in other languages too
        with suppress(ValueError):
            periods.append(period(year, month, day))
    if today:
        with suppress(ValueError, OverflowError):  # outside the calendar
            periods += _relative_periods(text, today)
    return tuple(dict.fromkeys(periods))


def whole_period(text: str, today: date) -> Period | None:
    """Return the period that a whole text names, such as "May 2027" or "this month"; else None."""
    if not (_NAMED_PERIOD.fullmatch(text) or _LAST_PERIOD.fullmatch(text)):
        return None
    return next(iter(named_periods(text, today)), None)


def may_name_time(word: str) -> bool:
    """Return whether a folded word may be part of a date or period."""
    return (word.isdigit() and len(word) <= 4) or word in _TIME_PARTS or word in _foreign_months()


@cache
def _foreign_months() -> frozenset[str]:
    return frozenset(map(fold, FOREIGN_MONTHS))


def read_amount(match: re.Match[str]) -> tuple[int, str]:
    """Return the number and the unit of "in two weeks" or "3 days ago"."""
    number, unit = match["n"] or match["n2"], match["unit"] or match["unit2"]
    count = int(number) if number.isdecimal() else NUMBERS[number.casefold()]
    return count, unit.casefold()


def weekday_meant(match: re.Match[str], text: str, base: date, *, past: bool) -> date:
    """Return the day meant by "Friday", "next Friday" or "Friday last week".

    `base` is the day it was said. A bare "Friday" is the one before that day with `past`,
    else the one after it.
    """
    name = match["weekday"] or match["short"]
    lead = (match["lead"] or match["lead2"] or "").casefold()
    from_today = DAYS.index(name.casefold()[:3]) - base.weekday()
    before = _just_before(match.start(), text)
    if week := _WEEK_AFTER.match(text, match.end()) or _WEEK_BEFORE.search(before):
        return base + timedelta(days=from_today + (7 if week["next"] else -7))
    if "next" in lead:
        return base + timedelta(days=from_today + 7)
    days_until = from_today % 7
    if past or re.search("last|past|previous", lead):
        return base + timedelta(days=days_until - 7)
    if days_until == 0 and "this" not in lead:
        days_until = 7  # people say "today", not the name of today's weekday
    return base + timedelta(days=days_until)


def is_one_day(match: re.Match[str], text: str) -> bool:
    """Return whether the name of a weekday stands for one day: not "every Friday"."""
    if match["many"] or (match["lead"] or "").casefold() == "following ":
        return False
    before = _just_before(name_start(match), text)
    return not INDEFINITE.search(before) and not HABIT.search(text)


def name_start(match: re.Match[str]) -> int:
    """Return where the name of the weekday starts in a match of NAMED_DAY."""
    return match.start("weekday") if match["weekday"] else match.start("short")


def _just_before(position: int, text: str) -> str:
    return text[max(0, position - _LONGEST_LEAD) : position]


def month_number(name: str) -> int:
    """Return the number of a month from its name or abbreviation: "Sept" is 9."""
    return _MONTH_ABBREVIATIONS.index(name.casefold()[:3]) + 1


def _relative_periods(text: str, today: date) -> Iterator[Period]:
    """Yield the periods that a query names relative to today, mostly past ones."""
    for match in DAY_WORD.finditer(text):
        day = today + timedelta(days=DAY_WORD_OFFSETS[match.lastgroup or "zero"])
        yield Period(day, day)
    for match in RELATIVE.finditer(text):
        if match["ago"]:
            count, unit = read_amount(match)
            day = today - timedelta(days=count * UNIT_DAYS[unit])
            slack = timedelta(days=UNIT_DAYS[unit] // 4)
            yield Period(day - slack, day + slack)
    for match in _LAST_PERIOD.finditer(text):
        yield _calendar_period(match["unit"].lower(), today, back=match["lead"].lower() != "this")
    for match in NAMED_DAY.finditer(text):
        if is_one_day(match, text):
            day = weekday_meant(match, text, today, past=True)
            yield Period(day, day)


def _calendar_period(unit: str, today: date, *, back: bool) -> Period:
    """Return this week, weekend, month or year, or with `back` the one before."""
    if unit in {"week", "weekend"}:
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return Period(monday + timedelta(days=5 * (unit == "weekend")), monday + timedelta(days=6))
    if unit == "month":
        first = add_months(today.replace(day=1), -back)
        return period(first.year, first.month)
    return period(today.year - back)
