"""Which day an English sentence speaks of, seen from the day it was said, and a day in words."""

import calendar
import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import partial

from construct.memory.language.wordlists import MONTHS, WEEKDAYS

Found = tuple[int, int, date]
"""How exact a reference is (0 the most), where it stands, and the day."""

_LONGEST = 1000
"""A sentence is read up to here."""
_SIZES = ((14, 1.0, "day"), (60, 7.0, "week"), (365, 30.44, "month"))
_MONTHS = [name[:3] for name in MONTHS]
_DAYS = [name[:3] for name in WEEKDAYS]
_SMALL = "a|an|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NUMBERS = dict(zip(_SMALL.split("|"), (1, 1, *range(1, 13)), strict=True))
_SPELLED = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth"

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
_NUMERIC = re.compile(r"(?<![\w./-])(\d{1,2})([./-])(\d{1,2})(?:\2(\d{4}|\d\d))?(?![\w/-]|[.,]\d|%)")
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
_LASTING = re.compile(r"(?i)\b(?:times?|once|twice|most|best|worst|haven['’]t|hasn['’]t|(?:has|have) been)\b|['’]ve\b")
_NAMED_DAY = re.compile(
    rf"(?ia)(?P<lead>\b(?:the|this|next|last|past|previous|coming|upcoming|following)\s+(?:past\s+|coming\s+)?)?"
    rf"\b{_WEEKDAY}\b|\b(?P<lead2>(?:on|this|next|last|by|until|till)\s+)"
    r"(?P<short>(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun))\b"
)
_INDEFINITE = re.compile(
    r"(?i)\b(?:every|each|any|most|all|some|other|an?|one|per|many|another|first|second|third|fourth|black|good|ash|"
    r"palm|cyber|casual|super|bloody|taco|easter|single|free|weeks? from)\s+$"
)
_HABIT = re.compile(
    r"(?i)\b(?:usually|always|often|typically|normally|generally|whenever|weekly|every (?:week|month|year|other))\b"
)
_NOT_ONE_DAY = re.compile(
    r"(?i)\s+(?:nights|mornings|afternoons|evenings|school|roast|papers?|of (?:the|each|every) month)\b"
    r"|\s*(?:-|–|to|thru|through)\s*(?:mon|tue|wed|thu|fri|sat|sun)\w*"
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
# "Friday, not Wednesday", "instead of tomorrow"; but "why not Friday?", "not until Friday".
_DENIED = re.compile(
    r"(?i)(?<!why )\b(?:not|no longer|instead of|rather than)\s+(?:(?:on|for|this|next|last|the|\w{3,6}day,?)\s+)*$"
)
_AS_IF = re.compile(r"(?i)\b(?:like|as if)\s+(?:it\s+(?:was|were)\s+)?(?:just\s+|only\s+)?$")
_OFFSETS = {"plus2": (1, 2), "minus2": (2, -2), "plus1": (1, 1), "minus1": (2, -1), "zero": (3, 0)}
_YEAR_WORD = re.compile(r"(?i)\b(?:(next)|(last)|this) year\b")

_PAST_FORMS = (
    "was|were|did|had|went|came|got|took|made|saw|met|ate|bought|left|began|broke|brought|built|caught|chose|drank|drove|"
    "fell|felt|flew|forgot|found|gave|grew|heard|held|kept|knew|lost|paid|ran|rode|said|sang|sent|slept|sold|spent|spoke|"
    "stood|swam|taught|thought|told|understood|woke|won|wore|wrote|became|been|gone|done|seen|taken|given|quit|ago|last|"
    "didn't|wasn't|weren't|hadn't|couldn't|born"
)
_TENSE = re.compile(
    r"(?i)(?P<now>\b(?:am|is|are|be|being|gets?|getting|i'm|we're|you're|it's)\s+(?:\w+ly\s+|not\s+|so\s+)?"
    r"[a-z]+ed\b|\b(?:am|is|are|will|won't|shall|going|gonna|can|must|should|needs?|have to|has to|wants?|wanna|"
    r"plans?|hopes?|let's|would|upcoming|due|have an?|has an?|do|does|don't|isn't|aren't|starts?|begins?|opens?|"
    r"leaves?|arrives?|remind|see you)\b|['’](?:ll|m|re)\b)"
    rf"|(?P<past>\b(?:{_PAST_FORMS}|(?!need|feed|speed|indeed|hundred|breed|proceed|exceed)[a-z]{{2,}}ed)\b)"
)
_ARRANGED = re.compile(
    r"(?is)\b(?:book|schedul|reserv|plann|arrang|sign|enrol|regist|invit|bought|set|fix|confirm|made an|postpon|push|"
    r"mov|shift|reschedul|agreed|promis|decid|accept|got (?:an? |the |my )?(?:\w+ )?(?:appointment|ticket|slot|date|"
    r"invit|reserv|flight|table|interview))\w*\b.*\b(?:for|to|until|till|by)\s+(?:the |this |next )?(?:\w+day,? )?$"
)
_BORDER = re.compile(r"(?i)[;,:–—]|\s-\s|\b(?:and|but|so|because|that|which|while|then)\b")
_SUBJECT = re.compile(r"(?i)\b(?:I|we|he|she|they|it|there)\b|['’]s\b")
_SINCE = re.compile(r"(?i)\bsince\s+(?:the |last )?$")

_HOLIDAY = re.compile(
    r"(?i)(?P<lead>\b\w+\s+)?\b(?:(?P<d1224>(?:christmas|xmas) eve)|(?P<d1225>christmas(?: day)?|xmas)|"
    r"(?P<d1226>boxing day)|(?P<d1231>new year['’]?s eve)|(?P<d0101>new year['’]?s(?: day)?)|"
    r"(?P<d0214>valentine['’]?s(?: day)?)|(?P<d1031>halloween))\b(?!['’]s)(?P<noun>\s+[a-z]+)?"
)
_NO_HOLIDAY = re.compile(r"(?i)(?:every|each|merry|happy|around|after|before|near|during|over|like|love|hate|a)\s+")
_HOLIDAY_THING = re.compile(
    r"(?i)\s+(?:tree|lights?|cards?|gifts?|presents?|party|markets?|cookies|movies?|songs?|shopping|season|holidays?|"
    r"break|vacation|time|costumes?|decorations?|resolutions?|carols?|music|spirit|sweater|week|weekend)"
)


def _day(month: int, day: int, year: int) -> date | None:
    """Return the date, or None where the calendar has none."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _plus(base: date, days: int) -> date | None:
    try:
        return base + timedelta(days=days)
    except OverflowError:
        return None


def _plus_months(base: date, months: int) -> date | None:
    """Return the same day some months on, or the last of a shorter month."""
    year, month = divmod(base.year * 12 + base.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        return None
    return date(year, month + 1, min(base.day, calendar.monthrange(year, month + 1)[1]))


def in_past(text: str) -> bool:
    """Tell whether the sentence's first sign of tense is one of the past."""
    sign = _TENSE.search(text, 0, _LONGEST)
    return sign is not None and sign["past"] is not None


def _told_as_past(text: str, start: int, end: int) -> bool:
    """Tell whether what happens at text[start:end] is told as past: by the nearest verb before it, else the next."""
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


def _of_year(in_year: Callable[[int], date | None], text: str, span: tuple[int, int], base: date) -> date | None:
    """Return the day in the year that a word names, else the last one up to `base` or the next from it on, by tense."""
    if word := _YEAR_WORD.search(text):
        return in_year(base.year + (1 if word[1] else -1 if word[2] else 0))
    past = text[: span[0]].rstrip().casefold().endswith(("last", "past")) or _told_as_past(text, *span)
    days = (in_year(base.year - step if past else base.year + step) for step in range(9))
    return next((day for day in days if day and (day <= base if past else day >= base)), None)


def _exact(text: str, base: date) -> Iterator[Found]:
    for match in _ISO.finditer(text):
        year, month, day = (int(part) for part in (match[1] or match[5], match[3] or match[6], match[4] or match[7]))
        if found := _day(month, day, year):
            yield 0, match.start(), found
    for match in _NUMERIC.finditer(text):
        if found := _unambiguous(match, text, base):
            yield 0, match.start(), found


def _unambiguous(match: re.Match[str], text: str, base: date) -> date | None:
    """Return the day of "25/12" or "5.3.2027": the order must be beyond doubt, and so must that it is a date."""
    first, second, year = int(match[1]), int(match[3]), match[4]
    if match[2] == "." or first > 12 or first == second:
        day, month = first, second
    elif second > 12:
        day, month = second, first
    else:
        return None
    if year:
        return _day(month, day, int(year) + (0 if len(year) == 4 else 2000 if int(year) < 80 else 1900))
    if match[2] != "/" or (first, second) == (24, 7) or not _BEFORE_DATE.search(text[: match.start()]):
        return None
    return _of_year(partial(_day, month, day), text, match.span(), base)


def _names_month(match: re.Match[str], text: str) -> bool:
    """Tell whether "may", "march" and "mar" are months here and no other words."""
    name, leads = match["month"], match.start("month") == match.start()
    if name.casefold() not in {"may", "march", "mar"} or match["year"] or (name[0].isupper() and match.start("month")):
        return True
    dated = bool(match["th"] or match["spelled"])
    if name[0].isupper():
        return dated or not re.match(r"\s+[a-z]+s\b(?<!is)(?<!as)", text[match.end() :])
    return (dated and leads) or bool(match.groupdict().get("of") or _BEFORE_DATE.search(text[: match.start()]))


def _months(text: str, base: date) -> Iterator[Found]:
    for match in [*_MONTH_DAY.finditer(text), *_DAY_MONTH.finditer(text)]:
        if not _names_month(match, text) or _INDEFINITE.search(text[: match.start()]):
            continue
        day = int(match["day"]) if match["day"] else _SPELLED.split("|").index(match["spelled"].casefold()) + 1
        in_year = partial(_day, _MONTHS.index(match["month"].casefold()[:3]) + 1, day)
        found = in_year(int(match["year"])) if match["year"] else _of_year(in_year, text, match.span(), base)
        if found:
            yield 0, match.start(), found


def _holidays(text: str, base: date) -> Iterator[Found]:
    for match in _HOLIDAY.finditer(text):
        name = next(key for key, value in match.groupdict().items() if value and key not in {"lead", "noun"})
        if _NO_HOLIDAY.fullmatch(match["lead"] or "") or _HOLIDAY_THING.fullmatch(match["noun"] or ""):
            continue
        if found := _of_year(partial(_day, int(name[1:3]), int(name[3:])), text, match.span(name), base):
            yield 1, match.start(name), found


def _relatives(text: str, base: date) -> Iterator[Found]:
    for match in _RELATIVE.finditer(text):
        number, unit = match["n"] or match["n2"], (match["unit"] or match["unit2"]).casefold()
        count = int(number) if number.isdecimal() else _NUMBERS[number.casefold()]
        lasting = match["unit"] and (_LASTING.search(text[: match.start()]) or _told_as_past(text, *match.span()))
        if lasting or (match["ago"] and unit == "year" and not match["exact"]):
            continue
        origin = _plus(base, int((match["origin"] or "").casefold() == "tomorrow")) or base
        count = -count if match["ago"] else count
        if unit in {"month", "year"}:
            found = _plus_months(origin, count * (12 if unit == "year" else 1))
        else:
            found = _plus(origin, count * {"day": 1, "week": 7, "fortnight": 14}[unit])
        if found:
            yield 2 if match["ago"] else 1, match.start(), found


def _weekday(match: re.Match[str], text: str, base: date) -> date | None:
    """Return the day of "Friday", "next Friday", "Friday last week", "two weeks from Friday"."""
    name, lead = (match["weekday"] or match["short"]).casefold(), (match["lead"] or match["lead2"] or "").casefold()
    from_today = _DAYS.index(name[:3]) - base.weekday()
    ahead, head = from_today % 7, text[: match.start()]
    if week := _OTHER_WEEK.match(text, match.end()) or _WEEK_BEFORE.search(head):
        return _plus(base, from_today + (7 if week[1] else -7))
    if "next" in lead:
        return _plus(base, from_today + 7)
    if re.search("last|past|previous", lead) or _told_as_past(text, *match.span()):
        return _plus(base, ahead - 7)
    return _plus(base, ahead if "this" in lead else ahead or 7)


def _weekdays(text: str, base: date) -> Iterator[Found]:
    skipped = len(text) if _HABIT.search(text) else 0
    for match in _NAMED_DAY.finditer(text):
        start = match.start("weekday") if match["weekday"] else match.start("short")
        if many := _NOT_ONE_DAY.match(text, match.end()):
            skipped = max(skipped, many.end())
        if start < skipped or _INDEFINITE.search(text[:start]) or (match["lead"] or "").casefold() == "following ":
            continue
        if found := _weekday(match, text, base):
            yield 1, start, found


def _ordinals(text: str, base: date) -> Iterator[Found]:
    for match in () if _HABIT.search(text) else _ORDINAL.finditer(text):
        past = bool(match["last"]) or (not match["next"] and _told_as_past(text, *match.span("day")))
        steps = [1] if match["next"] else [-1] if match["last"] else [-n if past else n for n in range(4)]
        months = filter(None, (_plus_months(base.replace(day=1), step) for step in steps))
        for month in months:
            found = _day(month.month, int(match["day"]), month.year)
            if found and (found <= base if past else found >= base):
                yield 0, match.start(), found
                break


def _day_words(text: str, base: date) -> Iterator[Found]:
    for match in _DAY_WORD.finditer(text):
        rank, offset = _OFFSETS[match.lastgroup or "zero"]
        if match["minus1"] and _AS_IF.search(text[: match.start()]):  # "it feels like yesterday"
            continue
        if found := _plus(base, offset):
            yield rank, match.start(), found


# Each with letters of which the text must have some, or it need not be tried.
_FINDERS: tuple[tuple[Callable[[str, date], Iterator[Found]], tuple[str, ...]], ...] = (
    (_exact, tuple("0123456789")),
    (_months, tuple(_MONTHS)),
    (_ordinals, tuple("0123456789")),
    (_holidays, ("mas", "year", "halloween", "valentine", "boxing")),
    (_relatives, ("day", "week", "month", "year", "fortnight")),
    (_weekdays, tuple(_DAYS)),
    (_day_words, ("day", "morrow", "morow", "tmr", "night", "morning", "afternoon", "evening")),
)


def mentioned_days(text: str, base: date) -> list[date]:
    """Return the days the sentence speaks of, the most exact and the first named first."""
    text = text[:_LONGEST]
    folded = text.casefold()
    tried = [finder(text, base) for finder, hints in _FINDERS if any(hint in folded for hint in hints)]
    found = sorted(found for finds in tried for found in finds)
    return [day for _, start, day in found if not _DENIED.search(text[max(0, start - 40) : start])]


def referenced_date(text: str, base: date) -> date | None:
    """Return the day an English sentence said on the day `base` refers to, or None when it names no one day."""
    return next(iter(mentioned_days(text, base)), None)


def relative_words(day: date, today: date) -> str:
    """Return how far off a day is, in words: "tomorrow", "in 3 days", "2 weeks ago", "next year"."""
    days = (day - today).days
    if abs(days) <= 1:
        return ("yesterday", "today", "tomorrow")[days + 1]
    if abs(days) >= 365 and abs(day.year - today.year) == 1:
        return "next year" if days > 0 else "last year"
    size, unit = next(((size, unit) for limit, size, unit in _SIZES if abs(days) < limit), (365.25, "year"))
    count = round(abs(days) / size)
    amount = f"{count} {unit}{'' if count == 1 else 's'}"
    return f"in {amount}" if days > 0 else f"{amount} ago"
