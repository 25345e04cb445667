"""Which sentences state the same fact. Pure.

When in doubt they are two: two memories of one fact do no harm, one of two facts is a
loss. So the same words must stand in the same order, and only what cannot change a fact
is left out. Real paraphrases are for the worker model to see.
"""

from collections.abc import Hashable

from construct.language.dates import in_past
from construct.language.index_words import stem
from construct.language.terms import terms
from construct.language.wordlists import word_set

_EMPTY = word_set("a an the am is are now currently called named")
# The user writes "I have", the worker writes "User has".
_ALIKE = {
    "i": "user", "i'm": "user", "me": "user", "my": "user's", "have": "has", "do": "does",
    "don't": "doesn't", "go": "goes",
}  # fmt: skip
_OPENING = "\"'“„«‘([「"
_CLOSING = ".,;:!…\"'”“»’)]」。，；！"


def fact_key(text: str, said_on: str, about: str | None) -> Hashable:
    """Return what is equal only for sentences that state the same fact, of the same time.

    `said_on`: the day it was said. `about`: the day, month or year it refers to.
    """
    happened_on = said_on if in_past(text) else None  # what happened on two days happened twice
    return _wording(text), terms(text), about, happened_on


def _wording(text: str) -> tuple[str, ...]:
    """Return the stems of the words in their order, without those that say nothing."""
    written = (
        word.lstrip(_OPENING).rstrip(_CLOSING) for word in text.casefold().replace("’", "'").split()
    )
    kept = (_ALIKE.get(word, word) for word in written if word and word not in _EMPTY)
    # "Lived" must not become "lives".
    return tuple(word if word.endswith("ed") else stem(word) for word in kept) or (text.strip(),)
