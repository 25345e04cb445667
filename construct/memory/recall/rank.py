"""Ranking what the index found: pure functions over candidates and the turns around them.

A candidate's score is a weighted sum of a few features. The weights were fitted on LoCoMo's five development
conversations as a softmax regression; benchmarks/README.md has the figures for conversations left out of the fit.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from operator import mul
from typing import NamedTuple

from construct.memory.language.stem import fold, forms, stem, words
from construct.memory.language.wordlists import TIME_WORDS
from construct.memory.recall.names import Speakers
from construct.memory.recall.query import Query, akin
from construct.store.search import KINDS, Entry

# How words count: BM25F (Robertson and Zaragoza, 2009) over a turn and its neighbours.
SATURATION = 0.6  # k1: how soon saying a word again adds nothing
LENGTH = 0.4  # b: how far a long turn is discounted
BEFORE = (0.4, 0.25)  # what a word in the turn before counts, and in the one before that
AFTER = (0.2, 0.1)  # the same for the turns after
USUAL_WORDS = 24.0  # in a turn, for the discount
SESSION_GAP_HOURS = 4.0  # a silence that ends a session
LEAST = 0.1  # keeps the logarithm of a small match finite
# How meaning counts, where vectors are there (benchmarks/README.md):
LEAST_NEAR = 0.3  # in the place of LEAST: not to hold a word says less
NEIGHBOUR = 0.2  # what the nearness of the turn before and of the turn after counts
FAINT = 0.1  # what holds none of the words and is less near than this is not found at all
ENOUGH_WORDS = 3  # what fewer words mean tells less than that they were said
SPREAD = 0.3  # the least spread of nearness that is stretched from 0 to 1


class Features(NamedTuple):
    """What is known of one candidate, each about 0 to 1."""

    match: float = 0.0
    """log of BM25F, 0 for the best candidate of the query."""
    session: float = 0.0
    """The best match within the same session."""
    speaker: float = 0.0
    """1 said by the one who is named, -1 by the other."""
    date: float = 0.0
    """Nearness to a time that is named."""
    when: float = 0.0
    """It tells a time, and one is asked for."""
    reply: float = 0.0
    """The turn before asks something."""
    asks: float = 0.0
    """It ends with a question."""
    opens: float = 0.0
    """It opens a session: who comes back has news."""
    names: float = 0.0
    """Words with a capital within it, up to three."""
    tells: float = 0.0
    """First person, up to three."""
    noted: float = 0.0
    """It is an observation or a memory, a fact already."""
    meaning: float = 0.0
    """How near it is in meaning, 0 for the farthest candidate and 1 for the nearest; 0 without vectors."""


WEIGHTS = Features(2.7, 3.2, 1.0, 4.5, 1.9, 0.8, -0.5, 1.0, 0.3, 0.1, 1.0, 5.0)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry with the turns around it, nearest first."""

    entry: Entry
    before: tuple[Entry, ...] = ()
    after: tuple[Entry, ...] = ()


def weights(frequency: Mapping[str, int], total: int) -> dict[str, float]:
    """Return how much each word tells (idf), from the number of rows that have it."""
    return {word: math.log(1 + (max(total, df) - df + 0.5) / (df + 0.5)) for word, df in frequency.items()}


class Matcher:
    """Finds a query's words, in any of their forms, and pieces of words in texts."""

    def __init__(self, wanted: Iterable[str], pieces: Sequence[str] = ()) -> None:
        self._word_of = {stem(form): (word, form) for word in wanted for form in forms(word)}
        self._pieces = pieces
        self._seen: dict[tuple[str, int], dict[str, float]] = {}

    @cached_property
    def _likely(self) -> re.Pattern[str] | None:
        """Words that begin as one of those wanted does; made when there is a text to look into, which takes 0.1 ms."""
        starts = sorted({re.escape(root[: max(1, min(3, len(root) - 1))]) for root in self._word_of})
        return re.compile(rf"(?<![^\W_])(?:{'|'.join(starts)})[^\W_]*") if starts else None

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
        for word in self._likely.findall(folded) if self._likely else ():
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


def ranked(candidates: Sequence[Candidate], asked: Asked, most: int) -> list[tuple[Candidate, Features]]:
    """Return at most so many candidates with their features, best first; of equals messages first, then the newest."""
    own = [_match(candidate, asked) for candidate in candidates]
    pairs = zip(candidates, _features(candidates, own, asked), strict=True)
    found = sorted(((candidate, first) for candidate, first in pairs if first), key=_order)[: 2 * most + _LATE]
    return sorted(((candidate, _told(first, candidate, asked.query)) for candidate, first in found), key=_order)[:most]


_LATE = 100  # how far below the last place how a turn is put may lift it from


def _order(pair: tuple[Candidate, Features]) -> tuple[float, int, int]:
    entry = pair[0].entry
    return -score(pair[1]), KINDS.index(entry.kind), -entry.id


def shortlist(entries: Sequence[Entry], asked: Asked, most: int) -> list[Entry]:
    """Return the entries that stand best by what is known before the turns around them are read."""
    if len(entries) <= most:
        return list(entries)
    alone = [Candidate(entry) for entry in entries]
    features = _features(alone, [_match(candidate, asked) for candidate in alone], asked)
    best = sorted(((-score(first), i) for i, first in enumerate(features) if first))[:most]
    return [entries[i] for _, i in best]


def score(features: Features) -> float:
    """Return the candidate's standing: higher is better, comparable within one query only."""
    return math.fsum(map(mul, WEIGHTS, features))


def _features(candidates: Sequence[Candidate], own: Sequence[float], asked: Asked) -> list[Features | None]:
    """Return the features that need no text, given how well each candidate's words match.

    None for what holds none of the words and is not near in meaning either.
    """
    best = max(own, default=0.0) or 1.0
    least = LEAST_NEAR if asked.near else LEAST
    near = _near(candidates, asked.near)
    trust = min(1.0, (len(asked.query.words) + asked.query.unsaid) / ENOUGH_WORDS)
    session = _sessions(candidates)
    peak: dict[object, float] = {}
    for key, match in zip(session, own, strict=True):
        peak[key] = max(match / best, peak.get(key, 0.0))
    return [
        Features(
            match=math.log((match / best + least) / (1 + least)),
            session=peak[key],
            speaker=asked.speakers.sign(candidate.entry),
            date=_nearness(candidate.entry, asked.query),
            opens=float(candidate.entry.kind == "message" and not candidate.before),
            noted=float(candidate.entry.kind != "message"),
            meaning=trust * meaning,
        )
        if match > 0 or value >= FAINT
        else None
        for candidate, match, key, value, meaning in zip(candidates, own, session, near, _stretched(near), strict=True)
    ]


def _near(candidates: Sequence[Candidate], near: Mapping[tuple[str, int], float]) -> list[float]:
    """Return how near candidates are in meaning, with the turns beside them; 0 without vectors."""
    if not near:
        return [0.0] * len(candidates)
    usual = math.fsum(near.values()) / len(near)
    return [_near_in_context(candidate, near, usual) for candidate in candidates]


def _stretched(values: Sequence[float]) -> list[float]:
    """Return values from 0 for the lowest to 1 for the highest, less where they lie close together."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / max(high - low, SPREAD) for value in values]


def _near_in_context(candidate: Candidate, near: Mapping[tuple[str, int], float], usual: float) -> float:
    """Return a candidate's nearness with that of the turns beside it; what has no vector yet is as near as usual."""
    own = near.get(candidate.entry.key, usual)
    if candidate.entry.kind != "message":
        return own
    beside = [near.get(e.key, usual) for e in (*candidate.before[:1], *candidate.after[:1])]
    return (own + NEIGHBOUR * math.fsum(beside)) / (1 + 2 * NEIGHBOUR)


def held(candidate: Candidate, asked: Asked) -> set[str]:
    """Return the words of the query that stand in a candidate and the turns around it."""
    turns = (candidate.entry, *candidate.before, *candidate.after)
    return {word for turn in turns for word in asked.matcher.counts(turn)}


def share_held(candidate: Candidate, asked: Asked, *, with_unsaid: bool) -> float:
    """Return the share of the query's words that stand in a candidate and the turns around it.

    A word searched in the place of another counts as that one; other words that nothing holds only if asked for.
    """
    others = asked.query.unsaid - len(asked.query.spelt) if with_unsaid else 0
    return len(held(candidate, asked)) / max(1, len(asked.weight) + others)


def _told(first: Features, candidate: Candidate, query: Query) -> Features:
    """Return the features with those that lie in how the turn is put."""
    text = candidate.entry.text
    names = float(min(3, len(_CAPITAL.findall(text))))
    tells = float(min(3, len(_FIRST_PERSON.findall(text))))
    if candidate.entry.kind != "message":
        return first._replace(when=float(query.asks_when), names=names, tells=tells)
    return first._replace(
        when=float(query.asks_when and not _TIME.isdisjoint(words(text))),
        reply=float(any("?" in turn.text for turn in candidate.before[:1])),
        asks=float(text.rstrip().endswith("?")),
        names=names,
        tells=tells,
    )


_TIME = frozenset(TIME_WORDS)
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm][ey]|[Ww]e|[Oo]ur)\b")
_CAPITAL = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")


def _nearness(entry: Entry, query: Query) -> float:
    if not query.dates:
        return 0.0
    return max(span.nearness(day) for span in query.dates for day in _days(entry))


def _days(entry: Entry) -> list[date]:
    texts = [text for text in (entry.day, entry.about) if text] or [entry.moment[:10]]
    return [date.fromisoformat(text) for text in texts]


def _match(candidate: Candidate, asked: Asked) -> float:
    """Return BM25F of a turn and its neighbours."""
    counts = asked.matcher.counts
    held = [(1.0, counts(candidate.entry))]
    held += [(share, counts(turn)) for share, turn in zip(BEFORE, candidate.before, strict=False)]
    held += [(share, counts(turn)) for share, turn in zip(AFTER, candidate.after, strict=False)]
    sums: dict[str, float] = {}
    for share, found in held:
        if found:
            for word, much in found.items():
                sums[word] = sums.get(word, 0.0) + share * much
    weight = asked.weight
    return sum([weight[word] * much * (SATURATION + 1) / (SATURATION + much) for word, much in sums.items()])


def in_context(entries: Sequence[Entry]) -> list[Candidate]:
    """Return what was read as candidates, each message with the turns around it of the same session."""
    candidates = [Candidate(entry) for entry in entries if entry.kind != "message"]
    for run in _runs(
        (entry for entry in entries if entry.kind == "message"), key=lambda e: (e.conversation or 0, e.id)
    ):
        for i, entry in enumerate(run):
            if entry.found:
                before = tuple(run[max(0, i - len(BEFORE)) : i][::-1])
                candidates.append(Candidate(entry, before, tuple(run[i + 1 : i + 1 + len(AFTER)])))
    return candidates


def _sessions(candidates: Sequence[Candidate]) -> list[object]:
    """Return a key per candidate, one for each run of turns without a long silence."""
    said = (c.entry for c in candidates if c.entry.kind == "message")
    runs = _runs(said, key=lambda e: (e.conversation or 0, e.moment, e.id))
    keys = {entry.id: number for number, run in enumerate(runs) for entry in run}
    return [keys[c.entry.id] if c.entry.kind == "message" else c.entry.key for c in candidates]


def _runs(entries: Iterable[Entry], key: Callable[[Entry], tuple[object, ...]]) -> list[list[Entry]]:
    """Return the entries in order, divided by conversation and where there is a long silence."""
    runs: list[list[Entry]] = []
    last: tuple[int | None, datetime] | None = None
    for entry in sorted(entries, key=key):
        moment = datetime.fromisoformat(entry.moment)
        if last is None or last[0] != entry.conversation or moment - last[1] > _GAP:
            runs.append([])
        runs[-1].append(entry)
        last = entry.conversation, moment
    return runs


_GAP = timedelta(hours=SESSION_GAP_HOURS)
