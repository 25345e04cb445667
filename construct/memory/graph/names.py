"""Names of entities: how to compare them, and which ones mean the user."""

from collections.abc import Iterable, Sequence

from construct.language.index_words import index_words

USER = "User"
SELF = frozenset({"user", "the user", "i", "me", "myself", "my"})
"""Other ways to write the user's name."""


def key(name: str) -> str:
    """Return the form of a name that comparisons use."""
    return " ".join(index_words(name)) or name.casefold().strip()


def names_by_key(entities: Iterable[Sequence[str]]) -> dict[str, Sequence[str]]:
    """Map the key of every name to all names of the entity that has it.

    `entities`: the names of each entity, the main one first. If entities share a name,
    the one that has it as main name wins, then the first.
    """
    names_of_all = list(entities)
    by_key = {key(names[0]): names for names in reversed(names_of_all)}
    for names in names_of_all:
        for name in names:
            by_key.setdefault(key(name), names)
    return by_key


def is_user(name: str) -> bool:
    """Return whether this is the name that stands for the user."""
    return key(name) == key(USER)
