"""Which cycles stand, now that several machines ran some: the same on every machine.

Of two cycles that superseded one note, the later counts as reverted, but never an edit by
the user. What was built on a cycle that does not stand, does not stand either. All of it
follows from the rows alone, so the order in which they came does not matter, and a cycle
that was overruled stands again when the other is undone.
"""

import heapq
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from construct.store.conversations import set_watermark
from construct.store.driver import Connection
from construct.store.sql import column
from construct.vocabulary import CycleKind, CycleStatus


@dataclass(frozen=True, slots=True)
class CycleFacts:
    """What decides whether a cycle stands."""

    id: int
    uid: str
    kind: str
    finished_at: str
    is_undone: bool
    """Whether the user took it back."""
    claims: tuple[int, ...] = ()
    """The observations that it superseded."""
    built_on: frozenset[int] = frozenset()
    """The cycles whose observations it superseded or used."""
    conversation_id: int | None = None
    span: tuple[int, int] | None = None
    """Of an observer: which of its conversation's messages it read, as a half-open range of
    places among those that are not archived."""


def standing(cycles: Iterable[CycleFacts]) -> set[int]:
    """Return the ids of the cycles that stand.

    A cycle is judged after those that it was built on; otherwise edits come first, then
    what finished earlier.
    """
    facts = {cycle.id: cycle for cycle in cycles}
    before = {i: set(cycle.built_on) & facts.keys() - {i} for i, cycle in facts.items()}
    for previous, following in _observers_in_order(facts.values()):
        before[following].add(previous)
    after: dict[int, list[int]] = defaultdict(list)
    for i, needed in before.items():
        for needed_id in needed:
            after[needed_id].append(i)
    waiting = {i: len(needed) for i, needed in before.items()}
    ready = [_order(facts[i]) for i, count in waiting.items() if not count]
    heapq.heapify(ready)
    accepted: set[int] = set()
    taken: set[int] = set()
    read: dict[int, int] = defaultdict(int)
    while ready:
        *_, i = heapq.heappop(ready)
        cycle = facts[i]
        if _stands(cycle, facts, accepted, taken, read):
            accepted.add(i)
            taken.update(cycle.claims)
            if cycle.span and cycle.span[0] < cycle.span[1] and cycle.conversation_id is not None:
                read[cycle.conversation_id] = cycle.span[1]
        for following in after[i]:
            waiting[following] -= 1
            if not waiting[following]:
                heapq.heappush(ready, _order(facts[following]))
    return accepted


def _order(cycle: CycleFacts) -> tuple[bool, str, str, int]:
    return cycle.kind != CycleKind.EDIT, cycle.finished_at, cycle.uid, cycle.id


def _observers_in_order(cycles: Iterable[CycleFacts]) -> Iterable[tuple[int, int]]:
    """Yield pairs of a conversation's observer cycles that follow each other.

    One machine ran them, so their ids have the same order everywhere, whatever its clock said.
    """
    last: dict[int, int] = {}
    for cycle in sorted(cycles, key=lambda c: c.id):
        if cycle.span is not None and cycle.conversation_id is not None:
            if cycle.conversation_id in last:
                yield last[cycle.conversation_id], cycle.id
            last[cycle.conversation_id] = cycle.id


def _stands(
    cycle: CycleFacts,
    facts: Mapping[int, CycleFacts],
    accepted: set[int],
    taken: set[int],
    read: Mapping[int, int],
) -> bool:
    if cycle.is_undone:
        return False
    if cycle.kind == CycleKind.EDIT:
        return True
    if not taken.isdisjoint(cycle.claims):
        return False
    if any(i in facts and i not in accepted for i in cycle.built_on - {cycle.id}):
        return False
    if cycle.span is None or cycle.span[0] == cycle.span[1] or cycle.conversation_id is None:
        return True
    # It must go on where the last one that stands ended: no message is read twice or skipped.
    return cycle.span[0] == read[cycle.conversation_id]


def settle_outcome(db: Connection, now: str) -> None:
    """Decide which cycles stand, and make observations and watermarks agree with it."""
    live = _live_messages(db)
    facts = _facts(db, live)
    accepted = standing(facts)
    _mark_cycles(db, facts, accepted, now)
    _supersede(db, facts, accepted)
    _set_marks(db, facts, accepted, live, now)
    _end_withholding(db)
    _settle_values(db, now)


def _live_messages(db: Connection) -> dict[int, list[int]]:
    """Return the messages of each conversation that are not archived, in order."""
    live: dict[int, list[int]] = defaultdict(list)
    query = "SELECT conversation_id, id FROM messages WHERE archived = 0 ORDER BY id"
    for conversation_id, message_id in db.execute(query):
        live[conversation_id].append(message_id)
    return live


def _facts(db: Connection, live: Mapping[int, Sequence[int]]) -> list[CycleFacts]:
    claims: dict[int, list[int]] = defaultdict(list)
    built_on: dict[int, set[int]] = defaultdict(set)
    for cycle_id, observation_id, maker in db.execute(
        """SELECT claim.cycle_id, o.id, o.cycle_id FROM sync_claims AS claim
           JOIN observations AS o ON o.id = observation_id
           WHERE claim.superseded_at IS NOT NULL ORDER BY 1, 2"""
    ):
        claims[cycle_id].append(observation_id)
        built_on[cycle_id].add(maker)
    for cycle_id, maker in db.execute(
        """SELECT new.cycle_id, source.cycle_id FROM observation_sources
           JOIN observations AS new ON new.id = observation_id
           JOIN observations AS source ON source.id = source_id"""
    ):
        built_on[cycle_id].add(maker)
    overruled = set(column(db, "SELECT cycle_id FROM sync_overruled"))
    facts = []
    for cycle_id, uid, kind, status, finished, conversation_id, first, last in db.execute(
        """SELECT id, uid, kind, status, ifnull(finished_at, started_at), conversation_id,
               first_message_id, last_message_id
           FROM cycles WHERE status IN ('succeeded', 'reverted') AND kind <> 'graph'"""
    ):
        span = None
        if kind == CycleKind.OBSERVER and conversation_id is not None and first and last:
            ids = live.get(conversation_id, ())
            span = (bisect_right(ids, first - 1), bisect_right(ids, last))
        facts.append(
            CycleFacts(
                cycle_id,
                uid,
                kind,
                finished,
                status == CycleStatus.REVERTED and cycle_id not in overruled,
                tuple(claims[cycle_id]),
                frozenset(built_on[cycle_id]),
                conversation_id,
                span,
            )
        )
    return facts


def _mark_cycles(db: Connection, facts: Iterable[CycleFacts], accepted: set[int], now: str) -> None:
    """Mark the cycles that do not stand, though nobody undid them, as reverted."""
    before = set(column(db, "SELECT cycle_id FROM sync_overruled"))
    overruled = {cycle.id for cycle in facts if not cycle.is_undone and cycle.id not in accepted}
    for cycle_id in overruled - before:
        db.execute("INSERT INTO sync_overruled VALUES (?)", (cycle_id,))
        db.execute(
            "UPDATE cycles SET status = 'reverted', reverted_at = ? WHERE id = ?", (now, cycle_id)
        )
    for cycle_id in before - overruled:
        db.execute("DELETE FROM sync_overruled WHERE cycle_id = ?", (cycle_id,))
        db.execute(
            """UPDATE cycles SET status = 'succeeded', reverted_at = NULL
               WHERE id = ? AND status = 'reverted'""",
            (cycle_id,),
        )


def _supersede(db: Connection, facts: Sequence[CycleFacts], accepted: set[int]) -> None:
    """Supersede each observation by what the standing cycles say of it."""
    order = {cycle.id: place for place, cycle in enumerate(sorted(facts, key=_order))}
    claims: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    for observation_id, cycle_id, at in db.execute(
        """SELECT observation_id, cycle_id, superseded_at FROM sync_claims
           WHERE superseded_at IS NOT NULL"""
    ):
        if cycle_id in accepted:
            claims[observation_id].append((order[cycle_id], cycle_id, at))
    reverted_at = dict(db.execute("SELECT id, ifnull(reverted_at, started_at) FROM cycles"))
    known = order.keys()
    changes = []
    for observation_id, maker, at, by in db.execute(
        "SELECT id, cycle_id, superseded_at, superseded_by FROM observations"
    ).fetchall():
        wanted: tuple[str | None, int | None] = None, None
        if maker in known and maker not in accepted:
            wanted = reverted_at[maker], maker
        elif claims[observation_id]:
            _, cycle_id, since = min(claims[observation_id])
            wanted = since, cycle_id
        if wanted[1] != by or (by is None) != (at is None):
            changes.append((*wanted, observation_id))
    db.executemany(
        "UPDATE observations SET superseded_at = ?, superseded_by = ? WHERE id = ?", changes
    )
    db.execute(
        """UPDATE sync_claims SET counts = (superseded_at IS NOT NULL AND cycle_id IS (
               SELECT superseded_by FROM observations WHERE id = observation_id))"""
    )


def _set_marks(
    db: Connection,
    facts: Iterable[CycleFacts],
    accepted: set[int],
    live: Mapping[int, Sequence[int]],
    now: str,
) -> None:
    """Set `observed` to where the standing cycles end, and lower the others to it."""
    ends: dict[int, int] = defaultdict(int)
    for cycle in facts:
        home = cycle.conversation_id
        if cycle.id in accepted and cycle.span and home is not None:
            start, end = cycle.span
            ends[home] = max(ends[home], end if start < end else 0)
    marks: dict[int, dict[str, int]] = defaultdict(dict)
    for conversation_id, name, message_id in db.execute(
        "SELECT conversation_id, name, message_id FROM watermarks"
    ):
        marks[conversation_id][name] = message_id
    for conversation_id in {*ends, *marks}:
        ids = live.get(conversation_id, ())
        end, here = ends[conversation_id], marks[conversation_id]
        observed = here.get("observed", 0)
        if bisect_right(ids, observed) != end:
            observed = ids[end - 1] if end else 0
            set_watermark(db, conversation_id, "observed", observed, now)
        for name in ("compacted", "window"):
            if here.get(name, 0) > observed:
                set_watermark(db, conversation_id, name, observed, now)


def _end_withholding(db: Connection) -> None:
    """Give back observations that no request to forget withholds any more."""
    db.execute(
        """UPDATE observations SET withheld = 0 WHERE withheld AND NOT EXISTS (
               SELECT 1 FROM question_items JOIN questions ON questions.id = question_id
               WHERE observation_id = observations.id AND withheld_at IS NOT NULL)"""
    )


def _settle_values(db: Connection, now: str) -> None:
    """Let only the tracked values of cycles that stand count, as undo does."""
    overruled = "(SELECT cycle_id FROM sync_overruled)"
    db.execute(
        f"""UPDATE tracked_values SET superseded_at = ?, superseded_by = cycle_id
            WHERE cycle_id IN {overruled} AND superseded_by IS NOT cycle_id""",
        (now,),
    )
    db.execute(
        f"""UPDATE tracked_values SET superseded_at = NULL, superseded_by = NULL
            WHERE superseded_by = cycle_id
                AND cycle_id IN (SELECT id FROM cycles WHERE status = 'succeeded')
            OR superseded_by <> cycle_id AND superseded_by IN {overruled}"""
    )
