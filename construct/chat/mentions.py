"""Words that name files: with `@` in a message, pasted, or on a command line. No I/O."""

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

# Compiled on first use: most chats never attach a file.
_MENTION = r'(?<!\S)@(?:"([^"\n]+)"|([^\s"]\S*))'
"""`@cat.png` or `@"my cat.png"`, at the beginning of a word."""
_BEING_TYPED = r'(?<!\S)@("[^"\n]*|[^\s"]?\S*)\Z'
"""`@ca` or `@"my c` at the end of the text."""
_PATH = r"(?:~|\.{0,2})/.|.*\.(?:gif|jpe?g|md|pdf|png|txt|webp)\Z"
"""What is meant as a path even if there is no such file."""
_PUNCTUATION = ".,;:!?)'”»"
"""Characters that may follow a path at the end of a sentence."""
_DETACH_BEFORE = r"/detach\s+(?=\S)"
"""`/detach` before a message."""
_DETACH_AFTER = r"(?<=\S)\s+/detach\s*\Z"
"""`/detach` after a message."""
_MAX_OFFERED = 8
"""The most pasted paths that are offered as attachments. If there are more, none is offered."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A word that begins with `@`, and its place in the text."""

    path: str
    start: int
    end: int

    @property
    def readings(self) -> tuple["Mention", ...]:
        """The word itself, and the word without punctuation that may end a sentence."""
        bare = self.path.rstrip(_PUNCTUATION)
        is_quoted = self.end - self.start > len(self.path) + 1
        if is_quoted or bare in {"", self.path}:
            return (self,)
        return (self, Mention(bare, self.start, self.start + 1 + len(bare)))

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that the word may mean, that of the whole word first."""
        return tuple(reading.path for reading in self.readings)

    @property
    def is_path(self) -> bool:
        """Whether a file is meant rather than a name such as `@rosa`."""
        return re.match(_PATH, self.path.rstrip(_PUNCTUATION), re.IGNORECASE) is not None


def mentions(text: str) -> list[Mention]:
    """Return the words of a message that begin with `@`."""
    if "@" not in text:
        return []
    found = re.finditer(_MENTION, text)
    return [Mention(match[1] or match[2], *match.span()) for match in found]


def path_being_typed(before_cursor: str) -> str | None:
    """Return the path being typed after an `@`, with its opening quotation mark."""
    match = re.search(_BEING_TYPED, before_cursor) if "@" in before_cursor else None
    return match[1] if match else None


def mention_of(path: str) -> str:
    """Return the `@` word for a path, in quotes if it has spaces."""
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"


def can_be_named(path: str) -> bool:
    """Return whether an `@` word can name this path (not one with a space and a quote)."""
    return [mention.path for mention in mentions(mention_of(path))] == [path]


def without_mentions(text: str, names: Mapping[Mention, str]) -> str:
    """Return the message with each mention replaced by its file's name.

    Empty when the message has no other words.
    """
    message, other_words, position = "", "", 0
    for mention, name in names.items():
        between = text[position : mention.start]
        message += between + name
        other_words += between
        position = mention.end
    end = text[position:]
    return message + end if (other_words + end).strip() else ""


def without_detach(text: str) -> str | None:
    """Return the message without a `/detach` before or after it. None if it has none."""
    if "/detach" not in text:
        return None
    if before := re.match(_DETACH_BEFORE, text):
        return text[before.end() :]
    after = re.search(_DETACH_AFTER, text)
    return text[: after.start()] if after else None


def pasted_paths(text: str) -> list[str]:
    """Return the absolute paths in a pasted text that has nothing else.

    Terminals paste dragged files quoted, escaped, as file:// addresses, or bare.
    """
    text = text.strip()
    if not text.startswith(("/", "~", "'", '"', "file://")) or "\n" in text:
        return []
    try:
        words = [_path_of(word) for word in shlex.split(text)]
    except ValueError:  # an apostrophe, an open quotation mark
        words = []
    if words and all(words):
        return words if len(words) <= _MAX_OFFERED else []
    return [path] if (path := _path_of(text)) else []  # some terminals quote nothing


def shell_words(text: str) -> list[str]:
    """Return the words of a command line without their quotation marks.

    A backslash escapes the next character, except on Windows. Raises ValueError if a
    quotation mark or an escape is unfinished.
    """
    if os.name == "nt":
        return [word.strip("\"'") for word in shlex.split(text, posix=False)]
    return shlex.split(text)


def _path_of(word: str) -> str:
    if word.startswith("file://"):
        word = unquote(urlsplit(word).path)
    return word if word.startswith(("/", "~/")) else ""
