"""What code can prove of an observer's line: where its terms come from, and whose words it rests on. Pure."""

import re
from collections.abc import Iterable, Sequence

from construct.memory.language.terms import content_words, date_terms, terms, words
from construct.memory.language.wordlists import STOP_WORDS
from construct.memory.shown.lines import STANCES
from construct.store.records import Message

_QUOTED_LINE = re.compile(r"^\s*>.*$", re.MULTILINE)
_YEAR = re.compile(r"(?:19|20)\d\d")
_ISO = re.compile(r"(\d{4})-\d\d(?:-\d\d)?")
_LEAST_STEM, _LONGEST_ENDING = 3, 2
_CALENDAR = frozenset(
    name for month in range(1, 13) for name in date_terms(f"2024-{month:02}-{month:02}") if name.isalpha()
) | frozenset(name for day in range(1, 8) for name in date_terms(f"2024-01-{day:02}") if name.isalpha())
"""Names of months and weekdays: an observer works dates out, and "in June" from "last month" is no invention."""


def ungrounded_terms(content: str, heard: Iterable[str], days: Iterable[str]) -> frozenset[str]:
    """Return the terms of a fact that are neither in the texts it was heard in nor worked out from their days.

    `days`: the days of those texts, and the days the line itself gives, each as a date, month or year. A name may have
    an ending that its text does not ("Annas"). In German every noun has a capital, so a capital proves nothing there.
    """
    texts = list(heard)
    said = frozenset(word for text in texts for word in words(text))
    dates = [day for day in days if day]
    allowed = said | _CALENDAR | frozenset[str]().union(*(date_terms(day) for day in dates))
    years = _years(said, dates)
    wanted = terms(content.lower() if _is_german(" ".join([content, *texts])) else content)
    return frozenset(
        term
        for term in wanted - allowed
        if not _is_of_a_year(term, years) and not any(_is_inflected(term, word) for word in said)
    )


def least_stance(content: str, sources: Sequence[Message]) -> str:
    """Return the weakest claim that the sources of a fact prove: `assistant`, `quoted`, or `stated` for no limit.

    All of it is the assistant's when no source is the user's. It is quoted when its terms, or without terms its words,
    stand only in lines that begin with `>`.
    """
    if all(m.role == "assistant" for m in sources):
        return "assistant"
    quoted = frozenset(w for m in sources for line in _QUOTED_LINE.findall(m.content) for w in words(line))
    if not quoted:
        return "stated"
    own = frozenset(w for m in sources for w in words(_QUOTED_LINE.sub("", m.content)))
    telling = (terms(content) & (own | quoted)) or (content_words(content) & (own | quoted))
    return "quoted" if telling and telling.isdisjoint(own) else "stated"


def at_least(stance: str, limit: str) -> str:
    """Return the later of two stances in their order."""
    return max(stance, limit, key=STANCES.index)


def _years(said: Iterable[str], dates: Iterable[str]) -> frozenset[int]:
    """Return the years a line may name: those of its days, their neighbours, and as many years off as was said."""
    near = {0, 1, *(int(word) for word in said if word.isascii() and word.isdigit() and len(word) < 3)}
    return frozenset(int(day[:4]) + sign * off for day in dates for off in near for sign in (-1, 1))


def _is_of_a_year(term: str, years: frozenset[int]) -> bool:
    if found := _ISO.fullmatch(term):
        return int(found[1]) in years
    return bool(_YEAR.fullmatch(term)) and int(term) in years


def _is_inflected(term: str, word: str) -> bool:
    """Return whether two words are one but for a short ending on either: "annas" and "anna", "ayşe'nin" and "ayşe"."""
    short, long = sorted((re.split("['’]", term)[0], re.split("['’]", word)[0]), key=len)
    return (
        len(short) >= _LEAST_STEM
        and short.isalpha()
        and long.startswith(short)
        and len(long) - len(short) <= _LONGEST_ENDING
    )


def _is_german(text: str) -> bool:
    said = words(text)
    counts = {language: sum(word in known for word in said) for language, known in _STOP_WORDS.items()}
    return counts["de"] > max(n for language, n in counts.items() if language != "de")


_STOP_WORDS = {language: frozenset(text.split()) for language, text in STOP_WORDS.items()}
