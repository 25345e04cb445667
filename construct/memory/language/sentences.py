"""Where one sentence ends and the next begins, which words carry it, and which words are not the writer's own."""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from construct.memory.language.wordlists import word_set

_EMOJI = "\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d\U0001f000-\U0001faff"
_END = re.compile(
    rf"(?P<mark>[.!?…؟]+)(?P<close>[\"'”’»)\]*_]*)(?=\s|$|[{_EMOJI}])(?P<tail>\s?[{_EMOJI}]+)?"
    rf"|[。！？｡।۔]+[\"'”’」』）》]*(?:\s?[{_EMOJI}]+)?"
)


# What a full stop behind it does not end; the second list may end a sentence when a capital follows.
_ABBREVIATIONS = word_set(
    "mr mrs ms dr prof st vs eg e.g ie i.e approx dept est fig vol ave blvd rd apt gen col lt sgt capt rev hon mt ca "
    "cf jan feb mar apr jun jul aug sep sept oct nov dec bzw z.b d.h u.a nr str tel sra dra av pág"
)
_ABBREVIATIONS_AT_END = word_set("etc inc ltd co corp jr sr a.m p.m u.s u.k usw")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_GERMAN_MONTH = r"(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)"
_AFTER_ORDINAL = re.compile(rf"\s+(?:[^\W\d_A-Z]|{_GERMAN_MONTH})")
_LIST_MARK = re.compile(rf"\s*(?:[-*•+–—]|#{{1,6}}|\(?\d{{1,2}}[.)](?!\s*{_GERMAN_MONTH})|[a-z]\))\s+")
_OPEN_END = re.compile(r"(?:,|\b(?:and|or|but|the|an?|of|to|with|that|because|in|on|at|for|my|is|was))$", re.IGNORECASE)
_WRAP_WIDTH = 55
"""A line at least this long, and not ended by punctuation, was broken by its width."""

_FENCE = re.compile(
    r"^ {0,3}(`{3,}|~{3,})[^`\n]*\n(?:.*?^ {0,3}\1[`~]*[ \t]*$|.*)|```[^`]+```", re.MULTILINE | re.DOTALL
)
_HEADER = r"(?:From|To|Cc|Bcc|Subject|Date|Sent|Reply-To|Von|An|Betreff|Gesendet|Datum|De|Para|Asunto|Assunto|Objet|À)"
_MAIL = re.compile(
    r"^[ \t]*(?:-{2,} ?(?:Original|Forwarded|Weitergeleitete|Ursprüngliche)[^\n]*-{2,}[ \t]*$|Begin forwarded message:"
    rf"|{_HEADER}: [^\n]*\n[ \t]*{_HEADER}: |Subject: \S|From: [^\n]*@)",
    re.MULTILINE | re.IGNORECASE,
)
_WROTE = re.compile(
    r"^[ \t]*(?:On|Am|Le|El|Em|Il) [^\n]{4,120}(?:\n[^\n]{0,80})?"
    r"(?:wrote|schrieb[^\n:]{0,60}|a écrit|escribió|escreveu|ha scritto) ?:",
    re.MULTILINE,
)
_MATTER = (
    r"(?:e-?mail|mail|letter|message|article|text|texts|post|tweet|transcript|chat|note|review|log|conversation|passage|"
    r"paragraph|excerpt|quote|poem|story|document|contract|report|draft|essay|resume|cv|abstract|paper|speech|lyrics|"
    r"snippet|code|page|section|announcement|newsletter|statement|description|following|this|below)"
)
_SHOWN = r"(?:here(?:['’]s| is| are)|this is|see|below is|read|got|received|sent me|pasted?|forwarded)"
_WORK_ON = (
    r"(?:translate|summari[sz]e|proofread|rewrite|rephrase|paraphrase|shorten|edit|explain|analy[sz]e|review|correct|"
    r"improve|fix|reply to|respond to)"
)
_INTRODUCED = re.compile(
    rf"^(?:[^\n:]{{0,80}}\b{_SHOWN} |(?:(?:can|could|would) you |please )*{_WORK_ON}\b)"
    rf"[^\n:.!?]{{0,60}}\b{_MATTER}\b[^\n:.!?]{{0,60}}:(?=\s)",
    re.MULTILINE | re.IGNORECASE,
)
_QUOTED_LINES = re.compile(r"^ {0,3}>[^\n]*(?:\n {0,3}>[^\n]*)*", re.MULTILINE)
_TRIPLE = re.compile(r"(\"\"\"|''')(?:.*?\1|.*)", re.DOTALL)
_LONG_QUOTE = re.compile(
    r"“[^”]{80,}(?:”|\Z)|«[^»]{80,}»|„[^“”]{80,}[“”]|「[^」]{60,}」"
    r"|(?<![^\s(\[:])\"(?=\S)[^\"]{80,}(?<=\S)\"(?=[\s.,;:!?)\]]|\Z)"
)
_TAGGED = re.compile(r"<([a-z]\w{0,30})>[^<]{80,}</\1>", re.IGNORECASE)
_STAMPED = re.compile(r"^\[?[\d/.-]{0,10},? ?\d{1,2}:\d{2}[^\n:]{0,40}: [^\n]+(?:\n|\Z)", re.MULTILINE)

_PRONOUN = r"(?:I|we|he|she|they|it|there)\b"
_SUBJECT = r"(?:I|we|he|she|they|it|there|my|our|his|her|their|the|this|that|you)\b"
_ASKING = (
    r"(?:what|where|when|who|why|how|which|can|could|would|will|should|do|does|did|is|are|am|any idea|please|tell|give|"
    r"help|suggest|recommend|write|show|explain|might|may|maybe|perhaps)\b"
)
_CLAUSE = re.compile(
    r"\s*(?:[,;]|\s[-–—]+(?=\s)|\.{2,}|…)\s*(?:(?:and|but|so|because|or|also|then|plus)\s+)?"
    rf"(?={_SUBJECT}|{_ASKING})|\s+(?:and|but|so|because)\s+(?={_PRONOUN}|{_ASKING})",
    re.IGNORECASE,
)

_WORD = re.compile(r"[^\W_]+(?:['’.][^\W_]+)*")
_SCRIPTLESS = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Scripts that put no space between words."""

STOP_WORDS = word_set(
    "a an the and or but so if as of at by for from in into on onto to with about than then that this these those "
    "there here i i'm i've i'd i'll me my mine myself we we're we've we'll us our ours you you're you've your yours "
    "he he's she she's it it's its him his her hers they they're them their who whom whose which what when where why "
    "how is am are was were be been being do does did done doing have has had having will would shall should can could "
    "may might must just also too very really quite some any each all both such only own same up down out off over "
    "again more most other s t d m re ve ll let's that's there's here's what's who's got get gets getting"
)
_FILLERS = word_set("a an the just also really very so too quite that actually well oh yeah yes hey and then")
_SELF = word_set("i i'm i've i'll i'd im ive my mine me myself we we're we've we'll we'd our ours us")
HOUSEHOLD = r"(?:rent|mortgage|salary)"
"""What is one's own though one says "the": of another's one says whose."""
_LEFT_OUT = re.compile(
    r"(?i)^(?:(?:yeah|yes|yep|nah|no|well|so|and|but|oh|btw|wow|also|by the way|thanks|hey|sure|actually|recently|"
    r"lately|last \w+|this \w+|yesterday|today)(?:[,!]?\s+(?-i:[A-Z])\w+)?[,!]?\s+)*"
    r"(?:(?:just|recently|finally|actually|already|also|really)\s+)*(?:got|been|gonna|going to|went|had|decided|"
    r"started|signed|moved|bought|working|trying|planning|joined|finished|took|made|met|saw|spent|looking|thinking|"
    r"hoping|loved|visited|ran|lost|won|quit|left|came|found|learned|tried|booked|haven['’]t|didn['’]t|used to|need|"
    r"want(?:ed)?|love|hate|prefer|live|currently|passed|gave|wrote|read|watched|played|attended|hosted)\b"
)
_ENGLISH = word_set("the and my with that this you have i'm i've are not it just but from been had it's she he")
_SELF_ABROAD = word_set(
    "eu meu meus minha minhas estou sou tenho moro vou nosso nossa yo mi mis estoy soy tengo vivo voy nuestro nuestra "
    "je j'ai j'habite mon ma mes suis nous notre ich mein meine meinen meiner meinem wir unser unsere mir mich bin io "
    "mio mia sono ho abito noi ik mijn onze heb jag я мой моя мои моей мне меня мы наш jestem mam moja benim 저는 나는 "
    "제가 내가 우리"
)
_SELF_CJK = re.compile(r"我|私|僕|わたし")
_NAME = re.compile(
    r"(?<=[a-z0-9] )(?!I\b)[A-Z][\w'’-]+|(?<=[,–—-] )(?!I\b)[A-Z][\w'’-]+(?=,| (?:and|is|was) )|[\"“«]\w"
)
_GREETED = re.compile(r"(?i)^\W*(?:hey|hi|thanks|wow|yeah|yes|ok|okay|oh|well|cool)[, ]+(?-i:[A-Z])\w+\b")
_FIRST_IS_NAME = re.compile(r"([A-Z][a-z]+)(?:['’]s)? (?:is|was|has|and|loves|likes|got|went|will|said)\b")


def _spans_of_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield where paragraphs and list items begin and end; a line that was merely wrapped continues its block."""
    start, end, last, at = 0, 0, "", 0
    for line in text.splitlines(keepends=True):
        bare, mark = line.strip(), _LIST_MARK.match(line)
        wrapped = len(last) >= _WRAP_WIDTH and last[-1] not in ".!?:…。"
        if mark or not last or not bare or not (wrapped or _OPEN_END.search(last)):
            yield start, end
            start = at + (mark.end() if mark else 0)
        at += len(line)
        end, last = at, bare
    yield start, end


def _ends_sentence(block: str, match: re.Match[str]) -> bool:
    """Tell whether this punctuation ends a sentence: not that of an abbreviation, an ordinal, or inside a sentence."""
    mark, after = match["mark"], block[match.end() : match.end() + 2].strip()[:1]
    if mark is None or not after:
        return True
    if after.islower() and (match["close"].strip("*_") or mark.startswith(("…", ".."))):
        return False
    if mark != "." or match["close"]:
        return True
    word = (block[max(0, match.start() - 24) : match.start()].split() or [""])[-1].lstrip("(\"'“").rstrip(".")
    if word.isdigit() and len(word) < 3:
        return not _AFTER_ORDINAL.match(block, match.end())
    folded = word.casefold()
    if folded in _ABBREVIATIONS_AT_END or _DOTTED.fullmatch(word):
        return after.isupper() and folded not in _ABBREVIATIONS
    if folded == "no":
        return not after.isdigit()
    return folded not in _ABBREVIATIONS and not (len(word) == 1 and word.isupper() and word != "I")


def _sentences_of_block(block: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(block):
        if _ends_sentence(block, match):
            yield block[start : match.end()].strip()
            start = match.end()
    yield block[start:].strip()


def split_sentences(text: str) -> list[str]:
    """Return the sentences of `text`, each a verbatim piece of it; list markers and fenced code are left out."""
    pieces: list[str] = []
    at = 0
    for fence in [*_FENCE.finditer(text), None]:
        part = text[at : fence.start() if fence else len(text)]
        at = fence.end() if fence else at
        for start, end in _spans_of_blocks(part):
            pieces.extend(piece for piece in _sentences_of_block(part[start:end]) if piece)
    return pieces


def split_clauses(sentence: str) -> list[str]:
    """Return the parts of a sentence that have a subject or ask something of their own, each a verbatim piece of it."""
    parts, at = [], 0
    for match in _CLAUSE.finditer(sentence):
        if match.start() > at:
            parts.append(sentence[at : match.start()].strip())
        at = match.end()
    return [part for part in [*parts, sentence[at:].strip()] if part]


def _rest_is_mail(text: str) -> Iterator[tuple[int, int]]:
    """Yield what a mail header, or words that announce pasted matter, make of the text behind them."""
    if mail := _MAIL.search(text):
        yield mail.start(), len(text)
    if wrote := _WROTE.search(text):
        answered = text[wrote.end() :].lstrip().startswith(">")
        yield wrote.start(), wrote.end() if answered else len(text)
    if introduced := _INTRODUCED.search(text):
        rest = text[introduced.end() :].lstrip()
        if rest and not rest.startswith(('"', "“", "«", "„", "'''", ">", "```", "~~~", "<")):
            yield introduced.end(), len(text)


def _quoted_spans(text: str) -> Iterator[tuple[int, int]]:
    for pattern in (_FENCE, _QUOTED_LINES, _TRIPLE, _LONG_QUOTE, _TAGGED):
        yield from (match.span() for match in pattern.finditer(text))
    stamped = [match.span() for match in _STAMPED.finditer(text)]
    if len(stamped) > 1:
        yield from stamped
    yield from _rest_is_mail(text)


def split_quoted(text: str) -> list[tuple[str, bool]]:
    """Return `text` in pieces that join to it again, each with whether it is quoted or pasted matter."""
    pieces, at = [], 0
    for start, end in sorted(_quoted_spans(text)):
        if end <= at:
            continue
        if start > at:
            pieces.append((text[at:start], False))
        pieces.append((text[max(at, start) : end], True))
        at = end
    if at < len(text):
        pieces.append((text[at:], False))
    return pieces


def words(text: str) -> list[str]:
    """Return the words of `text`, casefolded, straight apostrophes; scripts without spaces give pairs of characters."""
    found: list[str] = []
    all_words = _WORD.findall(text.casefold().replace("’", "'"))
    if text.isascii() or not _SCRIPTLESS.search(text):
        return all_words
    for word in all_words:
        if word.isascii() or not _SCRIPTLESS.search(word):
            found.append(word)
            continue
        for run in _SCRIPTLESS.findall(word):
            found.extend(run[i : i + 2] for i in range(max(1, len(run) - 1)))
        found.extend(part for part in _SCRIPTLESS.split(word) if part)
    return found


def content_words(text: str) -> list[str]:
    """Return the words that carry the meaning, in order: no stop words, but negations."""
    return [word for word in words(text) if word not in STOP_WORDS]


def short_title(text: str) -> str | None:
    """Return a sentence from its first telling word on, six of them at most; None when hardly a word tells much."""
    found = [word.strip('.,;:!?()[]"“”«»*_') for word in text.split()]
    empty = STOP_WORDS | _FILLERS
    telling = [at for at, word in enumerate(found) if word and word.casefold().replace("’", "'") not in empty]
    last = max((at for at in telling[:6] if at < telling[0] + 8), default=0)
    if not telling or (last == telling[0] and not _SCRIPTLESS.search(found[last])):
        return None
    title = " ".join(found[telling[0] : last + 1])[:60].strip()
    return title[:1].upper() + title[1:]


def is_english(said: AbstractSet[str]) -> bool:
    """Tell whether there is a common English word among words."""
    return not _ENGLISH.isdisjoint(said)


def is_own(text: str, said: AbstractSet[str]) -> bool:
    """Tell whether the writer speaks of themselves: by a word of the first person, in some languages, or left out."""
    if not _SELF.isdisjoint(said) or _LEFT_OUT.search(text):
        return True
    return not is_english(said) and (not _SELF_ABROAD.isdisjoint(said) or bool(_SELF_CJK.search(text)))


def count_names(text: str) -> int:
    """Return about how many names and quotations a sentence holds; who is merely addressed does not count."""
    first = _FIRST_IS_NAME.match(text)
    leads = bool(first and first[1].casefold() not in STOP_WORDS)
    return len(_NAME.findall(_GREETED.sub("", text))) + leads
