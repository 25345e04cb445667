"""Separate a writer's own words from quoted material, and split text into sentences."""

import re
from collections.abc import Iterator

from construct.language.wordlists import FOREIGN_MONTHS, MONTHS, word_set

# ```python … ``` or ~~~ … ~~~, to the end of the text if it is not closed; or ```inline```
_FENCED = re.compile(
    r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)|```[^`]+```", re.MULTILINE | re.DOTALL
)
# The line that stands for an attachment: [image: cat.png]
_ATTACHMENT = re.compile(r"\[(?:image|pdf|text): [^\[\]]+\]")
_MAIL_HEADER = (
    r"(?:From|To|Cc|Bcc|Date|Sent|Subject|Reply-To|Received|Delivered-To|Return-Path|Message-ID|"
    r"MIME-Version|Von|An|Datum|Gesendet|Betreff|De|À|Para|Data|Fecha|Enviado|Envoyé|Assunto|"
    r"Asunto|Objet|Da|Inviato|Oggetto|Van|Aan|Verzonden|Onderwerp|Fra|Til|Emne|Sendt|Dato|Från|"
    r"Till|Ämne|Skickat|Od|Do|Temat|Wysłano)"
)
# A pasted e-mail begins with header lines: "From: Ana", then "To: Ben".
_MAIL = re.compile(rf"^{_MAIL_HEADER} ?: .+\n{_MAIL_HEADER} ?: ", re.MULTILINE)
# "- ", "## ", "(1) ", "2. ", "a) "; not "24. Dezember"
_LIST_MARK = re.compile(
    rf"\s*(?!\d+\.\s+(?i:{'|'.join((*MONTHS, *FOREIGN_MONTHS))})\b)"
    r"(?:[-*•+–—]|#{1,6}|\(?\d{1,2}[.)]|[a-z]\))\s+"
)
# The end of a sentence, with closing marks: `.`, `?!"`, `.)`, `。」`
_END = re.compile(r"[.!?…؟]+[\"'”’»)\]*_]*(?=\s|$)|[。！？｡।۔]+[\"'”’」』）》]*")
# "Where do I live", "who is Derek", "tell me about Ana", or anything with a question mark
_QUESTION = re.compile(
    r"(?:[?？؟⸮፧՞\u037e]|[α-ωά-ώ];)\W*$|(?:[吗嗎]|すか|したか)\W*$"
    r"|^\W*(?:who|whose|what|when|where|why|how(?: \w+)?)"
    r"(?:['’]s| (?:is|are|was|were|did|does|do|has|have|had|can|could|will|would|should)) "
    r"(?!(?:more|worse)\b)|^\W*(?:tell me|remind me (?:of|what|when|where|who|how))\b"
    r"|^\W*(?:(?:what|who|whose|which|when|where|why|how)\b.*?\b)?"
    r"(?:am|is|are|was|were|do|does|did|have|has|can|could|will|would|should) "
    r"(?:I|you|he|she|it|we|they|my|there)\b",
    re.IGNORECASE,
)
_ASKS_TO_FORGET = re.compile(
    r"(?:^|[.!?,;:(–—-]\s*)(?:(?:please|and|but) )*(?:forget|delete|erase|"
    r"(?:do not|don['’]t|never) (?:save|store|remember|record|note|keep)) "
    r"(?:this|that|it|what I|any of|my|everything|all)\b"
    r"|\boff the record\b|\bnicht (?:speichern|merken|notieren)\b"
    r"|\b(?:no (?:guardes|recuerdes)|não guardes?|ne (?:retiens|garde) pas"
    r"|non (?:salvare|ricordare))\b",
    re.IGNORECASE | re.MULTILINE,
)
_ABBREVIATIONS = word_set(
    "mr mrs ms dr prof st vs eg ie approx dept est ave gen col rev hon ca cf "
    "jan feb mar apr jun jul aug sep sept oct "
    "nov dec bzw nr str sra av pág no etc inc ltd co corp jr sr usw"
)
_LONGEST_ABBREVIATION = 20
"""Characters before a full stop that are searched for an abbreviation."""
_WRAP_WIDTH = 55
"""Characters. A line of this length or more without a final mark was hard-wrapped."""


def is_question(text: str) -> bool:
    """Return whether a sentence or message is a question, in the languages known here."""
    return bool(_QUESTION.search(text))


def asks_to_forget(text: str) -> bool:
    """Return whether a message asks for something to be forgotten or not to be kept."""
    return bool(_ASKS_TO_FORGET.search(text))


def own_text(text: str) -> str:
    """Return a text without quoted material.

    Lines quoted with `>`, attachment lines and fenced code become blank lines. From the
    headers of a pasted e-mail on, everything is left out.
    """
    mail = _MAIL.search(text)
    before_mail = text[: mail.start()] if mail else text
    lines = (
        "" if line.lstrip().startswith(">") or _ATTACHMENT.fullmatch(line) else line
        for line in before_mail.splitlines()
    )
    return _FENCED.sub("\n\n", "\n".join(lines))


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text verbatim, without list marks."""
    sentences: list[str] = []
    for block in _blocks(text):
        sentences += filter(None, map(str.strip, _sentences(block)))
    return sentences


def _blocks(text: str) -> Iterator[str]:
    """Yield paragraphs: hard-wrapped lines are joined, list items kept apart."""
    block = previous = ""
    for line in text.splitlines():
        mark = _LIST_MARK.match(line)
        if mark or not line.strip() or not _is_wrapped(previous):
            yield block
            block = line[mark.end() :] if mark else line
        else:
            block += "\n" + line
        previous = line.strip()
    yield block


def _is_wrapped(line: str) -> bool:
    return len(line) >= _WRAP_WIDTH and line[-1] not in ".!?:…。"


def _sentences(block: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(block):
        before = block[max(start, end.start() - _LONGEST_ABBREVIATION) : end.start()]
        word = (before.split() or [""])[-1].lstrip("([\"'“„«")
        if end[0] != "." or not _is_abbreviated(word):
            yield block[start : end.end()]
            start = end.end()
    yield block[start:]


def _is_abbreviated(word: str) -> bool:
    """Return whether a full stop after a word may belong to it: "Dr.", "J.", "5. März"."""
    short_number = word.isdigit() and len(word) < 3
    initial = len(word) == 1 and word.isupper() and word != "I"
    return short_number or initial or "." in word or word.casefold() in _ABBREVIATIONS
