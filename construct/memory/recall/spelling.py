"""Replace words of a query that occur nowhere with the most similarly spelt word.

A misspelt word is one slip away from the word that was meant, or two slips in a long
word whose beginning is right. The index has only the stems of words
(language/index_words.py), so texts with these stems are read to learn how the words are
written. How many texts are read does not grow with the database.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches
from itertools import product

from construct.language.index_words import fold, index_words, is_unspaced, stem
from construct.language.named_periods import may_name_time
from construct.memory.recall.query import Query, analyse, is_cue, is_stop_word, outside_quotes
from construct.store import search
from construct.store.driver import Connection
from construct.store.search import Filters

MIN_LETTERS = 4
"""Shorter words are not respelt: too many words are one slip away from them."""
MAX_LETTERS = 64
"""Longer words are not respelt: the index does not stem them."""
TWO_SLIPS_FROM = 8
"""Words with at least this many letters may have two slips."""
RIGHT_LETTERS = 3
"""Letters at the beginning of a word with two slips that must be right."""
MAX_RESPELT = 4
"""The most words of a query that are respelt. More are another language, not slips."""
MAX_TERMS = 2_000
"""Terms of the index with the same beginning that are compared with a word."""
MAX_STEMS = 30
"""Stems whose texts are read for one word."""
TEXTS_READ = 8
"""Texts that are read for each stem."""
TEXTS_READ_FILTERED = 200
"""Texts that are read for each stem when filters may hide most of them."""
ALPHABET_SPAN = 32
"""How far in Unicode a wrong letter may be from a letter of the word: most of its script."""

# A word, with combining accents.
_WORD = re.compile(r"(?:[^\W_]|[\u0300-\u036f])+")
# "Anna's"; the group is "Anna".
_WORD_WITH_POSSESSIVE = re.compile(rf"({_WORD.pattern})(?:['’]s\b)?")


@dataclass(frozen=True, slots=True)
class Respelt:
    """A word of the query that occurs nowhere, and the word that is searched for instead."""

    typed: str
    searched: str

    def __str__(self) -> str:
        return f"“{self.typed}” occurs nowhere; “{self.searched}” was searched for instead."


def respell(
    db: Connection,
    query: Query,
    unknown: Sequence[str],
    filters: Filters,
    today: date | None = None,
) -> tuple[Query, tuple[Respelt, ...]]:
    """Return the query without the words that occur nowhere, and their replacements.

    `unknown`: the words that occur nowhere. Those with no similar spelling are dropped.
    The query keeps its meaning and the times that it names. `today` is the day from which
    "yesterday" is counted.
    """
    dropped = [word for word in unknown if not is_cue(word)]
    if not dropped:
        return query, ()
    spellings = {word: _nearest_spelling(db, word, filters) for word in dropped[:MAX_RESPELT]}
    replacements = tuple(
        Respelt(as_typed(query.text, word), spelling)
        for word, spelling in spellings.items()
        if spelling
    )
    respelt = tuple(dict.fromkeys(index_words(" ".join(r.searched for r in replacements))))
    # Whose words are meant and so on is judged without the words that occur nowhere.
    known_text = _without_words(query.text, dropped)
    if known_text.strip():
        known = analyse(known_text)
    else:
        known = replace(query, words=(), only_stop_words=True)
    # "Yesterday" names a time, whether or not it occurs anywhere.
    not_times = [word for word in dropped if not may_name_time(word)]
    text_with_times = _without_words(query.text, not_times)
    times = analyse(text_with_times, today) if text_with_times.strip() else query
    respelt_query = replace(
        known,
        words=() if known.only_stop_words and respelt else known.words,
        text=query.text,
        dates=times.dates,
        asks_when=times.asks_when,
        unknown_count=len(dropped),
        respelt=respelt,
    )
    return respelt_query, replacements


def _without_words(text: str, dropped: Sequence[str]) -> str:
    """Return a query's text without these words, except where they are quoted."""

    def drop(match: re.Match[str]) -> str:
        return "" if fold(match[1]) in dropped else match[0]

    return outside_quotes(text, lambda part: _WORD_WITH_POSSESSIVE.sub(drop, part))


def _nearest_spelling(db: Connection, word: str, filters: Filters) -> str | None:
    """Return the most similarly spelt word, as the searchable entries write it.

    Of several, the one that most entries have.
    """
    if not MIN_LETTERS <= len(word) <= MAX_LETTERS or not word.isalpha() or is_unspaced(word):
        return None
    variants = one_slip_away(word)
    stems = search.terms_among(db, {stem(form) for form in variants})
    spellings = _spellings(db, stems, filters)
    similar = [form for form in spellings if form in variants]
    if not similar and len(word) >= TWO_SLIPS_FROM:
        terms = search.terms_beginning(db, word[:RIGHT_LETTERS], MAX_TERMS)
        spellings = _spellings(db, get_close_matches(word, terms, MAX_STEMS), filters)
        similar = [form for form in spellings if not variants.isdisjoint(one_slip_away(form))]
    if not similar:
        return None
    row_counts: Counter[str] = Counter()
    for kind in search.KINDS:
        row_counts.update(search.frequencies(db, kind, [stem(form) for form in similar]))
    return spellings[min(similar, key=lambda form: (-row_counts[stem(form)], form))]


def one_slip_away(word: str) -> frozenset[str]:
    """Return the spellings one slip away from a word.

    A slip is a letter too many, missing or wrong, or two neighbours exchanged.
    """
    codes: set[int] = set()
    for letter in word:
        codes.update(range(ord(letter) - ALPHABET_SPAN, ord(letter) + ALPHABET_SPAN))
    characters = [chr(code) for code in codes if code > 0]
    letters = [char for char in characters if char.isalpha() and char == char.lower()]
    spellings: set[str] = set()
    for position in range(len(word) + 1):
        before, after = word[:position], word[position:]
        spellings.add(before + after[1:])
        spellings.add(before + after[1:2] + after[:1] + after[2:])
        spellings.update(before + letter + after for letter in letters)
        spellings.update(before + letter + after[1:] for letter in letters)
    return frozenset(spellings) - {word}


def _spellings(db: Connection, stems: Collection[str], filters: Filters) -> dict[str, str]:
    """Return how words with these stems are written in texts, by their folded form."""
    limit = TEXTS_READ_FILTERED if filters.restricts_messages() else TEXTS_READ
    spellings: dict[str, str] = {}
    for kind, term in product(filters.kinds(), sorted(stems)[:MAX_STEMS]):
        ids = search.rows_of_term(db, kind, term, limit)
        for entry in search.results(db, kind, ids, filters):
            for match in _WORD.finditer(entry.text):
                form = fold(match[0])
                if stem(form) == term and not is_stop_word(form):
                    spellings.setdefault(form, match[0].lower())
    return spellings


def as_typed(text: str, word: str) -> str:
    """Return a folded word as the query's text has it."""
    return next((m[0] for m in _WORD.finditer(text) if fold(m[0]) == word), word)
