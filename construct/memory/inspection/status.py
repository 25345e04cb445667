"""The memory panel's figures (contract.md, "construct status --json"), and what explains them."""

import sqlite3
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from construct.config import Settings
from construct.llm.providers import EXTRACTIVE
from construct.memory.cycles.policy import Situation
from construct.memory.cycles.situation import Terms, held_tokens, read_situation, reflect_from, reflector_scope
from construct.memory.cycles.spending import spent_today
from construct.memory.shown.forks import inherited_window, reach
from construct.store import cycles, talk
from construct.store import observations as rows
from construct.store.records import LEFT_OUT_SQL, Cycle, Descent, Watermarks

_PHASES = {"observer": "observing", "reflector": "reflecting"}


def status(db: sqlite3.Connection, conversation_id: int | None, settings: Settings, terms: Terms) -> dict[str, Any]:
    """Return the panel for a conversation; all zero when there is none yet."""
    here, t = conversation_id, terms.thresholds
    at_work = [c.kind for c in cycles.running(db)]
    s = Situation() if here is None else read_situation(db, here, terms)
    marks = Watermarks() if here is None else talk.watermarks(db, here)
    counts = _observation_counts(db, None if here is None else reach(db, terms.scope, here))
    return {
        "conversation": here,
        "mode": _mode(db, settings),
        "phase": _phase(db, at_work),
        "in_flight": sorted(at_work),
        "messages": _message_counts(db, here, marks)
        | {"unobserved_tokens": s.unobserved_tokens, "window_tokens": s.window_tokens},
        **counts,
        "watermarks": {name: message_id or None for name, message_id in asdict(marks).items()},
        "progress": {
            "observation": _progress(s.unobserved_tokens, t.observer),
            "compaction": _progress(s.window_tokens, t.compact),
            "reflection": _progress(counts["observations"]["committed"]["tokens"], t.reflector),
        },
    }


@dataclass(frozen=True, slots=True)
class Standing:
    """What the figures alone do not say: why something waits, and who is at work."""

    held_tokens: int
    """Tokens that must still be said before what was undone is observed again; 0 when nothing is held."""
    reflect_from: int
    """Observation tokens below which the outcome of the last reflection forbids another; 0: none does."""
    reflector_undone: bool
    running: tuple[Cycle, ...]
    now: datetime
    """When all this was read: what runs has begun before."""
    worker: str
    spent_usd: float
    """What memory work has cost today."""
    limit_usd: float

    @property
    def is_limited(self) -> bool:
        """Whether the extractive worker stands in for the worker model until the day ends."""
        return self.worker != EXTRACTIVE and self.spent_usd >= self.limit_usd


def standing(db: sqlite3.Connection, conversation_id: int | None, terms: Terms, worker: str) -> Standing:
    """Return how things stand in a conversation; `worker` is the worker model's name."""
    here = conversation_id
    last = None if here is None else cycles.last_cycle(db, "reflector", reflector_scope(terms.scope, here))
    return Standing(
        held_tokens=0 if here is None else held_tokens(db, here, terms),
        reflect_from=0 if here is None else reflect_from(db, here, terms),
        reflector_undone=last is not None and last.status == "reverted",
        running=tuple(cycles.running(db)),
        now=terms.clock.now(),
        worker=worker,
        spent_usd=spent_today(db, terms),
        limit_usd=terms.daily_usd,
    )


@dataclass(frozen=True, slots=True)
class Meters:
    """How near the next steps are, 1 when they are due; the little of the panel that is read after every turn."""

    observe: float
    compact: float
    held: bool


def meters(db: sqlite3.Connection, conversation_id: int, terms: Terms) -> Meters:
    """Return a conversation's meters."""
    s, t = read_situation(db, conversation_id, terms), terms.thresholds
    return Meters(s.unobserved_tokens / t.observer, s.window_tokens / t.compact, s.held)


def _mode(db: sqlite3.Connection, settings: Settings) -> str:
    if settings.memory != "on":
        return settings.memory
    return "active" if cycles.has_live_session(db) else "passive"


def _phase(db: sqlite3.Connection, at_work: list[str]) -> str:
    row = db.execute("SELECT value FROM meta WHERE name = 'pruning'").fetchone()
    if row is not None:
        return "pruning"
    if cycles.is_checking(db):
        return "checking"
    return next((_PHASES[kind] for kind in at_work if kind in _PHASES), "idle")


def _message_counts(db: sqlite3.Connection, conversation_id: int | None, marks: Watermarks) -> dict[str, int]:
    total, unobserved, window = db.execute(
        f"""SELECT count(*), coalesce(sum(archived = 0 AND id > ?), 0),
                  coalesce(sum(archived = 0 AND withheld = 0 AND retried = 0 AND NOT {LEFT_OUT_SQL} AND id > ?), 0)
           FROM messages WHERE conversation_id = ?""",
        (marks.observed, marks.window, conversation_id),
    ).fetchone()
    inherited = 0 if conversation_id is None else len(inherited_window(db, talk.conversation(db, conversation_id)))
    return {"total": total, "unobserved": unobserved, "window": window + inherited}


def _observation_counts(db: sqlite3.Connection, scope: Descent | None) -> dict[str, Any]:
    where, values = rows.scope_filter(scope)
    found = db.execute(
        f"""SELECT CASE WHEN superseded_at IS NOT NULL THEN 'superseded'
                        WHEN committed_at IS NULL THEN 'pending' ELSE 'committed' END AS state,
                   generation, count(*), coalesce(sum(token_count), 0)
            FROM observations WHERE 1{where} GROUP BY state, generation""",
        values,
    ).fetchall()

    def total(state: str, least: int = 0) -> dict[str, int]:
        lines = [row for row in found if row[0] == state and row[1] >= least]
        return {"count": sum(row[2] for row in lines), "tokens": sum(row[3] for row in lines)}

    return {
        "observations": {
            "committed": total("committed"),
            "pending": total("pending"),
            "superseded": {"count": total("superseded")["count"]},
        },
        "reflections": total("committed", 1),
        "generations": {str(row[1]): row[2] for row in sorted(found, key=lambda r: r[1]) if row[0] == "committed"},
    }


def _progress(tokens: int, threshold: int) -> dict[str, float]:
    return {"tokens": tokens, "threshold": threshold, "ratio": round(tokens / threshold, 4)}
