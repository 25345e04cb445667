"""Split text into sentences; find the writer's own, questions, and what not to keep."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from construct.language.wordlists import (
    FOREIGN_MONTHS,
    MONTHS,
    SENTENCE_OPENERS,
    SMALL_TALK,
    STOP_WORDS,
    word_set,
)
from construct.language.words import words

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
    r"Till|Ämne|Skickat|Od|Do|Temat|Wysłano|От|Кому|Тема|Дата|Від|Lähettäjä|Vastaanottaja|Aihe|"
    r"Předmět|Komu|Feladó|Címzett|Tárgy|Kimden|Kime|Konu|发件人|收件人|主题|日期|差出人|宛先|件名|"
    r"日時|보낸 사람|받는 사람|제목|날짜|من|إلى|الموضوع)"
)
# A pasted e-mail begins with header lines: "From: Ana", then "To: Ben".
_MAIL = re.compile(
    rf"^{_MAIL_HEADER} ?[:：] ?.+\n{_MAIL_HEADER} ?[:：]"
    r"|^(?:Subject|Betreff|Assunto|Asunto|Objet|Oggetto|Onderwerp|Emne|Ämne|Temat|Тема|Předmět|"
    r"Aihe|Tárgy|Konu|Θέμα|主题|件名|제목|الموضوع|נושא) ?[:：]",
    re.MULTILINE,
)
# "- ", "## ", "(1) ", "2. ", "a) "; not "24. Dezember"
_LIST_MARK = re.compile(
    rf"\s*(?!\d+\.\s+(?i:{'|'.join((*MONTHS, *FOREIGN_MONTHS))})\b)"
    r"(?:[-*•+–—]|#{1,6}|\(?\d{1,2}[.)]|[a-z]\))\s+"
)
# The end of a sentence, with closing marks: `.`, `?!"`, `.)`, `。」`. Of several marks in
# a row, only the first is tried: trying each takes time quadratic in their number.
_END = re.compile(r"(?<![.!?…؟])[.!?…؟]+[\"'”’»)\]*_]*(?=\s|$)|[。！？｡।۔]+[\"'”’」』）》]*")
_QUESTION_MARK = re.compile(r"(?:[?？؟⸮፧՞\u037e]|[α-ωά-ώ];|[吗嗎]|すか|したか)\W*$")
_FULL_STOP = re.compile(r"[.!。！]\W*$")
_LONGEST_ENDING = 40
"""Characters at the end of a sentence that are searched for its last mark."""
# "Where do I live", "who is Derek"; not "When my sister was there …", "What I need is my …"
_QUESTION_OPENING = re.compile(
    r"\W*(?:who|whose|what|when|where|why|how(?: \w+)?)"
    r"(?:['’]s| (?:is|are|was|were|did|does|do|has|have|had|can|could|will|would|should)) "
    r"(?!(?:more|worse)\b)"
    r"|\W*(?:(?:what|who|whose|which|when|where|why|how)\b"
    r"(?! (?:I|you|he|she|it|we|they|my|your|his|her|our|their)\b).*?\b)?"
    r"(?:am|is|are|was|were|do|does|did|have|has|can|could|will|would|should) "
    r"(?:I|you|he|she|it|we|they|my|there)\b",
    re.IGNORECASE,
)
# "Wann ist mein Termin", "Où habite Anne"; not "Wo ich wohne …", "Quando fui a Roma, …"
_FOREIGN_QUESTION_OPENING = re.compile(
    r"[\W¿]*(?:(?:wann|wo|wer|wem|wen|wie|warum|wieso|weshalb|wohin|woher|wieviel|welche\w*"
    r"|was (?:ist|sind|war|mache|macht|habe|hat|soll|muss|weißt|isst|kostet|heißt))"
    r"(?! (?:ich|du|er|sie|es|wir|ihr|man)\b)"
    r"|(?:bin|habe|hab|muss|kann|soll|darf) ich|(?:ist|sind|war|heißt|wohnt) (?:mein|unser)\w*"
    r"|(?:wanneer|waar|wie|wat|hoe|waarom|welke|hoeveel)(?! (?:ik|jij|je|hij|zij|ze|we|wij)\b)"
    r"|quand|où|qui|quel\w*|comment|pourquoi|combien|est-ce|qu['’]est-ce"
    r"|cuándo|dónde|adónde|quién(?:es)?|qué|cómo|cuál(?:es)?|cuánt\w+"
    r"|quando|onde|quem|qual|quais|o que (?:é|faço|tenho)|quant[oa]s?|como (?:é|se|está)"
    r"|dove|chi|cosa|quale|perché|come (?:si|sta|va)"
    r"|когда|где|кто|что|как|какой|какая|какое|какие|почему|сколько|куда|откуда|чей|чья)"
    r"(?!\w)[^,;:]*(?<![.!])",
    re.IGNORECASE,
)
# "Tell me about Ana."; not "Tell me I am allergic"
_ASKS_TO_TELL = re.compile(
    r"\W*(?:tell me(?! (?:I|you|he|she|it|we|they|that)\b)"
    r"|remind me (?:of|what|when|where|who|how))\b",
    re.IGNORECASE,
)
# "What's new: I got a job", "Can you believe it, I got a job"
_GOES_ON = re.compile(r":\s|, (?:I|we)\b", re.IGNORECASE)
_LEADS_TO_REQUEST = r"(?:(?:please|and|but|(?:can|could|would) you|I want you to) )*"
_ASKS_TO_FORGET = re.compile(
    rf"(?:^|[.!?,;:(–—-]\s*){_LEADS_TO_REQUEST}"
    r"(?:(?P<back>forget|(?P<deletes>delete|erase)|scratch(?= that\b)|never mind(?= what\b))"
    r"|(?:do not|don['’]t|never|(?:no need|you (?:do not|don['’]t) (?:need|have)) to"
    r"|I['’]d rather you (?:did not|didn['’]t)) "
    r"(?:save|store|remember|record|note|keep|write(?=(?: \w+){1,3} down\b))) "
    r"(?:(?P<one>this|that|it)|(?P<all>(?:any|all) of (?:this|that|it)|what (?:I|we)"
    r"|(?:everything|all)(?: that)? (?:I|we|you)|everything(?: about\b|(?=[.!,]|$))))\b"
    rf"|^{_LEADS_TO_REQUEST}forget (?P<own>(?:about )?my)\b"
    r"|\boff the record\b|\bkeep (?:this|that|it) to yourself\b"
    r"|\bnicht (?:speichern|merken|notieren)\b"
    r"|\b(?:no (?:guardes|recuerdes)|não guardes?|ne (?:retiens|garde) pas"
    r"|non (?:salvare|ricordare))\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"([,;:(–—]| - | but )")
# "On second thought, forget that number, please." has no word for what it is about.
_UNINFORMATIVE = SMALL_TALK.union(
    SENTENCE_OPENERS,
    *STOP_WORDS.values(),
    word_set(
        "anywhere bitte construct detail details earlier favor information memory note notes "
        "number part por possible said second stay stays told wrote"
    ),
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


def is_question(sentence: str) -> bool:
    """Return whether a sentence is a question, in the languages known here.

    It is one if it ends like one, or opens like one and does not go on like a statement.
    If in doubt, the answer is no: a question taken for a statement does little harm, but
    a statement taken for a question would not count as a fact.
    """
    ending = sentence[-_LONGEST_ENDING:]
    if _QUESTION_MARK.search(ending):
        return True
    if _GOES_ON.search(sentence):
        return False
    if _ASKS_TO_TELL.match(sentence):
        return True
    if _FOREIGN_QUESTION_OPENING.fullmatch(sentence):
        return True
    return bool(_QUESTION_OPENING.match(sentence)) and not _FULL_STOP.search(ending)


def asks_to_forget(sentence: str) -> bool:
    """Return whether a sentence asks for something to be forgotten or not to be kept."""
    return _request_in(sentence) is not None


def _request_in(sentence: str) -> re.Match[str] | None:
    return _ASKS_TO_FORGET.search(" ".join(sentence.split()))


def sentences_to_keep(text: str) -> list[str]:
    """Return the sentences of a text without those that the writer asks not to keep.

    Those are the sentences that ask and the ones they refer to: both, in "My PIN is 1234.
    Don't save that." All others are kept, since nothing else may be lost.
    """
    sentences = split_sentences(text)
    telling = [i for i, sentence in enumerate(sentences) if is_informative(sentence)]
    left_out: set[int] = set()
    for i, sentence in enumerate(sentences):
        if request := _request_in(sentence):
            left_out.update(_meant(request, i, telling, len(sentences)))
    return [sentence for i, sentence in enumerate(sentences) if i not in left_out]


def _meant(request: re.Match[str], i: int, telling: list[int], count: int) -> Iterable[int]:
    """Return which of `count` sentences a request in sentence `i` wants left out.

    `telling` are those that say something. "What I said" means all sentences before, "that"
    the nearest of `telling` before. If there is none before, they mean what follows, except
    in "Forget that" and "Forget what I said". If in doubt, more is left out, since the
    writer asked for it.
    """
    before, after = request.string[: request.start()], request.string[request.end() :]
    clause, mark, rest = (*_CLAUSE_END.split(after, maxsplit=1), "", "")[:3]
    means_all = request["all"]
    # "Forget what I said about Rui", "Delete this folder"; not "Don't save that address"
    named = clause if means_all else "".join(clause.split()[: bool(request["deletes"])])
    if request["own"] or is_informative(named) or (is_informative(before) and not means_all):
        return [i]
    earlier, later = telling[: bisect_left(telling, i)], telling[bisect_right(telling, i) :]
    points_back = earlier and (request["one"] or means_all or words(before))
    if is_informative(rest) and (mark == ":" or not points_back):
        return [i]  # "Don't save this: my PIN is 1234."
    if earlier:
        return range(0 if means_all else earlier[-1], i + 1)
    if not later or (request["back"] and request["one"] != "this"):
        return [i]
    return range(i, count if means_all else later[0] + 1)


def is_informative(text: str) -> bool:
    """Return whether a text has words other than stop words, small talk and the like."""
    return not _UNINFORMATIVE.issuperset(words(text))


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
