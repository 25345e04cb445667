"""The forms of a word that the full-text index files under different stems."""

from functools import cache

from construct.language.wordlists import IRREGULAR
from construct.stems import UNSPACED as UNSPACED
from construct.stems import fold as fold
from construct.stems import index_words as index_words
from construct.stems import is_unspaced as is_unspaced
from construct.stems import stem as stem


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
