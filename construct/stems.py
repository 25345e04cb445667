"""Fold and stem words as the full-text index does.

Ranking in Python has to agree with the matches that SQLite found. This is SQLite's
`tokenize='porter unicode61 remove_diacritics 2'` in Python: Porter (1980), with the two
later rules that fts5_tokenize.c has, `bli` and `logi`.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from unicodedata import normalize

_WORD = re.compile(r"[^\W_]+")
# Scripts written without spaces, and Korean, which joins particles to its words: the
# tokenizer takes a whole run for one word, so recall searches for substrings instead.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
# Letters that are other letters written together, or in another width: ß, ﬁ, Ａ, ｱ.
_COMPATIBLE = re.compile("[ßẞ\ufb00-\ufb06\uff01-\uff5e\uff66-\uff9f]+")
_MAX_STEMMED_BYTES = 64
"""Longer words are not stemmed, as in SQLite."""

# Porter's steps 2 to 4: each ending, and what replaces it.
_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "logi": "log", "bli": "ble", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous",
    "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive",
    "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_STEP_4 = dict.fromkeys(
    "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split(), ""
)
_COMBINING_MARKS = re.compile("[\u0300-\u036f]")
_LONGEST_ENDING = 7
"""Letters of the longest ending, "ational"."""


def fold(text: str) -> str:
    """Return a text in lower case, with Latin letters stripped of diacritics.

    Letters written together, such as ß and ﬁ, come apart, which the index does not do.
    """
    if text.isascii():
        return text.lower()
    text = one_width(text)
    plain = _COMBINING_MARKS.sub("", "".join(map(_plain, text)))
    return plain.lower().replace("ς", "σ")


def one_width(text: str) -> str:
    """Return a text with its letters in their usual width, and none written together."""
    return _COMPATIBLE.sub(lambda match: normalize("NFKC", match[0]).casefold(), text)


@lru_cache(4096)
def _plain(letter: str) -> str:
    parts = normalize("NFD", letter)
    return parts[0] if parts[0].isascii() else letter


def index_words(text: str) -> list[str]:
    """Return the words of `text` in order, folded, not stemmed."""
    return _WORD.findall(fold(text))


def is_unspaced(text: str) -> bool:
    """Return whether a text contains characters of the scripts in UNSPACED."""
    return bool(UNSPACED.search(text))


@lru_cache(4096)
def stem(word: str) -> str:
    """Return the stem under which the index files a folded word."""
    bytes_ = word.encode()
    if not 3 <= len(bytes_) <= _MAX_STEMMED_BYTES:
        return word
    # SQLite applies the rules to bytes: latin-1 makes each byte one character.
    return _stem(bytes_.decode("latin-1")).encode("latin-1").decode(errors="replace")


def _stem(word: str) -> str:
    word = _without_plural(word)
    word = _without_past(word)
    if word.endswith("y") and "V" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2, min_measure=1)
    word = _replaced(word, _STEP_3, min_measure=1)
    word = _replaced(word, _STEP_4, min_measure=2)
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _has_short_end(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _shape(word: str) -> str:
    """Return the word as a string of C and V; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "C")
        shape += "V" if vowel else "C"
    return shape


def _measure(word: str) -> int:
    """Return Porter's measure m: the number of vowel-consonant sequences."""
    return len(re.findall("V+C+", _shape(word)))


def _has_short_end(word: str) -> bool:
    """Return whether a word ends consonant-vowel-consonant, the last not w, x or y."""
    return word[-1:] not in ("w", "x", "y") and _shape(word)[-3:] == "CVC"


def _without_plural(word: str) -> str:
    if (word.endswith("sses") and len(word) > 4) or (word.endswith("ies") and len(word) > 3):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past(word: str) -> str:
    """Remove "ed" or "ing" and repair the stem: "hopping" to "hop", "filing" to "file"."""
    if word.endswith("eed") and len(word) > 3:
        return word[:-1] if _measure(word[:-3]) > 0 else word
    base = word.removesuffix("ing") if word.endswith("ing") else word.removesuffix("ed")
    if base == word or "V" not in _shape(base):
        return word
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if len(base) > 1 and base[-1] == base[-2] and base[-1] not in "aeioulsz":
        return base[:-1]
    return base + "e" if _measure(base) == 1 and _has_short_end(base) else base


def _replaced(word: str, endings: Mapping[str, str], *, min_measure: int) -> str:
    """Replace the longest matching ending if the rest has at least `min_measure`."""
    for size in range(_LONGEST_ENDING, 1, -1):
        base, ending = word[:-size], word[-size:]
        if ending in endings:
            fits = _measure(base) >= min_measure and (ending != "ion" or base.endswith(("s", "t")))
            return base + endings[ending] if fits else word
    return word
