"""The user's rules for the memory: prose for the observer, and words that are never written.

Pure, but for `read_rules`.
"""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from construct.errors import ConstructError

_MOST_BYTES = 100_000
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NEVER = re.compile(r"[\s>*+_#\d.)-]*never[\s*_]*[:：](.*)", re.IGNORECASE)
_COMMA = re.compile("[,;，、；،؛]")
_AROUND = " \t*_`.\"'“”„‘’«»"
# Scripts that put no spaces between words. In Korean particles cling to their noun.
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")

EXAMPLE = """\
<!--
What Construct should remember of you, and what it should leave out, in your own words.
What stands in a comment like this one does not count. Write below it, for example:

Note what I cook, and how it turned out.
Leave out what I say about colleagues.

never: salary, Dr. Meier

The memory worker reads the prose, which cannot change how it works. A line that begins
with "never:" is enforced by code: no note that holds one of its words, whole and in any
letter case, is written. What you type with /remember or /edit is kept all the same.
To see what your rules would change: construct observe --dry-run
-->
"""
"""What a new file holds."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the user wants remembered or left out."""

    prose: str = ""
    """All of the file but its comments."""
    never: tuple[str, ...] = ()
    """The words that nothing in memory may hold, as they were written."""

    def forbidden_in(self, *texts: str | None) -> str | None:
        """Return the first of the `never` words that one of these texts holds."""
        folded = [_folded(text) for text in texts if text]
        for word in self.never:
            if any(_holds(text, _folded(word)) for text in folded):
                return word
        return None


def parse_rules(text: str) -> Rules:
    """Return the rules that a file's text states."""
    prose = _COMMENT.sub("", text).strip()
    lines = [match[1] for line in prose.splitlines() if (match := _NEVER.match(line))]
    words = [word.strip(_AROUND) for line in lines for word in _COMMA.split(line)]
    return Rules(prose, tuple(dict.fromkeys(word for word in words if _folded(word))))


def read_rules(path: Path | None) -> Rules:
    """Return the rules in a file; none without one.

    Raises ConstructError for one that cannot be read: its words could not be kept out.
    """
    if path is None:
        return Rules()
    try:
        if path.exists() and not path.is_file():
            raise ConstructError(f"{path} is no file.\nMove it, or set CONSTRUCT_MEMORY_RULES.")
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return Rules()
    except OSError as error:
        raise ConstructError(
            f"{path} cannot be read: {error.strerror or error}.\n"
            "Nothing is remembered until it can: it may name words to keep out."
        ) from error
    if len(content) > _MOST_BYTES:
        raise ConstructError(f"{path} is larger than 100 kB.\nMake your memory rules shorter.")
    return parse_rules(content.decode("utf-8-sig", "replace"))


def _folded(text: str) -> str:
    """Return a text as it is compared: without case, invisible characters and line ends."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    folded = folded.replace("i\u0307", "i").replace("ı", "i").replace("’", "'")
    return " ".join("".join(c for c in folded if unicodedata.category(c) != "Cf").split())


def _holds(text: str, word: str) -> bool:
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (_joined(text[at - 1 : at], word[0]) or _joined(word[-1], text[end : end + 1])):
            return True
        at = text.find(word, at + 1)
    return False


def _joined(left: str, right: str) -> bool:
    """Return whether two neighbouring characters belong to one word."""
    return (
        _is_letter(left) and _is_letter(right) and not (_is_unspaced(left) or _is_unspaced(right))
    )


def _is_letter(character: str) -> bool:
    return bool(character) and unicodedata.category(character)[0] in "LMN"


def _is_unspaced(character: str) -> bool:
    return unicodedata.name(character, "").startswith(_UNSPACED)
