"""Extract terms and negations, to check condensed notes for lost or invented facts.

A term is a token with a digit; a number, an amount or an address without one; a
capitalised word that does not begin its sentence; or a quoted word. Terms are compared
as whole words, in any letter case (docs/memory.md, "What keeps it correct"). No I/O.
"""

import re
import unicodedata
from collections.abc import Iterator
from datetime import date

from construct.language.wordlists import (
    DENIALS,
    MONTH_NAMES,
    NOTE_STOP_WORDS,
    SENTENCE_OPENERS,
    SPELLED_NUMBERS,
    STOP_WORDS,
    WEEKDAY_NAMES,
)

# CJK is written without spaces between words, so each character counts as a word.
_CJK = (
    r"\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\uff66-\uff9d"
)
_LETTER = rf"[^\W\d_{_CJK}]"
# Combining accents and vowel signs follow their letter; `\w` does not match them.
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
_IS_CJK = re.compile(rf"[{_CJK}]")
_TOKEN = re.compile(rf"{_ADDRESS}|{_NUMBER}|{_GRADE}|{_WORD}(?:['’]{_WORD})*|[{_CJK}]|{_SIGN}")
_HAS_SIGN = re.compile(rf"[\d@./#+]|{_SIGN}|-\Z")
_ENDING = re.compile(r"['’ʼ](?:s|m|d|ll|re|ve)\Z")
_USER = re.compile(r"user(?:\w{1,3}|['’]\w{1,4})?")  # inflected too: Polish "Usera"
_QUOTED = re.compile(
    r"\"([^\"\n]{1,200})\"|[“„]([^“”\n]{1,200})[”“]|«([^«»\n]{1,200})»|»([^«»\n]{1,200})«|‹([^‹›\n]{1,200})›"
    r"|`([^`\n]{1,200})`|「([^」\n]{1,200})」|『([^』\n]{1,200})』|《([^》\n]{1,200})》"
    r"|(?<!\w)'([^\n]{1,200}?)'(?!\w)|(?<!\w)[‘‚]([^\n]{1,200}?)[’‘](?!\w)"
)
# A full stop after an initial, a number or an abbreviation does not end a sentence. When
# in doubt, it does not: a term too many does less harm than one too few.
_SENTENCE_START = re.compile(
    rf"(?:^|(?:(?<!(?<!['’])\b{_LETTER})(?<!\d)(?<!\b(?:Mr|Ms|Dr|St|Sr|Jr|No|Nr|Co|vs|ca))"
    r"(?<!\b(?:Mrs|Sra|Inc|Ltd|etc|bzw|usw))(?<!\bProf)\.|[!?。！？])\s|\n)[\s\"“„«»'‘(*\-]*$"
)

# Words that negate in some languages and are ordinary words in another: Portuguese "no
# Porto" is "in Porto", Dutch "pas 5" is "only 5", German "in Not" is "in need". Each
# with the languages where it negates and the one where it does not.
_AMBIGUOUS_DENIALS = {"no": (("en", "es"), "pt"), "pas": (("fr",), "nl"), "not": (("en",), "de")}
# Decides when no other word shows the language: "no" after a word that ends in a vowel
# is Portuguese ("mora no Porto").
_PORTUGUESE_NO = re.compile(r"(?<![\w-])[a-zà-ÿ-]+(?<=[aiou]) no ")
_NUMBERED = re.compile(r"\bno\. ?(?=\d)", re.IGNORECASE)
_NOT_CONTRACTED = re.compile(r"n['’]t\Z")
_CHINESE_DENIAL = re.compile(
    "(?<![差对對])不(?![过過错錯但仅僅管久断斷同安]|得不|动产|動產|锈钢|鏽鋼)|没(?![收头落])|沒(?![收頭落])"
    "|[无無](?![线線聊论論数數比])|[并並绝絕]非|[从從尚]未|未曾"
)
# Not negations: forms that mean "must" or "may", and adjectives that end in "nai".
_JAPANESE_NO_DENIAL = re.compile(
    "(?:かもしれ|違い|なければなら|なくてはなら|ないといけ|なければいけ|なくてはいけ|すみ|少|危|切|つまら|もったい)"
    "(?:ない|ません|なかった|なく)|だけでなく"
)
_JAPANESE_DENIAL = re.compile("ない|なかった|ません|なくて|なくなっ|無い|無かった|(?<!必)ずに")
_KOREAN_DENIAL = re.compile(
    r"않|(?<!틀림)(?<!끊임)(?<!밖에 )없|아니|못하|못했|못한|(?<!\w)(?:안|못) |지 (?:마|말)"
)
_KANA = re.compile("[\u3041-\u30fa]")
# "A" is a word in too many languages to show which one a text is in.
_SMALL_WORDS = {language: stops - {"a"} for language, stops in STOP_WORDS.items()}


def tokens(text: str) -> Iterator[re.Match[str]]:
    """Yield the words and numbers of `text`."""
    return _TOKEN.finditer(text)


def words(text: str) -> list[str]:
    """Return the words and numbers of `text` in their normal form."""
    return [normal_form(match.group()) for match in tokens(text)]


def normal_form(word: str) -> str:
    """Return a word in lower case, without its 's, spelled numbers as digits."""
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


def content_words(text: str) -> frozenset[str]:
    """Return the words that carry meaning: no stop words, no denials."""
    return frozenset(w for w in words(text) if w not in NOTE_STOP_WORDS and not is_negation(w))


def is_negation(word: str) -> bool:
    """Return whether a folded word is a negation by itself."""
    return word in DENIALS or bool(_NOT_CONTRACTED.search(word))


def negates(text: str) -> bool:
    """Return whether a text contains an unambiguous negation."""
    text_words = words(_NUMBERED.sub("", text))
    denials = {word for word in text_words if is_negation(word)}
    if any(word not in _AMBIGUOUS_DENIALS or _denies(word, text_words, text) for word in denials):
        return True
    if _KOREAN_DENIAL.search(text):
        return True
    if _KANA.search(text):
        return bool(_JAPANESE_DENIAL.search(_JAPANESE_NO_DENIAL.sub("", text)))
    return bool(_CHINESE_DENIAL.search(text))


def _denies(ambiguous: str, text_words: list[str], text: str) -> bool:
    """Return whether a text is in a language where this ambiguous word negates."""
    denying, other = _AMBIGUOUS_DENIALS[ambiguous]
    denying_stops = frozenset[str]().union(*(_SMALL_WORDS[language] for language in denying))
    other_stops = _SMALL_WORDS[other]
    for_denying = sum(word in denying_stops - other_stops for word in text_words)
    for_other = sum(word in other_stops - denying_stops for word in text_words)
    if for_denying == for_other and ambiguous == "no":
        return not _PORTUGUESE_NO.search(text)
    return for_denying >= for_other


def terms(text: str) -> frozenset[str]:
    """Return the terms of a text in their normal form."""
    found = {normal_form(m.group()) for m in tokens(text) if _is_term(text, m)}
    for quoted in _QUOTED.finditer(text):
        found.update(words(next(filter(None, quoted.groups()))))
    # A single CJK character says too little to be a term.
    return frozenset(word for word in found if not _IS_CJK.fullmatch(word))


def provable_terms(text: str) -> frozenset[str]:
    """Return the terms of a text that are evidence of a specific fact.

    German capitalises every noun, so capitalised words are ignored there; numbers and
    quoted words remain.
    """
    return terms(text.lower() if is_german(text) else text)


def is_german(text: str) -> bool:
    """Return whether a text has more stop words of German than of any other language."""
    text_words = words(text)
    stop_counts = {
        language: sum(word in stops for word in text_words)
        for language, stops in _SMALL_WORDS.items()
    }
    german = stop_counts.pop("de")
    return german > max(stop_counts.values())


def opening_names(text: str) -> frozenset[str]:
    """Return capitalised words that begin a sentence and may be names."""
    return frozenset(
        word
        for match in tokens(text)
        if match.group()[0].isupper()
        and (word := normal_form(match.group())) not in NOTE_STOP_WORDS | SENTENCE_OPENERS
        and _begins_sentence(text, match)
    )


def date_terms(when: str) -> frozenset[str]:
    """Return the ways to write a day, month or year in English and German.

    `when`: `2026-03-05`, `2026-03` or `2026`.
    """
    year, *rest = when.split("-")
    found = {when, year}
    if rest:
        month = int(rest[0])
        found |= {f"{year}-{rest[0]}", rest[0], str(month)} | MONTH_NAMES[month - 1]
    if len(rest) > 1:
        day = int(rest[1])
        suffix = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
        found |= {rest[1], str(day), f"{day}{suffix}", f"{day}.{month}", f"{day}.{month}.{year}"}
        found |= {f"{rest[1]}.{rest[0]}", f"{rest[1]}.{rest[0]}.{year}"}
        found |= WEEKDAY_NAMES[date.fromisoformat(when).weekday()]
    return frozenset(found)


def _begins_sentence(text: str, match: re.Match[str]) -> bool:
    return bool(_SENTENCE_START.search(text, max(0, match.start() - 12), match.start()))


def _is_term(text: str, match: re.Match[str]) -> bool:
    # Test the raw text: "two" is not a term, although its normal form is "2".
    if _HAS_SIGN.search(match.group()):
        return True
    word = normal_form(match.group())
    if word in NOTE_STOP_WORDS or _USER.fullmatch(word) or match.group().islower():
        return False
    return any(c.isupper() for c in match.group()) and not _begins_sentence(text, match)
