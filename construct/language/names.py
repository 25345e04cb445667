"""Find the words of a text that look like names, in any script, and compare words. No I/O.

Words are compared without case, accents and endings: "Bartkiem" is "Bartek", "Мишей" is
"Миша". Nothing here knows a language. What it finds are hints for a reader, no more: in
scripts without capitals every word may be a name.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from construct.language.words import tokens

_USER = re.compile(r"users?(?:\w{1,3})?|assistants?")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’»)]*\s+[\"'“„«(]*\Z")
_LONGEST_END = 12
"""Characters before a word that are searched for the end of the sentence before."""
_NOT_DECOMPOSED = str.maketrans("łøđħŧı", "lodhti")
_ACCENT_CLASS = 7
"""Marks of a higher combining class are accents; others are vowels, as in Devanagari."""
_MAX_ENDING = 4
_MIN_STEM, _SHORT_STEM = 3, 2
_MAX_PREFIX = 3
"""Letters that a script such as Arabic may join to the front of a word: وبال."""
_MAX_NAMES = 8
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]+")
_RUN = re.compile("[\u30a1-\u30fa\u30fc]{2,}|[\uac00-\ud7af]{2,}")
"""A word in katakana or Hangul, which `tokens` would take apart."""
# Thai, Lao, Tibetan, Burmese and Khmer put no spaces between words.
_UNSPACED = re.compile("[\u0e00-\u0eff\u0f40-\u109f\u1780-\u17d3]+")
_PIECE = 3
"""Characters of a piece of such a script that are looked for in another text."""


@dataclass(frozen=True, slots=True)
class HeardWords:
    """The words of some texts, ready to be compared."""

    text: str
    """All of it, folded."""
    by_start: dict[str, frozenset[str]]
    """The words by their first two letters, and without prefixes where a script has them."""

    def has(self, name: str) -> bool:
        """Return whether a word that `names` found stands here in any form."""
        folded = fold(name)
        if folded in self.text and (len(folded) > _MIN_STEM or not _is_spaced(name)):
            return True
        return any(
            same_word(variant, word)
            for variant in _variants(folded)
            for word in self.by_start.get(variant[:_SHORT_STEM], ())
        )


def heard_words(texts: Iterable[str]) -> HeardWords:
    """Return the words of some texts for comparing."""
    folded = [fold(text) for text in texts]
    by_start: defaultdict[str, set[str]] = defaultdict(set)
    for text in folded:
        for word in _words(text):
            for variant in _variants(word):
                by_start[variant[:_SHORT_STEM]].add(variant)
    return HeardWords(
        "\n".join(folded), {start: frozenset(words) for start, words in by_start.items()}
    )


def names(text: str) -> list[str]:
    """Return the words of a text that look like names, as they are written.

    In scripts with capitals these have one, unless they only begin a later sentence. In
    scripts without, they are all words. Addresses count too; the user and the assistant
    do not.
    """
    return list(dict.fromkeys(_names(text)))


def unfound_names(text: str, heard: HeardWords) -> list[str]:
    """Return the name-like words of a text that were not heard, at most `_MAX_NAMES`."""
    missing = [name for name in names(text) if not heard.has(name)]
    for run in _HAN.findall(text):
        known = "".join(c if fold(c) in heard.text else " " for c in run)
        missing += _gaps(run, known, least=2)
    for run in _UNSPACED.findall(text):
        missing += _gaps(run, _heard_pieces(run, heard.text), least=_PIECE)
    return list(dict.fromkeys(missing))[:_MAX_NAMES]


def fold(text: str) -> str:
    """Return a text without case, accents and apostrophes, in its compatible form."""
    if text.isascii():
        return text.lower().replace("'", "")
    letters = unicodedata.normalize("NFKD", text)
    letters = "".join(c for c in letters if unicodedata.combining(c) <= _ACCENT_CLASS)
    letters = unicodedata.normalize("NFC", letters).casefold().translate(_NOT_DECOMPOSED)
    return re.sub("['’ʼ]", "", letters)


def same_word(one: str, other: str) -> bool:
    """Return whether two folded words differ in their endings at most."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    stem = 0
    while stem < len(short) and short[stem] == long[stem]:
        stem += 1
    ending = len(long) - stem
    if stem >= _MIN_STEM:
        return 2 * stem >= len(short) and ending <= _MAX_ENDING
    return stem == _SHORT_STEM and len(short) <= _MIN_STEM and ending <= _SHORT_STEM


def letter_pairs(text: str) -> frozenset[str]:
    """Return the pairs of neighbouring letters and digits of a text, folded."""
    folded = "".join(c if c.isalnum() else " " for c in fold(text))
    return frozenset(word[i : i + 2] for word in folded.split() for i in range(len(word) - 1))


def letter_words(text: str) -> frozenset[str]:
    """Return the folded words of four letters or more, the user apart."""
    longer = (word for word in _words(fold(text)) if len(word) > _MIN_STEM)
    return frozenset(word for word in longer if not _USER.fullmatch(word))


def shares_a_word(one: str, other: str) -> bool:
    """Return whether two texts share a word that says something, other than the user.

    Such a word has four letters or more, or looks like a name, or is a number. Where a
    script has no spaces, two characters in a row are a word.
    """
    heard = heard_words([other])
    named = (fold(name) for name in names(one) if len(name) >= _MIN_STEM or not _has_case(name))
    telling = {*letter_words(one), *named, *re.findall(r"\d+", one)}
    if any(map(heard.has, telling)):
        return True
    return any(
        run[i : i + 2] in other
        for pattern in (_HAN, _RUN, _UNSPACED)
        for run in pattern.findall(one)
        for i in range(len(run) - 1)
    )


def _names(text: str) -> Iterator[str]:
    for match in tokens(text):
        word = match.group()
        if not word[0].isalpha() or _HAN.match(word) or _UNSPACED.match(word):
            continue
        if any(c in word for c in "@/") or "." in word:
            yield word
        elif _USER.fullmatch(fold(word)) or len(word) == 1:
            continue
        elif not _has_case(word) or (word != word.lower() and not _begins_sentence(text, match)):
            yield word
    yield from _RUN.findall(text)


def _begins_sentence(text: str, match: re.Match[str]) -> bool:
    """Return whether a word begins a sentence after the first, which may need a capital."""
    return bool(_SENTENCE_END.search(text, max(0, match.start() - _LONGEST_END), match.start()))


def _words(folded: str) -> Iterator[str]:
    for match in tokens(folded):
        if match.group()[0].isalpha() and not _HAN.match(match.group()):
            yield match.group()
    yield from _RUN.findall(folded)


def _has_case(word: str) -> bool:
    return word.lower() != word.upper()


def _is_spaced(name: str) -> bool:
    return not (_HAN.search(name) or _UNSPACED.search(name))


def _variants(word: str) -> list[str]:
    """Return a word, and where its script joins prefixes to words, what follows them."""
    if _has_case(word):
        return [word]
    return [word[start:] for start in range(min(_MAX_PREFIX, len(word) - _SHORT_STEM) + 1)] or [
        word
    ]


def _heard_pieces(run: str, text: str) -> str:
    """Return a run of characters with a space for each that is in no piece of `text`."""
    heard = [" "] * len(run)
    for start in range(len(run) - _PIECE + 1):
        if fold(run[start : start + _PIECE]) in text:
            heard[start : start + _PIECE] = run[start : start + _PIECE]
    return "".join(heard)


def _gaps(run: str, known: str, *, least: int) -> list[str]:
    """Return the parts of a run where `known` has spaces, of at least so many characters."""
    return [
        run[match.start() : match.end()]
        for match in re.finditer(" +", known)
        if match.end() - match.start() >= least
    ]
