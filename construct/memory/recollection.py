"""What comes back by itself: passages of earlier talk that bear on the newest message. No model is asked.

The floor is high, and relative to the query, so that it holds for a file of any size: the
rarest of the words looked for must be there, and most of what they weigh together.
"""

import math
import re
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

from construct import tokens
from construct.memory.query import Query, analyse
from construct.memory.recall import Ranking, rank
from construct.memory.recall_rank import Matcher
from construct.store.search import KINDS, Entry, Filters, total
from construct.text import one_line

FLOOR = 0.6
"""Share of the weight of the words looked for that a passage must hold."""
LEAST_WEIGHT = 1.25
"""What those words must weigh together, in times a word that stands in one row only: less is no reason to speak up."""
BUDGET = 150
"""Tokens; they stand behind the last cache mark, so every turn pays for them in full."""
_MOST_WORDS = 12
"""Of a long message only the rarest are looked for."""
_LOOKED_AT = 20
_MOST_PASSAGES = 3
_SNIPPET = 240


@dataclass(frozen=True, slots=True)
class Recollection:
    """A passage as it is shown: cut around the words that were found."""

    kind: str
    number: int
    role: str | None
    day: str
    text: str


def recollect(
    db: sqlite3.Connection,
    words: str,
    before: str,
    known: Collection[tuple[str, int]],
    today: date,
    filters: Filters = Filters(),
    budget: int = BUDGET,
) -> list[Recollection]:
    """Return the best passages for the newest `words`, at most `budget` tokens; nothing when none is good enough.

    When these words name nothing themselves ("and when was that?") those of the turn `before` are
    looked for. `known` are (kind, id) of what the model sees anyway.
    """
    query = _query(words, before, today)
    if query is None:
        return []
    ranking = rank(db, query, filters, _LOOKED_AT)
    least = LEAST_WEIGHT * math.log(1 + sum(total(db, kind) for kind in KINDS))
    found: list[Recollection] = []
    for entry in _good(ranking, least):
        if entry.state == "pending":  # its messages are still in the window
            continue
        if (entry.kind, entry.id) in known or any(one_line(entry.text) == r.text for r in found):
            continue
        passage = Recollection(entry.kind, entry.id, entry.role, _day(entry), snippet(entry.text, ranking.wanted))
        budget -= tokens.count(passage.text) + 12
        if budget < 0 or len(found) == _MOST_PASSAGES:
            break
        found.append(passage)
    return found


def snippet(text: str, wanted: Sequence[str], size: int = _SNIPPET) -> str:
    """Return the part of a text with most of the words, as one line."""
    line = one_line(text)
    if len(line) <= size:
        return line
    stems = [re.escape(word[: max(3, len(word) - 2)]) for word in wanted]
    places = [m.start() for m in re.finditer("|".join(stems), line, re.IGNORECASE)] if stems else []
    starts = [max(0, place - 40) for place in places] or [0]
    best = max(starts, key=lambda s: sum(s <= place < s + size for place in places))
    cut = line[best : best + size]
    return ("…" if best else "") + cut.strip() + ("…" if best + size < len(line) else "")


def _query(words: str, before: str, today: date) -> Query | None:
    if not words.strip():
        return None
    for text in (words, f"{before}\n{words}"):
        query = analyse(text[:4000], today)
        if not query.bare and (query.words or query.pieces):
            return query
    return None


def _good(ranking: Ranking, least: float) -> list[Entry]:
    weight = {word: ranking.weight.get(word, 0.0) for word in ranking.wanted}
    rarest = sorted(weight, key=lambda w: -weight[w])[:_MOST_WORDS]
    whole = sum(weight[word] for word in rarest)
    if not rarest or whole < least:
        return []
    matcher = Matcher(rarest)
    good = []
    for candidate, _ in ranking.found[:_LOOKED_AT]:
        held = matcher.counts(candidate.entry)
        if rarest[0] in held and sum(weight[word] for word in held) >= FLOOR * whole:
            good.append(candidate.entry)
    return good


def _day(entry: Entry) -> str:
    return entry.day or entry.moment[:10]
