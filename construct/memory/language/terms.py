"""Terms: what must be neither lost nor invented when sentences are condensed (memory.md, "What keeps it honest").

Tokens with a digit, and numbers, sums and addresses written otherwise; words with a capital
that do not begin the sentence; quoted words. All are compared as whole words, in any case of
letters.
"""

import re
import unicodedata
from collections.abc import Iterator

from construct.memory.language.wordlists import word_set

# Ideographs and syllables of CJK have no spaces between words: each is a word of its own.
_CJK = r"\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9d"
_LETTER = rf"[^\W\d_{_CJK}]"
# Accents and vowel signs that stand behind their letter; for `re` they are no letters.
_MARK = (
    r"[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u06d6-\u06dc\u06df-\u06ed\u0900-\u0963\u0981-\u0df3\u0e31-\u0e3a\u0e47-\u0e4e]"
)
_WORD = rf"{_LETTER}(?:{_LETTER}|{_MARK})*"
_PATH = r"[^\s<>\"“”«»()\[\]]*[\w/]"
_ADDRESS = (
    rf"(?<![a-zA-Z0-9_.+\-])(?:[a-zA-Z0-9_.+\-]+@[\w\-]+(?:\.[\w\-]+)+|[a-zA-Z][a-zA-Z0-9+.\-]*://{_PATH}"
    rf"|(?:[a-zA-Z][a-zA-Z0-9_\-]*\.)+[a-z]{{2,}}(?!\w)(?:/{_PATH})?)|(?<!\w)@\w{{2,}}"
)
# A number keeps its sign and its inner punctuation (9:30, 3,000.50, 2026-03-05).
_NUMBER = rf"(?:(?<![\w)\].,:/])[-−](?=\d))?[^\W_{_CJK}]*\d(?:[^\W{_CJK}]|[.,:/\-](?=\d))*"
_GRADE = r"(?<!\w)(?:(?:AB|[A-FO])[+\-−](?![\w+])|[A-Z](?:\+\+|#))"
_SIGN = r"[$€£¥₹₽₩%‰°＄￥￡％]"
_TOKEN = re.compile(rf"{_ADDRESS}|{_NUMBER}|{_GRADE}|{_WORD}(?:['’]{_WORD})*|[{_CJK}]|{_SIGN}")
_HAS_SIGN = re.compile(rf"[\d@./#+]|{_SIGN}|-\Z")
_ENDING = re.compile(r"['’ʼ](?:s|m|d|ll|re|ve)\Z")
_INFLECTION = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e)\Z")
_QUOTED = re.compile(
    r"\"([^\"\n]{1,200})\"|[“„]([^“”\n]{1,200})[”“]|«([^«»\n]{1,200})»|»([^«»\n]{1,200})«|‹([^‹›\n]{1,200})›"
    r"|`([^`\n]{1,200})`|「([^」\n]{1,200})」|『([^』\n]{1,200})』|《([^》\n]{1,200})》"
    r"|(?<!\w)'([^\n]{1,200}?)'(?!\w)|(?<!\w)[‘‚]([^\n]{1,200}?)[’‘](?!\w)"
)
# A stop behind an initial, a number or an abbreviation ends no sentence: better a term too many.
_SENTENCE_START = re.compile(
    rf"(?:^|(?:(?<!(?<!['’])\b{_LETTER})(?<!\d)(?<!\b(?:Mr|Ms|Dr|St|Sr|Jr|No|Nr|Co|vs|ca))"
    r"(?<!\b(?:Mrs|Sra|Inc|Ltd|etc|bzw|usw))(?<!\bProf)\.|[!?。！？])\s|\n)[\s\"“„«»'‘(*\-]*$"
)

NEGATIONS = word_set(
    """not no never none nothing nobody neither nor without cannot nicht nichts nie niemals niemand kein keine keinen
    keinem keiner keines ohne jamais pas sans aucun aucune não nunca nem nada jamás tampoco nessuno senza 不 没 沒 無 无
    未"""
)
_NEGATED = re.compile(r"n['’]t\Z")

_SPELLED = dict(
    zip(
        """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
        eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million
        dozen""".split(),
        map(str, (*range(2, 21), *range(30, 100, 10), 100, 1000, 1_000_000, 12)),
        strict=True,
    )
)

STOP_WORDS = word_set(
    """a about above after again all also am an and any are as at be because been before being below between both but by
    can could did do does doing down during each few for from further get gets got had has have having he her here hers
    him his how i if in into is it its itself just let me more most my myself of off on once only or other our ours out
    over own s same she should so some such t than that the their theirs them then there these they this those through
    to too under until up us very was we were what when where which while who whom why will with would you your yours
    user users assistant said says say told mentioned stated asked ok okay yes oh hi hello hey thanks mr mrs
    ms"""
)


def tokens(text: str) -> Iterator[re.Match[str]]:
    """Yield the words and numbers of `text`."""
    return _TOKEN.finditer(text)


def words(text: str) -> list[str]:
    """Return the words and numbers of `text`, as they are compared."""
    return [fold(match.group()) for match in tokens(text)]


def fold(word: str) -> str:
    """Return a word as it is compared: small letters, endings like 's gone, a number in digits."""
    if word.isascii():
        folded = word.lower()
        if "'" not in folded:
            return _SPELLED.get(folded, folded)
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
        folded = folded.replace("i\u0307", "i").replace("ı", "i").replace("−", "-")
        folded = "".join(str(unicodedata.decimal(c, c)) for c in folded)
    folded = _ENDING.sub("", folded)
    return _SPELLED.get(folded, folded)


def stem(word: str) -> str:
    """Return a folded word without its inflection, as far as English goes: "lives" and "lived" are one."""
    return _INFLECTION.sub("", word)


def content_words(text: str) -> frozenset[str]:
    """Return the words that carry meaning: no stop words, no negations."""
    return frozenset(w for w in words(text) if w not in STOP_WORDS and not is_negation(w))


def content_stems(text: str) -> frozenset[str]:
    """Return the same without their inflection."""
    return frozenset(map(stem, content_words(text)))


def is_negation(word: str) -> bool:
    """Tell whether a folded word denies something."""
    return word in NEGATIONS or bool(_NEGATED.search(word))


def is_number(word: str) -> bool:
    """Tell whether a folded word is a number, or has one in it."""
    return not word.isalpha() and any(c.isdigit() for c in word)


def has_capital(word: str) -> bool:
    """Tell whether a word has a capital letter in it."""
    return not word.islower() and any(c.isupper() for c in word)


def negates(text: str) -> bool:
    """Tell whether `text` denies something."""
    return any(is_negation(w) for w in words(text))


def terms(text: str) -> frozenset[str]:
    """Return the terms of `text`, folded."""
    found = {fold(m.group()) for m in tokens(text) if _is_term(text, m)}
    for quoted in _QUOTED.finditer(text):
        found.update(words(next(filter(None, quoted.groups()))))
    return frozenset(found)


def opening_names(text: str) -> frozenset[str]:
    """Return capitalised words that begin a sentence and are no stop words: perhaps names."""
    return frozenset(
        fold(m.group())
        for m in tokens(text)
        if m.group()[0].isupper() and fold(m.group()) not in STOP_WORDS and begins_sentence(text, m)
    )


def _is_term(text: str, match: re.Match[str]) -> bool:
    word = match.group()
    folded = fold(word)
    if _HAS_SIGN.search(folded):
        return True
    if folded in STOP_WORDS or not has_capital(word):
        return False
    return not begins_sentence(text, match)


def begins_sentence(text: str, match: re.Match[str]) -> bool:
    """Tell whether the token begins a sentence."""
    return bool(_SENTENCE_START.search(text, max(0, match.start() - 12), match.start()))
