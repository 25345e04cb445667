"""The forms of a word that the full-text index files under different stems."""

import re
from functools import cache

from construct.language.wordlists import IRREGULAR
from construct.stems import UNSPACED as UNSPACED
from construct.stems import fold as fold
from construct.stems import index_words as index_words
from construct.stems import is_unspaced as is_unspaced
from construct.stems import one_width as one_width
from construct.stems import stem as stem

_TOGETHER = {"ss": "ß", "ffi": "ﬃ", "ffl": "ﬄ", "ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ"}
# "3,450", "3.450", "3 450" and "3'450", and what stands after the point in "3,450.50"
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:[.,'’\u00a0\u202f ]\d{3})+(?!\d)")
_CENTS = re.compile(r"(?<=\d{4})[.,]\d{1,2}(?![\d.,]*\d)")


@cache
def _irregular() -> dict[str, tuple[str, ...]]:
    groups = [tuple(group.split()) for group in IRREGULAR.split(";")]
    return {stem(word): group for group in groups for word in group}


def word_forms(word: str) -> tuple[str, ...]:
    """Return the word and its irregular forms with other stems: "run", "ran"."""
    own = stem(word)
    return (word, *[form for form in _irregular().get(own, ()) if stem(form) != own])


def root(word: str) -> str:
    """Return the stem that stands for all forms of a word: the same for "ran" and "runs"."""
    return min(map(stem, word_forms(word)))


def other_spellings(word: str) -> tuple[str, ...]:
    """Return how else a folded word may be written where the index keeps it so.

    "straße" for "strasse", "oﬃce" for "office", and "3 450" for "3450": a phrase, since
    the index takes "3,450" for two words.
    """
    spellings = []
    for letters, together in _TOGETHER.items():
        if letters in word:
            spellings.append(word.replace(letters, together))
    if word.isdigit() and 4 <= len(word) <= 12 and word[0] != "0":
        spellings.append(f"{int(word):,}".replace(",", " "))
    return tuple(spellings)


def with_whole_numbers(text: str) -> str:
    """Return a text whose numbers have no separators and, if large, no decimals."""
    joined = _GROUPED.sub(lambda match: "".join(filter(str.isdigit, match[0])), text)
    return _CENTS.sub("", joined)
