"""A worker model that does what it was asked, in lines.

It has four workers by rule, and the chat's plain reply. The first part writes answers;
tests that make up answers of their own use it too. The second reads requests.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

from tests.support.fake_types import Answerer, Json, Purpose, last_user_text, last_user_words

_SIGNS = {"high": "!", "medium": "-", "low": "~"}
_PRIORITIES = {sign: priority for priority, sign in _SIGNS.items()}
_STANCES = {"stated", "planned", "asked", "inferred", "hypothetical", "assistant", "quoted"}
_HEAD = re.compile(r"\[(M\d+|before)\] (\d{4}-\d\d-\d\d) \d\d:\d\d (\w+):")
_BESIDE = re.compile(r"--- .* later ---|\[(?:image|pdf|text): .*\]")
"""Lines of a transcript that nobody said: pauses and attachments."""
_LINE = re.compile(
    r"(?:([KO]\d+) )?([!~-]) (?:\d{4}-\d\d-\d\d to )?(\d{4}-\d\d-\d\d) ((?:M\d+ )*)(.*)"
)
_GROUP = re.compile(
    r'^<group n="(\d+)" is="(\w+)"(?: look="([^"\n]*)")?>\n(.*?)^=> (.*?)\n</group>',
    re.MULTILINE | re.DOTALL,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_FACT = re.compile(r"\b[Mm]y\b|\bI\b|\d")
_PLAN = re.compile(r"\b(will|tomorrow|plan|plans|planning)\b|'ll\b", re.IGNORECASE)
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_WORD = re.compile(r'"[^"]*"|“[^”]*”|\S+')
_SUBJECT = re.compile(r"^User(?:'s| said:)? ")
_STOP = frozenset(
    {
        *(
            "a",
            "an",
            "the",
            "and",
            "or",
            "but",
            "so",
            "that",
            "this",
            "these",
            "those",
            "it",
            "its",
            "user",
            "said",
        ),
        *(
            "is",
            "are",
            "was",
            "were",
            "be",
            "been",
            "am",
            "has",
            "have",
            "had",
            "do",
            "does",
            "did",
            "very",
            "just",
        ),
        *(
            "to",
            "of",
            "in",
            "on",
            "at",
            "for",
            "with",
            "as",
            "by",
            "from",
            "about",
            "i",
            "me",
            "my",
            "we",
            "our",
        ),
        *("he", "she", "they", "you", "your", "his", "her", "their", "really", "says"),
    }
)
_LONG_SENTENCE = 60
_MERGED = 3


def note(
    content: str,
    sources: Iterable[str],
    *,
    priority: str = "medium",
    stance: str = "stated",
    observation_date: str = "2026-01-01",
    referenced_date: str | None = None,
    replaces: Sequence[str] = (),
) -> str:
    """Return one line of an observer's or reflector's answer.

    `sources` and `replaces` are anchors.
    """
    marks = [stance] * (stance != "stated")
    marks += [f"for {referenced_date}"] * bool(referenced_date)
    marks += [f"replaces {' '.join(replaces)}"] * bool(replaces)
    return " | ".join(
        [f"{_SIGNS[priority]} {observation_date} {' '.join(sources)} {content}", *marks]
    )


def observer_answer(
    notes: Iterable[str] = (),
    *,
    task: str = "",
    next_step: str = "",
    title: str = "",
    forget: Iterable[str] = (),
) -> str:
    """Return an observer's answer."""
    phrases = {"task": task, "next": next_step, "title": title, "forget": " ".join(forget)}
    return "\n".join(
        [
            section("observations", notes),
            *(f"<{tag}>{text}</{tag}>" for tag, text in phrases.items()),
        ]
    )


def reflector_answer(
    notes: Iterable[str] = (),
    *,
    same: Iterable[tuple[str, str]] = (),
    outdated: Iterable[tuple[str, str]] = (),
    shelve: Iterable[str] = (),
    drop: Iterable[str] = (),
) -> str:
    """Return a reflector's answer; `outdated` are pairs of (stale, newer)."""
    return "\n".join(
        [
            section("reflections", notes),
            section("same", (f"{one} = {other}" for one, other in same)),
            section("outdated", (f"{stale} by {newer}" for stale, newer in outdated)),
            f"<shelve>{' '.join(shelve)}</shelve>",
            f"<drop>{' '.join(drop)}</drop>",
        ]
    )


def verifier_answer(wrong: Mapping[int, str], groups: int) -> str:
    """Return a verifier's answer to so many groups.

    `wrong` gives a reason for each no.
    """
    numbers = range(1, groups + 1)
    return section("checks", (f"{n} no {wrong[n]}" if n in wrong else f"{n} yes" for n in numbers))


def graph_answer(entities: Iterable[str], relations: Iterable[str]) -> str:
    """Return a graph extractor's answer.

    Its lines look like "Ana | person" and "User | has sister | Ana | P3".
    """
    return f"{section('entities', entities)}\n{section('relations', relations)}"


def section(name: str, lines: Iterable[str]) -> str:
    """Return lines between tags."""
    return "\n".join([f"<{name}>", *lines, f"</{name}>"])


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a transcript."""

    anchor: str
    date: str
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """One note of a request; a verifier's has the anchors of its messages, if any."""

    anchor: str
    priority: str
    date: str
    """Its last day, where it has several."""
    text: str
    stance: str = "stated"
    day: str | None = None
    """What it is for."""


@dataclass(frozen=True, slots=True)
class Group:
    """One proposal a verifier is asked about."""

    number: int
    kind: str
    notes: list[Line]
    result: Line
    """Without a sign and a day if it is a task or a wish to forget."""
    look: list[str]
    """What code could not find in what the line rests on."""


def read_transcript(body: Json) -> list[Said]:
    """Return the messages of an observer's request."""
    found: list[tuple[str, str, str, list[str]]] = []
    for line in _inside(body, "transcript"):
        if head := _HEAD.fullmatch(line):
            found.append((head[1], head[2], head[3], []))
        elif found and not _BESIDE.fullmatch(line):
            found[-1][3].append(line)
    return [
        Said(anchor, day, role, "\n".join(words).strip())
        for anchor, day, role, words in found
        if anchor != "before"
    ]


def read_known(body: Json) -> list[Line]:
    """Return the known notes of an observer's request."""
    return list(_lines(_inside(body, "known")))


def read_lines(body: Json) -> list[Line]:
    """Return the notes of a reflector's request."""
    return list(_lines(_inside(body, "notes")))


def read_groups(body: Json) -> list[Group]:
    """Return the groups of a verifier's request."""
    return [
        Group(
            int(number),
            kind,
            list(_lines(notes.splitlines())),
            next(_lines([result]), Line("", "", "", result)),
            look.split(", ") if look else [],
        )
        for number, kind, look, notes, result in _GROUP.findall(last_user_text(body))
    ]


def read_memories(body: Json) -> dict[str, str]:
    """Return the memories of a graph extractor's request by anchor."""
    heads = (line.partition(" ") for line in _inside(body, "memories"))
    return {anchor: text for anchor, _, text in heads}


def _inside(body: Json, tag: str) -> list[str]:
    """Return the lines between tags that stand on lines of their own."""
    found = re.search(rf"^<{tag}>\n(.*?)^</{tag}>", last_user_text(body), re.MULTILINE | re.DOTALL)
    return found[1].splitlines() if found else []


def _lines(lines: Iterable[str]) -> Iterator[Line]:
    for match in filter(None, map(_LINE.fullmatch, lines)):
        text, *marks = match[5].split(" | ")
        stance = next((mark for mark in marks if mark in _STANCES), "stated")
        day = next((mark.removeprefix("for ") for mark in marks if mark.startswith("for ")), None)
        anchors = match[1] or match[4].strip()
        yield Line(anchors, _PRIORITIES[match[2]], match[3], text, stance, day)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, lines ending them too."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def names_in(sentence: str) -> list[str]:
    """Return the capitalised words that do not begin the sentence."""
    words = (word.strip("\"“”'.,;:!?()") for word in sentence.split()[1:])
    return [word for word in words if word[:1].isupper() and word.lower() not in _STOP]


def stance_of(sentence: str) -> str:
    """Return a sentence's likely stance: asked, hypothetical, planned or stated."""
    if sentence.rstrip().endswith("?"):
        return "asked"
    if sentence.startswith("If ") and " would " in sentence:
        return "hypothetical"
    return "planned" if _PLAN.search(sentence) else "stated"


def fact_in(text: str) -> str | None:
    """Return the first sentence that looks like a fact.

    It is about the user, or has a number or a name.
    """
    return next((part for part in sentences(text) if _FACT.search(part) or names_in(part)), None)


def observer(body: Json) -> str:
    """Answer as a competent observer.

    It writes one note for each user message with a fact, in the user's words.
    """
    users = [
        message for message in read_transcript(body) if message.role == "user" and message.text
    ]
    last = sentences(users[-1].text)[-1] if users else ""
    return observer_answer(
        filter(None, map(_observation, users)),
        task=f"Talking about: {last}" if last else "",
        next_step=f"Go on from: {last}" if last else "",
        title=" ".join(users[0].text.split()[:6]) if users else "",
    )


def _observation(message: Said) -> str | None:
    sentence = fact_in(message.text)
    if sentence is None:
        return None
    return note(
        f"User said: {sentence}".replace(" | ", " / "),
        [message.anchor],
        priority=_priority(message.text, sentence),
        stance="quoted"
        if "\nFrom: " in message.text.partition(sentence)[0] + sentence
        else stance_of(sentence),
        observation_date=message.date,
        referenced_date=_day_of(sentence, message.date),
    )


def _day_of(sentence: str, today: str) -> str | None:
    """Return the date in a sentence, or the day after if it says tomorrow."""
    if named := _DATE.search(sentence):
        return named[0]
    tomorrow = date.fromisoformat(today) + timedelta(days=1)
    return tomorrow.isoformat() if re.search(r"\btomorrow\b", sentence, re.IGNORECASE) else None


def _priority(text: str, sentence: str) -> str:
    if "IMPORTANT" in text or re.search(r"\d", text):
        return "high"
    return "medium" if len(sentence) >= _LONG_SENTENCE else "low"


def reflector(body: Json) -> str:
    """Answer as a competent reflector.

    It merges three neighbours of one stance and day, and drops other low ones.
    """
    lines = [line for line in read_lines(body) if line.priority != "high"]
    runs = (list(run) for _, run in groupby(lines, key=lambda line: (line.stance, line.day)))
    groups = [
        run[start : start + _MERGED]
        for run in runs
        for start in range(0, len(run) - _MERGED + 1, _MERGED)
    ]
    merged = [(group, text) for group in groups if (text := _merged(group))]
    used = {line.anchor for group, _ in merged for line in group}
    return reflector_answer(
        (_reflection(group, text) for group, text in merged),
        drop=(line.anchor for line in lines if line.priority == "low" and line.anchor not in used),
    )


def _merged(group: Sequence[Line]) -> str | None:
    """Return one line for a group.

    None when it would not be shorter than what it replaces.
    """
    text = "User: " + "; ".join(condensed(line.text) for line in group)
    return text if len(text) < sum(len(line.text) for line in group) else None


def condensed(text: str) -> str:
    """Return a text without its small words; every name, number and quotation stays."""
    words = _WORD.findall(_SUBJECT.sub("", text))
    return (
        " ".join(word for word in words if word.strip(".,;:!?()").lower() not in _STOP).rstrip(
            ".!? "
        )
        or text
    )


def _reflection(group: Sequence[Line], text: str) -> str:
    return note(
        text,
        [line.anchor for line in group],
        priority="medium" if any(line.priority == "medium" for line in group) else "low",
        stance=group[0].stance,
        observation_date=max(line.date for line in group),
        referenced_date=group[0].day,
    )


def verifier(body: Json) -> str:
    """Answer as a verifier that finds nothing wrong."""
    return verifier_answer({}, len(read_groups(body)))


def graph(body: Json) -> str:
    """Answer as a plain graph extractor.

    All names are things that the user mentioned.
    """
    anchors: dict[str, list[str]] = {}
    for anchor, text in read_memories(body).items():
        for name in dict.fromkeys(names_in(text)):
            anchors.setdefault(name, []).append(anchor)
    return graph_answer(
        (f"{name} | thing" for name in anchors),
        (f"User | mentioned | {name} | {' '.join(named)}" for name, named in anchors.items()),
    )


def chat(body: Json) -> str:
    """Answer as a plain companion, in about 50 tokens.

    The answer repeats the beginning of the user's last message.
    """
    words = " ".join(last_user_words(body).split())
    echo = f'You said: "{words[:80]}".' if words else "The tools have answered."
    return (
        f"{echo} I have taken note of it, and will come back to it when it helps. "
        "Tell me more whenever you like, and ask me about it later."
    )


WORKERS: dict[Purpose, Answerer] = {
    "chat": chat, "observer": observer, "reflector": reflector, "verifier": verifier,
    "graph": graph, "changes": lambda _body: "<doubtful></doubtful>",
}  # fmt: skip
"""Who answers what, unless a test says otherwise."""
