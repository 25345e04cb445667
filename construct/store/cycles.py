"""Queries for cycles and open chats (sessions), and the leases of both.

A running cycle or open chat has an owner (host, boot, pid, start time) and a heartbeat
by the system clock. It counts as abandoned as soon as its process is gone from this
host; on another host, once the heartbeat is old. A change of the clock must not make a
live process look gone.
"""

import json
import os
import time
from functools import cache
from pathlib import Path

from construct.store.driver import Connection, Cursor, integrity_errors
from construct.store.forbidden import is_forbidden
from construct.store.records import SETTLING_SQL, Cycle
from construct.store.sql import exists, first, insert, new_uid, scalar, select
from construct.tokens import Usage
from construct.vocabulary import CycleKind, CycleStatus, Settled

_ENDED = (CycleStatus.SUCCEEDED, CycleStatus.FAILED, CycleStatus.REVERTED)
HEARTBEAT_SECONDS = 5.0
"""How often a running cycle renews its heartbeat; an open chat does less often."""
STALE_SECONDS = 90.0
"""Age from which a heartbeat from another host counts as stale."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def _host() -> tuple[str, str]:
    import socket

    boot = _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else ""
    return socket.gethostname(), boot


def _started(pid: int) -> float:
    """Return when a process started, in seconds that do not change when the clock is set.

    On Linux psutil adds the time of boot, which changes with the clock, so it is
    subtracted again. Other systems record the start time itself.
    """
    import psutil

    started = psutil.Process(pid).create_time()
    return started - psutil.boot_time() if psutil.LINUX else started


@cache
def owner() -> str:
    """Return the JSON that identifies this process in a lease."""
    host, boot = _host()
    return json.dumps(
        {"host": host, "boot": boot, "pid": os.getpid(), "started": _started(os.getpid())}
    )


def is_gone(owner_json: str | None, heartbeat: float | None, now: float) -> bool:
    """Return whether the process that owns a lease is gone.

    On this host the process is looked up; otherwise the heartbeat decides.
    """
    import psutil

    try:
        process = json.loads(owner_json or "{}")
        host, boot = str(process["host"]), process.get("boot")
        pid, started = int(process["pid"]), float(process["started"])
    except (ValueError, KeyError, TypeError):
        return True
    this_host, this_boot = _host()
    if host == this_host:
        if boot != this_boot:
            return True
        try:
            return abs(_started(pid) - started) > 2.0
        except psutil.NoSuchProcess:
            return True
        except psutil.AccessDenied:
            pass
    # A heartbeat in the future comes from a clock that was ahead. It must not count
    # until then, hence abs().
    return heartbeat is None or abs(now - heartbeat) > STALE_SECONDS


def abandon_orphaned(db: Connection, now: str) -> int:
    """Abandon running cycles and close sessions whose owner is gone.

    Returns the number of cycles abandoned.
    """
    orphaned = _ids_with_owner_gone(db, "cycles WHERE status = 'running'")
    db.executemany(
        """UPDATE cycles SET status = 'abandoned', finished_at = ?, owner = NULL,
           heartbeat = NULL, phase = NULL,
           error = 'the process stopped' WHERE id = ? AND status = 'running'""",
        [(now, cycle_id) for cycle_id in orphaned],
    )
    for session_id in _ids_with_owner_gone(db, "sessions"):
        close_session(db, session_id)
    return len(orphaned)


def has_leases(db: Connection) -> bool:
    """Return whether any cycle is marked as running or any chat as open."""
    return exists(db, "cycles WHERE status = 'running'") or exists(db, "sessions")


def _ids_with_owner_gone(db: Connection, leases: str) -> list[int]:
    rows = db.execute(f"SELECT id, owner, heartbeat FROM {leases}").fetchall()
    return [i for i, holder, heartbeat in rows if is_gone(holder, heartbeat, time.time())]


def start_cycle(
    db: Connection,
    kind: str,
    conversation_id: int | None,
    now: str,
    *,
    span: tuple[int, int] | None = None,
    model: str | None = None,
) -> int | None:
    """Store a running cycle owned by this process and return its id.

    `span` is the first and last message id it reads. Returns None while a cycle of that
    kind runs for the conversation, or if the conversation has been deleted.
    """
    first_message_id, last_message_id = span or (None, None)
    row = {
        "uid": new_uid(),
        "conversation_id": conversation_id,
        "kind": kind,
        "status": CycleStatus.RUNNING,
        "first_message_id": first_message_id,
        "last_message_id": last_message_id,
        "model": model,
        "started_at": now,
        "owner": owner(),
        "heartbeat": time.time(),
    }
    try:
        return insert(db, "cycles", row)
    except integrity_errors():  # the index one_running_cycle, or no such conversation
        return None


def renew_heartbeat(db: Connection, cycle_id: int) -> None:
    """Renew the heartbeat of a cycle."""
    db.execute(
        "UPDATE cycles SET heartbeat = ? WHERE id = ? AND status = 'running'",
        (time.time(), cycle_id),
    )


def set_phase(db: Connection, cycle_id: int, phase: str | None) -> None:
    """Set the step that a running cycle is at, None for its first."""
    db.execute(
        "UPDATE cycles SET phase = ? WHERE id = ? AND status = 'running' AND phase IS NOT ?",
        (phase, cycle_id, phase),
    )


def is_checking(db: Connection) -> bool:
    """Return whether a verifier is at work in any process."""
    return exists(db, "cycles WHERE status = 'running' AND phase = 'checking'")


def finish_cycle(
    db: Connection,
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
    """End a running cycle; returns False if it was no longer running.

    Notes that the user's rules forbid are not stored. An abandoned cycle has no notes, so
    that it ends even while the rules cannot be read.
    """
    allowed: list[str] = []
    if status == CycleStatus.ABANDONED:
        error = "it was interrupted"
    else:
        allowed = [note for note in notes or [] if not is_forbidden(db, note)]
        if is_forbidden(db, error):
            error = "the error contains words that your rules forbid"
    return bool(
        db.execute(
            """UPDATE cycles SET status = ?, finished_at = ?, input_tokens = ?, output_tokens = ?,
               attempts = ?, model = coalesce(?, model), error = ?, notes = ?, base_tokens = ?,
               owner = NULL, heartbeat = NULL,
               phase = NULL
               WHERE id = ? AND status = 'running'""",
            (
                status, now, usage.prompt_tokens, usage.output_tokens, attempts, model, error,
                json.dumps(allowed) if allowed else None, base_tokens, cycle_id,
            ),
        ).rowcount
    )  # fmt: skip


def insert_edit(
    db: Connection,
    conversation_id: int | None,
    now: str,
    notes: str | None = None,
    model: str | None = None,
) -> int:
    """Store an edit by the user as a finished cycle and return its id.

    If the edit settles an agenda item, `notes` comes from `settled_notes`. `model`: the one
    that read again what the user took over.
    """
    row = {
        "uid": new_uid(),
        "conversation_id": conversation_id,
        "kind": CycleKind.EDIT,
        "status": CycleStatus.SUCCEEDED,
        "notes": notes,
        "model": model,
    }
    return insert(db, "cycles", row | {"started_at": now, "finished_at": now})


def delete_edit(db: Connection, cycle_id: int) -> None:
    """Delete an edit that turned out to change nothing."""
    db.execute("DELETE FROM cycles WHERE id = ? AND kind = 'edit'", (cycle_id,))


def settled_notes(how: Settled) -> str:
    """Return the `notes` of an edit that marks an agenda item as done or cancelled."""
    return json.dumps([how])


def settled_by(db: Connection, cycle_id: int) -> str | None:
    """Return a cycle's notes if it is an edit that settled an agenda item, else None."""
    query = f"SELECT notes FROM cycles WHERE id = ? AND {SETTLING_SQL}"
    return scalar(db, query, (cycle_id,))


def last_cycle(
    db: Connection,
    kind: str,
    conversation_id: int | None,
    statuses: tuple[str, ...] = _ENDED,
) -> Cycle | None:
    """Return the newest cycle of a kind in a conversation that ended with one of `statuses`.

    None for the conversation means cycles that belong to no single conversation.
    """
    marks = ",".join("?" * len(statuses))
    source = (
        f"cycles WHERE kind = ? AND conversation_id IS ? AND status IN ({marks}) ORDER BY id DESC"
    )
    return first(db, Cycle, source, (kind, conversation_id, *statuses))


def last_over_live_messages(db: Connection, conversation_id: int) -> Cycle | None:
    """Return a conversation's newest observer cycle that succeeded, undone or not.

    Cycles that read nothing but archived messages do not count.
    """
    source = """cycles AS c WHERE kind = 'observer' AND conversation_id = ?
        AND status IN ('succeeded', 'reverted') AND EXISTS (
            SELECT 1 FROM messages AS m
            WHERE m.conversation_id = c.conversation_id AND m.archived = 0
                    AND m.id BETWEEN c.first_message_id AND c.last_message_id)
        ORDER BY id DESC"""
    return first(db, Cycle, source, (conversation_id,))


def answered_until(db: Connection, kind: str, conversation_id: int | None) -> str:
    """Return when the last cycle of a kind that got an answer from a model ended, or "".

    Undone and abandoned cycles do not count.
    """
    query = """SELECT max(finished_at) FROM cycles WHERE kind = ? AND conversation_id IS ?
               AND status IN ('succeeded', 'failed') AND output_tokens > 0"""
    return scalar(db, query, (kind, conversation_id)) or ""


def get_cycle(db: Connection, cycle_id: int) -> Cycle:
    """Return a cycle, which must exist."""
    cycle = first(db, Cycle, "cycles WHERE id = ?", (cycle_id,))
    assert cycle is not None
    return cycle


def running(db: Connection) -> list[Cycle]:
    """Return the running cycles of all processes."""
    return select(db, Cycle, "cycles WHERE status = 'running' ORDER BY id")


def is_running(db: Connection, cycle_id: int) -> bool:
    """Return whether a cycle has neither ended nor been abandoned."""
    return exists(db, "cycles WHERE id = ? AND status = 'running'", (cycle_id,))


def cycles(db: Connection, limit: int) -> list[Cycle]:
    """Return the newest cycles, newest first."""
    return select(db, Cycle, "cycles ORDER BY id DESC LIMIT ?", (limit,))


def open_session(db: Connection, conversation_id: int | None) -> int:
    """Store that a chat is open in this process and return the session's id."""
    return insert(
        db,
        "sessions",
        {"conversation_id": conversation_id, "owner": owner(), "heartbeat": time.time()},
    )


def renew_session(db: Connection, session_id: int, conversation_id: int | None) -> None:
    """Renew the heartbeat of an open chat, and store which conversation it is in."""
    db.execute(
        "UPDATE sessions SET heartbeat = ?, conversation_id = ? WHERE id = ?",
        (time.time(), conversation_id, session_id),
    )


def close_session(db: Connection, session_id: int) -> None:
    """Delete the session of a chat that was closed."""
    db.execute("DELETE FROM sessions WHERE id = ?", (session_id,))


def has_live_session(db: Connection) -> bool:
    """Return whether a chat is open in any process."""
    return _any_alive(db.execute("SELECT owner, heartbeat FROM sessions"))


def note_key(db: Connection, session_id: int, pressed_at: float) -> None:
    """Record when the user last pressed a key in an open chat, by the real clock."""
    db.execute("UPDATE sessions SET last_key_at = ? WHERE id = ?", (pressed_at, session_id))


def is_user_at_a_chat(db: Connection, since: float) -> bool:
    """Return whether a key was pressed in an open chat since a time of the real clock."""
    return _any_alive(
        db.execute("SELECT owner, heartbeat FROM sessions WHERE last_key_at >= ?", (since,))
    )


def is_open_elsewhere(db: Connection, conversation_id: int, session_id: int) -> bool:
    """Return whether a conversation is open in a chat other than this session."""
    others = "SELECT owner, heartbeat FROM sessions WHERE conversation_id = ? AND id <> ?"
    return _any_alive(db.execute(others, (conversation_id, session_id)))


def _any_alive(sessions: Cursor) -> bool:
    return any(
        not is_gone(owner, heartbeat, time.time()) for owner, heartbeat in sessions.fetchall()
    )
