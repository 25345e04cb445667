"""Recognise negations, in a word or a whole text, in the languages we have lists for."""

import re

from construct.language.wordlists import LANGUAGE_WORDS, NEGATIONS
from construct.language.words import words

# Words that negate in some languages and are ordinary words in another: Portuguese "no
# Porto" is "in Porto", Dutch "pas 5" is "only 5", German "in Not" is "in need". Each
# with the languages where it negates and the one where it does not.
_AMBIGUOUS_NEGATIONS = {"no": (("en", "es"), "pt"), "pas": (("fr",), "nl"), "not": (("en",), "de")}
# Decides when the other words do not show the language: "no" after a word that ends in a,
# i, o or u is Portuguese ("mora no Porto"). Words that end in e may be English ("have no").
_PORTUGUESE_NO = re.compile(r"(?<![\w-])[a-zà-ÿ-]+(?<=[aiou]) no ")
# "no. 5" is a number.
_NUMBERED = re.compile(r"\bno\. ?(?=\d)", re.IGNORECASE)
# "don't", "can't"
_NOT_CONTRACTED = re.compile(r"n['’]t\Z")
_CHINESE_NEGATION = re.compile(
    # 不 "not", but not in 差不多 "almost", 不过 "however", 不但 "not only", 不断 "constantly",
    # 不得不 "must", 不动产 "real estate", 不锈钢 "stainless steel".
    "(?<![差对對])(?<!不得)不(?![过過错錯但仅僅管久断斷同安]|得不|动产|動產|锈钢|鏽鋼)"
    # 没 "not", but not in 没收 "confiscate", 没落 "decline".
    "|没(?![收头落])|沒(?![收頭落])"
    # 无 "without", but not in 无线 "wireless", 无聊 "bored", 无论 "no matter", 无数 "countless".
    "|[无無](?![线線聊论論数數比])"
    # 并非, 绝非 "by no means"; 从未, 尚未, 未曾 "never yet".
    "|[并並绝絕]非|[从從尚]未|未曾"
)
# Not negations: かもしれない "may", なければならない "must", だけでなく "not only", and
# adjectives that end in "nai": 少ない "few", 危ない "dangerous".
_JAPANESE_NO_NEGATION = re.compile(
    "(?:かもしれ|違い|なければなら|なくてはなら|ないといけ|なければいけ|なくてはいけ|すみ|少|危|切|つまら|もったい)"
    "(?:ない|ません|なかった|なく)|だけでなく"
)
# 食べない "does not eat", 飲みません "does not drink", 言わずに "without saying"; but 必ずに is
# "surely".
_JAPANESE_NEGATION = re.compile("ない|なかった|ません|なくて|なくなっ|無い|無かった|(?<!必)ずに")
# 먹지 않는다 "does not eat", 안 먹어 "does not eat", 못 가 "cannot go", 가지 마 "do not go";
# not 틀림없이 "surely", 끊임없이 "constantly", 밖에 없다 "only".
_KOREAN_NEGATION = re.compile(
    r"않|(?<!틀림)(?<!끊임)(?<!밖에 )없|아니|못하|못했|못한|(?<!\w)(?:안|못) |지 (?:마|말)"
)
_KANA = re.compile("[\u3041-\u30fa]")


def is_negation(word: str) -> bool:
    """Return whether a word in its normal form is a negation by itself."""
    return word in NEGATIONS or bool(_NOT_CONTRACTED.search(word))


def negates(text: str) -> bool:
    """Return whether a text contains a negation.

    A word that negates in some languages only, such as "no", counts unless the rest
    of the text seems to be in another.
    """
    text_words = words(_NUMBERED.sub("", text))
    negations = {word for word in text_words if is_negation(word)}
    if negations - _AMBIGUOUS_NEGATIONS.keys():
        return True
    if any(_negates_in(word, text_words, text) for word in negations):
        return True
    if _KOREAN_NEGATION.search(text):
        return True
    if _KANA.search(text):
        return bool(_JAPANESE_NEGATION.search(_JAPANESE_NO_NEGATION.sub("", text)))
    return bool(_CHINESE_NEGATION.search(text))


def _negates_in(ambiguous: str, text_words: list[str], text: str) -> bool:
    """Return whether a text is in a language where this ambiguous word negates."""
    negating_languages, other_language = _AMBIGUOUS_NEGATIONS[ambiguous]
    denying_stops = frozenset[str]().union(*(LANGUAGE_WORDS[name] for name in negating_languages))
    other_stops = LANGUAGE_WORDS[other_language]
    others = [word for word in text_words if word != ambiguous]
    for_denying = sum(word in denying_stops - other_stops for word in others)
    for_other = sum(word in other_stops - denying_stops for word in others)
    if for_denying == for_other and ambiguous == "no":
        return not _PORTUGUESE_NO.search(text)
    return for_denying >= for_other
