"""The user's rules for the memory: wishes for the observer, and words never to store in it."""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from construct.errors import ConstructError
from construct.stems import index_words, stem

MAX_RULES_BYTES = 100_000
"""The largest rules file that is read."""
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# "never: salary, Dr. Meier", also as a list item or a heading: "- **Never:** salary"
_NEVER_LINE = re.compile(r"[\s>*+_#\d.)-]*never[\s*_]*[:：](.*)", re.IGNORECASE)
# "track: coffee spending in euros", in the same forms
_TRACK_LINE = re.compile(r"[\s>*+_#\d.)-]*track[\s*_]*[:：](.*)", re.IGNORECASE)
_MOST_TRACKED = 40
_SEPARATOR = re.compile("[,;，、；،؛]")
_DECORATION = " \t*_`.\"'“”„‘’«»"
"""Characters to strip from around a `never:` word: white space, Markdown, quotation marks."""
# Scripts without spaces between words, and Korean, where particles are joined to nouns.
_UNSPACED_SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")

EXAMPLE = """\
<!--
What Construct should remember about you, and what it should leave out, in your own words.
Text in a comment like this one does not count. Write below it, for example:

Note what I cook, and how it turned out.
Leave out what I say about colleagues.

never: salary, Dr. Meier
track: coffee spending in euros

The memory worker's model is sent what you write, as many lines as fit, and uses it only to
decide what to note. Code also enforces the lines that begin with "never:", even without a
model: no observation is written that has one of these words in it, as a whole word, in upper
or lower case, or in another form that search finds too ("salary" keeps out "salaries").
What you type with /remember or /edit is always kept.
A line that begins with "track:" names an amount to follow, such as weight or spending:
/track adds it up.
To see what your rules would change: construct observe --dry-run
-->
"""
"""The content of a new rules file."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the user wants to be remembered or left out."""

    prose: str = ""
    """The text of the file without comments."""
    never: tuple[str, ...] = ()
    """The words of the `never:` lines, as the user wrote them."""
    track: tuple[str, ...] = ()
    """The names of the `track:` lines: values to follow."""

    def forbidden_in(self, *texts: str | None) -> str | None:
        """Return the first `never` word that is in one of these texts, or None."""
        if not self.never:
            return None
        given = [text for text in texts if text]
        folded, stems = list(map(_folded, given)), list(map(_stems, given))
        for word in self.never:
            sought = _folded(word)
            if any(_contains_word(text, sought) for text in folded):
                return word
            if _has_forms(sought) and any(_stems(word) in text for text in stems):
                return word
        return None


def parse_rules(text: str) -> Rules:
    """Return the rules in the text of a rules file."""
    prose = _COMMENT.sub("", text).strip()
    never, track = (_listed(prose, line) for line in (_NEVER_LINE, _TRACK_LINE))
    return Rules(prose, never, track[:_MOST_TRACKED])


def _listed(prose: str, form: re.Pattern[str]) -> tuple[str, ...]:
    """Return the words that all lines of a form list, each once."""
    words: dict[str, None] = {}
    for line in prose.splitlines():
        if match := form.match(line):
            listed = (word.strip(_DECORATION) for word in _SEPARATOR.split(match[1]))
            words |= dict.fromkeys(word for word in listed if _folded(word))
    return tuple(words)


@dataclass(frozen=True, slots=True)
class RulesFile:
    """Where the user's rules are."""

    path: Path
    must_exist: bool = False
    """Whether the user named it. Without a file of the usual name there are no rules."""


def read_rules(file: RulesFile | None) -> Rules:
    """Return the rules in a file, empty if there is none and none is named.

    Raises ConstructError if it cannot be read or is too large, or if a file that is named is
    gone, since its words could not be kept out then.
    """
    if file is None:
        return Rules()
    path = file.path
    try:
        if path.exists() and not path.is_file():
            raise ConstructError(
                f"{path} is not a file, so nothing is remembered.\n"
                "Set CONSTRUCT_MEMORY_RULES to a file, or put a file in its place."
            )
        with path.open("rb") as stream:
            content = stream.read(MAX_RULES_BYTES + 1)
    except FileNotFoundError:
        if file.must_exist:
            raise ConstructError(
                f"{path} is gone, so nothing is remembered.\n"
                "Put it back, or unset CONSTRUCT_MEMORY_RULES and start again."
            ) from None
        return Rules()
    except OSError as error:
        raise ConstructError(
            f"{path} cannot be read ({error.strerror or error}), so nothing is remembered.\n"
            "It may name words to leave out. Make it readable, or delete it."
        ) from error
    if len(content) > MAX_RULES_BYTES:
        raise ConstructError(
            f"{path} is larger than 100 kB, so nothing is remembered.\n"
            "Make your memory rules shorter."
        )
    return parse_rules(content.decode("utf-8-sig", "replace"))


def _folded(text: str) -> str:
    """Return a text without letter case, invisible characters and line ends, to compare."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    folded = folded.replace("i\u0307", "i").replace("ı", "i").replace("’", "'")
    return " ".join("".join(c for c in folded if unicodedata.category(c) != "Cf").split())


def _has_forms(word: str) -> bool:
    """Return whether search knows other forms of a folded word, and compares all of it.

    It knows them in the Latin script alone, and in "C++" it sees only the letter.
    """
    letters = [c for c in word if c.isalpha()]
    return (
        _is_letter(word[0])
        and _is_letter(word[-1])
        and all(unicodedata.name(c, "").startswith("LATIN") for c in letters)
    )


def _stems(text: str) -> str:
    """Return the stems under which search files the words of a text, each between spaces."""
    return f" {' '.join(map(stem, index_words(_folded(text))))} "


def _contains_word(text: str, word: str) -> bool:
    """Return whether a folded text contains a folded word as a whole word."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        before, after = text[start - 1 : start], text[end : end + 1]
        if not (_is_inside_word(before, word[0]) or _is_inside_word(word[-1], after)):
            return True
        start = text.find(word, start + 1)
    return False


def _is_inside_word(left: str, right: str) -> bool:
    """Return whether two neighbouring characters belong to one word."""
    return (
        _is_letter(left) and _is_letter(right) and not (_is_unspaced(left) or _is_unspaced(right))
    )


def _is_letter(character: str) -> bool:
    return bool(character) and unicodedata.category(character)[0] in "LMN"


def _is_unspaced(character: str) -> bool:
    return unicodedata.name(character, "").startswith(_UNSPACED_SCRIPTS)
