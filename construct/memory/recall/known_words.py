"""Find out which words of a query occur, and how else they may be written.

A word may be part of a longer one, or two words where the query has one.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, pairwise

from construct.language.index_words import index_words, other_spellings, stem, word_forms
from construct.memory.recall.query import Query
from construct.memory.recall.spelling import MAX_LETTERS, MAX_RESPELT
from construct.store import search
from construct.store.driver import Connection
from construct.store.search import Filters
from construct.vocabulary import ItemKind

MOST_COUNTED = 200
"""Rows that are counted of a word that is several in the index."""
MAX_JOINED = 12
"""The first words of a query that are tried as one word with the next."""
MIN_PART = 3
"""Shorter words are not looked for inside other words."""
NEWEST_SCANNED = 20_000
"""Newest rows of each kind that are scanned for text in scripts without spaces."""


def row_counts_of(db: Connection, words: Sequence[str], filters: Filters) -> dict[str, int]:
    """Return how many rows of all kinds have each word, in any of its forms.

    Messages in `filters.exclude` do not count; the other filters are ignored.
    """
    stems = {word: [stem(form) for form in _stored_forms(word)] for word in words}
    all_stems = list(chain.from_iterable(stems.values()))
    total: Counter[str] = Counter()
    for kind in search.KINDS:
        total.update(search.frequencies(db, kind, all_stems))
    if filters.exclude:
        for entry in search.entries(db, "message", filters.exclude, Filters()):
            total.subtract(set(map(stem, index_words(entry.text))))
    counts = {word: max(0, sum(total[s] for s in stems[word])) for word in words}
    return {word: count or _count_otherwise(db, word) for word, count in counts.items()}


def _stored_forms(word: str) -> list[str]:
    return [*word_forms(word), *(form for form in other_spellings(word) if " " not in form)]


def _count_otherwise(db: Connection, word: str) -> int:
    """Return how many messages have a word that is several in the index, such as "3,450"."""
    phrases = [f'"{form}"' for form in other_spellings(word) if " " in form]
    counted = search.newest_of_each(db, ItemKind.MESSAGE, phrases, MOST_COUNTED) if phrases else []
    return sum(map(len, counted))


def inside_words(db: Connection, query: Query, unknown: Sequence[str], filters: Filters) -> Query:
    """Return the query with the unknown words that are parts of words as pieces.

    Such as "Zahnarzt" in "Zahnarzttermin", and Latin words in a text without spaces.
    """
    parts = [
        word
        for word in unknown[:MAX_RESPELT]
        if MIN_PART <= len(word) <= MAX_LETTERS
        and any(
            search.containing(db, kind, [word], filters, NEWEST_SCANNED) for kind in filters.kinds()
        )
    ]
    return replace(
        query,
        pieces=(*query.pieces, *parts),
        only_stop_words=query.only_stop_words and not parts,
        words=() if query.only_stop_words and parts else query.words,
        unknown_count=query.unknown_count - len(parts),
    )


def split_or_joined(db: Connection, words: Sequence[str], unknown: Sequence[str]) -> list[str]:
    """Return more words to search for: "ice" and "cream" for "icecream", and the reverse.

    `words`: those of the query in order. `unknown`: those of them that occur nowhere.
    """
    more: list[str] = []
    for word in (word for word in unknown[:MAX_RESPELT] if len(word) <= MAX_LETTERS):
        halves = [(word[:i], word[i:]) for i in range(2, len(word) - 1)]
        phrases = [f'"{left} {right}"' for left, right in halves]
        found = search.newest_of_each(db, ItemKind.MESSAGE, phrases, 1) if phrases else []
        more += next((list(pair) for pair, ids in zip(halves, found, strict=True) if ids), [])
    pairs = pairwise(words[:MAX_JOINED])
    joined = {left + right for left, right in pairs if left.isalpha() and right.isalpha()}
    known = search.terms_among(db, map(stem, joined)) if joined else set()
    return [*more, *sorted(word for word in joined if stem(word) in known)]
