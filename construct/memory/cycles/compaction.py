"""Compacting: pending observations are committed and the window begins later. No model, no cycle."""

import sqlite3
from dataclasses import dataclass

from construct.memory.curation.memories import promote
from construct.memory.shown.view import Frame, take_in
from construct.memory.shown.window import window_start
from construct.store import forget_requests, lineage, talk
from construct.store import observations as rows


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction changed."""

    committed: int
    left_window: int
    """Messages that are no longer shown raw."""


def compact(db: sqlite3.Connection, conversation_id: int, retained: int, frame: Frame, now: str) -> Compacted:
    """Commit what is pending, promote it, move the watermarks, take in what is new; in the caller's transaction.

    What the committed observations replace is superseded, and what the user asked to forget is withheld.
    Raises NotFoundError.
    """
    talk.conversation(db, conversation_id)
    marks = talk.watermarks(db, conversation_id)
    messages = talk.live_messages(db, conversation_id, marks.window)
    pending = [o.id for o in rows.pending(db, conversation_id)]
    committed = rows.commit_pending(db, conversation_id, now)
    lineage.apply_replacements(db, pending, now)
    window = window_start(messages, marks, retained)
    talk.set_watermark(db, conversation_id, "compacted", marks.observed, now)
    talk.set_watermark(db, conversation_id, "window", window, now)
    forget_requests.withhold_committed(db, conversation_id, now)
    promote(db, now)
    take_in(db, conversation_id, frame)
    return Compacted(committed, sum(m.id <= window for m in messages))
