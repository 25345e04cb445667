"""Ranking what the index found, with the turns around it. Pure.

A candidate's score is a weighted sum of a few features. The weights were fitted on
LoCoMo's five development conversations as a softmax regression; benchmarks/README.md
has the figures for conversations left out of the fit.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from operator import mul
from typing import NamedTuple

from construct.language.index_words import fold, index_words, stem, word_forms
from construct.language.wordlists import TIME_WORDS
from construct.memory.recall.query import Query, akin
from construct.memory.recall.speakers import Speakers
from construct.store.search import KINDS, Entry

# How words count: BM25F (Robertson and Zaragoza, 2009) over a turn and its neighbours.
SATURATION = 0.6  # k1: how soon saying a word again adds nothing
LENGTH = 0.4  # b: how far a long turn is discounted
BEFORE = (0.4, 0.25)  # what a word in the turn before counts, and in the one before that
AFTER = (0.2, 0.1)  # the same for the turns after
USUAL_WORDS = 24.0  # in a turn, for the discount
SESSION_GAP = timedelta(hours=4)  # a silence that ends a session
LEAST = 0.1  # keeps the logarithm of a small match finite
# How meaning counts, where vectors are there (benchmarks/README.md):
LEAST_NEAR = 0.3  # in the place of LEAST: not to hold a word says less
NEIGHBOUR = 0.2  # what the nearness of the turn before and of the turn after counts
FAINT = 0.1  # what holds none of the words and is less near than this is not found at all
ENOUGH_WORDS = 3  # what fewer words mean tells less than that they were said
SPREAD = 0.3  # the least spread of nearness that is stretched from 0 to 1


class Features(NamedTuple):
    """What is known of one candidate, each about 0 to 1."""

    match: float = 0.0  # log of BM25F, 0 for the best candidate of the query
    session: float = 0.0  # the best match within the same session
    speaker: float = 0.0  # 1 said by the one who is named, -1 by the other
    date: float = 0.0  # nearness to a time that is named
    when: float = 0.0  # it tells a time, and one is asked for
    reply: float = 0.0  # the turn before asks something
    asks: float = 0.0  # it ends with a question
    opens: float = 0.0  # it opens a session: who comes back has news
    names: float = 0.0  # words with a capital within it, up to three
    tells: float = 0.0  # first person, up to three
    noted: float = 0.0  # it is an observation or a memory, a fact already
    meaning: float = 0.0  # nearness in meaning: 0 for the farthest candidate, 1 for the nearest


WEIGHTS = Features(2.7, 3.2, 1.0, 4.5, 1.9, 0.8, -0.5, 1.0, 0.3, 0.1, 1.0, 5.0)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry with the turns around it, nearest first."""

    entry: Entry
    before: tuple[Entry, ...] = ()
    after: tuple[Entry, ...] = ()


def weights(frequency: Mapping[str, int], total: int) -> dict[str, float]:
    """Return how much each word tells (idf), from the number of rows that have it."""
    return {
        word: math.log(1 + (max(total, df) - df + 0.5) / (df + 0.5))
        for word, df in frequency.items()
    }


class Matcher:
    """Finds a query's words, in any of their forms, and pieces of words in texts."""

    def __init__(self, wanted: Iterable[str], pieces: Sequence[str] = ()) -> None:
        self._word_of = {stem(form): (word, form) for word in wanted for form in word_forms(word)}
        self._pieces = pieces
        self._seen: dict[tuple[str, int], dict[str, float]] = {}
        starts = sorted(
            {re.escape(root[: max(1, min(3, len(root) - 1))]) for root in self._word_of}
        )
        # Words that begin as one of those wanted does; nothing where none is wanted.
        self._likely = re.compile(rf"(?<![^\W_])(?:{'|'.join(starts) or '(?!)'})[^\W_]*")

    def counts(self, entry: Entry) -> dict[str, float]:
        """Return how often each is in the entry's text, discounted for a long one."""
        key = entry.key
        if key not in self._seen:
            self._seen[key] = self.in_text(entry.text)
        return self._seen[key]

    def in_text(self, text: str) -> dict[str, float]:
        """Return the same of any text."""
        found: dict[str, float] = {}
        folded = fold(text)
        for word in self._likely.findall(folded):
            meant, form = self._word_of.get(stem(word), ("", ""))
            if meant and akin(word, form):
                found[meant] = found.get(meant, 0) + 1
        for piece in self._pieces:
            if times := text.count(piece):
                found[piece] = times
        if found:
            length = 1 - LENGTH + LENGTH * (1 + folded.count(" ")) / USUAL_WORDS
            found = {word: times / length for word, times in found.items()}
        return found


@dataclass(frozen=True, slots=True)
class Asked:
    """All that candidates are judged by."""

    query: Query
    weight: Mapping[str, float]
    matcher: Matcher
    speakers: Speakers
    near: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """How near entries are in meaning, -1 to 1; empty without vectors."""


def ranked(
    candidates: Sequence[Candidate], asked: Asked, most: int
) -> list[tuple[Candidate, Features]]:
    """Return at most so many candidates with their features, best first.

    Of equals messages first, then the newest.
    """
    features = zip(candidates, _features(candidates, asked), strict=True)
    told = [(candidate, _told(one, candidate, asked.query)) for candidate, one in features if one]
    return sorted(told, key=_order)[:most]


def _order(pair: tuple[Candidate, Features]) -> tuple[float, int, int]:
    entry = pair[0].entry
    return -score(pair[1]), KINDS.index(entry.kind), -entry.id


def shortlist(entries: Sequence[Entry], asked: Asked, most: int) -> list[Entry]:
    """Return the entries that stand best before the turns around them are read."""
    if len(entries) <= most:
        return list(entries)
    features = _features([Candidate(entry) for entry in entries], asked)
    best = sorted((-score(one), i) for i, one in enumerate(features) if one)[:most]
    return [entries[i] for _, i in best]


def score(features: Features) -> float:
    """Return the candidate's standing: higher is better, within one query."""
    return math.fsum(map(mul, WEIGHTS, features))


def _features(candidates: Sequence[Candidate], asked: Asked) -> list[Features | None]:
    """Return the features that need no text.

    None for what holds none of the words and is not near in meaning either.
    """
    own = [_match(candidate, asked) for candidate in candidates]
    best = max(own, default=0.0) or 1.0
    least = LEAST_NEAR if asked.near else LEAST
    near = _nearness(candidates, asked.near)
    low, high = min(near, default=0.0), max(near, default=0.0)
    trust = min(1.0, (len(asked.query.words) + asked.query.unsaid) / ENOUGH_WORDS)
    matches = {c.entry.key: match / best for c, match in zip(candidates, own, strict=True)}
    peak = dict(matches)  # the best match within the session
    for turns in _sessions(c.entry for c in candidates):
        keys = [turn.key for turn in turns]
        peak |= dict.fromkeys(keys, max(matches[key] for key in keys))
    return [
        Features(
            match=math.log((match / best + least) / (1 + least)),
            session=peak[candidate.entry.key],
            speaker=asked.speakers.sign(candidate.entry),
            date=_date_nearness(candidate.entry, asked.query),
            opens=float(candidate.entry.kind == "message" and not candidate.before),
            noted=float(candidate.entry.kind != "message"),
            meaning=trust * (value - low) / max(high - low, SPREAD),
        )
        if match > 0 or value >= FAINT
        else None
        for candidate, match, value in zip(candidates, own, near, strict=True)
    ]


def _nearness(
    candidates: Sequence[Candidate], near: Mapping[tuple[str, int], float]
) -> list[float]:
    """Return how near candidates are in meaning, with the turns beside them.

    What has no vector yet is as near as usual. 0 without vectors.
    """
    usual = math.fsum(near.values()) / max(1, len(near))
    found = []
    for candidate in candidates:
        value = near.get(candidate.entry.key, usual)
        if candidate.entry.kind == "message":
            beside = [near.get(e.key, usual) for e in (*candidate.before[:1], *candidate.after[:1])]
            value = (value + NEIGHBOUR * math.fsum(beside)) / (1 + 2 * NEIGHBOUR)
        found.append(value)
    return found


def held(candidate: Candidate, asked: Asked) -> set[str]:
    """Return the query's words that a candidate and the turns around it hold."""
    turns = (candidate.entry, *candidate.before, *candidate.after)
    return {word for turn in turns for word in asked.matcher.counts(turn)}


def _told(first: Features, candidate: Candidate, query: Query) -> Features:
    """Return the features with those that lie in how the turn is put."""
    text, is_message = candidate.entry.text, candidate.entry.kind == "message"
    tells_time = query.asks_when and not (is_message and _TIME.isdisjoint(index_words(text)))
    return first._replace(
        when=float(tells_time),
        reply=float(any("?" in turn.text for turn in candidate.before[:1])),
        asks=float(is_message and text.rstrip().endswith("?")),
        names=float(min(3, len(_CAPITAL.findall(text)))),
        tells=float(min(3, len(_FIRST_PERSON.findall(text)))),
    )


_TIME = frozenset(TIME_WORDS)
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm][ey]|[Ww]e|[Oo]ur)\b")
_CAPITAL = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")


def _date_nearness(entry: Entry, query: Query) -> float:
    if not query.dates:
        return 0.0
    texts = [text for text in (entry.day, entry.about) if text] or [entry.moment[:10]]
    days = [date.fromisoformat(text) for text in texts]
    return max(max(map(period.nearness, days)) for period in query.dates)


def _match(candidate: Candidate, asked: Asked) -> float:
    counts = asked.matcher.counts
    shares = [(1.0, candidate.entry)]
    shares += zip(BEFORE, candidate.before, strict=False)
    shares += zip(AFTER, candidate.after, strict=False)
    sums: dict[str, float] = {}
    for share, turn in shares:
        for word, much in counts(turn).items():
            sums[word] = sums.get(word, 0.0) + share * much
    return sum(
        asked.weight[word] * much * (SATURATION + 1) / (SATURATION + much)
        for word, much in sums.items()
    )


def in_context(entries: Sequence[Entry]) -> list[Candidate]:
    """Return candidates, each message with the turns of its session around it."""
    candidates = [Candidate(entry) for entry in entries if entry.kind != "message"]
    for turns in _sessions(entries):
        for i, entry in enumerate(turns):
            if entry.found:
                before = tuple(turns[max(0, i - len(BEFORE)) : i][::-1])
                after = tuple(turns[i + 1 : i + 1 + len(AFTER)])
                candidates.append(Candidate(entry, before, after))
    return candidates


def _sessions(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Return the messages in order, divided by conversation and by long silences."""
    said = (entry for entry in entries if entry.kind == "message")
    sessions: list[list[Entry]] = []
    last: tuple[int | None, datetime] | None = None
    for entry in sorted(said, key=lambda e: (e.conversation or 0, e.id)):
        moment = datetime.fromisoformat(entry.moment)
        if last is None or last[0] != entry.conversation or moment - last[1] > SESSION_GAP:
            sessions.append([])
        sessions[-1].append(entry)
        last = entry.conversation, moment
    return sessions
