"""Extract the terms of a text: the words by which a fact is known again.

A term is a token with a digit or a sign ("5km", "ana@example.com", "C#", "$"); a
capitalised word that does not begin its sentence; or a quoted word. Stop words and "user"
are not terms unless they are quoted. Terms are compared as whole words, in any letter case
(docs/memory.md, "What keeps it correct"). No I/O.
"""

import re
from collections.abc import Iterable

from construct.language.wordlists import NOTE_STOP_WORDS, SENTENCE_OPENERS
from construct.language.words import CJK, LETTER, SIGN, normal_form, tokens, words

_IS_CJK = re.compile(rf"[{CJK}]")
# "5km", "@ana", "a.b", "C#", "$", "AB-"
_HAS_SIGN = re.compile(rf"[\d@./#+]|{SIGN}|-\Z")
# Nearly every note names the user, so this is not a term: "user's", Polish "Usera".
_USER = re.compile(r"user(?:\w{1,3}|['’]\w{1,4})?")
# Text in any pair of quotation marks. An apostrophe inside a word is not one.
_QUOTED = re.compile(
    r"\"([^\"\n]{1,200})\"|[“„]([^“”\n]{1,200})[”“]|«([^«»\n]{1,200})»|»([^«»\n]{1,200})«|‹([^‹›\n]{1,200})›"
    r"|`([^`\n]{1,200})`|「([^」\n]{1,200})」|『([^』\n]{1,200})』|《([^》\n]{1,200})》"
    r"|(?<!\w)'([^\n]{1,200}?)'(?!\w)|(?<!\w)[‘‚]([^\n]{1,200}?)[’‘](?!\w)"
)
# The end of the text before a word that begins a sentence: a final mark, opening quotes.
# A full stop after an initial, a number or an abbreviation does not end a sentence. When
# in doubt, it does not: a term too many does less harm than one too few.
_SENTENCE_START = re.compile(
    rf"(?:^|(?:(?<!(?<!['’])\b{LETTER})(?<!\d)(?<!\b(?:Mr|Ms|Dr|St|Sr|Jr|No|Nr|Co|vs|ca))"
    r"(?<!\b(?:Mrs|Sra|Inc|Ltd|etc|bzw|usw))(?<!\bProf)\.|[!?。！？])\s|\n)[\s\"“„«»'‘(*\-]*$"
)
_LONGEST_SENTENCE_START = 12
"""Characters before a word that are searched for the end of the previous sentence."""


def content_words(text: str) -> frozenset[str]:
    """Return the words that carry meaning."""
    return frozenset(filter(carries_meaning, words(text)))


def carries_meaning(word: str) -> bool:
    """Return whether a word is no stop word."""
    return word not in NOTE_STOP_WORDS


def terms(text: str) -> frozenset[str]:
    """Return the terms of a text in their normal form."""
    all_terms = {normal_form(m.group()) for m in tokens(text) if _is_term(text, m)}
    for quoted in _QUOTED.finditer(text):
        all_terms.update(words(next(filter(None, quoted.groups()))))
    # A single CJK character says too little to be a term.
    return frozenset(word for word in all_terms if not _IS_CJK.fullmatch(word))


def takes_term_from(text: str, other: str, own: Iterable[str]) -> bool:
    """Return whether a text has a term or name of another that its own texts do not have."""
    shared = (terms(text) | opening_names(text)) & set(words(other))
    return bool(shared.difference(*map(words, own)))


def opening_names(text: str) -> frozenset[str]:
    """Return capitalised words that begin a sentence and may be names."""
    names = set()
    for match in tokens(text):
        if match.group()[0].isupper() and _begins_sentence(text, match):
            names.add(normal_form(match.group()))
    return frozenset(names - NOTE_STOP_WORDS - SENTENCE_OPENERS)


def _begins_sentence(text: str, match: re.Match[str]) -> bool:
    start = max(0, match.start() - _LONGEST_SENTENCE_START)
    return bool(_SENTENCE_START.search(text, start, match.start()))


def _is_term(text: str, match: re.Match[str]) -> bool:
    # Test the raw text: "two" is not a term, although its normal form is "2".
    if _HAS_SIGN.search(match.group()):
        return True
    word = normal_form(match.group())
    if word in NOTE_STOP_WORDS or _USER.fullmatch(word) or match.group().islower():
        return False
    return any(c.isupper() for c in match.group()) and not _begins_sentence(text, match)
