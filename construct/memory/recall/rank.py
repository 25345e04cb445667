"""Rank search hits by their own text and the turns around them. No I/O.

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
SATURATION = 0.6  # k1: how quickly repeating a word stops adding to the score
LENGTH = 0.4  # b: how strongly long turns are discounted
BEFORE = (0.4, 0.25)  # weight of a word found one turn earlier, two turns earlier
AFTER = (0.2, 0.1)  # weight of a word found one turn later, two turns later
AVERAGE_WORDS = 24.0  # average words in a turn, for the length discount
SESSION_GAP = timedelta(hours=4)  # a silence longer than this ends a session
SMOOTHING = 0.1  # added before the logarithm, so that a missing word is not minus infinity
# How similarity of meaning counts, if there are vectors (benchmarks/README.md):
SMOOTHING_WITH_VECTORS = 0.3  # instead of SMOOTHING: a missing word then matters less
NEIGHBOUR = 0.2  # weight of the similarity of the turns just before and after
MIN_SIMILARITY = 0.1  # candidates without a word of the query need at least this
ENOUGH_WORDS = 3  # with fewer query words than this, similarity counts proportionally less
MIN_SPREAD = 0.3  # smallest spread of similarities when they are rescaled to 0…1


class Features(NamedTuple):
    """What the score of a candidate is made of; most values lie between 0 and 1."""

    match: float = 0.0  # log of BM25F, 0 for the best candidate
    session: float = 0.0  # the best match within the same session
    speaker: float = 0.0  # 1 if said by the person the query names, -1 if by the other
    date: float = 0.0  # closeness to a time that the query names
    when: float = 0.0  # 1 if it mentions a time and the query asks when
    reply: float = 0.0  # 1 if the turn before it asks something
    asks: float = 0.0  # 1 if it ends with a question
    opens: float = 0.0  # 1 if it opens a session: people come back with news
    names: float = 0.0  # capitalised words inside it, up to three
    tells: float = 0.0  # first-person words, up to three
    noted: float = 0.0  # 1 for an observation or a memory, 0 for a message
    meaning: float = 0.0  # similarity of meaning: 0 for the least similar, 1 for the most


WEIGHTS = Features(
    match=2.7,
    session=3.2,
    speaker=1.0,
    date=4.5,
    when=1.9,
    reply=0.8,
    asks=-0.5,
    opens=1.0,
    names=0.3,
    tells=0.1,
    noted=1.0,
    meaning=5.0,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry to rank, with the turns around it, nearest first."""

    entry: Entry
    before: tuple[Entry, ...] = ()
    after: tuple[Entry, ...] = ()


def weights(frequency: Mapping[str, int], total: int) -> dict[str, float]:
    """Return each word's inverse document frequency, from the number of rows that have it."""
    return {
        word: math.log(1 + (max(total, df) - df + 0.5) / (df + 0.5))
        for word, df in frequency.items()
    }


class Matcher:
    """Finds the words of a query, in any of their forms, in texts."""

    def __init__(self, wanted: Iterable[str], pieces: Sequence[str] = ()) -> None:
        self._word_of = {stem(form): (word, form) for word in wanted for form in word_forms(word)}
        self._pieces = pieces
        self._seen: dict[tuple[str, int], dict[str, float]] = {}
        starts = sorted(
            {re.escape(root[: max(1, min(3, len(root) - 1))]) for root in self._word_of}
        )
        # A cheap first filter: words with the first letters of a wanted one.
        self._likely = re.compile(rf"(?<![^\W_])(?:{'|'.join(starts) or '(?!)'})[^\W_]*")

    def counts(self, entry: Entry) -> dict[str, float]:
        """Return length-normalised counts of the query's words in the entry. Cached."""
        key = entry.key
        if key not in self._seen:
            self._seen[key] = self.in_text(entry.text)
        return self._seen[key]

    def in_text(self, text: str) -> dict[str, float]:
        """Return length-normalised counts of the query's words in a text."""
        counts: dict[str, float] = {}
        folded = fold(text)
        for word in self._likely.findall(folded):
            meant, form = self._word_of.get(stem(word), ("", ""))
            if meant and akin(word, form):
                counts[meant] = counts.get(meant, 0) + 1
        for piece in self._pieces:
            if times := text.count(piece):
                counts[piece] = times
        if counts:
            length = 1 - LENGTH + LENGTH * (1 + folded.count(" ")) / AVERAGE_WORDS
            counts = {word: times / length for word, times in counts.items()}
        return counts


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query with everything that was looked up to rank candidates for it."""

    query: Query
    weight: Mapping[str, float]
    """Inverse document frequency of each word."""
    matcher: Matcher
    speakers: Speakers
    near: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """Cosine similarity of entries by their key, -1 to 1; empty without vectors."""


def ranked(
    candidates: Sequence[Candidate], prepared: PreparedQuery, limit: int
) -> list[tuple[Candidate, Features]]:
    """Return the best candidates with their features, best first.

    Among equals messages come first, then the newest.
    """
    pairs = zip(candidates, _features(candidates, prepared), strict=True)
    judged = [
        (candidate, _with_wording(features, candidate, prepared.query))
        for candidate, features in pairs
        if features is not None
    ]
    return sorted(judged, key=_order)[:limit]


def _order(pair: tuple[Candidate, Features]) -> tuple[float, int, int]:
    entry = pair[0].entry
    return -score(pair[1]), KINDS.index(entry.kind), -entry.id


def shortlist(entries: Sequence[Entry], prepared: PreparedQuery, limit: int) -> list[Entry]:
    """Return the best entries, judged without the turns around them."""
    if len(entries) <= limit:
        return list(entries)
    features = _features([Candidate(entry) for entry in entries], prepared)
    scored = [(-score(values), i) for i, values in enumerate(features) if values]
    return [entries[i] for _, i in sorted(scored)[:limit]]


def score(features: Features) -> float:
    """Return the candidate's score. Scores of different queries do not compare."""
    return math.fsum(map(mul, WEIGHTS, features))


def _features(candidates: Sequence[Candidate], prepared: PreparedQuery) -> list[Features | None]:
    """Return each candidate's features, except those that `_with_wording` adds.

    None for a candidate without a word of the query and without a similar meaning.
    """
    bm25 = [_bm25(candidate, prepared) for candidate in candidates]
    best = max(bm25, default=0.0) or 1.0
    smoothing = SMOOTHING_WITH_VECTORS if prepared.near else SMOOTHING
    near = _nearness(candidates, prepared.near)
    low, high = min(near, default=0.0), max(near, default=0.0)
    trust = min(1.0, (len(prepared.query.words) + prepared.query.unsaid) / ENOUGH_WORDS)
    matches = {c.entry.key: match / best for c, match in zip(candidates, bm25, strict=True)}
    peak = dict(matches)  # the best match within the session
    for turns in _sessions(c.entry for c in candidates):
        keys = [turn.key for turn in turns]
        peak |= dict.fromkeys(keys, max(matches[key] for key in keys))
    return [
        Features(
            match=math.log((match / best + smoothing) / (1 + smoothing)),
            session=peak[candidate.entry.key],
            speaker=prepared.speakers.sign(candidate.entry),
            date=_date_nearness(candidate.entry, prepared.query),
            opens=float(candidate.entry.kind == "message" and not candidate.before),
            noted=float(candidate.entry.kind != "message"),
            meaning=trust * (value - low) / max(high - low, MIN_SPREAD),
        )
        if match > 0 or value >= MIN_SIMILARITY
        else None
        for candidate, match, value in zip(candidates, bm25, near, strict=True)
    ]


def _nearness(
    candidates: Sequence[Candidate], near: Mapping[tuple[str, int], float]
) -> list[float]:
    """Return how similar candidates are in meaning, the turns beside them included.

    An entry without a vector counts as average. Without any vectors all are 0.
    """
    average = math.fsum(near.values()) / max(1, len(near))
    similarities = []
    for candidate in candidates:
        value = near.get(candidate.entry.key, average)
        if candidate.entry.kind == "message":
            neighbours = (*candidate.before[:1], *candidate.after[:1])
            beside = math.fsum(near.get(turn.key, average) for turn in neighbours)
            value = (value + NEIGHBOUR * beside) / (1 + 2 * NEIGHBOUR)
        similarities.append(value)
    return similarities


def words_in(candidate: Candidate, prepared: PreparedQuery) -> set[str]:
    """Return the query's words found in a candidate or in the turns around it."""
    turns = (candidate.entry, *candidate.before, *candidate.after)
    return {word for turn in turns for word in prepared.matcher.counts(turn)}


def _with_wording(features: Features, candidate: Candidate, query: Query) -> Features:
    """Add the features that depend on how the turn is worded."""
    text, is_message = candidate.entry.text, candidate.entry.kind == "message"
    tells_time = query.asks_when and not (is_message and _TIME.isdisjoint(index_words(text)))
    return features._replace(
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


def _bm25(candidate: Candidate, prepared: PreparedQuery) -> float:
    """Return the candidate's BM25F score, counting the turns around it in part."""
    counts = prepared.matcher.counts
    shares = [(1.0, candidate.entry)]
    shares += zip(BEFORE, candidate.before, strict=False)
    shares += zip(AFTER, candidate.after, strict=False)
    sums: dict[str, float] = {}
    for share, turn in shares:
        for word, count in counts(turn).items():
            sums[word] = sums.get(word, 0.0) + share * count
    return sum(
        prepared.weight[word] * count * (SATURATION + 1) / (SATURATION + count)
        for word, count in sums.items()
    )


def in_context(entries: Sequence[Entry]) -> list[Candidate]:
    """Return the entries as candidates, each message with its neighbours in the session."""
    candidates = [Candidate(entry) for entry in entries if entry.kind != "message"]
    for turns in _sessions(entries):
        for i, entry in enumerate(turns):
            if entry.found:
                before = tuple(turns[max(0, i - len(BEFORE)) : i][::-1])
                after = tuple(turns[i + 1 : i + 1 + len(AFTER)])
                candidates.append(Candidate(entry, before, after))
    return candidates


def _sessions(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Return the messages in order, split at conversations and at long silences."""
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
