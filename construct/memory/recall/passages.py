"""What comes back by itself: passages of earlier talk that bear on the newest message. No model is asked.

The floor is relative to what is asked and to the file, so that it holds for a file of any size: the rarest of the words
looked for must have been said, with most of what they tell together, and more of it than chance brings together.
What it costs does not grow with the file: words are counted, and rows read, up to a limit.
"""

import math
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import islice

from construct import tokens
from construct.memory.language.stem import stem
from construct.memory.language.wordlists import SMALL_TALK, TIME_WORDS
from construct.memory.recall.excerpts import excerpt
from construct.memory.recall.meaning import Meaning, Near, without
from construct.memory.recall.names import CALLS, Speakers, Turn
from construct.memory.recall.places import GROWN, READ, Places, look, newest_with
from construct.memory.recall.query import Query, analyse, with_one_of
from construct.memory.recall.rank import Asked, Matcher, ranked, weights
from construct.memory.recall.search import Hit, called_in, hit, meant, read_around
from construct.store import search as store
from construct.store.search import Entry, Filters

FLOOR = 0.6  # share of the weight of the words looked for that must have been said
CHANCE = 3.0  # rows that would hold the same words by chance, at most
BUDGET = 120  # tokens; they stand behind the last cache mark, so every turn pays for them in full
MOST_PASSAGES = 3
SENTENCES = 2  # of a message are looked at, questions first, then the last ones
WORDS = 8  # of a sentence
CANDIDATES = 20  # of those that are good enough are ranked
SURE = 0.85  # so near in meaning needs no words
HALVED = 0.5  # what words count where nearness counts too
SIMILAR = 5  # of each kind are looked at for their meaning
SNIPPET = 240  # characters
OVERHEAD = 12  # tokens of a passage's date and speaker

_SENTENCE = re.compile(r"[^.!?\n。！？]+[.!?。！？]*")
_ASKS_ON = re.compile(r"\?|^\W*(?:and|but|so)?\W*(?:when|where|who|whom|whose|which|what|why|how)\b", re.IGNORECASE)


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
    """Return the best passages for the newest message, cut to the words found; nothing when none is good enough.

    When it asks and names nothing itself ("and when was that?") what `previous` names is looked for. `known` are
    (kind, id) of what the model sees anyway: what those observations say is not brought back either.
    """
    found: dict[tuple[str, int], tuple[float, Hit]] = {}
    queries = _queries(newest, previous, today)
    places = look(db, [word for query in queries for word in query.words])
    for query in queries:
        for worth, passage in _found(db, query, places, set(known), filters, meaning):
            key = (passage.kind, passage.id)
            if key not in found or worth > found[key][0]:
                found[key] = (worth, passage)
    best = sorted(found.values(), key=lambda pair: (-pair[0], pair[1].kind, -pair[1].id))
    return _within(passage for _, passage in best)


def _queries(newest: str, previous: str, today: date | None) -> list[Query]:
    asked = _asked(newest, today)
    return _asked(previous, today) if not asked and _ASKS_ON.search(newest) else asked


def _asked(text: str, today: date | None) -> list[Query]:
    found = (query for sentence in _sentences(text) for query in _query(sentence, today))
    return list(islice(found, SENTENCES))


def _sentences(text: str) -> list[str]:
    """Return the sentences, questions first, then the last ones first."""
    found = [match[0] for match in _SENTENCE.finditer(text[-8_000:]) if match[0].strip()][::-1]
    return sorted(found, key=lambda sentence: not sentence.rstrip().endswith(("?", "？")))


def _query(text: str, today: date | None) -> Iterator[Query]:
    query = analyse(text, today)
    kept = tuple(word for word in query.words if stem(word) not in _IDLE and not word.isdigit())
    if kept and not query.bare:
        yield replace(query, words=kept, phrases=())


_IDLE = frozenset(stem(word) for word in (*SMALL_TALK.split(), *TIME_WORDS))


def _found(
    db: sqlite3.Connection,
    query: Query,
    places: Places,
    known: set[tuple[str, int]],
    filters: Filters,
    meaning: Meaning | None,
) -> list[tuple[float, Hit]]:
    """Return what is good enough for one sentence, with what the words it holds weigh."""
    names = _names(db, query, places)
    rarest = sorted((word for word in query.words if word not in names), key=places.rows.__getitem__)[:WORDS]
    said = rarest and places.rows[rarest[0]] and (len(rarest) > 1 or places.rows[rarest[0]] <= CHANCE)
    near = meaning.near(db, without(query.text, names), filters.kinds()) if meaning and rarest else None
    if not (said or near):
        return []
    matcher, weight = Matcher(rarest), weights({word: places.rows[word] for word in rarest}, places.total)
    asked = Asked(query, weight, matcher, Speakers())
    enough = max(FLOOR * sum(weight.values()), math.log(max(1, places.total) / CHANCE))
    entries = []
    if said and sum(weight.values()) >= enough:
        others = _telling(rarest, weight, enough)
        newest = newest_with(db, rarest[0], places)
        entries = _worded(db, rarest[0], newest, rarest[1:] if near and others else others, filters)
    if near:
        entries += [e for e in _similar(db, near, filters) if e not in entries]
        asked = replace(asked, near=near.of_all(entries))
    held = {e.key: worth for e in entries if (worth := _worth(e, asked, enough)) >= enough}
    good = sorted((e for e in entries if e.key in held.keys() - known), key=lambda e: -held[e.key])
    read = read_around(db, good[:CANDIDATES], filters, results=False)
    asked = replace(asked, speakers=meant(query, names, (c.entry for c in read)))
    kept = [c.entry for c, features in ranked(read, asked, CANDIDATES) if features.speaker >= 0][:MOST_PASSAGES]
    kept = _unseen(db, kept, matcher, known)
    return [(held[e.key], _cut(hit(e, 0.0, filters.zone), rarest)) for e in kept]


def _names(db: sqlite3.Connection, query: Query, places: Places) -> dict[str, list[Turn]]:
    """Return the words that are participants' names; of a common word that is none, this is kept for a while."""
    plain = _plain.setdefault((places.path, round(math.log(max(1, places.total), GROWN))), set())
    words = tuple(word for word in query.words if places.rows[word] >= CALLS and word not in plain)
    names = called_in(db, replace(query, words=words))
    plain.update(word for word in words if word not in names and places.rows[word] >= READ)
    return names


_plain: dict[tuple[str, int], set[str]] = {}
"""By file and how large it is."""


def _worded(
    db: sqlite3.Connection, rarest: str, newest: Mapping[str, Sequence[int]], others: Sequence[str], filters: Filters
) -> list[Entry]:
    """Return the newest rows with the rarest word; where there are others, those of them with one of these."""
    entries: list[Entry] = []
    for kind in filters.kinds():
        ids = newest[kind]
        if ids and others:
            ids = store.since(db, kind, with_one_of(rarest, others), ids[-1])
        entries += _current(db, kind, ids, filters)
    return entries


def _telling(rarest: Sequence[str], weight: Mapping[str, float], enough: float) -> Sequence[str]:
    """Return the fewest others of which a row with the rarest word must have one, or it does not weigh enough."""
    without = sum(weight.values())
    for i, word in enumerate(rarest[1:], 2):
        without -= weight[word]
        if without < enough:
            return rarest[1:i]
    return ()


def _similar(db: sqlite3.Connection, near: Near, filters: Filters) -> list[Entry]:
    """Return what is nearest in meaning of each kind."""
    return [e for kind in filters.kinds() for e in _current(db, kind, near.nearest(kind, SIMILAR), filters)]


def _current(db: sqlite3.Connection, kind: str, ids: Iterable[int], filters: Filters) -> list[Entry]:
    found = store.results(db, kind, ids, filters)
    return [e for e in found if e.state not in ("pending", "superseded")]


def _worth(entry: Entry, asked: Asked, enough: float) -> float:
    """Return what the words weigh that stand in the entry itself, or half of that with what its nearness weighs."""
    held = sum(asked.weight[word] for word in asked.matcher.counts(entry))
    near = asked.near.get(entry.key, 0.0)
    return max(held, HALVED * held + enough * near / SURE) if near else held


def _unseen(
    db: sqlite3.Connection, good: Sequence[Entry], matcher: Matcher, known: set[tuple[str, int]]
) -> list[Entry]:
    """Leave out messages of which a line in sight says what was found, and memories that are such a line."""
    noted = store.noted(db, [entry.id for entry in good if entry.kind == "message"])
    promoted = store.promoted_from(db, [entry.id for entry in good if entry.kind == "memory"])

    def in_sight(entry: Entry) -> bool:
        if entry.kind == "memory":
            return ("observation", promoted.get(entry.id)) in known
        lines = [text for row, text in noted.get(entry.id, ()) if ("observation", row) in known]
        return any(matcher.counts(entry).keys() <= matcher.in_text(line).keys() for line in lines)

    return [entry for entry in good if entry.kind == "observation" or not in_sight(entry)]


def _within(hits: Iterable[Hit]) -> list[Hit]:
    """Return the first hits that fit, none of them twice in the same words."""
    kept: list[Hit] = []
    budget = BUDGET
    for one in hits:
        budget -= tokens.count(one.text) + OVERHEAD
        if budget < 0 or len(kept) == MOST_PASSAGES:
            break
        if all(one.text != other.text for other in kept):
            kept.append(one)
    return kept


def _cut(passage: Hit, wanted: Sequence[str]) -> Hit:
    return replace(passage, text=excerpt(passage.text, wanted, SNIPPET))
