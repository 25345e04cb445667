"""Find the days an English sentence mentions and the periods a query names. No I/O.

A sentence is read for the one day it means, by its tense, seen from the day it was
said. A query is read for whole periods ("in May", "last week") and looks back.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import date, timedelta

from construct.language.periods import Period, add_months, period
from construct.language.wordlists import MONTHS, TIME_WORDS, WEEKDAYS, word_set

Reading = tuple[int, int, date]
"""How exact a reference is (0 the most), where it stands, and the day."""

_LONGEST = 1000
"""Characters of a sentence that are read."""
_MONTHS = [name[:3] for name in MONTHS]
_DAYS = [name[:3] for name in WEEKDAYS]
_SMALL = "a|an|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NUMBERS = dict(zip(_SMALL.split("|"), (1, 1, *range(1, 13)), strict=True))
_SPELLED = (
    "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|"
    "thirteenth|fourteenth"
)
_UNIT_DAYS = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}

_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = rf"(?:(?P<day>\d{{1,2}})(?P<th>st|nd|rd|th)?|(?P<spelled>{_SPELLED}))"
_YEAR = r"(?:,?\s+(?:of\s+)?(?P<year>(?:19|20|21)\d\d)(?![\d:]))?"
_NUMBER = rf"(?P<n>\d{{1,3}}|{_SMALL})"
_UNIT = r"(?P<unit>day|week|fortnight|month|year)s?"
_WEEKDAY = r"(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)"

_ISO = re.compile(
    r"(?<![\w./-])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d|[-/.]\d)|(?<!\d)(\d{4})年(\d{1,2})月(\d{1,2})日"
)
_NUMERIC = re.compile(r"(?<![\w./-])(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d\d)(?![\w/-]|[.,]\d|%)")
_BEFORE_DATE = re.compile(r"(?i)\b(?:on|by|until|till|since|for|before|after|due|is|was)\s+$")
_MONTH_DAY = re.compile(
    rf"(?ia)\b{_MONTH}\b\.?\s+(?:the\s+)?{_DAY}(?![\w:%/]|\.\d|\s*[ap]\.?m\b)(?:\s?(?:-|–|to)\s?\d{{1,2}}\b)?{_YEAR}"
)
_DAY_MONTH = re.compile(
    rf"(?ia)(?<![\w:/.-]){_DAY}(?:\s?[-–]\s?\d{{1,2}})?\.?\s+(?P<of>of\s+)?{_MONTH}\b(?!['’])\.?{_YEAR}"
)
_RELATIVE = re.compile(
    rf"(?ia)\bin\s+(?:about\s+|around\s+|exactly\s+|just\s+)?{_NUMBER}\s+{_UNIT}\b(?!\s+(?:or|of)\b)"
    rf"|\b{_NUMBER.replace('<n>', '<n2>')}\s+{_UNIT.replace('<unit>', '<unit2>')}\s+"
    r"(?:(?P<ago>ago(?:\s+(?P<exact>today))?)|from\s+(?P<origin>now|today|tomorrow))\b"
)
_LASTING = re.compile(
    r"(?i)\b(?:times?|once|twice|most|best|worst|haven['’]t|hasn['’]t|(?:has|have) been)\b|['’]ve\b"
)
_MANY_DAYS = (
    r"\s+(?:nights|mornings|afternoons|evenings|school|roast|papers?|of (?:the|each|every) month)\b"
    r"|\s*(?:-|–|to|thru|through)\s*(?:mon|tue|wed|thu|fri|sat|sun)\w*"
)
_NAMED_DAY = re.compile(
    r"(?ia)(?:(?P<lead>\b(?:the|this|next|last|past|previous|coming|upcoming|following)\s+"
    rf"(?:past\s+|coming\s+)?)?\b{_WEEKDAY}\b|\b(?P<lead2>(?:on|this|next|last|by|until|till)\s+)"
    rf"(?P<short>(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun))\b)(?P<many>{_MANY_DAYS})?"
)
_INDEFINITE = re.compile(
    r"(?i)\b(?:every|each|any|most|all|some|other|an?|one|per|many|another|first|second|third|fourth|black|good|ash|"
    r"palm|cyber|casual|super|bloody|taco|easter|single|free|weeks? from)\s+$"
)
_HABIT = re.compile(
    r"(?i)\b(?:usually|always|often|typically|normally|generally|whenever|weekly|"
    r"every (?:week|month|year|other))\b"
)
_OTHER_WEEK = re.compile(r"(?i)\s*,?\s*(?:of\s+|the\s+)*(?:(next)|(last)) week\b")
_WEEK_BEFORE = re.compile(r"(?i)\b(?:(next)|(last)) week\s*,?\s*(?:on\s+)?$")
_ORDINAL = re.compile(
    r"(?i)(?:\b(?:on|by|until|till|before|after|from|since|for|to|is|was|it['’]s|\w{3,6}day,?)\s+|^\s*)the\s+"
    r"(?P<day>\d{1,2})(?:st|nd|rd|th)\b(?!\s+(?!(?:at|in|and|or|to|for|with|if|when|because|so|but|then|is|was|from|till|"
    r"until|after|before|during|by|as|since|while|he|she|they|it|this|next|already|works|suits|i|we)\b|"
    r"of (?:this|the|next|last) month)\w)"
    r"(?:\s+of (?:(?P<next>next)|(?P<last>last)|this|the) month)?"
)
_DAY_WORD = re.compile(
    r"(?i)\b(?:(?P<plus2>(?:the )?day after tomorrow)|(?P<minus2>(?:the )?day before yesterday)|"
    r"(?P<plus1>tomm?orr?ow|tmrw?)|(?P<minus1>yesterday|last night)|"
    r"(?P<zero>today|tonight|this (?:morning|afternoon|evening)))\b"
)
# "Friday, not Wednesday", "instead of tomorrow"; but "why not Friday?", "not until
# Friday".
_DENIED = re.compile(
    r"(?i)(?<!why )\b(?:not|no longer|instead of|rather than)\s+"
    r"(?:(?:on|for|this|next|last|the|\w{3,6}day,?)\s+)*$"
)
_OFFSETS = {"plus2": (1, 2), "minus2": (2, -2), "plus1": (1, 1), "minus1": (2, -1), "zero": (3, 0)}
_YEAR_WORD = re.compile(r"(?i)\b(?:(next)|(last)|this) year\b")

_PAST_FORMS = (
    "was|were|did|had|went|came|got|took|made|saw|met|ate|bought|left|began|broke|brought|built|caught|chose|drank|drove|"
    "fell|felt|flew|forgot|found|gave|grew|heard|held|kept|knew|lost|paid|ran|rode|said|sang|sent|slept|sold|spent|spoke|"
    "stood|swam|taught|thought|told|understood|woke|won|wore|wrote|became|been|gone|done|seen|taken|given|quit|ago|last|"
    "lent|fed|led|hid|bit|blew|bent|burnt|crept|dealt|drew|dug|fought|forgave|froze|hung|knelt|learnt|lit|meant|overslept|"
    "rang|rose|sat|shone|shook|shot|slid|sought|spilt|stole|stuck|stung|struck|swept|swore|swung|threw|tore|wept|"
    "didn't|wasn't|weren't|hadn't|couldn't|born"
)
_TENSE = re.compile(
    r"(?i)(?P<now>\b(?:am|is|are|be|being|gets?|getting|i'm|we're|you're|it's)\s+(?:\w+ly\s+|not\s+|so\s+)?"
    r"[a-z]+ed\b|\b(?:am|is|are|will|won't|shall|going|gonna|can|must|should|"
    r"needs?|have to|has to|wants?|wanna|plans?|hopes?|let's|would|"
    r"upcoming|due|have an?|has an?|do|does|don't|"
    r"isn't|aren't|starts?|begins?|opens?|leaves?|arrives?|remind|see you)\b|['’](?:ll|m|re)\b)"
    rf"|(?P<past>\b(?:{_PAST_FORMS}|(?!need|feed|speed|indeed|hundred|breed|proceed|exceed)[a-z]{{2,}}ed)\b)"
)
_ARRANGED = re.compile(
    r"(?is)\b(?:book|schedul|reserv|plann|arrang|sign|enrol|regist|invit|bought|set|fix|"
    r"confirm|made an|postpon|push|mov|shift|reschedul|agreed|promis|decid|accept|"
    r"got (?:an? |the |my )?(?:\w+ )?(?:appointment|ticket|slot|date|invit|reserv|flight|table|"
    r"interview))\w*\b.*\b(?:for|to|until|till|by)\s+(?:the |this |next )?(?:\w+day,? )?$"
)
_BORDER = re.compile(r"(?i)[;,:–—]|\s-\s|\b(?:and|but|so|because|that|which|while|then)\b")
_SUBJECT = re.compile(r"(?i)\b(?:I|we|he|she|they|it|there)\b|['’]s\b")
_SINCE = re.compile(r"(?i)\bsince\s+(?:the |last )?$")

# What a query names: a month needs a day, a year or one of these words beside it.
_LEAD = (
    "in|on|of|since|by|during|until|till|last|this|early|late|mid|before|after|around|from|between"
)
_NAMED_PERIOD = re.compile(
    rf"(?i)\b(?P<iso>\d{{4}}-\d{{1,2}}(?:-\d{{1,2}})?)\b"
    rf"|(?:\b(?P<lead>{_LEAD})[\s-]+)?(?:\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+)?"
    rf"\b(?P<month>{'|'.join([*MONTHS, *_MONTHS, 'sept'])})\b\.?"
    r"(?:,?\s+(?:of\s+)?(?P<year>\d{4})\b(?!-)"
    r"|\s+(?:the\s+)?(?P<day2>\d{1,2})(?:st|nd|rd|th)?\b(?!\d)(?:,?\s+(?P<year2>\d{4}))?)?"
    r"|\b(?P<year3>(?:19|20)\d\d)\b"
)
_LAST_PERIOD = re.compile(r"(?i)\b(?P<lead>last|this|past)\s+(?P<unit>week|weekend|month|year)\b")
_TIME_PARTS = frozenset((*TIME_WORDS, *_MONTHS, "sept", *_NUMBERS, *_UNIT_DAYS)) | word_set(
    "days past date time long old"
)


def referenced_date(text: str, base: date) -> date | None:
    """Return the day an English sentence said on the day `base` refers to.

    None when it names no one day.
    """
    return next(iter(mentioned_days(text, base)), None)


def mentioned_days(text: str, base: date) -> list[date]:
    """Return the days the sentence speaks of, the most exact first."""
    text = text[:_LONGEST]
    found: list[Reading] = []
    for pattern, read in _READERS:
        for match in pattern.finditer(text):
            with suppress(ValueError, OverflowError):  # the calendar has no such day
                reading = read(match, text, base)
                found += [reading] if reading else []
    return [
        day
        for _, start, day in sorted(found)
        if not _DENIED.search(text[max(0, start - 40) : start])
    ]


def named_periods(text: str, today: date | None = None) -> tuple[Period, ...]:
    """Return the times a query names, each once.

    What is counted from today is understood only when `today` is known.
    """
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
    """Return whether a folded word may be a part of a time that is named."""
    return (word.isdigit() and len(word) <= 4) or word in _TIME_PARTS


def in_past(text: str) -> bool:
    """Return whether the sentence's first sign of tense is one of the past."""
    sign = _TENSE.search(text, 0, _LONGEST)
    return sign is not None and sign["past"] is not None


def _told_as_past(text: str, start: int, end: int) -> bool:
    """Return whether what happens at text[start:end] is told as past.

    The nearest verb before it in its clause tells, else the next one.
    """
    if _ARRANGED.search(text[:start]):
        return False
    if _SINCE.search(text[:start]):
        return True
    left = max((border.end() for border in _BORDER.finditer(text, 0, start)), default=0)
    border = _BORDER.search(text, end)
    right = border.start() if border else len(text)
    if not _TENSE.search(text, left, right) and not _SUBJECT.search(text, left, right):
        leads = len(text[left:start].split()) < 3  # "On Friday, …": what follows tells the tense
        left, right = 0, len(text) if leads else right
    signs = [(sign.start(), sign["past"]) for sign in _TENSE.finditer(text, left, right)]
    before = [past for at, past in signs if at < start]
    return bool(before[-1] if before else next((past for at, past in signs if at >= end), None))


def _month_number(name: str | None) -> int | None:
    return None if name is None else _MONTHS.index(name.casefold()[:3]) + 1


def _nearest(months: Iterable[date], day: int, base: date, *, past: bool) -> date | None:
    """Return the day in the first of these months where it is past or to come."""
    for month in months:
        with suppress(ValueError):
            found = month.replace(day=day)
            if (found <= base) if past else (found >= base):
                return found
    return None


def _in_some_year(
    month: int, day: int, text: str, span: tuple[int, int], base: date
) -> date | None:
    """Return the day in the year that a word names, else the last or next by tense."""
    if word := _YEAR_WORD.search(text):
        return date(base.year + bool(word[1]) - bool(word[2]), month, day)
    is_last = text[: span[0]].rstrip().casefold().endswith(("last", "past"))
    past = is_last or _told_as_past(text, *span)
    sign = -1 if past else 1
    months = (date(base.year + sign * step, month, 1) for step in range(9))
    return _nearest(months, day, base, past=past)


def _read_iso(match: re.Match[str], _text: str, _base: date) -> Reading | None:
    year, month, day = (match[i] or match[j] for i, j in ((1, 5), (3, 6), (4, 7)))
    return 0, match.start(), date(int(year), int(month), int(day))


def _read_numeric(match: re.Match[str], _text: str, _base: date) -> Reading | None:
    """Read "5.3.2027" or "25/12/26", where the order is beyond doubt."""
    first, second, year = int(match[1]), int(match[3]), int(match[4])
    day_first = match[2] == "." or first > 12 or first == second
    if not day_first and second <= 12:
        return None
    day, month = (first, second) if day_first else (second, first)
    if len(match[4]) == 2:
        year += 1900 if year >= 80 else 2000
    return 0, match.start(), date(year, month, day)


def _names_month(match: re.Match[str], text: str) -> bool:
    """Return whether "may", "march" and "mar" are months here and no other words."""
    name = match["month"]
    if name not in {"may", "march", "mar"} or match["year"]:
        return True
    if match.start("month") == match.start():
        return bool(match["th"] or match["spelled"])
    return bool(match["of"] or _BEFORE_DATE.search(text[: match.start()]))


def _read_month_day(match: re.Match[str], text: str, base: date) -> Reading | None:
    if not _names_month(match, text) or _INDEFINITE.search(text[: match.start()]):
        return None
    day = int(match["day"] or _SPELLED.split("|").index(match["spelled"].casefold()) + 1)
    month = _MONTHS.index(match["month"].casefold()[:3]) + 1
    if match["year"]:
        return 0, match.start(), date(int(match["year"]), month, day)
    found = _in_some_year(month, day, text, match.span(), base)
    return (0, match.start(), found) if found else None


def _amount(match: re.Match[str]) -> tuple[int, str]:
    """Return the number and the unit of "in two weeks" or "3 days ago"."""
    number, unit = match["n"] or match["n2"], match["unit"] or match["unit2"]
    count = int(number) if number.isdecimal() else _NUMBERS[number.casefold()]
    return count, unit.casefold()


def _read_relative(match: re.Match[str], text: str, base: date) -> Reading | None:
    count, unit = _amount(match)
    if match["ago"] and unit == "year" and not match["exact"]:
        return None
    if match["unit"] and _LASTING.search(text[: match.start()]):
        return None
    if match["unit"] and _told_as_past(text, *match.span()):
        return None
    origin = base + timedelta(days=(match["origin"] or "").casefold() == "tomorrow")
    count = -count if match["ago"] else count
    if unit in {"month", "year"}:
        found = add_months(origin, count * (12 if unit == "year" else 1))
    else:
        found = origin + timedelta(days=count * _UNIT_DAYS[unit])
    return 2 if match["ago"] else 1, match.start(), found


def _weekday(match: re.Match[str], text: str, base: date, *, past: bool) -> date:
    """Return the day of "Friday", "next Friday", "Friday last week"."""
    name = match["weekday"] or match["short"]
    lead = (match["lead"] or match["lead2"] or "").casefold()
    from_today = _DAYS.index(name.casefold()[:3]) - base.weekday()
    ahead, head = from_today % 7, text[: match.start()]
    if week := _OTHER_WEEK.match(text, match.end()) or _WEEK_BEFORE.search(head):
        return base + timedelta(days=from_today + (7 if week[1] else -7))
    if "next" in lead:
        return base + timedelta(days=from_today + 7)
    if past or re.search("last|past|previous", lead):
        return base + timedelta(days=ahead - 7)
    return base + timedelta(days=ahead if "this" in lead else ahead or 7)


def _is_one_day(match: re.Match[str], text: str) -> bool:
    """Return whether the name of a weekday stands for one day: not "every Friday"."""
    if match["many"] or (match["lead"] or "").casefold() == "following ":
        return False
    start = match.start("weekday") if match["weekday"] else match.start("short")
    return not _INDEFINITE.search(text[:start]) and not _HABIT.search(text)


def _read_weekday(match: re.Match[str], text: str, base: date) -> Reading | None:
    if not _is_one_day(match, text):
        return None
    start = match.start("weekday") if match["weekday"] else match.start("short")
    past = _told_as_past(text, *match.span())
    return 1, start, _weekday(match, text, base, past=past)


def _read_ordinal(match: re.Match[str], text: str, base: date) -> Reading | None:
    if _HABIT.search(text):
        return None
    day, this_month = int(match["day"]), base.replace(day=1)
    if match["next"] or match["last"]:
        month = add_months(this_month, 1 if match["next"] else -1)
        return 0, match.start(), month.replace(day=day)
    past = _told_as_past(text, *match.span("day"))
    months = (add_months(this_month, -step if past else step) for step in range(4))
    found = _nearest(months, day, base, past=past)
    return (0, match.start(), found) if found else None


def _read_day_word(match: re.Match[str], _text: str, base: date) -> Reading | None:
    rank, offset = _OFFSETS[match.lastgroup or "zero"]
    return rank, match.start(), base + timedelta(days=offset)


_Read = Callable[[re.Match[str], str, date], Reading | None]
_READERS: tuple[tuple[re.Pattern[str], _Read], ...] = (
    (_ISO, _read_iso),
    (_NUMERIC, _read_numeric),
    (_MONTH_DAY, _read_month_day),
    (_DAY_MONTH, _read_month_day),
    (_ORDINAL, _read_ordinal),
    (_RELATIVE, _read_relative),
    (_NAMED_DAY, _read_weekday),
    (_DAY_WORD, _read_day_word),
)


def _periods_from(text: str, today: date) -> Iterator[Period]:
    """Yield what a query counts from today; it looks back."""
    for match in _DAY_WORD.finditer(text):
        day = today + timedelta(days=_OFFSETS[match.lastgroup or "zero"][1])
        yield Period(day, day)
    for match in _RELATIVE.finditer(text):
        if match["ago"]:
            count, unit = _amount(match)
            day = today - timedelta(days=count * _UNIT_DAYS[unit])
            slack = timedelta(days=_UNIT_DAYS[unit] // 4)
            yield Period(day - slack, day + slack)
    for match in _LAST_PERIOD.finditer(text):
        yield _calendar_period(match["unit"].lower(), today, back=match["lead"].lower() != "this")
    for match in _NAMED_DAY.finditer(text):
        if _is_one_day(match, text):
            day = _weekday(match, text, today, past=True)
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
