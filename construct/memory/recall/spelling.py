"""Replace words of a query that occur nowhere by the most similar spelling.

A search drops such a word and uses the one spelt most like it: one slip
away, or two in a long word whose beginning is right. The index files words under their
stems (language/index_words.py), so their texts are read to learn how they are written.
What it costs does not grow with the file.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches

from construct.language.index_words import fold, index_words, is_unspaced, stem
from construct.language.named_periods import may_name_time
from construct.memory.recall.query import Query, analyse, is_cue, is_stop_word, outside_quotes
from construct.store import search
from construct.store.search import Filters

SHORTEST = 4  # letters; shorter words have too many neighbours
LONGEST = 64  # letters; the index does not stem longer words
LONG = 8  # letters; from here on two slips are looked for where no word is one slip away
BEGINNING = 3  # letters that are right where there are two slips
MOST_RESPELT = 4  # words of a query: more are another language, not slips
MOST_TERMS = 2_000  # of the index that begin alike are compared
MOST_STEMS = 30  # whose texts are read for one word
TEXTS, TEXTS_NARROWED = 8, 200  # read of each stem; more where filters may hide most of them
ALPHABET = 32  # letters of one script stand no farther apart than this in Unicode

_WORD = re.compile(r"(?:[^\W_]|[\u0300-\u036f])+")
_OWNED = re.compile(rf"({_WORD.pattern})(?:['’]s\b)?")


@dataclass(frozen=True, slots=True)
class Respelt:
    """A word that occurs nowhere, as typed, and the word searched instead."""

    typed: str
    searched: str

    def __str__(self) -> str:
        return f"No “{self.typed}”; also searched “{self.searched}”."


def as_said(
    db: sqlite3.Connection,
    asked: Query,
    unsaid: Sequence[str],
    filters: Filters,
    today: date | None = None,
) -> tuple[Query, tuple[Respelt, ...]]:
    """Return the query with words that occur nowhere replaced, and the replacements.

    Everything else about the query (times, whose words, its meaning) stays. `today` is
    the day that "yesterday" refers to.
    """
    dropped = [word for word in unsaid if not is_cue(word)]
    if not dropped:
        return asked, ()
    tried = {word: _nearest(db, word, filters) for word in dropped[:MOST_RESPELT]}
    respelt = tuple(
        Respelt(_typed(asked.text, word), written) for word, written in tried.items() if written
    )
    spelt = tuple(dict.fromkeys(index_words(" ".join(r.searched for r in respelt))))
    kept = _without_words(asked.text, dropped)
    said = analyse(kept) if kept.strip() else replace(asked, words=(), bare=True)
    timed = _without_words(asked.text, [word for word in dropped if not may_name_time(word)])
    times = analyse(timed, today) if timed.strip() else asked
    query = replace(
        said,
        words=() if said.bare and spelt else said.words,
        text=asked.text,
        dates=times.dates,
        asks_when=times.asks_when,
        unsaid=len(dropped),
        spelt=spelt,
    )
    return query, respelt


def _without_words(text: str, dropped: Sequence[str]) -> str:
    """Return a query's text without these words, quoted ones excepted."""
    return outside_quotes(
        text, lambda part: _OWNED.sub(lambda m: "" if fold(m[1]) in dropped else m[0], part)
    )


def _nearest(db: sqlite3.Connection, word: str, filters: Filters) -> str | None:
    """Return the most similarly spelt word, as the searchable entries write it."""
    if not SHORTEST <= len(word) <= LONGEST or not word.isalpha() or is_unspaced(word):
        return None
    near = one_slip_away(word)
    stems = search.terms_among(db, {stem(form) for form in near})
    found = {
        form: written for form, written in _written(db, stems, filters).items() if form in near
    }
    if not found and len(word) >= LONG:
        terms = search.terms_beginning(db, word[:BEGINNING], MOST_TERMS)
        written_as = _written(db, get_close_matches(word, terms, MOST_STEMS), filters)
        found = {
            form: written
            for form, written in written_as.items()
            if not near.isdisjoint(one_slip_away(form))
        }
    rows: Counter[str] = Counter()
    for kind in search.KINDS:
        rows.update(search.frequencies(db, kind, [stem(form) for form in found]))
    best = min(found, key=lambda form: (-rows[stem(form)], form), default=None)
    return None if best is None else found[best]


def one_slip_away(word: str) -> frozenset[str]:
    """Return all the spellings one slip away from a word.

    A slip is a letter too many, missing or wrong, or two exchanged.
    """
    codes = {
        code for letter in word for code in range(ord(letter) - ALPHABET, ord(letter) + ALPHABET)
    }
    letters = [chr(code) for code in codes if code > 0 and chr(code).islower()]
    found: set[str] = set()
    for position in range(len(word) + 1):
        before, after = word[:position], word[position:]
        found.add(before + after[1:])
        found.add(before + after[1:2] + after[:1] + after[2:])
        found.update(before + letter + after for letter in letters)
        found.update(before + letter + after[1:] for letter in letters)
    return frozenset(found) - {word}


def _written(db: sqlite3.Connection, stems: Collection[str], filters: Filters) -> dict[str, str]:
    """Return the words in texts that have one of these stems: folded to as written."""
    texts = TEXTS_NARROWED if filters.restrict_messages() else TEXTS
    found: dict[str, str] = {}
    for kind in filters.kinds():
        for term in sorted(stems)[:MOST_STEMS]:
            for entry in search.results(
                db, kind, search.rows_of_term(db, kind, term, texts), filters
            ):
                for match in _WORD.finditer(entry.text):
                    form = fold(match[0])
                    if stem(form) == term and not is_stop_word(form):
                        found.setdefault(form, match[0].lower())
    return found


def _typed(text: str, word: str) -> str:
    return next((m[0] for m in _WORD.finditer(text) if fold(m[0]) == word), word)
