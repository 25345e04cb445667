"""Compare names of entities, and recognise those that mean the user."""

from collections.abc import Iterable, Sequence

from construct.language.index_words import index_words

USER = "User"
"""The name under which the user is stored."""
SELF = frozenset({"user", "the user", "i", "me", "myself", "my"})
"""Names that mean the user, in lower case."""


def key(name: str) -> str:
    """Return the form of a name that comparisons use."""
    return " ".join(index_words(name)) or name.casefold().strip()


def names_by_key(entities: Iterable[Sequence[str]]) -> dict[str, Sequence[str]]:
    """Map the key of every name to all names of the entity that has it.

    `entities`: the names of each entity, the main one first. If entities share a name,
    the one that has it as its main name wins, then the first.
    """
    all_names = list(entities)
    by_key = {key(names[0]): names for names in reversed(all_names)}
    for names in all_names:
        for name in names:
            by_key.setdefault(key(name), names)
    return by_key


def is_user(name: str) -> bool:
    """Return whether this is the name under which the user is stored."""
    return key(name) == key(USER)
