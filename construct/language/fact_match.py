"""Compare texts for whether they state the same fact. No I/O.

`fact_key` is strict, for storing each fact once: in doubt they are two facts, since a
duplicate does no harm and a merged pair loses one. `states_fact` is loose, for finding
every trace of a fact that is to be forgotten.
"""

import re
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache

from construct.language.dates import in_past
from construct.language.index_words import stem
from construct.language.terms import content_words, opening_names, terms, words
from construct.language.wordlists import MONTHS, WEEKDAYS, word_set

_CJK_RUN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_LEAST_LETTERS = 4
_SHORT = (name[:3] for name in (*MONTHS, *WEEKDAYS))
_CALENDAR = frozenset({*MONTHS, *WEEKDAYS, *_SHORT, "sept", "today", "tomorrow", "yesterday"})

_EMPTY = word_set("a an the am is are now currently called named")
# The user writes "I have", the worker writes "User has".
_ALIKE = {
    "i": "user", "i'm": "user", "me": "user", "my": "user's", "have": "has", "do": "does",
    "don't": "doesn't", "go": "goes",
}  # fmt: skip
_OPENING = "\"'“„«‘([「"
_CLOSING = ".,;:!…\"'”“»’)]」。，；！"


def fact_key(text: str, said_on: str, about: str | None) -> Hashable:
    """Return a key that is equal only for sentences that state the same fact.

    The time must be the same too. `said_on`: the day it was said. `about`: the day,
    month or year it refers to.
    """
    happened_on = said_on if in_past(text) else None  # what happened on two days happened twice
    return _wording(text), terms(text), about, happened_on


def _wording(text: str) -> tuple[str, ...]:
    """Return the stems of the words in order, without filler words."""
    written = (
        word.lstrip(_OPENING).rstrip(_CLOSING) for word in text.casefold().replace("’", "'").split()
    )
    kept = (_ALIKE.get(word, word) for word in written if word and word not in _EMPTY)
    # "Lived" must not become "lives".
    return tuple(word if word.endswith("ed") else stem(word) for word in kept) or (text.strip(),)


def likeness(a: str, b: str) -> float:
    """Return the share of content words that two texts have in common, 0 to 1."""
    here, there = ({stem(w) for w in content_words(text)} for text in (a, b))
    return 2 * len(here & there) / max(1, len(here) + len(there))


def fact_names(text: str) -> frozenset[str]:
    """Return the terms and names that identify a fact, without days and months."""
    return (terms(text) | opening_names(text)) - _CALENDAR


def search_marks(text: str) -> frozenset[str]:
    """Return the words to search other texts for: names, or else the longer words."""
    return fact_names(text) or frozenset(
        w for w in content_words(text) - _CALENDAR if len(w) >= _LEAST_LETTERS
    )


def revealing_words(text: str) -> frozenset[str]:
    """Return every word that could reveal what a text says.

    Pairs of characters for scripts without spaces.
    """
    return (
        fact_names(text)
        | {w for w in content_words(text) - _CALENDAR if len(w) >= _LEAST_LETTERS}
        | _pairs(text)
    )


def reveals(text: str | None, parts: frozenset[str]) -> bool:
    """Return whether a text holds any of these pieces."""
    return bool(text) and not (
        parts.isdisjoint(words(text or "")) and parts.isdisjoint(_pairs(text or ""))
    )


def _pairs(text: str) -> set[str]:
    return {run[i : i + 2] for run in _CJK_RUN.findall(text) for i in range(len(run) - 1)}


def states_fact(text: str, fact: str) -> bool:
    """Return whether a text states a fact, word for word or nearly.

    Nearly means that it has the fact's names and half of its other words. If the fact
    has no names, the text must have three quarters of its words and little else.
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
