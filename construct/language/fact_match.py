"""Tell whether texts state the same fact. No I/O.

`fact_key` is strict, for storing each fact once. When in doubt, two sentences are two
facts: a duplicate does no harm, but merging two facts loses one. `states_fact` is loose,
for finding every trace of a fact that is to be forgotten.
"""

import re
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache

from construct.language.dates import tenses
from construct.language.index_words import stem
from construct.language.terms import carries_meaning, content_words, opening_names, terms
from construct.language.wordlists import MONTHS, WEEKDAYS, word_set
from construct.language.words import words

# A run of Chinese, Japanese or Korean characters, most of them words or parts of words.
_CJK_RUN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
# A letter or digit of a script that puts spaces between words and joins no prefixes to
# them. Scripts from Hebrew (U+0590) on are left out, since most of them differ.
_LETTER = "[^\\W_\u0590-\U0010ffff]"
_SHORTEST_INFLECTED = 3
"""Letters of the shortest word that may have an "s" added: not "hi", which is in "his"."""
_MIN_LETTERS = 4
"""Shorter words say too little to recognise a fact by."""
_ABBREVIATIONS = (name[:3] for name in (*MONTHS, *WEEKDAYS))
_CALENDAR = frozenset(
    {*MONTHS, *WEEKDAYS, *_ABBREVIATIONS, "sept", "today", "tomorrow", "yesterday"}
)

_FILLERS = word_set("a an the am is are now currently called named")
# The user writes "I have", the worker writes "User has".
_SYNONYMS = {
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
    # If something in the past was said on two days, it may have happened twice.
    happened_on = said_on if tenses(text)[:1] == ["past"] else None
    return _wording(text), terms(text), about, happened_on


def _wording(text: str) -> tuple[str, ...]:
    """Return the words in order, without fillers and, except for past forms, as stems."""
    wording = []
    for written in text.casefold().replace("’", "'").split():
        word = written.lstrip(_OPENING).rstrip(_CLOSING)
        if not word or word in _FILLERS:
            continue
        word = _SYNONYMS.get(word, word)
        # "Lived" and "lives" have the same stem, but state different facts.
        wording.append(word if word.endswith("ed") else stem(word))
    return tuple(wording) or (text.strip(),)


def likeness(a: str, b: str) -> float:
    """Return the share of content words that two texts have in common, 0 to 1."""
    stems_a = {stem(word) for word in content_words(a)}
    stems_b = {stem(word) for word in content_words(b)}
    return 2 * len(stems_a & stems_b) / max(1, len(stems_a) + len(stems_b))


def fact_names(text: str) -> frozenset[str]:
    """Return the terms and names that identify a fact, without the names of days and months."""
    return (terms(text) | opening_names(text)) - _CALENDAR


def search_marks(text: str) -> frozenset[str]:
    """Return the words to search other texts for: names, or else the longer words."""
    return fact_names(text) or _longer_words(text)


def _longer_words(text: str) -> frozenset[str]:
    return frozenset(w for w in content_words(text) - _CALENDAR if len(w) >= _MIN_LETTERS)


def revealing_words(text: str) -> frozenset[str]:
    """Return the words that could reveal what a text says.

    For Chinese, Japanese and Korean, these are also pairs of characters.
    """
    return fact_names(text) | _longer_words(text) | _pairs(text)


def reveals(text: str | None, parts: frozenset[str]) -> bool:
    """Return whether a text contains any of these words or pairs of characters."""
    if not text:
        return False
    return not (parts.isdisjoint(_analyse_text(text).words) and parts.isdisjoint(_pairs(text)))


def _pairs(text: str) -> set[str]:
    return {run[i : i + 2] for run in _CJK_RUN.findall(text) for i in range(len(run) - 1)}


def is_specific(text: str) -> bool:
    """Return whether a message says enough to recognise it by, unlike "In Porto."."""
    told = fact_names(text) | content_words(text)
    has_number = any(len(w) >= _MIN_LETTERS and any(map(str.isdigit, w)) for w in told)
    return len(told) > 1 or len(_pairs(text)) > 1 or has_number


def states_fact(text: str, fact: str) -> bool:
    """Return whether a text states a fact, word for word or nearly.

    Nearly means that it has the fact's names and half of its other words. If the fact
    has no names, the text must have three quarters of its words, and they must be at
    least half of the text. Only an equal text states a fact that says nothing by itself,
    such as "No" or "5".
    """
    if not text or not fact:
        return False
    said, wanted = _analyse_text(text), _analyse_fact(fact)
    if wanted.says_nothing:
        return said.plain == wanted.plain
    if _has_phrase(said.plain, wanted.plain):
        return True
    shared = len(wanted.other_stems & said.stems)
    others = len(wanted.other_stems)
    if wanted.names:
        # A single name says little, so half the number of other words is rounded up then.
        enough = (others + 1) // 2 if len(wanted.names) == 1 else others // 2
        return wanted.names <= said.words and shared >= enough
    return others > 0 and shared >= 0.75 * others and shared >= 0.5 * said.content_words


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that may state a fact, prepared for comparison."""

    plain: str
    words: frozenset[str]
    stems: frozenset[str]
    content_words: int
    """How many different words with a meaning of their own it has."""


@dataclass(frozen=True, slots=True)
class _Fact:
    """A fact to look for, prepared for comparison."""

    plain: str
    names: frozenset[str]
    other_stems: frozenset[str]
    """The stems of its words that are not names."""

    @property
    def says_nothing(self) -> bool:
        """Whether it has no words with a meaning of their own and at most short numbers."""
        numbers = (name.isdigit() and len(name) < _MIN_LETTERS for name in self.names)
        return not self.other_stems and all(numbers)


@lru_cache(maxsize=16)
def _analyse_text(text: str) -> _Text:
    text_words = frozenset(words(text))
    stems = frozenset(map(stem, text_words))
    return _Text(_plain(text), text_words, stems, sum(map(carries_meaning, text_words)))


@lru_cache(maxsize=4096)
def _analyse_fact(fact: str) -> _Fact:
    names = fact_names(fact)
    other_stems = frozenset(stem(word) for word in content_words(fact) - names)
    return _Fact(_plain(fact), names, other_stems)


def _has_phrase(text: str, phrase: str) -> bool:
    """Return whether a text contains a phrase that neither begins nor ends within a word.

    "Ana" is not in "bananas", but a single word may have an "s" added: "Anna" in "Annas".
    """
    if not phrase or phrase not in text:
        return False
    before = f"(?<!{_LETTER})" if re.match(_LETTER, phrase[0]) else ""
    after = f"(?!{_LETTER})" if re.match(_LETTER, phrase[-1]) else ""
    ending = "s?" if len(phrase) >= _SHORTEST_INFLECTED and phrase.isalpha() else ""
    return bool(re.search(before + re.escape(phrase) + ending + after, text))


def _plain(text: str) -> str:
    """Return a text in lower case on one line, without full stops or "!" at its end."""
    return " ".join(text.casefold().split()).rstrip(".!。")
