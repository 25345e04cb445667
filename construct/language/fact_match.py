"""Whether a text says what an observation says, to find all of it when it is forgotten. Pure."""

import re
from dataclasses import dataclass
from functools import lru_cache

from construct.language.index_words import stem
from construct.language.terms import content_words, opening_names, terms, words
from construct.language.wordlists import MONTHS, WEEKDAYS

_CJK_RUN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_LEAST_LETTERS = 4
_SHORT = (name[:3] for name in (*MONTHS, *WEEKDAYS))
_CALENDAR = frozenset({*MONTHS, *WEEKDAYS, *_SHORT, "sept", "today", "tomorrow", "yesterday"})


def fact_names(text: str) -> frozenset[str]:
    """Return what identifies a fact: its terms and names, days and months apart."""
    return (terms(text) | opening_names(text)) - _CALENDAR


def search_marks(text: str) -> frozenset[str]:
    """Return what other texts are searched for: names, else the longer words that carry meaning."""
    return fact_names(text) or frozenset(
        w for w in content_words(text) - _CALENDAR if len(w) >= _LEAST_LETTERS
    )


def revealing_words(text: str) -> frozenset[str]:
    """Return every word by which a text might give away what another says.

    Pairs of signs where there are no words.
    """
    return (
        fact_names(text)
        | {w for w in content_words(text) - _CALENDAR if len(w) >= _LEAST_LETTERS}
        | _pairs(text)
    )


def reveals(text: str | None, parts: frozenset[str]) -> bool:
    """Tell whether a text holds any of these pieces."""
    return bool(text) and not (
        parts.isdisjoint(words(text or "")) and parts.isdisjoint(_pairs(text or ""))
    )


def _pairs(text: str) -> set[str]:
    return {run[i : i + 2] for run in _CJK_RUN.findall(text) for i in range(len(run) - 1)}


def states_fact(text: str, fact: str) -> bool:
    """Tell whether a text says a fact: word for word, or with its names and half of the rest.

    Without names in it, the text has to hold three quarters of its words, and little else.
    """
    if not text or not fact:
        return False
    here, there = _read(text), _wanted(fact)
    if there.squashed in here.squashed:
        return True
    shared = len(there.other & here.stems)
    if there.names:
        # One name alone says little: then at least half of the rest, rounded up.
        return (
            there.names <= here.words
            and shared >= (len(there.other) + (len(there.names) == 1)) // 2
        )
    return bool(there.other) and shared >= 0.75 * len(there.other) and shared >= 0.5 * here.meaning


@dataclass(frozen=True, slots=True)
class _Text:
    squashed: str
    words: frozenset[str]
    stems: frozenset[str]
    meaning: int


@dataclass(frozen=True, slots=True)
class _Fact:
    squashed: str
    names: frozenset[str]
    other: frozenset[str]


@lru_cache(maxsize=16)
def _read(text: str) -> _Text:
    said = frozenset(words(text))
    return _Text(_squashed(text), said, frozenset(map(stem, said)), len(content_words(text)))


@lru_cache(maxsize=256)
def _wanted(fact: str) -> _Fact:
    must = fact_names(fact)
    return _Fact(_squashed(fact), must, frozenset(stem(w) for w in content_words(fact) - must))


def _squashed(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!。")
