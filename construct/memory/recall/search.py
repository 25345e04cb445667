"""Search messages and observations in one ranking."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from itertools import chain

from construct.clock import Clock
from construct.language.index_words import fold
from construct.memory.graph.reading import related_notes
from construct.memory.recall.known_words import (
    NEWEST_SCANNED,
    inside_words,
    row_counts_of,
    split_or_joined,
)
from construct.memory.recall.meaning import Meaning, Similarities, without_names
from construct.memory.recall.query import (
    Query,
    all_of,
    analyse,
    any_of,
    asked_days,
    gated,
    without_time,
)
from construct.memory.recall.rank import (
    Candidate,
    Features,
    Matcher,
    PreparedQuery,
    in_context,
    inverse_frequencies,
    rank,
    score,
    shortlist,
    words_in,
)
from construct.memory.recall.speakers import identify_speakers, participant_names
from construct.memory.recall.spelling import Respelt, as_typed, respell
from construct.pasted import load_spans
from construct.store import search
from construct.store.driver import Connection
from construct.store.passages import passages
from construct.store.search import Entry, Filters
from construct.vocabulary import ItemKind, Match

CANDIDATES = 200
"""The most entries of each kind that are taken from the index."""
SHORTLIST = 30
"""Entries of each kind that are ranked together with the turns around them.

If more results are asked for, that many.
"""
NEARBY_IDS = 3
"""Ids read on each side of a message to find its neighbours: conversations may interleave."""
REQUIRED_ROWS = 5_000
"""The most rows of a large database that may match by one rare word alone (`query.gated`).

benchmarks/README.md, "Is it fast", says what it costs.
"""
WEIGHED_ROWS = 100_000
"""The most rows that all words searched for may have together (`query.gated`).

It replaces `REQUIRED_ROWS` if a filter `restricts_messages`.
"""
MAX_ATTEMPTS = 4
"""Searches of the index, each without the rarest word of the one before."""
OF_DAYS = 60
"""The most entries of each kind that are read for a day that the query names."""
SIMILAR = 60
"""The most entries of each kind that are taken because of their similar meaning."""
SIMILAR_FILTERED = 1000
"""Replaces `SIMILAR` if a filter `restricts_messages`, before that filter is applied."""
MIN_SIMILARITY_ALONE = 0.3
"""Lowest cosine similarity of an entry that is found when the words find nothing."""
DIRECT_SIMILARITY = 0.45
"""Cosine similarity that makes a match direct, whatever words it has."""
DIRECT_SHARE = 0.5
"""Share of the query's words that a direct match must exceed."""
ONE_RELATED_IN = 4
"""One result in this many may be a note that is related through the graph."""
_RELATED_SCORE = -3.0
"""Score of related notes when nothing else is found."""

MATCH_MEANS: dict[Match, str] = {
    Match.LOOSE: "lacks the phrase or half the words, is similar, or is next to a match",
    Match.RELATED: "found through the graph",
    Match.RESPELT: "has a word with a similar spelling",
}


@dataclass(frozen=True, slots=True)
class RankedEntry:
    """An entry that a search found, and its score."""

    entry: Entry
    score: float
    """The higher the better."""
    match: Match = Match.DIRECT
    """How it was found, judged by the query's words that occur in the database."""
    lacks_unknown_words: bool = False
    """True if it is a loose match once words that occur nowhere are counted too."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result; `date` is the day in the user's zone."""

    kind: str
    id: int
    conversation: int | None
    date: str
    text: str
    score: float
    role: str | None = None
    created_at: str | None = None
    generation: int | None = None
    priority: str | None = None
    stance: str | None = None
    state: str | None = None
    match: Match = Match.DIRECT
    """How it was found; `MATCH_MEANS` explains each kind but `direct`."""
    holds: tuple[str, ...] = ()
    """The words of the query that it holds, as they were typed."""
    is_pasted: bool = False
    """Whether the user pasted what is quoted: somebody else's words."""


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a search, best first, and what became of the query's words."""

    hits: list[Hit]
    respelt: tuple[Respelt, ...] = ()
    nowhere: tuple[str, ...] = ()
    """The words of the query that nothing holds, as they were typed."""


def search_memory(
    db: Connection,
    query: str,
    filters: Filters = Filters(),
    limit: int = 20,
    *,
    today: date | None = None,
    meaning: Meaning | None = None,
) -> Results:
    """Return the best matches, best first. Deterministic.

    A word of the query that occurs nowhere is ignored. A word with almost the same
    spelling is searched for instead; entries that only that word finds rank below the others.
    With `meaning`, entries that say the same in different words are found too. `today` is
    the day from which "yesterday" is counted. Raises ValueError if the query is blank.
    """
    limit = max(0, limit)
    day = today or Clock(zone=filters.zone).today()
    parsed = analyse(query, today)
    row_counts = row_counts_of(db, parsed.words, filters)
    unknown = [word for word in parsed.words if not row_counts[word]]
    more = split_or_joined(db, parsed.words, unknown)
    parsed, respelt = respell(db, parsed, unknown, filters, today)
    corrected = {fold(one.typed) for one in respelt}
    parsed = inside_words(db, parsed, [w for w in unknown if w not in corrected], filters)
    if more:
        words = () if parsed.only_stop_words else parsed.words
        parsed = replace(parsed, words=tuple(dict.fromkeys((*words, *more))), only_stop_words=False)
    if meaning and parsed.only_stop_words and parsed.unknown_count:
        # The meaning of the query says more than the stop words left in it.
        parsed = replace(parsed, words=())
    entries = _find(db, parsed, filters, limit, meaning, day)
    if not entries and (parsed.has_more_than_phrases or (parsed.phrases and parsed.respelt)):
        # A phrase quoted from memory, or a title: search for its words instead.
        entries = _find(db, replace(parsed, phrases=()), filters, limit, meaning, day)
        entries = [replace(entry, match=Match.LOOSE) for entry in entries]
    entries = _with_related(db, parsed, filters, entries, limit)
    nowhere = [word for word in unknown if word not in {*corrected, *parsed.pieces} and not more]
    original = analyse(query, today)
    matcher = Matcher((*original.words, *parsed.respelt, *more), parsed.pieces)
    hits = []
    for entry in entries:
        held = matcher.counts(entry.entry)
        holds = [
            as_typed(query, word) for word in (*original.words, *parsed.respelt) if word in held
        ]
        holds += [as_typed(query, piece) for piece in parsed.pieces if piece in held]
        hit = quoted(as_hit(entry, filters.zone), entry.entry, matcher, row_counts)
        hits.append(replace(hit, holds=tuple(dict.fromkeys(holds))))
    return Results(hits, respelt, tuple(as_typed(query, word) for word in nowhere))


def quoted(hit: Hit, entry: Entry, matcher: Matcher, row_counts: Mapping[str, int]) -> Hit:
    """Return the hit of a long entry with the passage that has most of the query.

    An ellipsis stands for what is cut off, and `>` for the beginning of a quoted line.
    """
    parts = passages(entry.text)
    scores = [
        sum(count / (1 + row_counts.get(word, 0)) for word, count in counts.items())
        for counts in matcher.counted(entry).passages
    ]
    best = scores.index(max(scores))
    before = "".join(parts[:best])
    is_pasted = _is_pasted(entry, len(before), len(parts[best]))
    if len(parts) == 1:
        return replace(hit, is_pasted=is_pasted)
    line = before.rpartition("\n")[2]
    mark = "> " if line.lstrip().startswith(">") else ""
    cut = parts[best].rstrip() if best + 1 < len(parts) else parts[best]
    text = mark + ("…" if best else "") + cut + ("…" if best + 1 < len(parts) else "")
    return replace(hit, text=text, is_pasted=is_pasted)


def _find(
    db: Connection,
    query: Query,
    filters: Filters,
    limit: int,
    meaning: Meaning | None,
    today: date,
) -> list[RankedEntry]:
    """Find and rank entries that have words of the query or a similar meaning.

    May return more than `limit`.
    """
    names = participant_names(db, query)
    of_days, asks_for_days = _of_days(db, query, filters, today)
    if of_days:  # its "7" is not that of "evening 7"
        words = () if asks_for_days else tuple(w for w in query.words if not w.isdigit())
        query = replace(query, words=words)
    words = tuple(word for word in query.words if word not in names) or query.words
    words_in_phrases = " ".join(query.phrases).split()
    all_words = tuple(dict.fromkeys((*words, *words_in_phrases, *query.respelt)))
    row_counts = row_counts_of(db, all_words, filters)

    # Entries that have the words, as typed or respelt.
    typed = _matching(db, query, words, row_counts, filters)
    respelt: list[Entry] = []
    if query.respelt and not query.phrases:
        without_pieces = replace(query, pieces=())
        respelt = _matching(db, without_pieces, query.respelt, row_counts, filters)
        respelt = _without(respelt, typed)

    # The best of them, judged without the turns around them.
    matcher = Matcher(all_words, query.pieces)
    for piece in query.pieces:
        row_counts[piece] = sum(piece in matcher.counts(entry) for entry in typed)
    total = sum(search.count_rows(db, kind) for kind in search.KINDS)
    speakers = identify_speakers(names, [*typed, *respelt], query.role)
    word_weights = inverse_frequencies(row_counts, total)
    prepared = PreparedQuery(
        query, word_weights, matcher, speakers, of_days={entry.key for entry in of_days}
    )
    best: list[Entry] = []
    for kind in search.KINDS:
        for entries in (typed, respelt):
            best += shortlist(
                [e for e in entries if e.kind == kind], prepared, max(SHORTLIST, limit)
            )
    best += _without(of_days, best)

    # Entries with a similar meaning.
    similarities = _similarities(db, query, names, filters, meaning)
    similar = _similar(db, similarities, filters) if similarities else []
    if similarities and not typed and not respelt:
        by_key = similarities.of(similar)
        similar = [entry for entry in similar if by_key[entry.key] >= MIN_SIMILARITY_ALONE]

    # All of these, ranked together with the turns around them.
    candidates = with_neighbours(
        db, [*best, *_without(similar, best)], filters, as_candidates=not query.phrases
    )
    read = [*typed, *respelt, *(candidate.entry for candidate in candidates)]
    prepared = replace(prepared, speakers=identify_speakers(names, read, query.role))
    if similarities and similar:
        turns = chain.from_iterable((c.entry, *c.before, *c.after) for c in candidates)
        prepared = replace(prepared, similarities=similarities.of(turns))
    in_order = rank(candidates, prepared, len(candidates) if query.respelt else 2 * limit)
    ranked = [_judged(candidate, features, prepared) for candidate, features in in_order]
    if query.respelt:
        ranked = _respelt_last(ranked, prepared)
    return ranked


def _of_days(
    db: Connection, query: Query, filters: Filters, today: date
) -> tuple[list[Entry], bool]:
    """Return the entries of the days that a query names, and whether it asks for these alone."""
    days = asked_days(query, today)
    if not days or query.phrases:
        return [], False
    entries = [
        entry
        for kind in filters.kinds()
        for first, last in days
        for entry in search.within_days(db, kind, first, last, filters, OF_DAYS)
    ]
    return entries, bool(entries) and not without_time(query)


def _similarities(
    db: Connection,
    query: Query,
    names: Collection[str],
    filters: Filters,
    meaning: Meaning | None,
) -> Similarities | None:
    """Return how similar entries are to a query in meaning, participants' names left out.

    None if they cannot be compared, or if the query demands a phrase.
    """
    has_meaning = query.words or query.pieces or query.unknown_count
    if meaning is None or query.phrases or not has_meaning:
        return None
    return meaning.similarities(db, without_names(query.text, names), filters.kinds())


def _respelt_last(ranked: Sequence[RankedEntry], prepared: PreparedQuery) -> list[RankedEntry]:
    """Rank entries that match only through a respelt word below all others.

    If only a neighbouring turn has the word, the match becomes loose.
    """
    others = [found for found in ranked if found.match != Match.RESPELT]
    respelt = [found for found in ranked if found.match == Match.RESPELT]
    difference = others[-1].score - respelt[0].score if others and respelt else 0.0
    for found in respelt:
        words = prepared.matcher.counts(found.entry).keys()
        has_word = not words.isdisjoint(prepared.query.respelt)
        match: Match = Match.RESPELT if has_word else Match.LOOSE
        others.append(replace(found, score=found.score + min(0.0, difference), match=match))
    return others


def _without(entries: Iterable[Entry], others: Iterable[Entry]) -> list[Entry]:
    keys = {entry.key for entry in others}
    return [entry for entry in entries if entry.key not in keys]


def _matching(
    db: Connection,
    query: Query,
    words: Sequence[str],
    row_counts: Mapping[str, int],
    filters: Filters,
) -> list[Entry]:
    """Return the entries that the index finds for the query's phrases, or else for words.

    When the filters exclude every row that the gate of a large database lets through
    (all were undone, say), the rarest word is dropped and the search repeated.
    """
    rarest_first = sorted(words, key=lambda word: row_counts.get(word, 0))
    required = WEIGHED_ROWS if filters.restricts_messages() else REQUIRED_ROWS
    for _ in range(MAX_ATTEMPTS):
        gate = gated(rarest_first, row_counts, required, WEIGHED_ROWS)
        expression = all_of(query.phrases) or gate
        entries: list[Entry] = []
        for kind in filters.kinds():
            entries += _indexed(db, kind, expression, query.pieces, filters)
        has_gate = not query.phrases and not query.pieces and expression != any_of(rarest_first)
        if entries or not has_gate or not rarest_first:
            return entries
        del rarest_first[0]
    return []


def _similar(db: Connection, similarities: Similarities, filters: Filters) -> list[Entry]:
    """Return the entries most similar in meaning, by kind, best first."""
    limit = SIMILAR_FILTERED if filters.restricts_messages() else SIMILAR
    best: list[Entry] = []
    for kind in filters.kinds():
        entries = search.results(db, kind, similarities.nearest(kind, limit), filters)
        by_key = similarities.of(entries)
        entries.sort(key=lambda e: (-by_key.get(e.key, -1.0), -e.id))
        best += entries[:SIMILAR]
    return best


def _judged(candidate: Candidate, features: Features, prepared: PreparedQuery) -> RankedEntry:
    """Return the candidate with its score and how well it matches the query."""
    query, entry = prepared.query, candidate.entry
    ranked = RankedEntry(entry, score(features))
    is_similar = prepared.similarities.get(entry.key, 0.0) >= DIRECT_SIMILARITY
    words = words_in(candidate, prepared)
    sought = without_time(query)
    is_of_day = entry.key in prepared.of_days and (not sought or not words.isdisjoint(sought))
    if query.phrases or is_similar or is_of_day:
        return ranked
    if query.respelt and words <= set(query.respelt):
        return replace(ranked, match=Match.RESPELT)
    known_count = len(prepared.word_weights)
    if not prepared.matcher.counts(entry) or len(words) <= DIRECT_SHARE * max(1, known_count):
        return replace(ranked, match=Match.LOOSE)
    # A respelt word already counts for the one it replaces.
    all_count = known_count + query.unknown_count - len(query.respelt)
    has_few_words = len(words) <= DIRECT_SHARE * max(1, all_count)
    has_only_stop_words = query.only_stop_words and query.unknown_count > 0
    return replace(ranked, lacks_unknown_words=has_few_words or has_only_stop_words)


def with_neighbours(
    db: Connection, entries: Sequence[Entry], filters: Filters, *, as_candidates: bool
) -> list[Candidate]:
    """Return entries as candidates, each message with the turns around it.

    With `as_candidates`, those turns become candidates themselves.
    """
    ids = {entry.id for entry in entries if entry.kind == "message"}
    nearby = chain.from_iterable(range(i - NEARBY_IDS, i + NEARBY_IDS + 1) for i in ids)
    neighbours = search.entries(db, "message", {*nearby} - ids - {*filters.exclude}, filters)
    if not as_candidates:
        neighbours = [entry._replace(is_searchable=False) for entry in neighbours]
    return in_context([*entries, *neighbours])


def _indexed(
    db: Connection, kind: str, expression: str, pieces: Sequence[str], filters: Filters
) -> list[Entry]:
    """Return the entries of a kind that match an FTS5 expression or contain a piece."""
    ids = search.match(db, kind, expression, filters, CANDIDATES) if expression else []
    if pieces:
        ids += search.containing(db, kind, pieces, filters, NEWEST_SCANNED)[:CANDIDATES]
    return search.results(db, kind, ids, filters)


def _with_related(
    db: Connection,
    query: Query,
    filters: Filters,
    ranked: Sequence[RankedEntry],
    limit: int,
) -> list[RankedEntry]:
    """Insert notes related through the graph below the direct matches."""
    if not limit:
        return []
    found = list(ranked[:limit])
    keys = {one.entry.key for one in found}
    new = [note for note in _related(db, query, filters) if note.key not in keys]
    # At least one is shown, but never in place of the best match.
    new = new[: min(max(1, limit // ONE_RELATED_IN), limit - bool(found))]
    if not new:
        return found
    room = limit - len(new)
    after_direct = max(
        (i for i, one in enumerate(found, 1) if one.match == Match.DIRECT), default=0
    )
    position = max(0, min(after_direct, room))
    before, after = found[:position], found[position:room]
    related_score = _score_between(before, after)
    related = [RankedEntry(note, related_score, Match.RELATED) for note in new]
    return [*before, *related, *after]


def _related(db: Connection, query: Query, filters: Filters) -> list[Entry]:
    """Return the notes related to the query through the graph, nearest first.

    Empty for a search as of an earlier time: the graph has no history.
    """
    if ItemKind.OBSERVATION not in filters.kinds() or filters.as_of is not None or query.phrases:
        return []
    ids = related_notes(db, query.text)
    entries = {e.id: e for e in search.results(db, ItemKind.OBSERVATION, ids, filters)}
    return [entries[i] for i in ids if i in entries]


def _score_between(before: Sequence[RankedEntry], after: Sequence[RankedEntry]) -> float:
    if before and after:
        return (before[-1].score + after[0].score) / 2
    if before:
        return before[-1].score - 1
    return after[0].score if after else _RELATED_SCORE


def as_hit(ranked: RankedEntry, zone: tzinfo | None) -> Hit:
    """Return a ranked entry as a search result."""
    entry, match = ranked.entry, ranked.match
    if ranked.lacks_unknown_words and match == Match.DIRECT:
        match = Match.LOOSE
    return Hit(
        kind=entry.kind,
        id=entry.id,
        conversation=entry.conversation,
        date=entry.day or Clock(zone=zone).day(entry.moment).isoformat(),
        text=entry.text,
        score=round(1 / (1 + math.exp(-ranked.score)), 6),
        role=entry.role,
        created_at=entry.moment,
        generation=entry.generation,
        priority=entry.priority,
        stance=entry.stance,
        state=entry.state,
        match=match,
    )


def _is_pasted(entry: Entry, start: int, length: int) -> bool:
    """Return whether most of a part of a message is pasted."""
    spans = load_spans(entry.pasted)
    overlaps = (min(last, start + length) - max(first, start) for first, last in spans)
    return 2 * sum(overlap for overlap in overlaps if overlap > 0) > length
