"""Choose the stored notes that an observer is shown, so that it need not write them again."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from construct import tokens
from construct.clock import Clock
from construct.language.names import letter_words, names
from construct.language.sentences import asks_to_forget
from construct.memory.learning.whose_words import own_words
from construct.memory.recall.meaning import Meaning
from construct.memory.recall.search import search_memory
from construct.memory.shown.lines import ANCHOR_TOKENS, plain_line
from construct.store import observations as stored_observations
from construct.store.driver import Connection
from construct.store.records import Descent, Message, Observation
from construct.store.search import Filters
from construct.vocabulary import ItemKind, Priority

_MAX_QUERIES = 12
_QUERY_CHARACTERS = 400
_HITS_PER_QUERY = 12
_MAX_CANDIDATES = 300
"""How many important notes, and how many new ones, are considered."""
_SUBJECT_SHARE = 0.25
"""The most of the tokens that notes about one subject may take."""


@dataclass(frozen=True, slots=True)
class KnownSearch:
    """Where known notes are looked for, and how many tokens of them are wanted."""

    scope: Descent | None
    clock: Clock
    meaning: Meaning | None
    limit: int


def known_notes(
    db: Connection, messages: Sequence[Message], wanted: KnownSearch
) -> list[Observation]:
    """Return the stored notes to show an observer, the most relevant first.

    It may propose to replace these and need not write them again. First come those that
    the messages are about, beginning with what the user asks to forget; then those of high
    priority with a day ahead, the others of high priority, and the newest. A note that a
    pending one will replace is left out.
    """
    today = wanted.clock.today().isoformat()
    high = stored_observations.newest(db, wanted.scope, _MAX_CANDIDATES, priority=Priority.HIGH)
    candidates = [
        *_found(db, messages, wanted),
        *stored_observations.high_with_day_ahead(db, wanted.scope, today, _MAX_CANDIDATES),
        *high,
        *stored_observations.newest(db, wanted.scope, _MAX_CANDIDATES),
    ]
    replaced = stored_observations.to_be_replaced(db)
    by_id = {o.id: o for o in candidates if o.id not in replaced}
    return _without_crowding(list(by_id.values()), wanted.limit)


def _found(db: Connection, messages: Sequence[Message], wanted: KnownSearch) -> list[Observation]:
    """Return the notes that a search for the user's words finds, the best of each first."""
    filters = Filters(
        descent=wanted.scope, kind=ItemKind.OBSERVATION, zone=wanted.clock.zone, for_model=True
    )
    ranked = [
        [
            hit.id
            for hit in search_memory(
                db, query, filters, _HITS_PER_QUERY, meaning=wanted.meaning
            ).hits
        ]
        for query in _queries(messages)
    ]
    ids = [i for i in chain.from_iterable(zip_longest(*ranked)) if i is not None]
    by_id = {o.id: o for o in stored_observations.observations(db, ids)}
    return [by_id[i] for i in dict.fromkeys(ids) if i in by_id and not by_id[i].withheld]


def _queries(messages: Sequence[Message]) -> list[str]:
    """Return what to search for: the user's own words, a few messages at a time.

    What asks for something to be forgotten comes first.
    """
    said = [words for m in messages if (words := " ".join(own_words(m).split()))]
    wishes = [words for words in said if asks_to_forget(words)]
    others = [words for words in said if words not in wishes]
    size = -(-len(others) // _MAX_QUERIES) or 1
    groups = [others[start : start + size] for start in range(0, len(others), size)]
    queries = [_shortened(wish, _QUERY_CHARACTERS) for wish in wishes[:_MAX_QUERIES]]
    queries += [
        " ".join(_shortened(words, _QUERY_CHARACTERS // len(group)) for words in group)
        for group in groups
    ]
    return [query for query in queries if any(map(str.isalnum, query))]


def _shortened(words: str, length: int) -> str:
    """Return the beginning and the end of a text."""
    half = length // 2
    return words if len(words) <= length else f"{words[:half]} {words[-half:]}"


def _without_crowding(notes: Sequence[Observation], limit: int) -> list[Observation]:
    """Return the notes that fit, in order, with no more than a quarter about one subject."""
    subjects = _subjects(notes)
    used: defaultdict[str, int] = defaultdict(int)
    chosen = []
    left = limit
    for note in notes:
        size = tokens.count(plain_line(note)) + ANCHOR_TOKENS
        subject = subjects[note.id]
        is_crowded = bool(subject) and used[subject] + size > _SUBJECT_SHARE * limit
        if size <= left and not is_crowded:
            chosen.append(note)
            used[subject] += size
            left -= size
    return chosen


def _subjects(notes: Iterable[Observation]) -> dict[int, str]:
    """Return the subject of each note: of its names, or else its words, the most frequent."""
    words = {o.id: _telling(o.content) for o in notes}
    spread = Counter(word for telling in words.values() for word in telling)
    return {
        i: max(telling, key=lambda word: (spread[word], word), default="")
        for i, telling in words.items()
    }


def _telling(content: str) -> frozenset[str]:
    return frozenset(name.casefold() for name in names(content)) or letter_words(content)
