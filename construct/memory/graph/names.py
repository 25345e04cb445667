"""The names of entities: how they are compared, and which stand for the user."""

from collections.abc import Iterable, Sequence

from construct.language.index_words import index_words

USER = "User"
SELF = frozenset({"user", "the user", "i", "me", "myself", "my"})
"""Other ways to write the user's name."""


def key(name: str) -> str:
    """Return a name in the form in which names are compared."""
    return " ".join(index_words(name)) or name.casefold().strip()


def names_by_key(entities: Iterable[Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return all names of each entity by the key of each.

    The entity whose own name it is comes before others.

    `entities`: the names of each, its own name first.
    """
    given = list(entities)
    found = {key(names[0]): names for names in reversed(given)}
    for names in given:
        for name in names:
            found.setdefault(key(name), names)
    return found


def is_user(name: str) -> bool:
    """Return whether it is the name that stands for the user."""
    return key(name) == key(USER)
