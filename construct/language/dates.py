"""Find the days that an English sentence mentions. No I/O.

"On Friday" is the next Friday or the last one, depending on the tense of the sentence.
It is counted from the day on which the sentence was said.
"""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from construct.language.named_periods import (
    DAY_WORD,
    DAY_WORD_OFFSETS,
    DAYS,
    HABIT,
    INDEFINITE,
    NAMED_DAY,
    NUMBERS,
    RELATIVE,
    UNIT_DAYS,
    WEEKS_ON,
    is_one_day,
    month_number,
    name_start,
    read_amount,
    weekday_meant,
)
from construct.language.periods import add_months
from construct.language.weekdays import names_another_weekday


@dataclass(frozen=True, slots=True, order=True)
class DayMention:
    """A day that a sentence mentions. The most exact mention sorts first."""

    rank: int
    """How exact it is: 0 for a date, 1 to 3 for words such as "Friday" or "today"."""
    start: int
    """Its position in the sentence."""
    day: date


_MAX_CHARACTERS = 1000
"""Only this many characters of a sentence are searched for days."""
_LONGEST_LEAD = 40
"""Characters before a day that are searched for words such as "not" or "to the"."""
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

# 2027-03-05, 2027/3/5, 2027年3月5日
_ISO = re.compile(
    r"(?<![\w./-])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d|[-/.]\d)|(?<!\d)(\d{4})年(\d{1,2})月(\d{1,2})日"
)
# 5.3.2027, 25/12/26; not 5.3.2027% or 1/2/3/4
_NUMERIC = re.compile(r"(?<![\w./-])(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d\d)(?![\w/-]|[.,]\d|%)")
# Before "may 5" or "5 may", these words show that a month is meant, not a verb.
_BEFORE_DATE = re.compile(r"(?i)\b(?:on|by|until|till|since|for|before|after|due|is|was)\s+$")
# March 5, Mar. 5th–7th, March 5 to 7, may the fourth, 2027; not "March 5:30 pm"
_MONTH_DAY = re.compile(
    rf"(?ia)\b{_MONTH}\b\.?\s+(?:the\s+)?{_DAY}(?![\w:%/]|\.\d|\s*[ap]\.?m\b)(?:\s?(?:[-–]\s?\d{{1,2}}|to\s?(?P<to>\d{{1,2}}))(?:st|nd|rd|th)?\b)?{_YEAR}"
)
# 5 March, 5–7 March, 5th–7th of March, fifth of March of 2027
_DAY_MONTH = re.compile(
    rf"(?ia)(?<![\w:/.-]){_DAY}(?:\s?[-–]\s?\d{{1,2}}(?:st|nd|rd|th)?)?\.?\s+(?P<of>of\s+)?{_MONTH}\b(?!['’])\.?{_YEAR}"
)
# "I ran twice in five days", "my best in two weeks": a length of time, not a day to come.
_LASTING = re.compile(
    r"(?i)\b(?:times?|once|twice|most|best|worst|haven['’]t|hasn['’]t|(?:has|have) been)\b|['’]ve\b"
)
# Words that may follow "on the 5th" when it is a day. Other words make it something else:
# "on the 5th floor".
_AFTER_ORDINAL = (
    "at|in|and|or|to|for|with|if|when|because|so|but|then|is|was|from|till|until|after|before|"
    "during|by|as|since|while|he|she|they|it|this|next|already|works|suits|i|we"
)
# "on the 5th", "Friday the 13th", "until the 5th of next month"
_ORDINAL = re.compile(
    r"(?i)(?:\b(?:on|by|until|till|before|after|from|since|for|to|is|was|it['’]s|\w{3,6}day,?)\s+|^\s*)the\s+"
    r"(?P<day>\d{1,2})(?:st|nd|rd|th)\b"
    rf"(?!\s+(?!(?:{_AFTER_ORDINAL})\b|of (?:this|the|next|last) month)\w)"
    r"(?:\s+of (?:(?P<next>next)|(?P<last>last)|this|the) month)?"
)
# "Friday, not Wednesday", "instead of tomorrow"; but "why not Friday?", "not until
# Friday".
_NEGATED = re.compile(
    r"(?i)(?<!why )\b(?:not|no longer|instead of|rather than)\s+"
    r"(?:(?:on|for|this|next|last|the|\w{3,6}day,?)\s+)*$"
)
_YEAR_WORD = re.compile(r"(?i)\b(?:(?P<next>next)|(?P<last>last)|this) year\b")
# "Next year, on" before the date
_YEAR_WORD_BEFORE = re.compile(rf"{_YEAR_WORD.pattern},?\s+(?:on\s+)?(?:the\s+)?$")

# "Friday, " before "13 March"
_BEFORE_EXACT_DAY = re.compile(r"(?i)\w+(?:,?\s+|\s*\()(?:the\s+)?")
# Only forms of verbs: "movie", "the night shifts" and "changes" move nothing.
_MOVING = (
    r"\b(?:(?:mov|postpon|reschedul)(?:e|es|ed|ing)|(?:push|shift|chang|delay)(?:ed|ing))\b"
    r"(?:\s+back)?"
)
# "Tuesday or " before "Wednesday"
_EITHER = re.compile(
    r"(?i)[\w./-]+(?: [\w.]+){0,2},? (?:or|oder) (?:maybe |perhaps )?(?:on |am )?(?:the )?"
)
# "6 March 2026 (Friday)"; not "6 March (on Friday I rest)"
_DATE_AND_BRACKETS = re.compile(r"(?:\S+\s+){1,4}?\((?P<inside>\w+)\)")
# "I moved it from the " before "6th to the 13th", "I moved my " before "Friday class to Monday"
_MOVED_FROM = re.compile(
    rf"(?i){_MOVING}"
    r"(?:(?:\s+[\w'’]+){0,6}?\s+from(?:\s+the)?|\s+(?:my|our|the|his|her|their))\s+$"
)
_TO = r"\b(?:to|until|till)\s+(?:(?:the|this|next)\s+)?$"
_MOVED_TO = re.compile(rf"(?i){_TO}")
# "6 March was moved to " before "13 March"
_MOVED_STRAIGHT_TO = re.compile(rf"(?i){_MOVING}\s+{_TO}")

_PAST_FORMS = (
    "was|were|did|had|went|came|got|took|made|saw|met|ate|bought|began|broke|brought|built|caught|chose|drank|drove|"
    "fell|felt|flew|forgot|found|gave|grew|heard|held|kept|knew|lost|paid|ran|rode|said|sang|sent|slept|sold|spent|spoke|"
    "stood|swam|taught|thought|told|understood|woke|won|wore|wrote|became|been|gone|done|seen|taken|given|quit|ago|last|"
    "lent|fed|led|hid|bit|blew|bent|burnt|crept|dealt|drew|dug|fought|forgave|froze|hung|knelt|learnt|lit|meant|overslept|"
    "rang|rose|sat|shone|shook|shot|slid|sought|spilt|stole|stuck|stung|struck|swept|swore|swung|threw|tore|wept|"
    "didn't|wasn't|weren't|hadn't|couldn't|born|"
    "(?<!the )(?<!my )(?<!lower )(?<!upper )left"  # the verb, not the side
)
# Signs of tense: "is moved" and "will" are about now or later, "moved" is about the past.
_TENSE = re.compile(
    r"(?i)(?P<now>\b(?:am|is|are|be|being|gets?|getting|i'm|we're|you're|it's)\s+(?:\w+ly\s+|not\s+|so\s+)?"
    r"[a-z]+ed\b|(?:(?:\b(?:have|has)(?:n['’]t)?|['’]ve)(?:\s+\w+)?|['’]s)\s+got\b"
    r"(?!\s+(?:back|home|\w+ed)\b)|"
    r"\b(?:am|is|are|will|won't|shall|going|gonna|can|must|should|"
    r"needs?|have to|has to|wants?|wanna|plans?|hopes?|let's|would|"
    r"upcoming|due|have an?|has an?|do|does|don't|isn't|aren't|"
    r"starts?|begins?|opens?|ends|expires?|leaves?|arrives?|remind|see you)\b|['’](?:ll|m|re)\b)"
    rf"|(?P<past>\b(?:{_PAST_FORMS}|(?!need|feed|speed|indeed|hundred|breed|proceed|exceed)[a-z]{{2,}}ed)\b)"
)
_ARRANGING = (
    r"\b(?:book|schedul|reserv|plann|arrang|sign|enrol|regist|invit|bought|set|fix|"
    r"confirm|made an|postpon|push|mov|shift|reschedul|chang|delay|agreed|promis|decid|accept|"
    r"got (?:an? |the |my )?(?:\w+ )?(?:appointment|ticket|slot|date|invit|reserv|flight|table|"
    r"interview))\w*\b"
)
_ARRANGING_WORDS = re.compile(rf"(?i){_ARRANGING}")
# "I booked a table for Friday": the verb is in the past, the day is not.
_ARRANGED = re.compile(
    rf"(?is){_ARRANGING}.*\b(?:for|to|until|till|by)\s+(?:the |this |next )?(?:\w+day,? )?$"
)
# "We were invited to dinner on Friday", from the verb on: for these verbs, a purpose before
# the day is enough to put it ahead. In "I moved to Porto on Friday", it is past.
_FOR_LATER = re.compile(
    r"(?is)(?:(?:booked|reserved|scheduled|registered|enrolled|invited|agreed|"
    r"signed\s+(?:\w+\s+)?up|(?:bought|got)\s+(?:\w+\s+){0,3}tickets?)\b.*\b(?:for|to)|"
    r"(?:got|gave\s+(?:\w+\s+){0,2}\w+)\s+an\s+appointment)\b"
)
_JUST_BEFORE = timedelta(days=90)
"""A day less than this long ago is the day of the booking, not the day booked."""
# Where a clause ends; not in "at 9:30"
_BORDER = re.compile(
    r"(?i)[;,–—]|:(?!\d)|\s-\s|\b(?:and|but|so|because|since|that|which|while|then)\b"
)
# A clause without one of these may be only a date: "On Friday, …".
_SUBJECT = re.compile(r"(?i)\b(?:I|we|he|she|they|it|there)\b|['’]s\b")
_SINCE = re.compile(r"(?i)\bsince\s+(?:the |last )?$")


def referenced_date(text: str, base: date) -> date | None:
    """Return the day that an English sentence, said on the day `base`, refers to.

    If it mentions several, that is the most exact one. None if it mentions none.
    """
    return next(iter(mentioned_days(text, base)), None)


def mentioned_days(text: str, base: date) -> list[date]:
    """Return the days that a sentence mentions, the most exact first.

    "Friday 13 March" is one day. Of "moved from the 6th to the 13th", only the 13th is
    returned.
    """
    return [mention.day for mention in _mentions(text[:_MAX_CHARACTERS], base)]


def clauses_naming(day: date, text: str, base: date) -> list[str]:
    """Return the clauses of a sentence, said on the day `base`, that mention `day`.

    "Since today" does not count: it names a beginning.
    """
    text = text[:_MAX_CHARACTERS]
    starts = [mention.start for mention in _mentions(text, base) if mention.day == day]
    return [
        text[slice(*_clause(text, start, start))]
        for start in starts
        if not _SINCE.search(text[:start])
    ]


def _mentions(text: str, base: date) -> list[DayMention]:
    """Return the mentions that count, the most exact first.

    None count where a date contradicts its weekday, or a choice of days is left open.
    """
    mentions: list[DayMention] = []
    counted_from = [match.span() for match in WEEKS_ON.finditer(text)]
    for pattern, read in _READERS:
        for match in pattern.finditer(text):
            if pattern is not WEEKS_ON and _is_inside(match.span(), counted_from):
                continue
            with suppress(ValueError, OverflowError):  # the calendar has no such day
                mention = read(match, text, base)
                if mention and not _is_negated(mention, text):
                    mentions.append(mention)
    if any(m.rank == 0 and names_another_weekday(text, m.start, m.day) for m in mentions):
        return []
    in_order: list[DayMention] = []
    for mention in sorted(mentions, key=lambda mention: mention.start):
        if not (in_order and _repeats(mention, in_order[-1], text)):
            in_order.append(mention)
    if any(_leaves_open(one, other, text) for one, other in pairwise(in_order)):
        return []
    given_up = {
        mention
        for one, other in pairwise(in_order)
        for mention, instead in ((one, other), (other, one))
        if _gives_way(mention, instead, text)
    }
    return [mention for mention in sorted(in_order) if mention not in given_up]


def _is_inside(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)


def _leaves_open(one: DayMention, other: DayMention, text: str) -> bool:
    """Return whether a text says "Tuesday or Wednesday"."""
    return one.day != other.day and bool(_EITHER.fullmatch(text, one.start, other.start))


def _is_negated(mention: DayMention, text: str) -> bool:
    return bool(_NEGATED.search(text[max(0, mention.start - _LONGEST_LEAD) : mention.start]))


def _gives_way(mention: DayMention, other: DayMention, text: str) -> bool:
    """Return whether another mention says which day is meant instead."""
    if other.start < mention.start:  # "tomorrow, 3 March": not the one of another year
        return _explains(other, mention, text) and _differ_in_year(mention, other)
    return _has_moved(mention, other, text) or (
        _explains(mention, other, text) and not _differ_in_year(mention, other)
    )


def _explains(mention: DayMention, later: DayMention, text: str) -> bool:
    """Return whether a more exact mention follows at once, as in "Friday, 13 March"."""
    return mention.rank > later.rank and bool(
        _BEFORE_EXACT_DAY.fullmatch(text, mention.start, later.start)
    )


def _repeats(mention: DayMention, earlier: DayMention, text: str) -> bool:
    """Return whether a mention is alone in brackets after a date: "13 March (Friday)"."""
    match = _DATE_AND_BRACKETS.match(text, earlier.start) if earlier.rank == 0 else None
    return match is not None and match.start("inside") == mention.start


def _differ_in_year(one: DayMention, other: DayMention) -> bool:
    """Return whether two mentions name the same date in different years."""
    return one.day.year != other.day.year and f"{one.day:%m-%d}" == f"{other.day:%m-%d}"


def _has_moved(mention: DayMention, later: DayMention, text: str) -> bool:
    """Return whether a text says that something moved from one mention to the later one."""
    between = text[max(mention.start, later.start - _LONGEST_LEAD) : later.start]
    if not _MOVED_TO.search(between):
        return False
    clause_start, clause_end = _clause(text, mention.start, mention.start)
    if later.start >= clause_end:
        return False
    lead = text[clause_start : mention.start]
    return bool(_MOVED_FROM.search(lead) or _MOVED_STRAIGHT_TO.search(between))


def tenses(text: str) -> list[str]:
    """Return "past" or "now" for each sign of tense in a sentence, in order.

    "Now" stands for the future too.
    """
    signs = _TENSE.finditer(text, 0, _MAX_CHARACTERS)
    return ["past" if sign["past"] else "now" for sign in signs]


def arranging_words(text: str) -> list[str]:
    """Return the words by which a sentence arranges something, such as "booked" or "moved".

    What is arranged may lie ahead, even if the sentence is in the past tense.
    """
    found = _ARRANGING_WORDS.finditer(text, 0, _MAX_CHARACTERS)
    return [match.group().split()[0] for match in found]


def _clause(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where the clause around text[start:end] starts and ends."""
    clause_start = max((border.end() for border in _BORDER.finditer(text, 0, start)), default=0)
    border = _BORDER.search(text, end)
    return clause_start, border.start() if border else len(text)


def is_past(text: str, start: int, end: int, *, has_just_been: bool = False) -> bool:
    """Return whether the time named at text[start:end] is past, judged by the tense.

    As a rule, the nearest verb before it in its clause decides, or else the next one. "I
    signed up for a course on …" tells of a day ahead, unless the day `has_just_been`.
    """
    if _ARRANGED.search(text[:start]):
        return False
    if _SINCE.search(text[:start]):
        return True
    clause_start, clause_end = _clause(text, start, end)
    has_tense = _TENSE.search(text, clause_start, clause_end)
    if not has_tense and not _SUBJECT.search(text, clause_start, clause_end):
        begins_clause = len(text[clause_start:start].split()) < 3
        if begins_clause:  # "On Friday, …": what follows shows the tense
            clause_end = len(text)
        clause_start = 0
    signs = list(_TENSE.finditer(text, clause_start, clause_end))
    before = [sign for sign in signs if sign.start() < start]
    after = [sign for sign in signs if sign.start() >= end]
    if before:
        is_for_later = _FOR_LATER.match(text, before[-1].start(), start) and not has_just_been
        return before[-1]["past"] is not None and not is_for_later
    return bool(after) and after[0]["past"] is not None


def _nearest(months: Iterable[date], day: int, base: date, *, past: bool) -> date | None:
    """Return this day of the first of `months` in which it is not before `base`.

    With `past`, not after `base`.
    """
    for month in months:
        with suppress(ValueError):  # this month is too short
            candidate = month.replace(day=day)
            if (candidate <= base) if past else (candidate >= base):
                return candidate
    return None


def _in_some_year(
    month: int, day: int, text: str, span: tuple[int, int], base: date
) -> date | None:
    """Return the date that a month and a day mean when no year is given.

    "Last year", "this year" or "next year" beside it decides. Otherwise it is the
    nearest such date that fits the tense.
    """
    clause = _clause(text, *span)
    named = _YEAR_WORD.search(text, *clause) or _YEAR_WORD_BEFORE.search(text[: span[0]])
    if named:
        return date(base.year + bool(named["next"]) - bool(named["last"]), month, day)
    is_last = text[: span[0]].rstrip().casefold().endswith(("last", "past"))
    last = _nearest((date(base.year - step, month, 1) for step in range(9)), day, base, past=True)
    has_just_been = last is not None and base - last < _JUST_BEFORE
    if is_last or is_past(text, *span, has_just_been=has_just_been):
        return last
    return _nearest((date(base.year + step, month, 1) for step in range(9)), day, base, past=False)


def _read_iso(match: re.Match[str], _text: str, _base: date) -> DayMention | None:
    year, month, day = (match[i] or match[j] for i, j in ((1, 5), (3, 6), (4, 7)))
    return DayMention(0, match.start(), date(int(year), int(month), int(day)))


def _read_numeric(match: re.Match[str], _text: str, _base: date) -> DayMention | None:
    """Read "5.3.2027" or "25/12/26", if the order of day and month is certain."""
    first, second, year = int(match[1]), int(match[3]), int(match[4])
    day_first = match[2] == "." or first > 12 or first == second
    if not day_first and second <= 12:
        return None
    day, month = (first, second) if day_first else (second, first)
    if len(match[4]) == 2:
        year += 1900 if year >= 80 else 2000
    return DayMention(0, match.start(), date(year, month, day))


def _names_month(match: re.Match[str], text: str) -> bool:
    """Return whether "may", "march" or "mar" is a month here and not another word."""
    name = match["month"]
    if name not in {"may", "march", "mar"} or match["year"]:
        return True
    if _BEFORE_DATE.search(text[: match.start()]):
        return True
    if match.start("month") == match.start():
        return bool(match["th"] or match["spelled"])
    return bool(match["of"])


def _read_month_day(match: re.Match[str], text: str, base: date) -> DayMention | None:
    if not _names_month(match, text) or INDEFINITE.search(text[: match.start()]):
        return None
    day = int(match["day"] or _SPELLED.split("|").index(match["spelled"].casefold()) + 1)
    month = month_number(match["month"])
    span = match.span()
    moved_to = match.groupdict().get("to")
    if moved_to and _MOVED_FROM.search(text[_clause(text, *span)[0] : match.start()]):
        day, span = int(moved_to), (match.start("to"), match.end())
    if match["year"]:
        return DayMention(0, match.start(), date(int(match["year"]), month, day))
    meant = _in_some_year(month, day, text, span, base)
    return DayMention(0, match.start(), meant) if meant else None


def _read_relative(match: re.Match[str], text: str, base: date) -> DayMention | None:
    count, unit = read_amount(match)
    if match["ago"] and unit == "year" and not match["exact"]:
        return None
    if match["unit"] and _LASTING.search(text[: match.start()]):
        return None
    if match["unit"] and is_past(text, *match.span()):
        return None
    if match["ago"]:
        count = -count
    if (match["origin"] or "").casefold() == "tomorrow":
        base += timedelta(days=1)
    if unit in {"month", "year"}:
        day = add_months(base, count * (12 if unit == "year" else 1))
    else:
        day = base + timedelta(days=count * UNIT_DAYS[unit])
    return DayMention(2 if match["ago"] else 1, match.start(), day)


def _read_weekday(match: re.Match[str], text: str, base: date) -> DayMention | None:
    if not is_one_day(match, text):
        return None
    past = is_past(text, *match.span())
    return DayMention(1, name_start(match), weekday_meant(match, text, base, past=past))


def _read_weeks_on(match: re.Match[str], text: str, base: date) -> DayMention | None:
    """Read "a week on Tuesday" and "tomorrow week". "Tuesday in a week" is not certain."""
    name = match["day"] or match["day2"]
    if name is None or is_past(text, *match.span()):
        return None
    word, weeks = name.casefold(), 1
    if match["n"]:
        weeks = NUMBERS.get(match["n"].casefold()) or int(match["n"])
    if match["fortnight"]:
        weeks *= 2
    days = {"today": 0, "tonight": 0, "tomorrow": 1}.get(word)
    if days is None:
        days = (DAYS.index(word[:3]) - base.weekday() - 1) % 7 + 1
    return DayMention(0, match.start(), base + timedelta(days=days + 7 * weeks))


def _read_ordinal(match: re.Match[str], text: str, base: date) -> DayMention | None:
    if HABIT.search(text):
        return None
    day, this_month = int(match["day"]), base.replace(day=1)
    if match["next"] or match["last"]:
        month = add_months(this_month, 1 if match["next"] else -1)
        return DayMention(0, match.start("day"), month.replace(day=day))
    past = is_past(text, *match.span("day"))
    months = (add_months(this_month, -step if past else step) for step in range(4))
    meant = _nearest(months, day, base, past=past)
    return DayMention(0, match.start("day"), meant) if meant else None


_DAY_WORD_RANKS = {"plus2": 1, "plus1": 1, "minus1": 2, "minus2": 2, "zero": 3}
"""By the group of DAY_WORD: "today" is often said beside the day that is meant."""


def _read_day_word(match: re.Match[str], _text: str, base: date) -> DayMention | None:
    group = match.lastgroup or "zero"
    day = base + timedelta(days=DAY_WORD_OFFSETS[group])
    return DayMention(_DAY_WORD_RANKS[group], match.start(), day)


_Read = Callable[[re.Match[str], str, date], DayMention | None]
_READERS: tuple[tuple[re.Pattern[str], _Read], ...] = (
    (WEEKS_ON, _read_weeks_on),
    (_ISO, _read_iso),
    (_NUMERIC, _read_numeric),
    (_MONTH_DAY, _read_month_day),
    (_DAY_MONTH, _read_month_day),
    (_ORDINAL, _read_ordinal),
    (RELATIVE, _read_relative),
    (NAMED_DAY, _read_weekday),
    (DAY_WORD, _read_day_word),
)
