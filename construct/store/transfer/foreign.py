"""What the readers of other programs' files get and give: the same few types for each format.

A format is a module in `formats`. It has one function that says whether a file looks like
its own, and one that reads the conversations in it.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, NamedTuple, Protocol

from construct.text import one_line, shorten
from construct.vocabulary import Role

_MARK_CHARACTERS = 80
"""The longest name in a mark such as `[image: name]`."""


class UnreadableError(Exception):
    """Raised for a conversation that cannot be read, with the reason as a clause."""


class Moment(NamedTuple):
    """A time as it is stored, and the minutes east of UTC that came with it."""

    at: str
    utc_offset: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message: its text, or what is left out of it, or both."""

    text: str = ""
    is_pasted: bool = False
    """Whether the user only brought the text, in a paste or a file."""
    left_out: str = ""
    """What the report counts as left out, in the plural: "images"."""


@dataclass(frozen=True, slots=True)
class ForeignMessage:
    """A message from another program. If no part has text, only what it leaves out counts."""

    uid: str
    role: Role
    parts: tuple[Part, ...]
    said_at: Moment | None = None


@dataclass(frozen=True, slots=True)
class ForeignConversation:
    """A conversation from another program."""

    uid: str
    title: str | None
    messages: Iterable[ForeignMessage]
    """In their order; can be iterated only once."""
    created_at: Moment | None = None


@dataclass(frozen=True, slots=True)
class ForeignMemory:
    """A fact that another program kept about the user."""

    text: str
    source: str
    """Where it comes from: "ChatGPT's memory"."""
    noted_at: Moment | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How much of one kind an import left out."""

    what: str
    count: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A conversation or file that could not be read, and why, as a clause."""

    conversation: str
    why: str


Found = ForeignConversation | ForeignMemory | LeftOut | Refused


@dataclass(frozen=True, slots=True)
class Sample:
    """What a file is recognised by: its name, and one of the first things in it."""

    name: str
    """The file's own name, without folders."""
    item: Any = None
    """An element of a JSON list, the object of a line, or a JSON document."""
    text: str = ""
    """How a file that is neither JSON nor a database begins."""
    tables: frozenset[str] = frozenset()
    """The tables of an SQLite database."""


class ForeignFile(Protocol):
    """A file to read."""

    name: str
    title: str
    """The file's own name, without folders and extension."""
    place: str
    """Where it is in the folder or archive that the user named."""
    is_text: bool
    """Whether it is plain text: neither JSON nor a database."""
    zone: tzinfo | None
    """The user's time zone, for times that do not name one. None: the system's."""

    @property
    def tables(self) -> frozenset[str]:
        """The tables of an SQLite database."""

    def items(self) -> Iterator[Any]:
        """Yield the elements of a JSON list, the objects of the lines, or the document."""

    def numbered_lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the number and object of each line. Raises RefusedError for a bad one."""

    def text(self) -> str:
        """Return the file's text. Raises RefusedError."""

    def rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query on an SQLite database."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of another program's files."""

    name: str
    how_to_get: str
    """How a user gets such a file, as a sentence."""
    looks_like: Callable[[Sample], bool]
    conversations: Callable[[ForeignFile], Iterator[Found]]


def stable_uid(*parts: object) -> str:
    """Return a uid derived from these parts: the same in every import, on every machine."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def each(
    items: Iterable[Any],
    read: Callable[[Any], Iterable[Found]],
    title_of: Callable[[Any], object],
) -> Iterator[Found]:
    """Yield what `read` finds in each item, or a Refused where it raises UnreadableError."""
    for number, item in enumerate(items, 1):
        try:
            found = list(read(item))
        except UnreadableError as error:
            yield Refused(named(title_of(item), number), str(error))
        else:
            yield from found
        del item  # free it before the next is read, as both may be large


def named(title: object, number: int) -> str:
    """Return how to name a conversation to the user."""
    if isinstance(title, str) and title.strip():
        return f"“{shorten(title, 60)}”"
    return f"conversation {number}"


# Parts


def words(text: object) -> Part:
    """Return what the speaker said."""
    return Part(text) if isinstance(text, str) else Part()


def pasted(text: object) -> Part:
    """Return text that the user brought but did not write: a paste, or the text of a file."""
    return Part(text, is_pasted=True) if isinstance(text, str) else Part()


def mark(kind: str, name: object = "", left_out: str = "") -> Part:
    """Return a line such as `[image: cat.png]` in the place of what cannot be imported."""
    label = shorten(name, _MARK_CHARACTERS) if isinstance(name, str) else ""
    label = label.replace("[", "(").replace("]", ")")
    return Part(f"[{one_line(kind)}: {label}]" if label else f"[{one_line(kind)}]", False, left_out)


def image(name: object = "") -> Part:
    """Return the mark of a picture."""
    return mark("image", name, "images")


def file(name: object = "") -> Part:
    """Return the mark of a file whose content did not come along."""
    return mark("file", name, "files")


def attached_text(name: object, text: str) -> tuple[Part, ...]:
    """Return a file's mark and its text; only the text if the file has no name of its own."""
    return (mark("file", name), pasted(text)) if name else (pasted(text),)


def omitted(what: str) -> Part:
    """Return a part that is counted in the report and leaves no mark."""
    return Part(left_out=what)
