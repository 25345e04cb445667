"""Parse a query into words, phrases and cues, and find them in texts. No I/O."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import accumulate

from construct.language.index_words import UNSPACED, fold, index_words, root, stem, word_forms
from construct.language.named_periods import named_periods
from construct.language.periods import Period
from construct.language.wordlists import STOP_WORDS
from construct.text import one_line

MOST_WORDS = 48  # words of a query that are searched; more is a pasted page
MOST_PAIRED = 6  # limit of words of which a row must have two (`gated`)

_PHRASE = re.compile(r'"([^"]*)"|“([^”]*)”|«([^»]*)»|„([^“”]*)[“”]')
# In "Do you remember what I said", the "you" of the opening is not the subject.
_OPENING = re.compile(
    r"^\W*(?:(?:do|can|could|would|will) you (?:still )?(?:please )?"
    r"(?:remember|recall|know|tell me|remind me)|"
    r"(?:please )?(?:tell|remind) me|you know)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"\b(?:did|do|have|had|was|were|am|are|will|should|could|can|would)\s+(i|you)\b", re.IGNORECASE
)
_SPEAKERS = {
    "user": re.compile(r"\b(?:i|me|my|mine|myself|the user|user's)\b", re.IGNORECASE),
    "assistant": re.compile(
        r"\b(?:you|your|yours|yourself|the assistant|assistant's)\b", re.IGNORECASE
    ),
}
_WHEN = re.compile(
    r"\b(?:when|how (?:long|old|recently)|(?:what|which) (?:date|day|week|month|year|time))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query."""

    words: tuple[str, ...]  # folded content words, one of each stem; else the stop words
    phrases: tuple[str, ...]  # quoted words, which must occur verbatim
    pieces: tuple[str, ...]  # pairs of characters of scripts without spaces
    capitals: frozenset[str]  # words that may be names: capitalised ones, or all if none is
    role: str | None  # whose words are meant, judged by "I" and "you"
    asks_when: bool
    dates: tuple[Period, ...]  # times that the query names
    bare: bool  # the query has only stop words
    text: str = ""
    unsaid: int = 0  # number of further words that occur nowhere
    spelt: tuple[str, ...] = ()  # words searched for misspelt ones (spelling.py)

    @property
    def has_more_than_phrases(self) -> bool:
        """Whether the query has words outside quotation marks."""
        quoted = {word for phrase in self.phrases for word in phrase.split()}
        return bool(quoted) and not quoted.issuperset(self.words)


def analyse(text: str, today: date | None = None) -> Query:
    """Parse a query; `today` is the day that "yesterday" refers to.

    Raises ValueError if the query is blank.
    """
    if not text.strip():
        raise ValueError("The query is blank.")
    plain = UNSPACED.sub(" ", text)
    found = index_words(plain)
    content = _content(found)[:MOST_WORDS]
    quoted = [
        " ".join(index_words(next((group for group in match.groups() if group), "")))
        for match in _PHRASE.finditer(text)
    ]
    return Query(
        words=_distinct(content or found[:MOST_WORDS]),
        phrases=tuple(dict.fromkeys(phrase for phrase in quoted if phrase)),
        pieces=tuple(
            dict.fromkeys(piece for run in UNSPACED.findall(text) for piece in _pairs(run))
        ),
        capitals=_capitals(plain),
        role=_role(_OPENING.sub("", text)),
        asks_when=bool(_WHEN.search(text)),
        dates=named_periods(text, today),
        bare=not content,
        text=text,
    )


def outside_quotes(text: str, change: Callable[[str], str]) -> str:
    """Apply a change to a query's text outside quotation marks."""
    parts: list[str] = []
    end = 0
    for match in _PHRASE.finditer(text):
        parts += [change(text[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*parts, change(text[end:])])


def is_cue(word: str) -> bool:
    """Return whether a folded word shows by itself whose words are meant."""
    return any(pattern.search(f"the {word}") for pattern in _SPEAKERS.values())


def is_stop_word(word: str) -> bool:
    """Return whether a folded word is a stop word in any language."""
    return any(word in stops for stops in _stop_words().values())


def any_of(words: Iterable[str], phrases: Iterable[str] = ()) -> str:
    """Return the FTS5 expression for all phrases, or for any of the words without phrases.

    An empty string if there are neither.
    """
    return " AND ".join(f'"{phrase}"' for phrase in phrases) or _or(words)


def with_one_of(word: str, others: Sequence[str]) -> str:
    """Return the FTS5 expression for a word together with one of the others."""
    return f"{_either(word)} AND ({_or(others)})"


def gated(words: Sequence[str], frequency: Mapping[str, int], required: int, weighed: int) -> str:
    """Return the FTS5 expression that limits how many rows of a large file are ranked.

    Ranking costs time for each row. So a row must have one of the rarest words, which
    have `required` rows together, or two of the less rare ones, which have `weighed` rows
    together: few rows have both, and those are often what is meant. Still more common
    words are not searched. A word that no row has is ignored, or nothing would be found.
    """
    rarest = sorted(
        (word for word in words if frequency.get(word, 0)), key=lambda word: frequency[word]
    )
    if not rarest:
        return any_of(words)
    rows = list(accumulate(frequency.get(word, 0) for word in rarest))
    enough = max(1, sum(total <= required for total in rows))
    known = rarest[: max(enough, sum(total <= weighed for total in rows))]
    paired = known[enough:][:MOST_PAIRED]
    if not paired:
        return any_of(known)
    pairs = [f"({_either(word)} AND ({_or(paired[i:])}))" for i, word in enumerate(paired[:-1], 1)]
    return f"({' OR '.join([_or(known[:enough]), *pairs])}) AND ({_or(known)})"


def _or(words: Iterable[str]) -> str:
    return " OR ".join(map(_either, words))


def _either(word: str) -> str:
    quoted = [f'"{form}"' for form in word_forms(word)]
    return quoted[0] if len(quoted) == 1 else f"({' OR '.join(quoted)})"


def akin(word: str, form: str) -> bool:
    """Return whether words with the same stem are related: "in" and "Inês" are not."""
    return min(len(word), len(form)) > 2 or abs(len(word) - len(form)) < 2


@cache
def _stop_words() -> dict[str, frozenset[str]]:
    return {language: frozenset(map(fold, stops)) for language, stops in STOP_WORDS.items()}


def _content(found: list[str]) -> list[str]:
    """Return the words without the stop words of the likeliest language.

    That is the language whose stop words occur most often among them.
    """
    hits = {
        language: sum(map(stops.__contains__, found)) for language, stops in _stop_words().items()
    }
    stops = _stop_words()[max(hits, key=lambda language: hits[language])]
    return [word for word in found if word not in stops]


def _distinct(found: list[str]) -> tuple[str, ...]:
    kept: dict[str, str] = {}
    for word in found:
        kept.setdefault(root(word), word)
    return tuple(kept.values())


def _capitals(text: str) -> frozenset[str]:
    raw = re.findall(r"[^\W_]+", text)
    upper = [word for word in raw if word[:1].isupper()]
    return frozenset(folded for word in (upper or raw) for folded in index_words(word))


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(max(1, len(run) - 1))]


def _role(text: str) -> str | None:
    subjects = {match[1].lower() for match in _SUBJECT.finditer(text)}
    if len(subjects) == 1:
        return "user" if subjects == {"i"} else "assistant"
    named = [role for role, pattern in _SPEAKERS.items() if pattern.search(text)]
    return named[0] if len(named) == 1 else None


_WORD = re.compile(r"[^\W_]+")


def word_spans(
    line: str, words: Sequence[str], pieces: Sequence[str] = ()
) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each word, in any form, and of each piece of a word."""
    wanted = {stem(form): form for word in words for form in word_forms(word)}
    for match in _WORD.finditer(line):
        word = fold(match[0])
        form = wanted.get(stem(word))
        if form and akin(word, form):
            yield match.span()
    for piece in pieces:
        yield from (match.span() for match in re.finditer(re.escape(piece), line))


def excerpt(text: str, words: Sequence[str], size: int, pieces: Sequence[str] = ()) -> str:
    """Return the part of a text that has the most words of the query, as one line."""
    line = one_line(text)
    if len(line) <= size:
        return line
    places = sorted(begin for begin, _ in word_spans(line, words, pieces))
    starts = [max(0, place - size // 4) for place in places] or [0]
    start = max(
        starts, key=lambda begin: bisect_left(places, begin + size) - bisect_left(places, begin)
    )
    end = min(len(line), start + size)
    start = line.find(" ", start) + 1 if start and " " in line[start : start + 40] else start
    end = line.rfind(" ", start, end) if end < len(line) and " " in line[end - 40 : end] else end
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
