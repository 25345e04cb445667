"""Whether a sentence states, asks, plans or merely supposes, and whether an observer's claim of it holds."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from construct.memory.language.dates import in_past
from construct.memory.language.sentences import (
    content_words,
    split_clauses,
    split_quoted,
    split_sentences,
    words,
)
from construct.memory.language.stem import fold, root
from construct.memory.language.terms import negates
from construct.store.records import Message

_STRENGTH = {"stated": 3, "planned": 2, "inferred": 1}
"""All other stances are weaker than these, and none of them than another."""
_ENOUGH = 0.65
"""A sentence supports a content when it shares at least this part of what the best one shares."""
_BEGINNING = 6

_LEAD = r"(?i)^\W*(?:(?:and|but|so|or|also|ok|okay|hey|hi|well|oh|btw|by the way|please|then)\b[\s,]*)*"
_AUX = r"(?:am|is|are|was|were|do|does|did|have|has|can|could|will|would|should|shall|may|might|must)(?:n['’]t)?"
_WHO = r"(?:I|you|he|she|it|we|they|there|this|that|these|those|any\w*|some\w+|my|your|his|her|our|their|the)\b"
_QUESTION_MARK = re.compile(r"[?？؟]\W*$")
_TAG = re.compile(r"(?i),\s*(?:remember|you know|you see|okay|ok|get it|huh|eh)\s*\?+\W*$")
_INVERTED = re.compile(rf"{_LEAD}{_AUX}\s+{_WHO}")
_WH = re.compile(
    rf"{_LEAD}(?:(?:what|who|whom|when|where|why|how)(?:['’](?:s|re|d|ll)\b|\s+{_AUX}\b)"
    rf"|(?:what|which|whose|how (?:many|much|long|far|often|old|big|soon|fast|good|bad))"
    rf"(?:\s+(?!{_WHO}|an?\b)[\w'-]+){{1,3}}?\s+{_AUX}\b|(?:what|how) about\b|why not\b"
    r"|any (?:ideas?|tips|advice|suggestions?|recommendations?)\b"
    r"|I(?:['’]m| am)? wonder(?:ing)? (?:if|whether|what|how|why)\b)"
)

_SUBJECT = r"(?:I|we|he|she|they|it|you|there|that|(?:my|our|the|his|her|their) [\w-]+|[A-Z][\w-]+)"
_UNREAL = re.compile(
    r"(?i)\b(?:what if|if only|hypothetical(?:ly)?|in theory|in my dreams|imagine (?:if|that|being|having))\b"
    r"|^\W*(?:(?:just|so|ok|okay|now|let['’]s)\s+)*"
    r"(?:imagine|suppose|supposing|pretend|assume|assuming|say (?:I|we|that))\b"
    r"|\blet['’]s (?:say|pretend|imagine|suppose|assume)\b|\bassuming (?:I|we|that|the|my|it)\b"
    r"|\bin (?:a|another) (?:parallel|perfect|ideal|different) (?:world|life|universe)\b"
    r"|\b(?:I|we) (?:dream(?:ed|t)|had (?:a|the) (?:\w+ )?(?:dream|nightmare))\b"
    r"|\bwish(?:ing|ed|es)? (?:I|we|he|she|they|it|there|that|my)\b"
    r"|(?<!\bno )(?<!\bnot )\b(?:jk|j/k|kidding|joking)\b|^\W*(?:had|were) I\b"
)
_UNREAL_IF = re.compile(
    rf"(?i)\bif (?:only |ever )?{_SUBJECT} (?:\w+ )?(?:were|was|had|could|would|did|won|lost|got|knew|lived|found|"
    r"went|made|came|\w+ed)\b"
)
_REAL_IF = re.compile(rf"(?i)\bif (?!you\b){_SUBJECT}\b")
_NO_CONDITION = re.compile(
    r"(?i)\b(?:ask(?:s|ed|ing)?|wonder\w*|know|knew|see|saw|check\w*|tell|told|sure|decid\w*|care|doubt|remember|out|"
    r"matters?|even|as|mind|clear)\s+(?:me |him |her |us )?if\b|\bif I['’]m (?:honest|not mistaken)"
    r"|\bif (?:possible|not|so|any|anything|necessary|needed|all goes|everything goes|"
    r"I (?:remember|recall|may|understand|can|am (?:honest|not mistaken)))\b"
)
_MODAL = re.compile(r"(?i)\b(?:would|could|might|will|won['’]t|going to|gonna)\b|['’](?:d|ll)\b")
_WOULD = re.compile(
    r"(?i)(?P<short>\w['’]d)\s+(?:(?:also|really|definitely|probably|never|not|just|still|even|so|already)\s+)*(?P<had>\w+)"
    r"|\bwould(?:n['’]t)?\s+(?:(?:also|really|definitely|probably|never|not|just|still|even|so)\s+)*(?P<verb>\w+)"
)
_POLITE = re.compile(
    r"(?i)(?:like|love|prefer|rather|appreciate|say|recommend|suggest|agree|argue|guess|describe|call|need|welcome|"
    r"better|had|been|gone|done|seen|taken|made|got|met|left|lost|known|heard|forgotten|\w+ed)"
)
_TOLD_WOULD = re.compile(
    r"(?i)\b(?:used to|when (?:I|we) (?:was|were)|as an? (?:kid|child|teen\w*|student|boy|girl)|back then|growing up|"
    r"in those days|would always|(?:(?:see|know|learn|check|find out) (?:what|how|when|where|if)|said|told|promised|"
    r"thought|knew|hoped|decided|mentioned|explained|warned|figured|heard|expected)\b.*(?:\bwould|['’]d))\b"
)
_JOKE = re.compile(r"(?i)\b(?:lol|lmao|rofl|haha\w*|hehe\w*)\b|[😂🤣😜]")
_MAYBE = re.compile(
    r"(?i)(?<!\bmy )(?<!\ball )\bmight(?:n['’]t)?\s+[a-z]"
    r"|(?-i:(?<!\bin )(?<!\bof )(?<!\blast )(?<!\bthis )(?<!\bnext )\bmay\s+[a-z])"
    r"|^\W*(?:(?:well|so|or|but|and)\s+)*(?:maybe|perhaps|possibly)\b(?!\s+\d)|\bsome ?day\b|\bone of these days\b"
    r"|\b(?:maybe|perhaps|possibly)\s+(?:I|we|he|she|they|it|one day|next|later|go|get|move|try|even)\b"
    r"|\bone day (?:I|we)(?:['’]ll| will| hope| want| might| would)|\bnot sure (?:if|whether)\b"
    r"|\bcan['’]?(?:t|not) decide\b|\b(?:haven['’]t decided|undecided|toying with|tempted to|on the fence)\b"
    r"|\bdream(?:ing)? of\b|\b(?:wäre ich|si (?:yo )?fuera|si tuviera|si j['’](?:étais|avais)|se eu (?:fosse|tivesse)|"
    r"se (?:fossi|avessi))\b"
)
_PLANNED = re.compile(
    r"(?i)(?-i:(?<!\bmy )(?<!\bthe )(?<!\bfree )(?<!\blast )(?<!\bhis )(?<!\bher )\b(?:will|won['’]t|shall)\b)"
    r"|['’]ll\b(?! (?:admit|say|bet|be honest))"
    r"|\b(?:going to|gonna|about to) (?!the\b|an?\b|my\b|our\b|his\b|her\b|their\b|(?-i:[A-Z]))\w"
    r"|\b(?:plan(?:s|ning)? (?:to|on)|planning for|intend(?:s|ing)? to|(?:aim|hop|look)(?:e|es|s|ing)? to)\b"
    r"|(?<!t )(?<!\bnot )(?<!\bme )(?<!\bus )(?<!\byou )\b(?:wants? to|wanna)\b"
    r"|(?:['’]d|\bwould) (?:\w+ )?(?:like|love) to\b"
    r"|\b(?:thinking|thought) (?:about|of) \w+ing\b|\bconsidering\b"
)
_AHEAD = re.compile(
    r"(?i)\b(?:tomm?orr?ow|tonight|in (?:an?|two|three|four|five|six|\d{1,3}) (?:days?|weeks?|months?|years?)|"
    r"next (?:week|month|year|weekend|spring|summer|fall|autumn|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day))\b"
    r"(?! of\b)|\b(?:am|are|is|\w+['’](?:m|re|s)) (?:\w+ )?\w+ing\b.*\bon (?:the |mon|tue|wed|thu|fri|sat|sun|jan|feb|"
    r"mar|apr|may|jun|jul|aug|sep|oct|nov|dec|\d)"
)

_YES = re.compile(
    r"(?i)^\W*(?:yes|yep|yeah|yup|sure|right|correct|exactly|true|indeed|absolutely|definitely|of course|please do|"
    r"that['’]s (?:right|correct|it|true)|you['’]re right|sí|oui|ja|sim|да|はい|是)\b"
)
_NO = re.compile(r"(?i)^\W*(?:no|nope|nah|não|nein|non)\b")
_SPEECH = re.compile(
    r"(?i)\b(?:said|says|wrote|writes|told \w+|asked|replied|texted|shouted)\s*[,:]?\s*"
    r"[\"“«„](?P<in>[^\"”»]{3,})[\"”»“]"
    r"|\b(?:said|says|wrote|writes|texted|replied|told \w+):\s*(?P<rest>.+)$"
)
_ENGLISH = re.compile(r"(?i)\b(?:the|and|is|are|was|i|i['’]m|my|of|with|it|to|for|have|that|this|you|not|we)\b")
_NOT_CONTENT = {"user", "user's", "users", "assistant", "assistant's"}


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What a piece of a source says, as stems, and how it says it."""

    stance: str
    stems: frozenset[str]


def _asks(sentence: str) -> bool:
    if _TAG.search(sentence):
        return bool(_INVERTED.search(sentence))
    return bool(_QUESTION_MARK.search(sentence) or _INVERTED.search(sentence) or _WH.search(sentence))


def _is_unreal(sentence: str) -> bool:
    """Tell whether the whole sentence is of a world that is supposed, wished for or dreamt of."""
    if _UNREAL.search(sentence):
        return True
    return _is_conditional(sentence) and bool(_MODAL.search(sentence) or re.search(r"(?i)\bif I were\b", sentence))


def _is_conditional(sentence: str) -> bool:
    if "if" not in sentence.casefold():
        return False
    bare = _NO_CONDITION.sub("", sentence)
    return bool(_UNREAL_IF.search(bare) or _REAL_IF.search(bare))


def _supposes(sentence: str) -> bool:
    """Tell whether a would, a might or a maybe stands between the sentence and a fact."""
    if _MAYBE.search(sentence):
        return True
    if "would" not in sentence and "’d" not in sentence and "'d" not in sentence:
        return False
    told, joke = _TOLD_WOULD.search(sentence), _JOKE.search(sentence)
    return any(joke or not (told or _POLITE.fullmatch(m["had"] or m["verb"])) for m in _WOULD.finditer(sentence))


def _plans(sentence: str) -> bool:
    """Tell whether it says what is meant to be done, or what lies ahead."""
    return bool(_PLANNED.search(sentence) or (_AHEAD.search(sentence) and not in_past(sentence)))


def sentence_stance(sentence: str) -> str:
    """Return `stated`, `asked`, `planned` or `hypothetical`, by rules for English; what no rule knows is stated."""
    return _stance(_without_speech(sentence))


def _without_speech(sentence: str) -> str:
    """Return the sentence without another's direct speech in quotation marks."""
    speech = _SPEECH.search(sentence)
    return sentence[: speech.start("in")] + sentence[speech.end("in") :] if speech and speech["in"] else sentence


def _stance(sentence: str) -> str:
    if _is_unreal(sentence):
        return "hypothetical"
    if _asks(sentence):
        return "asked"
    if _supposes(sentence):
        return "hypothetical"
    return "planned" if _plans(sentence) else "stated"


def clause_stances(sentence: str) -> list[tuple[str, str]]:
    """Return the parts of a sentence that differ in stance, each with its own; a supposed world is one piece."""
    bare = _without_speech(sentence)
    whole = _stance(bare)
    if whole == "stated" or bare != sentence or _is_unreal(bare) or _is_conditional(bare):
        return [(sentence, whole)]
    return [(clause, sentence_stance(clause)) for clause in split_clauses(sentence)]


def _stems(text: str) -> frozenset[str]:
    """Return the words that tell something, by how they begin: "allergic" and "allergy" tell the same."""
    telling = (word.removesuffix("'s") for word in content_words(text) if word not in _NOT_CONTENT)
    return frozenset(root(fold(word))[:_BEGINNING] for word in telling)


def _spoken(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of the writer's own text with their stances; another's direct speech is `quoted`."""
    for sentence in split_sentences(text):
        speech = _SPEECH.search(sentence)
        if speech:
            group = "in" if speech["in"] else "rest"
            yield speech[group], "quoted"
            sentence = sentence[: speech.start(group)] + sentence[speech.end(group) :]
        yield from clause_stances(sentence)


def _affirms(message: Message, content: str) -> bool:
    """Tell whether a message of the user is a short yes, or a short no to what the content denies."""
    if message.role != "user" or len(words(message.content)) > 6:
        return False
    return bool(_YES.search(message.content) or (negates(content) and _NO.search(message.content)))


@lru_cache(maxsize=128)
def _evidence(role: str, content: str, affirmed: bool) -> tuple[_Evidence, ...]:
    """Return the pieces of a message; kept for a while, since each claim about a long message asks for them."""
    return tuple(_read_evidence(role, content, affirmed))


def _read_evidence(role: str, content: str, affirmed: bool) -> Iterator[_Evidence]:
    for text, is_quoted in split_quoted(content):
        if is_quoted or role not in {"user", "assistant"}:
            yield _Evidence("quoted", _stems(text))
            continue
        for piece, stance in _spoken(text):
            if role == "assistant":
                said = "stated" if stance == "asked" else stance
                yield _Evidence(said if affirmed else "assistant", _stems(piece))
            else:
                yield _Evidence(stance, _stems(piece))


def _all_evidence(content: str, sources: Sequence[Message]) -> list[_Evidence]:
    affirmed = {
        max(ids)
        for at, message in enumerate(sources)
        if _affirms(message, content) and (ids := [i for i in range(at) if sources[i].role == "assistant"])
    }
    return [
        piece
        for at, message in enumerate(sources)
        for piece in _evidence(message.role, message.content, at in affirmed)
    ]


def _best_supported(content: str, sources: Sequence[Message]) -> str | None:
    """Return the strongest stance among the pieces that support the content best, or None when none does."""
    wanted, evidence = _stems(content), _all_evidence(content, sources)
    shared = sorted(((len(wanted & piece.stems), piece.stance) for piece in evidence), key=lambda pair: -pair[0])
    if not shared or not shared[0][0]:
        own = " ".join(message.content for message in sources if message.role == "user")
        if not shared or not own or _ENGLISH.search(own):
            return None
    best = [stance for count, stance in shared if count >= _ENOUGH * shared[0][0]]
    own_stances = [stance for stance in best if stance not in {"quoted", "assistant"}]
    if own_stances:
        return max(own_stances, key=lambda stance: _STRENGTH.get(stance, 0))
    return "assistant" if "assistant" in best else "quoted"


def checked_stance(claimed: str, content: str, sources: Sequence[Message]) -> str:
    """Return the claimed stance, or a weaker one when the sources bear no more; never a stronger one.

    Content that only quoted or pasted matter supports is `quoted`, whatever was claimed.
    """
    found = _best_supported(content, sources)
    if found is None:
        return "inferred" if claimed in {"stated", "planned"} else claimed
    if found == "quoted":
        return found
    if found == "assistant":
        return found if claimed in {"stated", "planned"} else claimed
    return found if _STRENGTH.get(found, 0) < _STRENGTH.get(claimed, 0) else claimed


def quoted_stems(messages: Sequence[Message]) -> list[frozenset[str]]:
    """Return what quoted and pasted matter in these messages says, piece by piece."""
    return [_stems(text) for message in messages for text, quoted in split_quoted(message.content) if quoted]


def is_borrowed(content: str, sources: Sequence[Message], quoted: Sequence[frozenset[str]]) -> bool:
    """Tell whether pasted matter bears a content better than the sources' own words do.

    So a pasted text cannot lend its words to a message that it names as the source.
    """
    if not quoted:
        return False
    wanted = _stems(content)
    own = frozenset[str]().union(*(e.stems for e in _all_evidence(content, sources) if e.stance != "quoted"))
    return any(len(wanted & piece) > len(wanted & own) for piece in quoted)
