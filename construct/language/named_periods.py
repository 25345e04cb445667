"""Read the times a query names: "in May", "last week", "two years ago". No I/O.

A query looks back. Words for days and amounts are read the same way in sentences
(`dates`).
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta

from construct.language.periods import Period, add_months, period
from construct.language.wordlists import MONTHS, TIME_WORDS, WEEKDAYS, word_set

_MAX_CHARACTERS = 2_000
"""Only the last characters of a query are read: a pasted page names too many times."""
_LONGEST_LEAD = 40
"""Characters before a day's name that are searched for words that change its meaning.
"""
MONTH_ABBREVIATIONS = [name[:3] for name in MONTHS]
_DAYS = [name[:3] for name in WEEKDAYS]
_SMALL = "a|an|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NUMBERS = dict(zip(_SMALL.split("|"), (1, 1, *range(1, 13)), strict=True))
UNIT_DAYS = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}

_NUMBER = rf"(?P<n>\d{{1,3}}|{_SMALL})"
_UNIT = r"(?P<unit>day|week|fortnight|month|year)s?"
_WEEKDAY = r"(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
RELATIVE = re.compile(
    rf"(?ia)\bin\s+(?:about\s+|around\s+|exactly\s+|just\s+)?{_NUMBER}\s+{_UNIT}\b(?!\s+(?:or|of)\b)"
    rf"|\b{_NUMBER.replace('<n>', '<n2>')}\s+{_UNIT.replace('<unit>', '<unit2>')}\s+"
    r"(?:(?P<ago>ago(?:\s+(?P<exact>today))?)|from\s+(?P<origin>now|today|tomorrow))\b"
)
_MANY_DAYS = (
    r"\s+(?:nights|mornings|afternoons|evenings|school|roast|papers?|of (?:the|each|every) month)\b"
    r"|\s*(?:-|–|to|thru|through)\s*(?:mon|tue|wed|thu|fri|sat|sun)\w*"
)
NAMED_DAY = re.compile(
    r"(?ia)(?:(?P<lead>\b(?:the|this|next|last|past|previous|coming|upcoming|following)\s+"
    rf"(?:past\s+|coming\s+)?)?\b{_WEEKDAY}\b|\b(?P<lead2>(?:on|this|next|last|by|until|till)\s+)"
    rf"(?P<short>(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun))\b)(?P<many>{_MANY_DAYS})?"
)
INDEFINITE = re.compile(
    r"(?i)\b(?:every|each|any|most|all|some|other|an?|one|per|many|another|first|second|third|fourth|black|good|ash|"
    r"palm|cyber|casual|super|bloody|taco|easter|single|free|weeks? from)\s+$"
)
HABIT = re.compile(
    r"(?i)\b(?:usually|always|often|typically|normally|generally|whenever|weekly|"
    r"every (?:week|month|year|other))\b"
)
_OTHER_WEEK = re.compile(r"(?i)\s*,?\s*(?:of\s+|the\s+)*(?:(next)|(last)) week\b")
_WEEK_BEFORE = re.compile(r"(?i)\b(?:(next)|(last)) week\s*,?\s*(?:on\s+)?$")
DAY_WORD = re.compile(
    r"(?i)\b(?:(?P<plus2>(?:the )?day after tomorrow)|(?P<minus2>(?:the )?day before yesterday)|"
    r"(?P<plus1>tomm?orr?ow|tmrw?)|(?P<minus1>yesterday|last night)|"
    r"(?P<zero>today|tonight|this (?:morning|afternoon|evening)))\b"
)
DAY_WORD_OFFSETS = {
    "plus2": (1, 2),
    "minus2": (2, -2),
    "plus1": (1, 1),
    "minus1": (2, -1),
    "zero": (3, 0),
}

# What a query names: a month needs a day, a year or one of these words beside it.
_LEAD = (
    "in|on|of|since|by|during|until|till|last|this|early|late|mid|before|after|around|from|between"
)
_NAMED_PERIOD = re.compile(
    rf"(?i)\b(?P<iso>\d{{4}}-\d{{1,2}}(?:-\d{{1,2}})?)\b"
    rf"|(?:\b(?P<lead>{_LEAD})[\s-]+)?(?:\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+)?"
    rf"\b(?P<month>{'|'.join([*MONTHS, *MONTH_ABBREVIATIONS, 'sept'])})\b\.?"
    r"(?:,?\s+(?:of\s+)?(?P<year>\d{4})\b(?!-)"
    r"|\s+(?:the\s+)?(?P<day2>\d{1,2})(?:st|nd|rd|th)?\b(?!\d)(?:,?\s+(?P<year2>\d{4}))?)?"
    r"|\b(?P<year3>(?:19|20)\d\d)\b"
)
_LAST_PERIOD = re.compile(r"(?i)\b(?P<lead>last|this|past)\s+(?P<unit>week|weekend|month|year)\b")
_TIME_PARTS = frozenset(
    (*TIME_WORDS, *MONTH_ABBREVIATIONS, "sept", *_NUMBERS, *UNIT_DAYS)
) | word_set("days past date time long old")


def named_periods(text: str, today: date | None = None) -> tuple[Period, ...]:
    """Return the periods that a query names, each once.

    Relative ones, such as "last week", are read only if `today` is given.
    """
    text = text[-_MAX_CHARACTERS:]
    found: list[Period] = []
    for match in _NAMED_PERIOD.finditer(text):
        year = match["year"] or match["year2"] or match["year3"]
        day = match["day"] or match["day2"]
        with suppress(ValueError):  # the calendar has no such day
            if match["iso"]:
                found.append(period(*match["iso"].split("-")))
            elif year or day or match["lead"]:
                found.append(period(year, _month_number(match["month"]), day))
    if today:
        with suppress(ValueError, OverflowError):  # before the calendar begins
            found += _periods_from(text, today)
    return tuple(dict.fromkeys(found))


def may_name_time(word: str) -> bool:
    """Return whether a folded word may be part of a date or period."""
    return (word.isdigit() and len(word) <= 4) or word in _TIME_PARTS


def read_amount(match: re.Match[str]) -> tuple[int, str]:
    """Return the number and the unit of "in two weeks" or "3 days ago"."""
    number, unit = match["n"] or match["n2"], match["unit"] or match["unit2"]
    count = int(number) if number.isdecimal() else _NUMBERS[number.casefold()]
    return count, unit.casefold()


def weekday_meant(match: re.Match[str], text: str, base: date, *, past: bool) -> date:
    """Return the day meant by "Friday", "next Friday" or "Friday last week"."""
    name = match["weekday"] or match["short"]
    lead = (match["lead"] or match["lead2"] or "").casefold()
    from_today = _DAYS.index(name.casefold()[:3]) - base.weekday()
    ahead, head = from_today % 7, _just_before(match.start(), text)
    if week := _OTHER_WEEK.match(text, match.end()) or _WEEK_BEFORE.search(head):
        return base + timedelta(days=from_today + (7 if week[1] else -7))
    if "next" in lead:
        return base + timedelta(days=from_today + 7)
    if past or re.search("last|past|previous", lead):
        return base + timedelta(days=ahead - 7)
    return base + timedelta(days=ahead if "this" in lead else ahead or 7)


def is_one_day(match: re.Match[str], text: str) -> bool:
    """Return whether the name of a weekday stands for one day: not "every Friday"."""
    if match["many"] or (match["lead"] or "").casefold() == "following ":
        return False
    start = match.start("weekday") if match["weekday"] else match.start("short")
    return not INDEFINITE.search(_just_before(start, text)) and not HABIT.search(text)


def _just_before(position: int, text: str) -> str:
    return text[max(0, position - _LONGEST_LEAD) : position]


def _month_number(name: str | None) -> int | None:
    return None if name is None else MONTH_ABBREVIATIONS.index(name.casefold()[:3]) + 1


def _periods_from(text: str, today: date) -> Iterator[Period]:
    """Yield the periods that a query names relative to today, looking back."""
    for match in DAY_WORD.finditer(text):
        day = today + timedelta(days=DAY_WORD_OFFSETS[match.lastgroup or "zero"][1])
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
    """Return this week, weekend, month or year, or the last one."""
    if unit in {"week", "weekend"}:
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return Period(monday + timedelta(days=5 * (unit == "weekend")), monday + timedelta(days=6))
    if unit == "month":
        first = add_months(today.replace(day=1), -back)
        return period(first.year, first.month)
    return period(today.year - back)
