"""Cycles, open chats, and the leases of both: plain queries.

A running cycle has an owner (host, boot, pid, start time) and a heartbeat by the real
clock. It is abandoned at once when its owner is gone from this host, else when the
heartbeat is old. Setting the clock must not make a living process look gone.
"""

import json
import os
import sqlite3
import time
from functools import cache
from pathlib import Path

from construct.store.never import is_forbidden
from construct.store.records import SETTLING_SQL, Cycle
from construct.store.sql import exists, first, insert, new_uid, scalar, select
from construct.tokens import Usage
from construct.vocabulary import CycleKind, CycleStatus, Settled

_ENDED = (CycleStatus.SUCCEEDED, CycleStatus.FAILED, CycleStatus.REVERTED)
HEARTBEAT_SECONDS = 5.0
STALE_SECONDS = 90.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def _host() -> tuple[str, str]:
    import socket

    boot = _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else ""
    return socket.gethostname(), boot


def _started(pid: int) -> float:
    """Return when a process started, in seconds that stay the same when the clock is set.

    On Linux psutil adds the time of boot, which moves with the clock; elsewhere the system keeps
    the moment itself.
    """
    import psutil

    started = psutil.Process(pid).create_time()
    return started - psutil.boot_time() if psutil.LINUX else started


@cache
def owner() -> str:
    """Return this process as JSON for a lease."""
    host, boot = _host()
    return json.dumps(
        {"host": host, "boot": boot, "pid": os.getpid(), "started": _started(os.getpid())}
    )


def is_gone(owner_json: str | None, heartbeat: float | None, now: float) -> bool:
    """Return whether a lease's owner has stopped.

    On this host that is seen at once, elsewhere by its heartbeat.
    """
    import psutil

    try:
        data = json.loads(owner_json or "{}")
        host, boot = str(data["host"]), data.get("boot")
        pid, started = int(data["pid"]), float(data["started"])
    except (ValueError, KeyError, TypeError):
        return True
    here, this_boot = _host()
    if host == here:
        if boot != this_boot:
            return True
        try:
            return abs(_started(pid) - started) > 2.0
        except psutil.NoSuchProcess:
            return True
        except psutil.AccessDenied:
            pass
    # One that is still to come was set by a clock that was ahead: it must not count
    # until then.
    return heartbeat is None or abs(now - heartbeat) > STALE_SECONDS


def abandon_dead(db: sqlite3.Connection, now: str) -> int:
    """Abandon the running cycles and close the sessions whose owner is gone.

    Returns the number of cycles.
    """
    dead = _gone(db, "cycles WHERE status = 'running'")
    db.executemany(
        """UPDATE cycles SET status = 'abandoned', finished_at = ?, owner = NULL,
           heartbeat = NULL, phase = NULL,
           error = 'the process stopped' WHERE id = ? AND status = 'running'""",
        [(now, i) for i in dead],
    )
    for session_id in _gone(db, "sessions"):
        close_session(db, session_id)
    return len(dead)


def has_leases(db: sqlite3.Connection) -> bool:
    """Return whether a cycle runs or a chat is open, here or in a process that is gone."""
    return exists(db, "cycles WHERE status = 'running'") or exists(db, "sessions")


def _gone(db: sqlite3.Connection, leases: str) -> list[int]:
    rows = db.execute(f"SELECT id, owner, heartbeat FROM {leases}").fetchall()
    return [i for i, holder, heartbeat in rows if is_gone(holder, heartbeat, time.time())]


def start_cycle(
    db: sqlite3.Connection,
    kind: str,
    conversation_id: int | None,
    now: str,
    *,
    span: tuple[int, int] | None = None,
    model: str | None = None,
) -> int | None:
    """Store a running cycle of ours and return its id.

    None while another process runs one of that kind there.
    """
    begin, end = span or (None, None)
    row = {
        "uid": new_uid(),
        "conversation_id": conversation_id,
        "kind": kind,
        "status": CycleStatus.RUNNING,
        "first_message_id": begin,
        "last_message_id": end,
        "model": model,
        "started_at": now,
        "owner": owner(),
        "heartbeat": time.time(),
    }
    try:
        return insert(db, "cycles", row)
    except sqlite3.IntegrityError:  # the index one_running_cycle
        return None


def beat(db: sqlite3.Connection, cycle_id: int) -> None:
    """Show that the cycle's owner lives."""
    db.execute(
        "UPDATE cycles SET heartbeat = ? WHERE id = ? AND status = 'running'",
        (time.time(), cycle_id),
    )


def set_phase(db: sqlite3.Connection, cycle_id: int, phase: str | None) -> None:
    """Say which step a running cycle is at, where it is not its first."""
    db.execute(
        "UPDATE cycles SET phase = ? WHERE id = ? AND status = 'running' AND phase IS NOT ?",
        (phase, cycle_id, phase),
    )


def is_checking(db: sqlite3.Connection) -> bool:
    """Return whether a verifier is being asked, in any process."""
    return exists(db, "cycles WHERE status = 'running' AND phase = 'checking'")


def finish_cycle(
    db: sqlite3.Connection,
    cycle_id: int,
    status: str,
    now: str,
    *,
    usage: Usage = Usage(),
    attempts: int = 0,
    model: str | None = None,
    error: str | None = None,
    notes: list[str] | None = None,
    base_tokens: int | None = None,
) -> bool:
    """End a running cycle; False when it is no longer ours to end.

    Notes that the user's rules forbid are not stored.
    """
    kept = [note for note in notes or [] if not is_forbidden(db, note)]
    if is_forbidden(db, error):
        error = "what went wrong names words that your rules forbid"
    return bool(
        db.execute(
            """UPDATE cycles SET status = ?, finished_at = ?, input_tokens = ?, output_tokens = ?,
               attempts = ?, model = coalesce(?, model), error = ?, notes = ?, base_tokens = ?,
               owner = NULL, heartbeat = NULL,
               phase = NULL
               WHERE id = ? AND status = 'running'""",
            (
                status, now, usage.prompt_tokens, usage.output_tokens, attempts, model, error,
                json.dumps(kept) if kept else None, base_tokens, cycle_id,
            ),
        ).rowcount
    )  # fmt: skip


def insert_edit(
    db: sqlite3.Connection, conversation_id: int | None, now: str, notes: str | None = None
) -> int:
    """Store an edit by the user as a finished cycle and return its id.

    `notes` is what `settled_notes` gives where the edit settled something.
    """
    row = {
        "uid": new_uid(),
        "conversation_id": conversation_id,
        "kind": CycleKind.EDIT,
        "status": CycleStatus.SUCCEEDED,
        "notes": notes,
    }
    return insert(db, "cycles", row | {"started_at": now, "finished_at": now})


def settled_notes(how: Settled) -> str:
    """Return the notes of an edit that settled something, as they are stored."""
    return json.dumps([how])


def settled_by(db: sqlite3.Connection, cycle_id: int) -> str | None:
    """Return the notes of a cycle if it is an edit that settled something."""
    query = f"SELECT notes FROM cycles WHERE id = ? AND {SETTLING_SQL}"
    return scalar(db, query, (cycle_id,))


def last_cycle(
    db: sqlite3.Connection,
    kind: str,
    conversation_id: int | None,
    statuses: tuple[str, ...] = _ENDED,
) -> Cycle | None:
    """Return the newest cycle of a kind that ended in one of these ways.

    Without a conversation: the newest of those over several.
    """
    marks = ",".join("?" * len(statuses))
    source = (
        f"cycles WHERE kind = ? AND conversation_id IS ? AND status IN ({marks}) ORDER BY id DESC"
    )
    return first(db, Cycle, source, (kind, conversation_id, *statuses))


def last_of_living_talk(db: sqlite3.Connection, conversation_id: int) -> Cycle | None:
    """Return the newest observer cycle that ran to its end, undone or not.

    One over archived messages alone does not count.
    """
    source = """cycles AS c WHERE kind = 'observer' AND conversation_id = ?
        AND status IN ('succeeded', 'reverted') AND EXISTS (
            SELECT 1 FROM messages AS m
            WHERE m.conversation_id = c.conversation_id AND m.archived = 0
                    AND m.id BETWEEN c.first_message_id AND c.last_message_id)
        ORDER BY id DESC"""
    return first(db, Cycle, source, (conversation_id,))


def answered_until(db: sqlite3.Connection, kind: str, conversation_id: int | None) -> str:
    """Return when the last cycle of a kind ended that a model answered, or ""."""
    query = """SELECT max(finished_at) FROM cycles WHERE kind = ? AND conversation_id IS ?
               AND status IN ('succeeded', 'failed') AND output_tokens > 0"""
    return scalar(db, query, (kind, conversation_id)) or ""


def get_cycle(db: sqlite3.Connection, cycle_id: int) -> Cycle:
    """Return the cycle of an id that a row names."""
    found = first(db, Cycle, "cycles WHERE id = ?", (cycle_id,))
    assert found is not None
    return found


def running(db: sqlite3.Connection) -> list[Cycle]:
    """Return the cycles at work in any process."""
    return select(db, Cycle, "cycles WHERE status = 'running' ORDER BY id")


def is_running(db: sqlite3.Connection, cycle_id: int) -> bool:
    """Return whether a cycle has neither ended nor been abandoned."""
    return exists(db, "cycles WHERE id = ? AND status = 'running'", (cycle_id,))


def cycles(db: sqlite3.Connection, limit: int) -> list[Cycle]:
    """Return the newest cycles, newest first."""
    return select(db, Cycle, "cycles ORDER BY id DESC LIMIT ?", (limit,))


def open_session(db: sqlite3.Connection, conversation_id: int | None) -> int:
    """Store that a chat is open in this process and return its id."""
    return insert(
        db,
        "sessions",
        {"conversation_id": conversation_id, "owner": owner(), "heartbeat": time.time()},
    )


def beat_session(db: sqlite3.Connection, session_id: int, conversation_id: int | None) -> None:
    """Show that the chat is still open, and where."""
    db.execute(
        "UPDATE sessions SET heartbeat = ?, conversation_id = ? WHERE id = ?",
        (time.time(), conversation_id, session_id),
    )


def close_session(db: sqlite3.Connection, session_id: int) -> None:
    """Forget an open chat."""
    db.execute("DELETE FROM sessions WHERE id = ?", (session_id,))


def has_live_session(db: sqlite3.Connection) -> bool:
    """Return whether a chat is open in some process."""
    return _any_lives(db.execute("SELECT owner, heartbeat FROM sessions"))


def is_open_elsewhere(db: sqlite3.Connection, conversation_id: int, session_id: int) -> bool:
    """Return whether another chat than this one is open in a conversation."""
    others = "SELECT owner, heartbeat FROM sessions WHERE conversation_id = ? AND id <> ?"
    return _any_lives(db.execute(others, (conversation_id, session_id)))


def _any_lives(sessions: sqlite3.Cursor) -> bool:
    return any(
        not is_gone(owner, heartbeat, time.time()) for owner, heartbeat in sessions.fetchall()
    )
