"""Find passages of earlier conversations that bear on the newest message.

They are added to the prompt without the model asking for them, and without calling a
model. A passage must have the rarest word of a sentence in the message and at least
`FLOOR` of the weight of all its words, and so many words in common must not be mere
chance. The cost does not grow with the database, because counting words and reading
rows both stop at a limit.
"""

import math
import re
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain

from construct import tokens
from construct.language.index_words import stem
from construct.language.wordlists import SMALL_TALK, TIME_WORDS
from construct.memory.recall.meaning import Meaning, without
from construct.memory.recall.query import Query, analyse, any_of, excerpt, with_one_of
from construct.memory.recall.rank import Matcher, PreparedQuery, ranked, weights
from construct.memory.recall.search import Found, Hit, hit, read_around
from construct.memory.recall.speakers import CALLS, Speakers, Turn, called_in, speakers
from construct.store import search
from construct.store.search import Entry, Filters

FLOOR = 0.6  # share of the query's word weight that a passage must have
CHANCE = 3.0  # at most this many rows may be expected to have the same words by chance
BUDGET = 120  # tokens; not cached, so every turn pays for them in full
MAX_PASSAGES = 3
SENTENCES = 2  # sentences of a message that are searched: questions first, then the last
WORDS = 8  # words of a sentence that are searched, the rarest
CANDIDATES = 20  # entries above the floor that are ranked
SURE = 0.85  # a passage this similar in meaning needs no word of the message
HALVED = 0.5  # factor for the words' weight when similarity counts too
SIMILAR = 5  # entries of each kind considered for their similarity of meaning
SNIPPET = 240  # characters
OVERHEAD = 12  # tokens of a passage's date and speaker
READ = 50  # newest rows read for a word; beyond that its frequency is estimated from their ids
COMMON = 0.05  # limit of that estimate, as a share of all rows: a recent topic is not common

_REMEMBERED = ("observation", "memory")

_MAX_CHARACTERS = 8_000  # of a message that are searched, from its end
# Stems of small talk and of times: they say nothing about a topic.
_IDLE = frozenset(stem(word) for word in (*SMALL_TALK, *TIME_WORDS))

# "Where was it?" and "I forgot." in "Where was it? I forgot."
_SENTENCE = re.compile(r"[^.!?\n。！？]+[.!?。！？]*")
# "and when was that", or anything with a question mark
_ASKS_ON = re.compile(
    r"\?|^\W*(?:and|but|so)?\W*(?:when|where|who|whom|whose|which|what|why|how)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class DocumentFrequency:
    """How many messages have each word.

    Observations and memories repeat what was said, so they count only for a word that no
    message has.
    """

    total: int
    """The approximate number of messages."""
    rows: Mapping[str, int]
    """How many messages have each word in any form, estimated for common words.

    For a word that no message has: how many observations and memories have it.
    """
    newest: Mapping[str, Sequence[int]]
    """The ids of the newest messages with each word, newest first, up to `READ`."""


def passages(
    db: sqlite3.Connection,
    newest: str,
    previous: str = "",
    known: Collection[tuple[str, int]] = (),
    *,
    today: date | None = None,
    filters: Filters = Filters(),
    meaning: Meaning | None = None,
) -> list[Hit]:
    """Return the best passages for the newest message, cut to the part that matches.

    Empty if none is good enough. If the message is a question without words to search
    ("and when was that?"), the words of `previous` are searched. `known`: (kind, id) of
    what the model sees anyway; passages that only repeat it are left out.
    """
    queries = _queries(newest, today)
    if not queries and _ASKS_ON.search(newest):
        queries = _queries(previous, today)
    searched = dict.fromkeys(chain.from_iterable(query.words for query in queries))
    frequency = document_frequency(db, list(searched))
    weighed: dict[tuple[str, int], tuple[float, Hit]] = {}
    for query in queries:
        for worth, passage in _passages_for(db, query, frequency, set(known), filters, meaning):
            key = (passage.kind, passage.id)
            if key not in weighed or worth > weighed[key][0]:
                weighed[key] = (worth, passage)
    best = sorted(weighed.values(), key=lambda pair: (-pair[0], pair[1].kind, -pair[1].id))
    return _within(passage for _, passage in best)


def _queries(text: str, today: date | None) -> list[Query]:
    """Return queries for the sentences worth searching: questions first, then the last."""
    sentences = [
        match[0] for match in _SENTENCE.finditer(text[-_MAX_CHARACTERS:]) if match[0].strip()
    ][::-1]
    sentences.sort(key=lambda sentence: not sentence.rstrip().endswith(("?", "？")))
    queries = []
    for sentence in sentences:
        query = analyse(sentence, today)
        words = tuple(w for w in query.words if stem(w) not in _IDLE and not w.isdigit())
        if words and not query.bare:
            queries.append(replace(query, words=words, phrases=()))
        if len(queries) == SENTENCES:
            break
    return queries


def _passages_for(
    db: sqlite3.Connection,
    query: Query,
    frequency: DocumentFrequency,
    known: set[tuple[str, int]],
    filters: Filters,
    meaning: Meaning | None,
) -> list[tuple[float, Hit]]:
    """Return the best passages for one sentence, each with its weight."""
    messages_with = frequency.rows
    often_said = tuple(word for word in query.words if messages_with[word] >= CALLS)
    called = called_in(db, replace(query, words=often_said))
    searched = [word for word in query.words if word not in called]
    searched = sorted(searched, key=messages_with.__getitem__)[:WORDS]
    if not searched:
        return []
    near = None
    if meaning:
        near = meaning.near(db, without(query.text, called), filters.kinds())
    weight = weights({word: messages_with[word] for word in searched}, frequency.total)
    floor = max(FLOOR * sum(weight.values()), math.log(max(1, frequency.total) / CHANCE))
    entries = _with_words(db, searched, weight, floor, frequency, filters, has_meaning=bool(near))
    prepared = PreparedQuery(query, weight, Matcher(searched), Speakers())
    if near:
        for kind in filters.kinds():
            similar = _current(db, kind, near.nearest(kind, SIMILAR), filters)
            entries += [entry for entry in similar if entry not in entries]
        prepared = replace(prepared, near=near.of_all(entries))
    worth = {entry.key: _worth(entry, prepared, floor) for entry in entries}
    above = [e for e in entries if worth[e.key] >= floor and e.key not in known]
    above.sort(key=lambda entry: -worth[entry.key])
    best = _best(db, above[:CANDIDATES], prepared, called, filters)
    passages_found = []
    for entry in _unseen(db, best, prepared.matcher, known):
        whole = hit(Found(entry, 0.0), filters.zone)
        cut = replace(whole, text=excerpt(whole.text, searched, SNIPPET))
        passages_found.append((worth[entry.key], cut))
    return passages_found


def _with_words(
    db: sqlite3.Connection,
    searched: Sequence[str],
    weight: Mapping[str, float],
    floor: float,
    frequency: DocumentFrequency,
    filters: Filters,
    *,
    has_meaning: bool,
) -> list[Entry]:
    """Return the entries that have the rarest word and may reach the floor.

    `searched`: the rarest word first. If an entry needs a second word, any other
    one will do with `has_meaning`, because similarity of meaning may add the rest.
    """
    rarest, *others = searched
    count = frequency.rows[rarest]
    tells_enough = len(searched) > 1 or count <= CHANCE
    if not count or not tells_enough or sum(weight.values()) < floor:
        return []
    second = _needed_words(searched, weight, floor)
    if second and has_meaning:
        second = others
    return _newest_entries(db, rarest, newest_with(db, rarest, frequency), second, filters)


def _best(
    db: sqlite3.Connection,
    candidates: Sequence[Entry],
    prepared: PreparedQuery,
    called: Mapping[str, Sequence[Turn]],
    filters: Filters,
) -> list[Entry]:
    """Return the best candidates, ranked, without those of a speaker not asked about."""
    read = read_around(db, candidates, filters, results=False)
    entries = [candidate.entry for candidate in read]
    prepared = replace(prepared, speakers=speakers(called, entries, prepared.query.role))
    in_order = ranked(read, prepared, CANDIDATES)
    spoken = [candidate.entry for candidate, features in in_order if features.speaker >= 0]
    return spoken[:MAX_PASSAGES]


def _newest_entries(
    db: sqlite3.Connection,
    rarest: str,
    newest: Mapping[str, Sequence[int]],
    others: Sequence[str],
    filters: Filters,
) -> list[Entry]:
    """Return the newest entries with the rarest word.

    If there are `others`, only entries that also have one of them.
    """
    entries: list[Entry] = []
    for kind in filters.kinds():
        ids = newest[kind]
        if ids and others:
            ids = search.matches_from(db, kind, with_one_of(rarest, others), ids[-1])
        entries += _current(db, kind, ids, filters)
    return entries


def _needed_words(
    searched: Sequence[str], weight: Mapping[str, float], floor: float
) -> Sequence[str]:
    """Return the fewest words of which an entry needs one to reach the floor.

    The rarest word comes first in `searched` and is not among them. Empty if the rarest
    word is enough.
    """
    left = sum(weight.values())
    for end, word in enumerate(searched[1:], 2):
        left -= weight[word]
        if left < floor:
            return searched[1:end]
    return ()


def _current(
    db: sqlite3.Connection, kind: str, ids: Iterable[int], filters: Filters
) -> list[Entry]:
    entries = search.results(db, kind, ids, filters)
    return [e for e in entries if e.state not in ("pending", "superseded")]


def _worth(entry: Entry, prepared: PreparedQuery, floor: float) -> float:
    """Return the weight of an entry's words, or half of it plus its similarity of meaning."""
    weight = sum(prepared.weight[word] for word in prepared.matcher.counts(entry))
    near = prepared.near.get(entry.key, 0.0)
    return max(weight, HALVED * weight + floor * near / SURE) if near else weight


def _unseen(
    db: sqlite3.Connection, entries: Sequence[Entry], matcher: Matcher, known: set[tuple[str, int]]
) -> list[Entry]:
    """Drop passages that repeat an observation the model already sees."""
    noted = search.observations_from(db, [entry.id for entry in entries if entry.kind == "message"])
    promoted = search.promoted_from(db, [entry.id for entry in entries if entry.kind == "memory"])

    def in_sight(entry: Entry) -> bool:
        if entry.kind == "memory":
            return ("observation", promoted.get(entry.id)) in known
        lines = [text for row, text in noted.get(entry.id, ()) if ("observation", row) in known]
        return any(matcher.counts(entry).keys() <= matcher.in_text(line).keys() for line in lines)

    return [entry for entry in entries if entry.kind == "observation" or not in_sight(entry)]


def _within(hits: Iterable[Hit]) -> list[Hit]:
    """Return the first hits that fit the budget, without repeated texts."""
    kept: list[Hit] = []
    budget = BUDGET
    for passage in hits:
        budget -= tokens.count(passage.text) + OVERHEAD
        if budget < 0 or len(kept) == MAX_PASSAGES:
            break
        if all(passage.text != other.text for other in kept):
            kept.append(passage)
    return kept


def document_frequency(db: sqlite3.Connection, words: Sequence[str]) -> DocumentFrequency:
    """Look up how many messages have each of these words, in any of its forms."""
    total = search.highest_id(db, "message")
    newest = _newest(db, "message", words)
    rows = {word: _estimate(ids, total) for word, ids in newest.items()}
    unsaid = [word for word, count in rows.items() if not count]
    for kind in _REMEMBERED:
        for word, ids in _newest(db, kind, unsaid).items():
            rows[word] += len(ids)
    return DocumentFrequency(total, rows, newest)


def newest_with(
    db: sqlite3.Connection, word: str, frequency: DocumentFrequency
) -> dict[str, Sequence[int]]:
    """Return the newest ids with a word by kind, newest first, `READ` of each."""
    remembered = {kind: _newest(db, kind, [word])[word] for kind in _REMEMBERED}
    return {"message": frequency.newest[word]} | remembered


def _newest(db: sqlite3.Connection, kind: str, words: Sequence[str]) -> Mapping[str, Sequence[int]]:
    if not words:
        return {}
    ids = search.newest_of_each(db, kind, [any_of([word]) for word in words], READ)
    return dict(zip(words, ids, strict=True))


def _estimate(newest: Sequence[int], total: int) -> int:
    """Estimate how many rows have a word from the newest ones that have it."""
    if len(newest) < READ:
        return len(newest)
    return max(READ, min(int(COMMON * total), READ * total // (total - newest[-1] + 1)))
