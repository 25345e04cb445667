"""Find earlier passages that bear on the newest message.

They are added to the prompt without the model asking for them, and no language model is
called. A passage must have the rarest word of a sentence in the message, and enough of
the sentence's other words that chance does not explain it. If search by meaning is set
up, a similar meaning can make up for some of these words, or for all of them. The cost
of the search by words does not grow with the database, because counting words and
reading rows both stop at a limit.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain
from typing import NamedTuple

from construct import tokens
from construct.clock import Clock
from construct.language.index_words import stem
from construct.language.wordlists import SMALL_TALK, TIME_WORDS
from construct.memory.recall.meaning import Meaning, without_names
from construct.memory.recall.query import (
    Query,
    analyse,
    any_of,
    asked_days,
    capitalised_words,
    excerpt,
    with_one_of,
    without_time,
)
from construct.memory.recall.rank import (
    Matcher,
    PreparedQuery,
    asks_the_same,
    inverse_frequencies,
    rank,
)
from construct.memory.recall.search import Hit, RankedEntry, as_hit, quoted, with_neighbours
from construct.memory.recall.speakers import (
    MIN_CALLS,
    Speakers,
    Turn,
    addresses,
    identify_speakers,
    participant_names,
)
from construct.store import search
from construct.store.driver import Connection
from construct.store.search import Entry, Filters
from construct.vocabulary import Role

BUDGET = 120
"""Tokens of all passages of a turn. They are not cached, so every turn pays for them."""
OVERHEAD = 12
"""Tokens of a passage's date and speaker."""
MAX_PASSAGES = 3
"""The most passages for a turn."""
SNIPPET = 240
"""The most characters of a passage."""
MAX_SENTENCES = 2
"""Sentences of a message that are searched for: questions first, then the last ones."""
MAX_WORDS = 8
"""Words of a sentence that are searched for, the rarest ones."""
CANDIDATES = 20
"""The most entries that are ranked."""
MIN_WEIGHT_SHARE = 0.6
"""Share of the weight of all words of a sentence that a passage must have."""
MAX_BY_CHANCE = 3.0
"""A passage counts only if fewer rows than this are expected to have its words by chance."""
SURE_SIMILARITY = 0.85
"""Cosine similarity at which a passage needs no word of the message."""
WEIGHT_WITH_SIMILARITY = 0.5
"""Factor for the weight of a passage's words when its similarity is added to it."""
MAX_SIMILAR = 5
"""Entries of each kind that are considered because of their similar meaning."""
ROWS_READ = 50
"""Newest rows that are read for a word. The number of further rows is estimated."""
MAX_NAME_SHARE = 0.02
"""A name in more of the messages than this says nothing by itself."""
MAX_ESTIMATED_SHARE = 0.05
"""The highest such estimate, as a share of all rows: a recent topic is not a common word."""

_MAX_CHARACTERS = 8_000
"""Characters at the end of a message that are read."""
_IDLE_STEMS = frozenset(map(stem, (*SMALL_TALK, *TIME_WORDS)))
"""Stems of small talk and of times: they say nothing about a topic."""

# "Where was it?" and "I forgot." in "Where was it? I forgot."; "am 7. November" goes on
_SENTENCE = re.compile(r"(?:(?<!\d)\d{1,2}\.(?=\s)|[^.!?\n。！？])+[.!?。！？]*")
# "and when was that", or anything with a question mark
_FOLLOW_UP_QUESTION = re.compile(
    r"[?？]|^\W*(?:(?:and|but|so)\b\W*)?(?:when|where|who|whom|whose|which|what|why|how)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class DocumentFrequency:
    """How many messages have each word.

    Observations repeat what was said, so they count only for a word that no message has.
    """

    total: int
    """The approximate number of messages."""
    counts: Mapping[str, int]
    """How many messages have each word in any form, estimated for common words.

    For a word that no message has: how many observations have it.
    """
    newest: Mapping[str, Sequence[int]]
    """The ids of the newest messages with each word, newest first, up to `ROWS_READ`."""


class _Passage(NamedTuple):
    """A passage, and the weight by which it is compared with passages for other sentences."""

    weight: float
    hit: Hit

    @property
    def key(self) -> tuple[str, int]:
        return self.hit.kind, self.hit.id


def passages(
    db: Connection,
    newest: str,
    previous: str = "",
    known: Collection[tuple[str, int]] = (),
    *,
    today: date | None = None,
    filters: Filters = Filters(),
    meaning: Meaning | None = None,
) -> list[Hit]:
    """Return the best passages for the newest message, cut to the part that matches.

    Empty if none is good enough. If the message is a question without words to search for
    ("and when was that?"), the words of `previous` are searched for. `known`: (kind, id)
    of the entries that the model sees anyway; passages that only repeat them are left out.
    """
    today = today or Clock(zone=filters.zone).today()
    queries = _queries(newest, today)
    if not queries and _FOLLOW_UP_QUESTION.search(newest):
        queries = _queries(previous, today)
    words = dict.fromkeys(chain.from_iterable(query.words for query in queries))
    frequency = document_frequency(db, list(words))
    best_by_key: dict[tuple[str, int], _Passage] = {}
    for query in queries:
        days = _days_asked_about(query, today)
        for passage in _passages_for(db, query, frequency, set(known), filters, meaning, days):
            best = best_by_key.get(passage.key)
            if best is None or passage.weight > best.weight:
                best_by_key[passage.key] = passage
    in_order = sorted(best_by_key.values(), key=lambda p: (-p.weight, p.hit.kind, -p.hit.id))
    return _fitting(passage.hit for passage in in_order)


def _queries(text: str, today: date) -> list[Query]:
    """Return queries for the sentences worth searching for: questions first, then the last."""
    sentences = _SENTENCE.findall(text[-_MAX_CHARACTERS:])
    last_first = [sentence for sentence in reversed(sentences) if sentence.strip()]
    last_first.sort(key=lambda sentence: not sentence.rstrip().endswith(("?", "？")))
    queries = []
    for sentence in last_first:
        query = analyse(sentence, today)
        words = tuple(w for w in without_time(query) if stem(w) not in _IDLE_STEMS)
        if (words and not query.only_stop_words) or _days_asked_about(query, today):
            queries.append(replace(query, words=words, phrases=()))
        if len(queries) == MAX_SENTENCES:
            break
    return queries


def _passages_for(
    db: Connection,
    query: Query,
    frequency: DocumentFrequency,
    known: set[tuple[str, int]],
    filters: Filters,
    meaning: Meaning | None,
    days: Sequence[tuple[date, date]],
) -> list[_Passage]:
    """Return the best passages for one sentence; `days` are those that it names."""
    often_said = tuple(word for word in query.words if frequency.counts[word] >= MIN_CALLS)
    names = participant_names(db, replace(query, words=often_said))
    others = [word for word in query.words if word not in names]
    words = sorted(others, key=frequency.counts.__getitem__)[:MAX_WORDS]
    of_days = []
    if days:
        words = [word for word in words if frequency.counts[word]]
        of_days = _of_days(db, words, days, filters)
    if not words and not of_days:
        return []
    row_counts = {word: frequency.counts[word] for word in words}
    word_weights = inverse_frequencies(row_counts, frequency.total)
    # Words that weigh w together are expected by chance in about total / e**w rows.
    not_by_chance = math.log(max(1, frequency.total) / MAX_BY_CHANCE)
    min_weight = max(MIN_WEIGHT_SHARE * sum(word_weights.values()), not_by_chance)
    similarities = None
    if meaning:
        compared_text = without_names(query.text, names)
        similarities = meaning.similarities(db, compared_text, filters.kinds())
    prepared = PreparedQuery(
        query, word_weights, Matcher(words), Speakers(), of_days={entry.key for entry in of_days}
    )
    if _is_name(words, query, frequency):
        min_weight = word_weights[words[0]]
    entries = of_days or _with_words(
        db, words, word_weights, min_weight, frequency, filters, uses_meaning=bool(similarities)
    )
    if similarities and not of_days:
        for kind in filters.kinds():
            similar = _active(db, kind, similarities.nearest(kind, MAX_SIMILAR), filters)
            entries += [entry for entry in similar if entry not in entries]
        prepared = replace(prepared, similarities=similarities.of(entries))
    weights = {entry.key: _weight(entry, prepared, min_weight) for entry in entries}
    if of_days:
        weights = dict.fromkeys(weights, min_weight)
    candidates = [
        entry
        for entry in entries
        if weights[entry.key] >= min_weight
        and entry.key not in known
        and not asks_the_same(entry.text, query)
    ]
    candidates.sort(key=lambda entry: -weights[entry.key])
    # "Claude, where is my key?" does not ask what Claude said.
    asked_about = {n: turns for n, turns in names.items() if not addresses(query.text, n)}
    best = _best(db, candidates[:CANDIDATES], prepared, asked_about, filters)
    result = []
    for entry in _without_seen(db, best, prepared.matcher, known):
        hit = as_hit(RankedEntry(entry, 0.0), filters.zone)
        hit = quoted(hit, entry, prepared.matcher, row_counts)
        cut = replace(hit, text=excerpt(hit.text, words, SNIPPET))
        result.append(_Passage(weights[entry.key], cut))
    return result


def _days_asked_about(query: Query, today: date) -> list[tuple[date, date]]:
    """Return the days that a question names: "we cook tonight" asks for none."""
    return asked_days(query, today) if _FOLLOW_UP_QUESTION.search(query.text) else []


def _is_name(words: Sequence[str], query: Query, frequency: DocumentFrequency) -> bool:
    """Return whether a sentence asks about one name: "Tell me about Ottoline."."""
    if len(words) != 1 or words[0] not in capitalised_words(query.text):
        return False
    return 0 < frequency.counts[words[0]] <= max(ROWS_READ, MAX_NAME_SHARE * frequency.total)


def _of_days(
    db: Connection, words: Sequence[str], days: Sequence[tuple[date, date]], filters: Filters
) -> list[Entry]:
    """Return the entries of days that have any of these words; all of them without words."""
    entries = [
        entry
        for kind in filters.kinds()
        for first, last in days
        for entry in search.within_days(db, kind, first, last, filters, ROWS_READ)
        if entry.state not in ("pending", "superseded")
    ]
    if not words:
        return [entry for entry in entries if entry.role != Role.ASSISTANT] or entries
    matcher = Matcher(words)
    return [entry for entry in entries if matcher.counts(entry)]


def _with_words(
    db: Connection,
    words: Sequence[str],
    word_weights: Mapping[str, float],
    min_weight: float,
    frequency: DocumentFrequency,
    filters: Filters,
    *,
    uses_meaning: bool,
) -> list[Entry]:
    """Return the entries that have the rarest word and may reach the weight they need.

    `words`: the rarest first. If an entry needs a second word, any other one will do with
    `uses_meaning`, because similarity of meaning may add the rest.
    """
    rarest, *others = words
    count = frequency.counts[rarest]
    is_telling = len(words) > 1 or word_weights[rarest] <= min_weight or count <= MAX_BY_CHANCE
    if not count or not is_telling or sum(word_weights.values()) < min_weight:
        return []
    second_words = _needed_words(words, word_weights, min_weight)
    if second_words and uses_meaning:
        second_words = others
    newest = newest_with(db, rarest, frequency)
    entries: list[Entry] = []
    for kind in filters.kinds():
        ids = newest[kind]
        if ids and second_words:
            ids = search.matches_from(db, kind, with_one_of(rarest, second_words), ids[-1])
        entries += _active(db, kind, ids, filters)
    return entries


def _best(
    db: Connection,
    entries: Sequence[Entry],
    prepared: PreparedQuery,
    names: Mapping[str, Sequence[Turn]],
    filters: Filters,
) -> list[Entry]:
    """Return the best entries, ranked, without those of a speaker not asked about."""
    candidates = with_neighbours(db, entries, filters, as_candidates=False)
    read = [candidate.entry for candidate in candidates]
    speakers = identify_speakers(names, read, prepared.query.role)
    in_order = rank(candidates, replace(prepared, speakers=speakers), CANDIDATES)
    best = [candidate.entry for candidate, features in in_order if features.speaker >= 0]
    return best[:MAX_PASSAGES]


def _needed_words(
    words: Sequence[str], word_weights: Mapping[str, float], min_weight: float
) -> Sequence[str]:
    """Return the words of which an entry must have one besides the rarest.

    Without them, all its other words together would not reach the weight it needs.
    `words`: the rarest first. Empty if the rarest word alone can be enough.
    """
    weight_left = sum(word_weights.values())
    for end, word in enumerate(words[1:], 2):
        weight_left -= word_weights[word]
        if weight_left < min_weight:
            return words[1:end]
    return ()


def _active(db: Connection, kind: str, ids: Iterable[int], filters: Filters) -> list[Entry]:
    """Return the entries with these ids that are neither pending nor superseded."""
    entries = search.results(db, kind, ids, filters)
    return [e for e in entries if e.state not in ("pending", "superseded")]


def _weight(entry: Entry, prepared: PreparedQuery, min_weight: float) -> float:
    """Return the weight of an entry's words, or half of it plus its similarity of meaning.

    The higher of the two counts.
    """
    weight = sum(prepared.word_weights[word] for word in prepared.matcher.counts(entry))
    similarity = prepared.similarities.get(entry.key, 0.0)
    if not similarity:
        return weight
    added = min_weight * similarity / SURE_SIMILARITY
    return max(weight, WEIGHT_WITH_SIMILARITY * weight + added)


def _without_seen(
    db: Connection, entries: Sequence[Entry], matcher: Matcher, known: set[tuple[str, int]]
) -> list[Entry]:
    """Drop entries that repeat an observation the model already sees."""
    message_ids = [entry.id for entry in entries if entry.kind == "message"]
    observations = search.observations_by_message(db, message_ids)

    def is_seen(entry: Entry) -> bool:
        words = matcher.counts(entry).keys()
        return any(
            ("observation", observation_id) in known and words <= matcher.counts_in(text).keys()
            for observation_id, text in observations.get(entry.id, ())
        )

    return [entry for entry in entries if entry.kind == "observation" or not is_seen(entry)]


def _fitting(hits: Iterable[Hit]) -> list[Hit]:
    """Return the first hits that fit the budget, without repeated texts."""
    kept: list[Hit] = []
    tokens_left = BUDGET
    for passage in hits:
        if any(passage.text == other.text for other in kept):
            continue
        tokens_left -= tokens.count(passage.text) + OVERHEAD
        if tokens_left < 0 or len(kept) == MAX_PASSAGES:
            break
        kept.append(passage)
    return kept


def document_frequency(db: Connection, words: Sequence[str]) -> DocumentFrequency:
    """Look up how many messages have each of these words, in any of its forms."""
    total = search.highest_id(db, "message")
    newest = _newest(db, "message", words)
    counts = {word: _estimate(ids, total) for word, ids in newest.items()}
    in_no_message = [word for word, count in counts.items() if not count]
    for word, ids in _newest(db, "observation", in_no_message).items():
        counts[word] = len(ids)
    return DocumentFrequency(total, counts, newest)


def newest_with(
    db: Connection, word: str, frequency: DocumentFrequency
) -> dict[str, Sequence[int]]:
    """Return the newest ids with a word by kind, newest first, up to `ROWS_READ` each."""
    observations = _newest(db, "observation", [word])[word]
    return {"message": frequency.newest[word], "observation": observations}


def _newest(db: Connection, kind: str, words: Sequence[str]) -> Mapping[str, Sequence[int]]:
    """Return the newest ids of a kind with each word, newest first."""
    if not words:
        return {}
    ids = search.newest_of_each(db, kind, [any_of([word]) for word in words], ROWS_READ)
    return dict(zip(words, ids, strict=True))


def _estimate(newest: Sequence[int], total: int) -> int:
    """Estimate how many rows have a word, judged by the newest ones that have it."""
    if len(newest) < ROWS_READ:
        return len(newest)
    extrapolated = ROWS_READ * total // (total - newest[-1] + 1)
    return max(ROWS_READ, min(int(MAX_ESTIMATED_SHARE * total), extrapolated))
