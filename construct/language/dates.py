"""Find the days an English sentence mentions. No I/O.

A sentence is read for the one day it means, by its tense, seen from the day it was
said.
"""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import date, timedelta

from construct.language.named_periods import (
    DAY_WORD,
    DAY_WORD_OFFSETS,
    HABIT,
    INDEFINITE,
    MONTH_ABBREVIATIONS,
    NAMED_DAY,
    RELATIVE,
    UNIT_DAYS,
    is_one_day,
    read_amount,
    weekday_meant,
)
from construct.language.periods import add_months

Reading = tuple[int, int, date]
"""How exact a reference is (0 is the most exact), its position, and the day."""

_LONGEST = 1000
"""Only the first characters of a sentence are read."""
_SPELLED = (
    "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|"
    "thirteenth|fourteenth"
)

_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = rf"(?:(?P<day>\d{{1,2}})(?P<th>st|nd|rd|th)?|(?P<spelled>{_SPELLED}))"
_YEAR = r"(?:,?\s+(?:of\s+)?(?P<year>(?:19|20|21)\d\d)(?![\d:]))?"

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
_LASTING = re.compile(
    r"(?i)\b(?:times?|once|twice|most|best|worst|haven['’]t|hasn['’]t|(?:has|have) been)\b|['’]ve\b"
)
_ORDINAL = re.compile(
    r"(?i)(?:\b(?:on|by|until|till|before|after|from|since|for|to|is|was|it['’]s|\w{3,6}day,?)\s+|^\s*)the\s+"
    r"(?P<day>\d{1,2})(?:st|nd|rd|th)\b(?!\s+(?!(?:at|in|and|or|to|for|with|if|when|because|so|but|then|is|was|from|till|"
    r"until|after|before|during|by|as|since|while|he|she|they|it|this|next|already|works|suits|i|we)\b|"
    r"of (?:this|the|next|last) month)\w)"
    r"(?:\s+of (?:(?P<next>next)|(?P<last>last)|this|the) month)?"
)
# "Friday, not Wednesday", "instead of tomorrow"; but "why not Friday?", "not until
# Friday".
_DENIED = re.compile(
    r"(?i)(?<!why )\b(?:not|no longer|instead of|rather than)\s+"
    r"(?:(?:on|for|this|next|last|the|\w{3,6}day,?)\s+)*$"
)
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


def referenced_date(text: str, base: date) -> date | None:
    """Return the day that an English sentence, said on the day `base`, refers to.

    None if it does not name exactly one day.
    """
    return next(iter(mentioned_days(text, base)), None)


def mentioned_days(text: str, base: date) -> list[date]:
    """Return the days that a sentence mentions, the most exact first."""
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


def in_past(text: str) -> bool:
    """Return whether the first sign of tense in a sentence is of the past."""
    sign = _TENSE.search(text, 0, _LONGEST)
    return sign is not None and sign["past"] is not None


def _told_as_past(text: str, start: int, end: int) -> bool:
    """Return whether the day at text[start:end] is told in the past tense.

    The nearest verb before it in its clause decides, or else the next one.
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


def _nearest(months: Iterable[date], day: int, base: date, *, past: bool) -> date | None:
    """Return the day in the first of `months` in which it is past, or still to come."""
    for month in months:
        with suppress(ValueError):
            found = month.replace(day=day)
            if (found <= base) if past else (found >= base):
                return found
    return None


def _in_some_year(
    month: int, day: int, text: str, span: tuple[int, int], base: date
) -> date | None:
    """Return the date in the year that a word names, or else the last or next by tense."""
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
    """Read "5.3.2027" or "25/12/26", if the order of day and month is certain."""
    first, second, year = int(match[1]), int(match[3]), int(match[4])
    day_first = match[2] == "." or first > 12 or first == second
    if not day_first and second <= 12:
        return None
    day, month = (first, second) if day_first else (second, first)
    if len(match[4]) == 2:
        year += 1900 if year >= 80 else 2000
    return 0, match.start(), date(year, month, day)


def _names_month(match: re.Match[str], text: str) -> bool:
    """Return whether "may", "march" or "mar" is a month here and not another word."""
    name = match["month"]
    if name not in {"may", "march", "mar"} or match["year"]:
        return True
    if match.start("month") == match.start():
        return bool(match["th"] or match["spelled"])
    return bool(match["of"] or _BEFORE_DATE.search(text[: match.start()]))


def _read_month_day(match: re.Match[str], text: str, base: date) -> Reading | None:
    if not _names_month(match, text) or INDEFINITE.search(text[: match.start()]):
        return None
    day = int(match["day"] or _SPELLED.split("|").index(match["spelled"].casefold()) + 1)
    month = MONTH_ABBREVIATIONS.index(match["month"].casefold()[:3]) + 1
    if match["year"]:
        return 0, match.start(), date(int(match["year"]), month, day)
    found = _in_some_year(month, day, text, match.span(), base)
    return (0, match.start(), found) if found else None


def _read_relative(match: re.Match[str], text: str, base: date) -> Reading | None:
    count, unit = read_amount(match)
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
        found = origin + timedelta(days=count * UNIT_DAYS[unit])
    return 2 if match["ago"] else 1, match.start(), found


def _read_weekday(match: re.Match[str], text: str, base: date) -> Reading | None:
    if not is_one_day(match, text):
        return None
    start = match.start("weekday") if match["weekday"] else match.start("short")
    past = _told_as_past(text, *match.span())
    return 1, start, weekday_meant(match, text, base, past=past)


def _read_ordinal(match: re.Match[str], text: str, base: date) -> Reading | None:
    if HABIT.search(text):
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
    rank, offset = DAY_WORD_OFFSETS[match.lastgroup or "zero"]
    return rank, match.start(), base + timedelta(days=offset)


_Read = Callable[[re.Match[str], str, date], Reading | None]
_READERS: tuple[tuple[re.Pattern[str], _Read], ...] = (
    (_ISO, _read_iso),
    (_NUMERIC, _read_numeric),
    (_MONTH_DAY, _read_month_day),
    (_DAY_MONTH, _read_month_day),
    (_ORDINAL, _read_ordinal),
    (RELATIVE, _read_relative),
    (NAMED_DAY, _read_weekday),
    (DAY_WORD, _read_day_word),
)
