"""What cycles write: each function runs inside the one transaction of its cycle.

A cycle that finds that what it was based on has changed writes nothing (StaleError).
"""

import sqlite3
from collections.abc import Sequence

from construct.memory.learning.guard import Verdict
from construct.memory.learning.proposals import Draft, Extraction
from construct.memory.shown.lines import line_tokens
from construct.store import observations as rows
from construct.store import talk
from construct.store.records import Message, Observation


class StaleError(Exception):
    """Another process, an edit, an undo or a forget has changed what the cycle was based on."""


def store_extraction(
    db: sqlite3.Connection, cycle_id: int, found: Extraction, batch: Sequence[Message], based_on: int, now: str
) -> int:
    """Store an observer's pending observations, move `observed` over the batch; return how many.

    A batch of archived messages is one that the mark has passed: it stays where it is.
    """
    conversation_id = batch[0].conversation_id
    _must_run(db, cycle_id)
    passed = bool(batch[0].archived)
    if not passed and talk.watermarks(db, conversation_id).observed != based_on:
        raise StaleError
    present = _as_now(db, batch, based_on)
    if [(m.id, m.archived) for m in present] != [(m.id, m.archived) for m in batch]:
        raise StaleError
    allowed = {m.id for m in present if talk.is_readable(m)}
    stored = 0
    for draft in found.drafts:
        sources = [i for i in draft.sources if i in allowed]
        if not sources:
            continue
        observation_id = _insert(db, draft, cycle_id, conversation_id, 0, now, committed_at=None)
        rows.link_messages(db, observation_id, sources)
        stored += 1
    if passed:
        return stored
    talk.set_watermark(db, conversation_id, "observed", batch[-1].id, now)
    if found.title and not (found.by_rule and talk.conversation(db, conversation_id).title):
        talk.rename_conversation(db, conversation_id, found.title, by="observer")
    talk.set_thread(db, conversation_id, found.current_task, found.suggested_response)
    return stored


def store_verdict(
    db: sqlite3.Connection, cycle_id: int, verdict: Verdict, given: Sequence[Observation], now: str
) -> None:
    """Store a reflector's new lines and supersede what they replace, drop or make outdated."""
    _must_run(db, cycle_id)
    by_id = {o.id: o for o in given}
    present = {o.id: o for o in rows.observations(db, sorted(verdict.gone | {by for _, by in verdict.outdated}))}
    unchanged = all(i in present and present[i].state == "active" and _is_same(present[i], by_id[i]) for i in present)
    if not unchanged or not verdict.gone <= present.keys():
        raise StaleError
    for draft in verdict.drafts:
        sources = [by_id[i] for i in draft.sources]
        homes = {o.conversation_id for o in sources}
        home = homes.pop() if len(homes) == 1 else None
        generation = 1 + max(o.generation for o in sources)
        new = _insert(db, draft, cycle_id, home, generation, now, committed_at=now)
        rows.link_sources(db, new, draft.sources)
    rows.supersede(db, verdict.gone, cycle_id, now)
    db.executemany(
        "INSERT OR IGNORE INTO outdated (old_id, by_id, cycle_id) VALUES (?, ?, ?)",
        [(old, by, cycle_id) for old, by in verdict.outdated],
    )


def _must_run(db: sqlite3.Connection, cycle_id: int) -> None:
    """Let only a running cycle store: another process may have abandoned it, or deleted its conversation."""
    if db.execute("SELECT 1 FROM cycles WHERE id = ? AND status = 'running'", (cycle_id,)).fetchone() is None:
        raise StaleError


def _as_now(db: sqlite3.Connection, batch: Sequence[Message], based_on: int) -> list[Message]:
    """Return what a cycle steps over as it is now; archived messages may have become part of the living talk."""
    if batch[0].archived:
        return [talk.message(db, m.id) for m in batch]
    return talk.live_messages(db, batch[0].conversation_id, based_on, batch[-1].id)


def _is_same(now: Observation, before: Observation) -> bool:
    """Tell whether an observation is as it was when it was given out, but for having been asked about."""
    return now._replace(asked_at=None) == before._replace(asked_at=None)


def _insert(
    db: sqlite3.Connection,
    draft: Draft,
    cycle_id: int,
    conversation_id: int | None,
    generation: int,
    now: str,
    committed_at: str | None,
) -> int:
    return rows.insert_observation(
        db,
        {
            "conversation_id": conversation_id,
            "content": draft.content,
            "priority": draft.priority,
            "stance": draft.stance,
            "observation_date": draft.observation_date,
            "referenced_date": draft.referenced_date,
            "generation": generation,
            "cycle_id": cycle_id,
            "token_count": line_tokens(draft),
            "created_at": now,
            "committed_at": committed_at,
        },
    )
