"""Rank search candidates by their own text and the turns around them. No I/O.

A candidate's score is a weighted sum of its features, such as how well its words match
the query, who said it, when, and how similar it is in meaning. A long message is judged by
its best passage. The weights were chosen on halves of LoCoMo (friends who chat) and BEAM
(talk with an assistant); benchmarks/README.md says what each feature is worth there.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from operator import mul
from typing import NamedTuple

from construct.language.index_words import (
    fold,
    index_words,
    one_width,
    stem,
    with_whole_numbers,
    word_forms,
)
from construct.language.wordlists import TIME_WORDS
from construct.memory.recall.query import Query, akin, content_words
from construct.memory.recall.speakers import Speakers
from construct.store.passages import passages
from construct.store.search import KINDS, Entry

# Words are scored by BM25F (Robertson and Zaragoza, 2009) over a turn and its neighbours.
SATURATION = 0.6
"""BM25's k1: how quickly repeating a word stops adding to the score."""
LENGTH_DISCOUNT = 0.4
"""BM25's b: how strongly long turns are discounted."""
AVERAGE_WORDS = 24.0
"""Number of words of a turn or passage that is neither discounted nor favoured."""
FULL_CONTEXT_WORDS = 40
"""The words of a turn with more words than this count proportionally less for its neighbours.

Else every short question beside a long answer would seem to have the answer's words.
"""
LONGEST_WORDS = 500
"""A message with more words than this ranks no lower for its length."""
LONG_WORDS = 60
"""A message with more words than this is long.

Signs that are rare in short ones, such as a name, are in nearly every long one.
"""
WEIGHTS_BEFORE = (0.4, 0.25)
"""Weights of words in the turn just before, and in the one before that."""
WEIGHTS_AFTER = (0.2, 0.1)
"""Weights of words in the turn just after, and in the one after that."""
SESSION_GAP = timedelta(hours=4)
"""A silence longer than this ends a session."""
LONGEST_QUESTION = 300
"""Characters of a message that may ask just what the query asks."""
SMOOTHING = 0.1
"""Added to the relative BM25F score before taking its logarithm, which is undefined for 0."""

# Similarity of meaning is used when there are vectors (benchmarks/README.md).
SMOOTHING_WITH_VECTORS = 0.3
"""Replaces `SMOOTHING` when there are vectors, so that a missing word costs less."""
NEIGHBOUR_WEIGHT = 0.2
"""Weight of the similarity of each of the two neighbouring turns."""
MIN_SIMILARITY = 0.1
"""Lowest cosine similarity of a candidate that has no word of the query."""
ENOUGH_WORDS = 3
"""A query with fewer words than this makes similarity count proportionally less."""
MIN_SPREAD = 0.3
"""Smallest difference of similarities that is rescaled to the range from 0 to 1."""


class Features(NamedTuple):
    """The features that make up the score of a candidate, most of them from 0 to 1."""

    words: float = 0.0
    """Logarithm of the BM25F score relative to the best candidate's.

    0 for the best, negative for the others.
    """
    session_words: float = 0.0
    """The best relative BM25F score within the same session."""
    speaker: float = 0.0
    """1 if said by the participant the query means, -1 if by the other one."""
    date_nearness: float = 0.0
    """Closeness to a time that the query names."""
    answers_when: float = 0.0
    """1 if the query asks when and the entry has a day of its own or mentions a time."""
    follows_question: float = 0.0
    """1 if the turn before it contains a question."""
    is_question: float = 0.0
    """1 if it ends with a question."""
    asks_the_same: float = 0.0
    """1 if it is a question that has no words but the query's: it answers nothing."""
    opens_session: float = 0.0
    """1 for the first message of a session: people come back with news."""
    names: float = 0.0
    """Number of capitalised words that do not begin a sentence, up to three."""
    length: float = 0.0
    """Logarithm of how much longer than `LONG_WORDS` a message is."""
    is_remembered: float = 0.0
    """1 for an observation, 0 for a message."""
    meaning: float = 0.0
    """Similarity of meaning: 0 for the least similar candidate, up to 1 for the most."""


WEIGHTS = Features(
    words=2.7,
    session_words=3.2,
    speaker=1.0,
    date_nearness=4.5,
    answers_when=1.9,
    follows_question=0.8,
    is_question=-0.5,
    asks_the_same=-1.0,
    opens_session=1.0,
    names=0.3,
    length=-1.0,
    is_remembered=1.0,
    meaning=6.0,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry to rank, with the turns around it, nearest first."""

    entry: Entry
    before: tuple[Entry, ...] = ()
    after: tuple[Entry, ...] = ()


def inverse_frequencies(row_counts: Mapping[str, int], total: int) -> dict[str, float]:
    """Return each word's inverse document frequency, from the number of rows that have it."""
    return {
        word: math.log(1 + (max(total, count) - count + 0.5) / (count + 0.5))
        for word, count in row_counts.items()
    }


class Matcher:
    """Finds the words of a query, in any of their forms, in texts."""

    def __init__(self, words: Iterable[str], pieces: Sequence[str] = ()) -> None:
        self._by_stem: dict[str, tuple[str, str]] = {}
        """By stem: the query's word, and the form of it that has this stem."""
        for word in words:
            self._by_stem.update((stem(form), (word, form)) for form in word_forms(word))
        self._pieces = pieces
        self._counted: dict[tuple[str, int], CountedText] = {}
        """By key of an entry already counted."""
        beginnings = {re.escape(root[: max(1, min(3, len(root) - 1))]) for root in self._by_stem}
        # A cheap first filter: words with the first letters of a query word.
        any_beginning = "|".join(sorted(beginnings)) or "(?!)"
        self._likely = re.compile(rf"(?<![^\W_])(?:{any_beginning})[^\W_]*")

    def counted(self, entry: Entry) -> "CountedText":
        """Return how often the query's words are in the entry. Cached."""
        if entry.key not in self._counted:
            self._counted[entry.key] = self._count(entry.text)
        return self._counted[entry.key]

    def counts(self, entry: Entry) -> Mapping[str, float]:
        """Return length-normalised counts of the query's words in the entry."""
        return self.counted(entry).counts

    def counts_in(self, text: str) -> Mapping[str, float]:
        """Return length-normalised counts of the query's words in a text."""
        return self._count(text).counts

    def _count(self, text: str) -> "CountedText":
        parts = [(self._found(part), words_of(part)) for part in passages(text)]
        if len(parts) == 1:
            found, words = parts[0]
            counts = _normalised(found, words)
            return CountedText(counts, words, (counts,))
        total: Counter[str] = Counter()
        for found, _ in parts:
            total.update(found)
        words = sum(words for _, words in parts)
        return CountedText(
            _normalised(total, words), words, tuple(_normalised(*part) for part in parts)
        )

    def _found(self, text: str) -> Counter[str]:
        """Return how often each of the query's words is in a text."""
        found: Counter[str] = Counter()
        folded = fold(text)
        for text_word in self._likely.findall(with_whole_numbers(folded)):
            query_word, form = self._by_stem.get(stem(text_word), ("", ""))
            if query_word and akin(text_word, form):
                found[query_word] += 1
        for piece in self._pieces:
            searched = folded if piece.isascii() else one_width(text).lower()
            if count := searched.count(piece):
                found[piece] = count
        return found


@dataclass(frozen=True, slots=True)
class CountedText:
    """How often the words of a query are in a text, discounted for the text's length."""

    counts: Mapping[str, float]
    words: int
    """About how many words the whole text has."""
    passages: Sequence[Mapping[str, float]]
    """The counts in each passage, discounted for its own length."""


def words_of(text: str) -> int:
    """Return about how many words a text has, also in a script without spaces."""
    return max(1 + text.count(" ") + text.count("\n"), len(text) // 12)


def _normalised(counts: Mapping[str, int], words: int) -> Mapping[str, float]:
    length = 1 - LENGTH_DISCOUNT + LENGTH_DISCOUNT * words / AVERAGE_WORDS
    return {word: count / length for word, count in counts.items()}


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query and what was looked up in the database to rank candidates for it."""

    query: Query
    word_weights: Mapping[str, float]
    """Inverse document frequency of each word."""
    matcher: Matcher
    speakers: Speakers
    similarities: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """Cosine similarity, from -1 to 1, by key of the entry. Empty without vectors."""
    of_days: Collection[tuple[str, int]] = ()
    """Keys of the entries of a day that the query names: they need no word of it."""


def rank(
    candidates: Sequence[Candidate], prepared: PreparedQuery, limit: int
) -> list[tuple[Candidate, Features]]:
    """Return the best candidates with their features, best first.

    Of candidates with the same score, messages come first, then the newest.
    """
    judged = []
    for candidate, features in zip(candidates, _features(candidates, prepared), strict=True):
        if features is not None:
            judged.append((candidate, _with_wording(features, candidate, prepared)))
    return sorted(judged, key=_order)[:limit]


def _order(pair: tuple[Candidate, Features]) -> tuple[float, int, int]:
    candidate, features = pair
    entry = candidate.entry
    return -score(features), KINDS.index(entry.kind), -entry.id


def shortlist(entries: Sequence[Entry], prepared: PreparedQuery, limit: int) -> list[Entry]:
    """Return the best entries, judged without the turns around them."""
    if len(entries) <= limit:
        return list(entries)
    features_of_all = _features([Candidate(entry) for entry in entries], prepared)
    scored = [(-score(features), i) for i, features in enumerate(features_of_all) if features]
    return [entries[i] for _, i in sorted(scored)[:limit]]


def score(features: Features) -> float:
    """Return the candidate's score. Scores of different queries cannot be compared."""
    return math.fsum(map(mul, WEIGHTS, features))


def _features(candidates: Sequence[Candidate], prepared: PreparedQuery) -> list[Features | None]:
    """Return each candidate's features, except those that `_with_wording` adds.

    None for a candidate without a word of the query and without a similar meaning.
    """
    bm25 = [_bm25(candidate, prepared) for candidate in candidates]
    highest = max(bm25, default=0.0) or 1.0
    matches = {c.entry.key: value / highest for c, value in zip(candidates, bm25, strict=True)}
    best_of_session = dict(matches)
    for turns in _sessions(candidate.entry for candidate in candidates):
        keys = [turn.key for turn in turns]
        best_of_session |= dict.fromkeys(keys, max(matches[key] for key in keys))
    smoothing = SMOOTHING_WITH_VECTORS if prepared.similarities else SMOOTHING
    similarities = _similarities(candidates, prepared.similarities)
    lowest = min(similarities, default=0.0)
    spread = max(max(similarities, default=0.0) - lowest, MIN_SPREAD)
    trust = min(1.0, (len(prepared.query.words) + prepared.query.unknown_count) / ENOUGH_WORDS)
    features: list[Features | None] = []
    for candidate, value, similarity in zip(candidates, bm25, similarities, strict=True):
        entry = candidate.entry
        of_the_day = entry.key in prepared.of_days
        if value <= 0 and similarity < MIN_SIMILARITY and not of_the_day:
            features.append(None)
            continue
        is_message = entry.kind == "message"
        features.append(
            Features(
                words=math.log((value / highest + smoothing) / (1 + smoothing)),
                session_words=best_of_session[entry.key],
                speaker=prepared.speakers.sign(entry),
                date_nearness=_date_nearness(entry, prepared.query),
                opens_session=float(is_message and not candidate.before),
                length=_length(entry, prepared),
                is_remembered=float(not is_message),
                meaning=trust * (similarity - lowest) / spread,
            )
        )
    return features


def _similarities(
    candidates: Sequence[Candidate], by_key: Mapping[tuple[str, int], float]
) -> list[float]:
    """Return how similar candidates are in meaning, neighbouring turns included.

    An entry without a vector counts as average. Without any vectors all are 0.
    """
    average = math.fsum(by_key.values()) / max(1, len(by_key))
    similarities = []
    for candidate in candidates:
        similarity = by_key.get(candidate.entry.key, average)
        if candidate.entry.kind == "message":
            neighbours = (*candidate.before[:1], *candidate.after[:1])
            of_neighbours = math.fsum(by_key.get(turn.key, average) for turn in neighbours)
            weighted = similarity + NEIGHBOUR_WEIGHT * of_neighbours
            similarity = weighted / (1 + 2 * NEIGHBOUR_WEIGHT)
        similarities.append(similarity)
    return similarities


def words_in(candidate: Candidate, prepared: PreparedQuery) -> set[str]:
    """Return the query's words found in a candidate or in the turns around it."""
    turns = (candidate.entry, *candidate.before, *candidate.after)
    return set().union(*map(prepared.matcher.counts, turns))


_TIME = frozenset(TIME_WORDS)
# "Porto" in "I live in Porto."
_CAPITAL = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")


def _with_wording(features: Features, candidate: Candidate, prepared: PreparedQuery) -> Features:
    """Add the features that depend on how the turn is worded."""
    text, is_message = candidate.entry.text, candidate.entry.kind == "message"
    # Observations have a day of their own.
    answers_when = prepared.query.asks_when and (
        not is_message or not _TIME.isdisjoint(index_words(text))
    )
    weight = min(1.0, LONG_WORDS / prepared.matcher.counted(candidate.entry).words)
    follows_question = any("?" in turn.text for turn in candidate.before[:1])
    return features._replace(
        answers_when=float(answers_when),
        follows_question=weight * follows_question,
        is_question=float(is_message and text.rstrip().endswith("?")),
        asks_the_same=float(is_message and asks_the_same(text, prepared.query)),
        names=weight * min(3, len(_CAPITAL.findall(text))),
    )


def asks_the_same(text: str, query: Query) -> bool:
    """Return whether a text is a question that has no content words but those of a query."""
    marks = ("?", "？")
    if len(text) > LONGEST_QUESTION or not text.rstrip().endswith(marks):
        return False
    if not query.text.rstrip().endswith(marks):  # words to look for, not a question
        return False
    return set(map(stem, content_words(text))) <= set(map(stem, index_words(query.text)))


def _length(entry: Entry, prepared: PreparedQuery) -> float:
    if entry.kind != "message":
        return 0.0
    words = min(prepared.matcher.counted(entry).words, LONGEST_WORDS)
    return max(0.0, math.log(words / LONG_WORDS))


def _date_nearness(entry: Entry, query: Query) -> float:
    """Return how close one of the entry's days is to a time the query names, from 0 to 1."""
    if not query.dates:
        return 0.0
    texts = [text for text in (entry.day, entry.about) if text] or [entry.moment[:10]]
    days = [date.fromisoformat(text) for text in texts]
    return max(max(map(period.nearness, days)) for period in query.dates)


def _bm25(candidate: Candidate, prepared: PreparedQuery) -> float:
    """Return the BM25F score of the candidate's best passage, the turns around it in part."""
    around: dict[str, float] = {}
    for weight, turn in (
        *zip(WEIGHTS_BEFORE, candidate.before, strict=False),
        *zip(WEIGHTS_AFTER, candidate.after, strict=False),
    ):
        counted = prepared.matcher.counted(turn)
        weight *= min(1.0, FULL_CONTEXT_WORDS / counted.words)
        for word, count in counted.counts.items():
            around[word] = around.get(word, 0.0) + weight * count
    return max(
        _bm25_of(passage, around, prepared)
        for passage in prepared.matcher.counted(candidate.entry).passages
    )


def _bm25_of(
    counts: Mapping[str, float], around: Mapping[str, float], prepared: PreparedQuery
) -> float:
    score = 0.0
    for word in counts.keys() | around.keys():
        count = counts.get(word, 0.0) + around.get(word, 0.0)
        score += prepared.word_weights[word] * count * (SATURATION + 1) / (SATURATION + count)
    return score


def best_passage(entry: Entry, prepared: PreparedQuery) -> int:
    """Return the number of the passage that has most of the query, the first of several."""
    of_passages = prepared.matcher.counted(entry).passages
    scores = [_bm25_of(counts, {}, prepared) for counts in of_passages]
    return scores.index(max(scores))


def in_context(entries: Sequence[Entry]) -> list[Candidate]:
    """Return the searchable entries as candidates, messages with neighbours in the session."""
    candidates = [Candidate(entry) for entry in entries if entry.kind != "message"]
    for turns in _sessions(entries):
        for i, entry in enumerate(turns):
            if entry.is_searchable:
                before = tuple(turns[max(0, i - len(WEIGHTS_BEFORE)) : i][::-1])
                after = tuple(turns[i + 1 : i + 1 + len(WEIGHTS_AFTER)])
                candidates.append(Candidate(entry, before, after))
    return candidates


def _sessions(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Return the messages in order, split at conversations and at long silences."""
    messages = (entry for entry in entries if entry.kind == "message")
    sessions: list[list[Entry]] = []
    previous: Entry | None = None
    for entry in sorted(messages, key=lambda e: (e.conversation or 0, e.id)):
        if previous is None or not _in_one_session(previous, entry):
            sessions.append([])
        sessions[-1].append(entry)
        previous = entry
    return sessions


def _in_one_session(earlier: Entry, later: Entry) -> bool:
    if earlier.conversation != later.conversation:
        return False
    silence = datetime.fromisoformat(later.moment) - datetime.fromisoformat(earlier.moment)
    return silence <= SESSION_GAP
