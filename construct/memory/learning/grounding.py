"""Check that an observer's line rests on the messages it names. No I/O.

It checks what code can check in any language: that names and numbers occur in the
messages, and whose words the line rests on (docs/memory.md, "What keeps it correct").
"""

import re
from collections.abc import Iterable, Sequence

from construct.language.terms import content_words, date_terms, provable_terms, terms
from construct.language.wordlists import FOREIGN_MONTHS, MONTHS
from construct.language.words import words
from construct.memory.shown.lines import STANCES
from construct.store.records import Message
from construct.vocabulary import Role, Stance

_QUOTED_LINE = re.compile(r"^[^\S\n]*>.*$", re.MULTILINE)
"""A whole line that begins with `>`."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_ISO_DATE_OR_MONTH = re.compile(r"(\d{4})-\d\d(?:-\d\d)?")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
"""The number of a day: "7", "23rd"."""
_LAST_DAY = 31
_WORDS_FROM_MONTH = 2
"""How far from the name of a month a number may stand to be one of its days."""
_MONTH_WORDS = FOREIGN_MONTHS | frozenset(MONTHS)
_MIN_STEM, _MAX_ENDING = 3, 2
"""The fewest letters of a word, and the most letters of an ending added to it."""
_CALENDAR = frozenset(
    name
    for month in range(1, 13)
    for name in date_terms(f"2024-{month:02}-{month:02}")
    if name.isalpha()
) | frozenset(
    name for day in range(1, 8) for name in date_terms(f"2024-01-{day:02}") if name.isalpha()
)
"""Names of months and weekdays, which a line may always contain.

An observer works dates out: it may write "in June" for "last month".
"""


def ungrounded_terms(content: str, heard: Iterable[str], days: Iterable[str]) -> frozenset[str]:
    """Return the terms of a fact that the texts `heard` do not support.

    A term is supported if the texts contain it, with or without an ending ("Annas"), or
    if it follows from `days`: the days of the texts and of the line itself, each a date,
    month or year. A number beside the name of a month is a day, and is supported. In
    German every noun has a capital, so a capital letter does not make a word a name.
    """
    texts = list(heard)
    said = frozenset(word for text in texts for word in words(text))
    dates = [day for day in days if day]
    allowed = (
        said
        | _CALENDAR
        | _days_of_months(content)
        | frozenset[str]().union(*(date_terms(day) for day in dates))
    )
    years = _years(said, dates)
    wanted = provable_terms(content)
    return frozenset(
        term
        for term in wanted - allowed
        if not _is_of_a_year(term, years) and not any(_is_inflected(term, word) for word in said)
    )


def strongest_stance(content: str, sources: Sequence[Message], heard: Sequence[Message]) -> str:
    """Return the strongest stance that the sources of a fact support.

    The fact gets this one or a weaker one: see `weaker`.

    `assistant` if no source is a message of the user. `quoted` if one of the fact's terms,
    or all its words if it has no terms, occur only in lines that begin with `>`, and the
    user did not take the fact up in words of their own. Else `stated`. `heard`: all the
    messages in which the terms are looked for.
    """
    if all(m.role == Role.ASSISTANT for m in sources):
        return Stance.ASSISTANT
    quoted = frozenset(
        w for m in heard for line in _QUOTED_LINE.findall(m.content) for w in words(line)
    )
    if not quoted or _is_taken_up(content, sources):
        return Stance.STATED
    own = frozenset(w for m in heard for w in words(own_words(m)))
    if telling := terms(content) & (own | quoted):
        return Stance.QUOTED if telling - own else Stance.STATED
    telling = content_words(content) & (own | quoted)
    return Stance.QUOTED if telling and telling.isdisjoint(own) else Stance.STATED


def rests_on_files(
    content: str, sources: Sequence[Message], heard: Sequence[Message], named: Iterable[str]
) -> bool:
    """Return whether a fact comes from a picture or PDF and not from the user's words.

    That is so if one of its sources came with such a file, and the user neither wrote its
    terms (or any of its words, if it has no terms) nor took it up in another message.
    `named`: the dates (`2026-03-05`) that the user's words name, as "yesterday"
    does; the fact may write them in any way.
    """
    if not any(m.has_unreadable_attachment for m in sources) or _is_taken_up(content, sources):
        return False
    said = frozenset(w for m in heard if m.role == Role.USER for w in words(own_words(m)))
    supported = said.union(*map(date_terms, named))
    return bool(provable_terms(content) - supported) or content_words(content).isdisjoint(said)


def own_words(message: Message) -> str:
    """Return a message without its quoted lines."""
    return _QUOTED_LINE.sub("", message.content)


def _is_taken_up(content: str, sources: Sequence[Message]) -> bool:
    """Return whether a source has only the user's own words and shares one with the fact.

    "I'll pay that on Friday", said of a bill that was pasted before, is the user's plan.
    """
    return any(
        m.role == Role.USER
        and not m.has_unreadable_attachment
        and not _QUOTED_LINE.search(m.content)
        and not content_words(content).isdisjoint(words(m.content))
        for m in sources
    )


def quoted_list(names: Iterable[str]) -> str:
    """Return names for a sentence: quoted, sorted and separated by commas."""
    return ", ".join(f"“{name}”" for name in sorted(names))


def weaker(one: str, other: str) -> str:
    """Return the weaker of two stances: the one that comes later in `STANCES`."""
    return max(one, other, key=STANCES.index)


def _years(said: Iterable[str], dates: Iterable[str]) -> frozenset[int]:
    """Return the years a line may name.

    They are the years of its days, the years beside them, and those as many years away
    as the text says.
    """
    distances = {0, 1}
    distances.update(int(w) for w in said if w.isascii() and w.isdigit() and len(w) < 3)
    years: set[int] = set()
    for year in {int(day[:4]) for day in dates}:
        years.update(year + distance for distance in distances)
        years.update(year - distance for distance in distances)
    return frozenset(years)


def _days_of_months(text: str) -> frozenset[str]:
    """Return day numbers within two words of a month: "23 de março", "March 23rd"."""
    said = words(text)
    days = set()
    for index, word in enumerate(said):
        number = _DAY.fullmatch(word)
        around = said[max(0, index - _WORDS_FROM_MONTH) : index + _WORDS_FROM_MONTH + 1]
        if number and 1 <= int(number[1]) <= _LAST_DAY and not _MONTH_WORDS.isdisjoint(around):
            days.add(word)
    return frozenset(days)


def _is_of_a_year(term: str, years: frozenset[int]) -> bool:
    """Return whether a term is one of these years, or a date or month in one of them."""
    if date_or_month := _ISO_DATE_OR_MONTH.fullmatch(term):
        return int(date_or_month[1]) in years
    return bool(_YEAR.fullmatch(term)) and int(term) in years


def _is_inflected(term: str, word: str) -> bool:
    """Return whether two words differ by a short ending: "annas" and "anna"."""
    short, long = sorted((re.split("['’]", term)[0], re.split("['’]", word)[0]), key=len)
    return (
        len(short) >= _MIN_STEM
        and short.isalpha()
        and long.startswith(short)
        and len(long) - len(short) <= _MAX_ENDING
    )
