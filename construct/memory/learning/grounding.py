"""What code can prove of an observer's line: its terms, and whose words it rests on.

Pure.
"""

import re
from collections.abc import Iterable, Sequence

from construct.language.terms import content_words, date_terms, provable_terms, terms, words
from construct.language.wordlists import MONTHS, MONTHS_ABROAD
from construct.memory.shown.lines import STANCES
from construct.store.records import Message
from construct.vocabulary import Role, Stance

_QUOTED_LINE = re.compile(r"^[^\S\n]*>.*$", re.MULTILINE)
_YEAR = re.compile(r"(?:19|20)\d\d")
_ISO = re.compile(r"(\d{4})-\d\d(?:-\d\d)?")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_LAST_DAY = 31
_MONTH_WORDS = MONTHS_ABROAD | frozenset(MONTHS)
_LEAST_STEM, _LONGEST_ENDING = 3, 2
_CALENDAR = frozenset(
    name
    for month in range(1, 13)
    for name in date_terms(f"2024-{month:02}-{month:02}")
    if name.isalpha()
) | frozenset(
    name for day in range(1, 8) for name in date_terms(f"2024-01-{day:02}") if name.isalpha()
)
"""Names of months and weekdays.

An observer works dates out: "in June" from "last month" is no invention.
"""


def ungrounded_terms(content: str, heard: Iterable[str], days: Iterable[str]) -> frozenset[str]:
    """Return the terms of a fact that it cannot have from what it was heard in.

    They are neither in those texts nor worked out from the days. `days` are those of
    the texts and those the line itself gives, each a date, month or year. A day beside
    the name of its month was worked out too. A name may have an ending that its text
    does not ("Annas"). In German every noun has a capital, so a capital proves nothing
    there.
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


def least_stance(content: str, sources: Sequence[Message], heard: Sequence[Message]) -> str:
    """Return the least stance that the sources of a fact prove; `stated` is no limit.

    It is the assistant's when no source is the user's. It is quoted when one of its
    terms, or without terms all its words, stand only in lines that begin with `>`, of
    all the messages that it was `heard` in.
    """
    if all(m.role == Role.ASSISTANT for m in sources):
        return Stance.ASSISTANT
    quoted = frozenset(
        w for m in heard for line in _QUOTED_LINE.findall(m.content) for w in words(line)
    )
    if not quoted:
        return Stance.STATED
    own = frozenset(w for m in heard for w in words(_QUOTED_LINE.sub("", m.content)))
    if telling := terms(content) & (own | quoted):
        return Stance.QUOTED if telling - own else Stance.STATED
    telling = content_words(content) & (own | quoted)
    return Stance.QUOTED if telling and telling.isdisjoint(own) else Stance.STATED


def listed(names: Iterable[str]) -> str:
    """Return names for a sentence: in quotation marks, in order."""
    return ", ".join(f"“{name}”" for name in sorted(names))


def at_least(stance: str, limit: str) -> str:
    """Return the later of two stances in their order."""
    return max(stance, limit, key=STANCES.index)


def _years(said: Iterable[str], dates: Iterable[str]) -> frozenset[int]:
    """Return the years a line may name.

    Those of its days, their neighbours, and as many years off as was said.
    """
    near = {
        0,
        1,
        *(int(word) for word in said if word.isascii() and word.isdigit() and len(word) < 3),
    }
    return frozenset(int(day[:4]) + sign * off for day in dates for off in near for sign in (-1, 1))


def _days_of_months(text: str) -> frozenset[str]:
    """Return day numbers within two words of a month: "23 de março", "March 23rd"."""
    said = words(text)
    return frozenset(
        word
        for at, word in enumerate(said)
        if (day := _DAY.fullmatch(word)) and 1 <= int(day[1]) <= _LAST_DAY
        if not _MONTH_WORDS.isdisjoint(said[max(0, at - 2) : at + 3])
    )


def _is_of_a_year(term: str, years: frozenset[int]) -> bool:
    if found := _ISO.fullmatch(term):
        return int(found[1]) in years
    return bool(_YEAR.fullmatch(term)) and int(term) in years


def _is_inflected(term: str, word: str) -> bool:
    """Tell whether two words differ by a short ending: "annas" and "anna"."""
    short, long = sorted((re.split("['’]", term)[0], re.split("['’]", word)[0]), key=len)
    return (
        len(short) >= _LEAST_STEM
        and short.isalpha()
        and long.startswith(short)
        and len(long) - len(short) <= _LONGEST_ENDING
    )
