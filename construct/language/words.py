"""Split a text into words and numbers, in a normal form in which they can be compared."""

import re
import unicodedata
from collections.abc import Iterator

from construct.language.wordlists import SPELLED_NUMBERS

# Chinese and Japanese are written without spaces between words, and Korean joins particles
# to its words: each character counts as a word.
CJK = (
    r"\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\uff66-\uff9d"
)
LETTER = rf"[^\W\d_{CJK}]"
# Combining accents and vowel signs follow their letter; `\w` does not match them.
_MARK = (
    r"[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    r"\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06ed\u0900-\u0963\u0981-\u0df3\u0e31-\u0e3a\u0e47-\u0e4e]"
)
_WORD = rf"{LETTER}(?:{LETTER}|{_MARK})*"
_PATH = r"[^\s<>\"“”«»()\[\]]*[\w/]"
_ADDRESS = (
    r"(?<![a-zA-Z0-9_.+\-])(?:"
    r"[a-zA-Z0-9_.+\-]+@[\w\-]+(?:\.[\w\-]+)+"  # ana@example.com
    rf"|[a-zA-Z][a-zA-Z0-9+.\-]*://{_PATH}"  # https://example.com/a
    rf"|(?:[a-zA-Z][a-zA-Z0-9_\-]*\.)+[a-z]{{2,}}(?!\w)(?:/{_PATH})?"  # www.example.com/a
    r")|(?<!\w)@\w{2,}"  # @ana
)
# A number keeps its sign, its inner punctuation and its letters: -5, 9:30, 3,000.50,
# 2026-03-05, B12, 5km.
_NUMBER = rf"(?:(?<![\w)\].,:/])[-−](?=\d))?[^\W_{CJK}]*\d(?:[^\W{CJK}]|[.,:/\-](?=\d))*"
# B+, AB-, C++, F#
_GRADE = r"(?<!\w)(?:(?:AB|[A-FO])[+\-−](?![\w+])|[A-Z](?:\+\+|#))"
SIGN = r"[$€£¥₹₽₩%‰°＄￥￡％]"
_TOKEN = re.compile(rf"{_ADDRESS}|{_NUMBER}|{_GRADE}|{_WORD}(?:['’]{_WORD})*|[{CJK}]|{SIGN}")
# Anna's, we're
_ENDING = re.compile(r"['’ʼ](?:s|m|d|ll|re|ve)\Z")


def tokens(text: str) -> Iterator[re.Match[str]]:
    """Yield the words and numbers of `text`."""
    return _TOKEN.finditer(text)


def words(text: str) -> list[str]:
    """Return the words and numbers of `text` in their normal form."""
    return [normal_form(match.group()) for match in tokens(text)]


def normal_form(word: str) -> str:
    """Return a word in lower case, without an ending such as 's; "two" becomes "2"."""
    if word.isascii():
        folded = word.lower()
        if "'" not in folded:
            return SPELLED_NUMBERS.get(folded, folded)
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
        folded = folded.replace("i\u0307", "i").replace("ı", "i").replace("−", "-")
        folded = "".join(str(unicodedata.decimal(c, c)) for c in folded)
    folded = _ENDING.sub("", folded)
    return SPELLED_NUMBERS.get(folded, folded)
