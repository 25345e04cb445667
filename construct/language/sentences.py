"""Which of a text are the writer's own words, and where its sentences end. Pure."""

import re
from collections.abc import Iterator

from construct.language.wordlists import word_set

_FENCED = re.compile(
    r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)|```[^`]+```", re.MULTILINE | re.DOTALL
)
_ATTACHMENT = re.compile(r"\[(?:image|pdf|text): [^\[\]]+\]")
_MAIL = re.compile(r"^[A-Z][\w-]{1,12}: .+\n[A-Z][\w-]{1,12}: ", re.MULTILINE)
"""Two header lines, one under the other."""
_LIST_MARK = re.compile(r"\s*(?:[-*•+–—]|#{1,6}|\(?\d{1,2}[.)]|[a-z]\))\s+")
_END = re.compile(r"[.!?…؟]+[\"'”’»)\]*_]*(?=\s|$)|[。！？｡।۔]+[\"'”’」』）》]*")
_ABBREVIATIONS = word_set(
    "mr mrs ms dr prof st vs eg ie approx dept est ave gen col rev hon ca cf "
    "jan feb mar apr jun jul aug sep sept oct "
    "nov dec bzw nr str sra av pág no etc inc ltd co corp jr sr usw"
)
_LONGEST_ABBREVIATION = 20
_WRAP_WIDTH = 55
"""A line at least this long that ends without punctuation was broken by its width."""


def own_text(text: str) -> str:
    """Return a text without what others wrote.

    That is lines that begin with `>`, those that stand for attachments and fenced code,
    in whose place stand blank lines, and a mail that was pasted, from its header on.
    """
    mail = _MAIL.search(text)
    lines = (
        "" if line.lstrip().startswith(">") or _ATTACHMENT.fullmatch(line) else line
        for line in text[: mail.start() if mail else None].splitlines()
    )
    return _FENCED.sub("\n\n", "\n".join(lines))


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, word for word, without their list marks."""
    sentences: list[str] = []
    for block in _blocks(text):
        sentences += filter(None, map(str.strip, _sentences(block)))
    return sentences


def _blocks(text: str) -> Iterator[str]:
    """Yield lines, each with the lines that it was merely wrapped into."""
    block = last = ""
    for line in text.splitlines():
        mark = _LIST_MARK.match(line)
        if mark or not line.strip() or len(last) < _WRAP_WIDTH or last[-1] in ".!?:…。":
            yield block
            block = line[mark.end() :] if mark else line
        else:
            block += "\n" + line
        last = line.strip()
    yield block


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
    """Tell whether a stop need not end the sentence: "Dr.", "J.", "5. März"."""
    short_number = word.isdigit() and len(word) < 3
    initial = len(word) == 1 and word.isupper() and word != "I"
    return short_number or initial or "." in word or word.casefold() in _ABBREVIATIONS
