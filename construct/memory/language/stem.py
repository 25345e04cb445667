"""Words as the full-text index has them: folded and stemmed, so that ranking sees the matches SQLite found.

`tokenize='porter unicode61 remove_diacritics 2'` in Python (Porter, 1980, with the two later rules that
SQLite's fts5_tokenize.c has: `bli` and `logi`). The index itself is never asked by these stems.
"""

import re
import unicodedata
from functools import cache, lru_cache

from construct.memory.language.wordlists import IRREGULAR

_WORD = re.compile(r"[^\W_]+")
# Scripts written without spaces: a run of them is one word to the tokenizer, so it is looked for in pieces.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_LONGEST = 64  # longer words are left alone, as in SQLite

_MEASURE = re.compile(r"V+C+")

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "logi": "log", "bli": "ble",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive",
    "biliti": "ble",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = {
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate",
    "iti", "ous", "ive", "ize",
}  # fmt: skip
_LONGEST_SUFFIX = 7  # the longest that a word ends with is the one that counts


def fold(text: str) -> str:
    """Return `text` in lower case, Latin letters without diacritics, as `remove_diacritics 2` has it."""
    if text.isascii():
        return text.lower()
    plain = _MARKS.sub("", "".join(map(_plain, text)))
    return plain.lower().replace("ς", "σ")


_MARKS = re.compile("[\u0300-\u036f]")


@lru_cache(4096)
def _plain(letter: str) -> str:
    parts = unicodedata.normalize("NFD", letter)
    return parts[0] if parts[0].isascii() else letter


def words(text: str) -> list[str]:
    """Return the words of `text` in order, folded, not stemmed."""
    return _WORD.findall(fold(text))


def is_unspaced(text: str) -> bool:
    """Tell whether a text is, or has something in it, of a script without spaces between words."""
    return bool(UNSPACED.search(text))


@lru_cache(4096)
def stem(word: str) -> str:
    """Return the stem under which the index files a folded word."""
    if not 3 <= len(word.encode()) <= _LONGEST:
        return word
    if not word.isascii():  # the rules look at bytes
        return _stem(word.encode().decode("latin-1")).encode("latin-1").decode(errors="replace")
    return _stem(word)


@cache
def _irregular() -> dict[str, tuple[str, ...]]:
    groups = [tuple(group.split()) for group in IRREGULAR.split(";")]
    return {stem(word): group for group in groups for word in group}


def forms(word: str) -> tuple[str, ...]:
    """Return the word and those of its forms that have other stems."""
    own = stem(word)
    return (word, *[form for form in _irregular().get(own, ()) if stem(form) != own])


def root(word: str) -> str:
    """Return one stem for all forms of a word: "went" and "goes" have the same."""
    return min(map(stem, forms(word)))


def _stem(word: str) -> str:
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and "V" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _STEP_2)
    word = _replace(word, _STEP_3)
    return _final(_step_4(word))


def _shape(word: str) -> str:
    """Return the word as a string of C and V; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "C")
        shape += "V" if vowel else "C"
    return shape


def _measure(word: str) -> int:
    return len(_MEASURE.findall(_shape(word)))


def _short_end(word: str) -> bool:
    """Tell whether the word ends consonant, vowel, consonant, the last not w, x or y."""
    return word[-1:] not in ("w", "x", "y") and _shape(word)[-3:] == "CVC"


def _plural(word: str) -> str:
    if (word.endswith("sses") and len(word) > 4) or (word.endswith("ies") and len(word) > 3):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed") and len(word) > 3:
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            return _mended(base) if "V" in _shape(base) else word
    return word


def _mended(base: str) -> str:
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if len(base) > 1 and base[-1] == base[-2] and base[-1] not in "aeioulsz":
        return base[:-1]
    return base + "e" if _measure(base) == 1 and _short_end(base) else base


def _replace(word: str, table: dict[str, str]) -> str:
    for size in range(_LONGEST_SUFFIX, 1, -1):
        if (suffix := word[-size:]) in table:
            base = word[:-size]
            return base + table[suffix] if _measure(base) > 0 else word
    return word


def _step_4(word: str) -> str:
    for size in range(_LONGEST_SUFFIX, 1, -1):
        if (suffix := word[-size:]) in _STEP_4:
            base = word[:-size]
            if _measure(base) > 1 and (suffix != "ion" or base.endswith(("s", "t"))):
                return base
            return word
    return word


def _final(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _short_end(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
