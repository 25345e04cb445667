"""A worker model that does what it was asked: observer, reflector and graph by rule, and the chat's plain reply."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

from tests.support.fake_types import Answer, Answerer, Json, Purpose, last_user_text, last_user_words

_TRANSCRIPT = re.compile(r"<transcript>(.*?)</transcript>", re.DOTALL)
_ANCHOR = re.compile(r"\[(M\d+)\] (\d{4}-\d\d-\d\d) (\d\d:\d\d) (\w+)[^:\n]*:\s*")
_LINE = re.compile(r"\[(O\d+)\] ([!~-]) \[(\d{4}-\d\d-\d\d)\] (.*)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_FACT = re.compile(r"\b[Mm]y\b|\bI\b|\d")
_PLAN = re.compile(r"\b(will|tomorrow|plan|plans|planning)\b|'ll\b", re.IGNORECASE)
_STANCES = "asked|planned|hypothetical|inferred|the assistant's|assistant|quoted"
_NOTE = re.compile(rf" \((?:({_STANCES})\b[^();]*)?(?:; )?(?:for (\d{{4}}-\d\d-\d\d))?\)$")
"""What a line says behind its words of its stance, and of the day it is about."""
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_WORD = re.compile(r'"[^"]*"|“[^”]*”|\S+')
_SUBJECT = re.compile(r"^User(?:'s| said:)? ")
_PRIORITIES = {"!": "high", "-": "medium", "~": "low"}
_STOP = frozenset(
    {
        *("a", "an", "the", "and", "or", "but", "so", "that", "this", "these", "those", "it", "its", "user", "said"),
        *("is", "are", "was", "were", "be", "been", "am", "has", "have", "had", "do", "does", "did", "very", "just"),
        *("to", "of", "in", "on", "at", "for", "with", "as", "by", "from", "about", "i", "me", "my", "we", "our"),
        *("he", "she", "they", "you", "your", "his", "her", "their", "really", "says"),
    }
)
_LONG_SENTENCE = 60
_GROUP = 3


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a transcript."""

    anchor: str
    date: str
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """One observation as the reflector is given it, the note behind its words read."""

    anchor: str
    priority: str
    date: str
    text: str
    stance: str = "stated"
    day: str | None = None


def read_transcript(body: Json) -> list[Said]:
    """Return the messages in the transcript of the last user message."""
    parts = _TRANSCRIPT.findall(last_user_text(body))
    best = max(parts, key=lambda part: sum(1 for _ in _said(part)), default="")
    return list(_said(best))


def _said(transcript: str) -> Iterator[Said]:
    head: tuple[str, ...] | None = None
    words: list[str] = []
    for line in transcript.splitlines():
        anchor = _ANCHOR.fullmatch(line)
        if anchor is None:
            words.append(line)
            continue
        if head:
            yield Said(head[0], head[1], head[3], "\n".join(words).strip())
        head, words = anchor.groups(), []
    if head:
        yield Said(head[0], head[1], head[3], "\n".join(words).strip())


def read_lines(body: Json) -> list[Line]:
    """Return the observations in the last user message."""
    found = (_LINE.fullmatch(line.rstrip()) for line in last_user_text(body).splitlines())
    return [_line(match) for match in found if match]


def _line(match: re.Match[str]) -> Line:
    text = match[4]
    note = _NOTE.search(text)
    stance = (note[1] or "stated").removeprefix("the ").removesuffix("'s") if note else "stated"
    words = text[: note.start()] if note else text
    named = _DATE.search(words)
    day = (note and note[2]) or (named[0] if named else None)
    return Line(match[1], _PRIORITIES[match[2]], match[3], words, stance, day)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, lines ending them too."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def names_in(sentence: str) -> list[str]:
    """Return the capitalised words that do not begin the sentence."""
    words = (word.strip("\"“”'.,;:!?()") for word in sentence.split()[1:])
    return [word for word in words if word[:1].isupper() and word.lower() not in _STOP]


def stance_of(sentence: str) -> str:
    """Return the stance a sentence sounds like: asked, planned or stated."""
    if sentence.rstrip().endswith("?"):
        return "asked"
    return "planned" if _PLAN.search(sentence) else "stated"


def fact_in(text: str) -> str | None:
    """Return the first sentence that looks like a fact: about oneself, or with a number or a name."""
    return next((part for part in sentences(text) if _FACT.search(part) or names_in(part)), None)


def observer(body: Json) -> Answer:
    """Answer as a competent observer: one observation for each user message with a fact, in the user's words."""
    said = read_transcript(body)
    users = [message for message in said if message.role == "user"]
    last = next((sentences(message.text)[-1] for message in reversed(users) if message.text), None)
    first = next((message.text for message in users if message.text), None)
    return {
        "observations": [found for message in users if (found := _observation(message))],
        "current_task": f"Talking about: {last}" if last else None,
        "suggested_response": f"Go on from: {last}" if last else None,
        "conversation_title": " ".join(first.split()[:6]) if first else None,
    }


def _observation(message: Said) -> Json | None:
    sentence = fact_in(message.text)
    if sentence is None:
        return None
    return {
        "content": f"User said: {sentence}",
        "priority": _priority(message.text, sentence),
        "stance": stance_of(sentence),
        "observation_date": message.date,
        "referenced_date": _day_of(sentence, message.date),
        "sources": [message.anchor],
    }


def _day_of(sentence: str, today: str) -> str | None:
    """Return the day a sentence names: a date in it, or the day after when it says tomorrow."""
    if named := _DATE.search(sentence):
        return named[0]
    tomorrow = date.fromisoformat(today) + timedelta(days=1)
    return tomorrow.isoformat() if re.search(r"\btomorrow\b", sentence, re.IGNORECASE) else None


def _priority(text: str, sentence: str) -> str:
    if "IMPORTANT" in text or re.search(r"\d", text):
        return "high"
    return "medium" if len(sentence) >= _LONG_SENTENCE else "low"


def reflector(body: Json) -> Answer:
    """Answer as a competent reflector: three neighbours of one stance and day become one, other low ones go."""
    lines = [line for line in read_lines(body) if line.priority != "high"]
    groups = [run[start : start + _GROUP] for run in _runs(lines) for start in range(0, len(run) - _GROUP + 1, _GROUP)]
    merged = [(group, text) for group in groups if (text := _merged(group))]
    used = {line.anchor for group, _ in merged for line in group}
    dropped = [line.anchor for line in lines if line.priority == "low" and line.anchor not in used]
    return {
        "observations": [_reflection(group, text) for group, text in merged],
        "superseded": [line.anchor for group, _ in merged for line in group] + dropped,
        "outdated": [],
    }


def _runs(lines: Sequence[Line]) -> list[list[Line]]:
    return [list(run) for _, run in groupby(lines, key=lambda line: (line.stance, line.day))]


def _merged(group: Sequence[Line]) -> str | None:
    """Return one line for a group; None when it would not be shorter than what it replaces."""
    text = "User: " + "; ".join(condensed(line.text) for line in group)
    return text if len(text) < sum(len(line.text) for line in group) else None


def condensed(text: str) -> str:
    """Return a text without its small words; every name, number and quotation stays."""
    words = _WORD.findall(_SUBJECT.sub("", text))
    return " ".join(word for word in words if word.strip(".,;:!?()").lower() not in _STOP).rstrip(".!? ") or text


def _reflection(group: Sequence[Line], text: str) -> Json:
    return {
        "content": text,
        "priority": "medium" if any(line.priority == "medium" for line in group) else "low",
        "stance": group[0].stance,
        "observation_date": max(line.date for line in group),
        "referenced_date": group[0].day,
        "sources": [line.anchor for line in group],
    }


def graph(body: Json) -> Answer:
    """Answer as a plain graph extractor: the names are things that the user mentioned."""
    text = last_user_text(body)
    lines = [line.text for line in read_lines(body)] or [said.text for said in read_transcript(body)]
    names = sorted({name for line in lines or text.splitlines() for name in names_in(line)})
    user = [{"name": "User", "type": "person", "aliases": []}] if names else []
    return {
        "entities": user + [{"name": name, "type": "thing", "aliases": []} for name in names],
        "relations": [{"subject": "User", "predicate": "mentioned", "object": name} for name in names],
    }


def chat(body: Json) -> Answer:
    """Answer as a plain companion: about 50 tokens that echo the beginning of what the user said last."""
    words = " ".join(last_user_words(body).split())
    echo = f'You said: "{words[:80]}".' if words else "The tools have answered."
    padding = "I have taken note of it, and will come back to it when it helps. Tell me more whenever you like, "
    return f"{echo} {padding}and ask me about it later."


WORKERS: dict[Purpose, Answerer] = {"chat": chat, "observer": observer, "reflector": reflector, "graph": graph}
"""Who answers what, unless a test says otherwise."""
