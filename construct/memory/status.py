"""The memory panel's figures (contract.md, "construct status --json")."""

import sqlite3
from typing import Any

from construct.config import Settings
from construct.memory.situation import Terms, read_situation
from construct.memory.view import scope_ids
from construct.store import cycles, talk
from construct.store import observations as rows

_PHASES = {"observer": "observing", "reflector": "reflecting"}


def status(db: sqlite3.Connection, conversation_id: int | None, settings: Settings, terms: Terms) -> dict[str, Any]:
    """Return the panel for a conversation; all zero when there is none yet."""
    at_work = [c.kind for c in cycles.running(db)]
    t = terms.thresholds
    s = read_situation(db, conversation_id, terms) if conversation_id is not None else None
    scope = None if conversation_id is None else scope_ids(db, terms.scope, conversation_id)
    counts = _observation_counts(db, scope)
    return {
        "conversation": conversation_id,
        "mode": _mode(db, settings),
        "phase": _phase(db, at_work),
        "in_flight": sorted(at_work),
        "messages": _message_counts(db, conversation_id)
        | {
            "unobserved_tokens": s.unobserved_tokens if s else 0,
            "window_tokens": s.window_tokens if s else 0,
        },
        **counts,
        "watermarks": _watermarks(db, conversation_id),
        "progress": {
            "observation": _progress(s.unobserved_tokens if s else 0, t.observer),
            "compaction": _progress(s.window_tokens if s else 0, t.compact),
            "reflection": _progress(counts["observations"]["committed"]["tokens"], t.reflector),
        },
    }


def _mode(db: sqlite3.Connection, settings: Settings) -> str:
    if settings.memory != "on":
        return settings.memory
    return "active" if cycles.has_live_session(db) else "passive"


def _phase(db: sqlite3.Connection, at_work: list[str]) -> str:
    row = db.execute("SELECT value FROM meta WHERE name = 'pruning'").fetchone()
    if row is not None:
        return "pruning"
    return next((_PHASES[kind] for kind in at_work if kind in _PHASES), "idle")


def _message_counts(db: sqlite3.Connection, conversation_id: int | None) -> dict[str, int]:
    marks = talk.watermarks(db, conversation_id) if conversation_id is not None else None
    total, unobserved, window = db.execute(
        """SELECT count(*), coalesce(sum(archived = 0 AND id > ?), 0),
                  coalesce(sum(archived = 0 AND withheld = 0 AND retried = 0 AND id > ?), 0)
           FROM messages WHERE conversation_id = ?""",
        (marks.observed if marks else 0, marks.window if marks else 0, conversation_id),
    ).fetchone()
    return {"total": total, "unobserved": unobserved, "window": window}


def _observation_counts(db: sqlite3.Connection, scope: list[int] | None) -> dict[str, Any]:
    where, values = rows.scope_filter(db, scope)
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


def _watermarks(db: sqlite3.Connection, conversation_id: int | None) -> dict[str, int | None]:
    if conversation_id is None:
        return {"observed": None, "compacted": None, "window": None}
    marks = talk.watermarks(db, conversation_id)
    return {"observed": marks.observed or None, "compacted": marks.compacted or None, "window": marks.window or None}


def _progress(tokens: int, threshold: int) -> dict[str, float]:
    return {"tokens": tokens, "threshold": threshold, "ratio": round(tokens / threshold, 4)}
