"""What is settled when the last line of an own export has been taken."""

import json
import sqlite3
from dataclasses import asdict, dataclass, field

from construct.store.curated import revive_memory, supersede_memory
from construct.store.invariants import violations
from construct.store.sql import column, exists, scalar
from construct.store.talk import LAST, set_watermark, watermarks
from construct.store.transfer.arrivals import Arrivals
from construct.store.transfer.format import RefusedError, SqlValue
from construct.text import shorten

_APART = "Import it into a database of its own: `construct --db OTHER import FILE`"


@dataclass(frozen=True, slots=True)
class Reference:
    """A row of which a column names something further down in the file."""

    line: int
    table: str
    column: str
    row_id: int
    kind: str
    uid: str
    superseded_at: SqlValue = None
    """Set for a memory that was known: the time at which the file's newer one took its place."""


@dataclass(slots=True)
class Unsettled:
    """What was noted on the way."""

    newest_before: int
    """The newest message before the import."""
    touched: set[int] = field(default_factory=set)
    """Conversations that anything was added to."""
    made: set[int] = field(default_factory=set)
    """Conversations made by the import."""
    references: list[Reference] = field(default_factory=list)
    freed: list[tuple[int, int]] = field(default_factory=list)
    """An observation whose reflection was left out, and the cycle that made that."""
    observed: dict[int, int] = field(default_factory=dict)
    """Succeeded observer cycles that were added to conversations known here, and these."""
    marks: dict[int, dict[str, tuple[int, SqlValue]]] = field(default_factory=dict)
    awake: list[int] = field(default_factory=list)
    """Messages that are archived here and live in the file."""


def settle(db: sqlite3.Connection, arrivals: Arrivals, open_: Unsettled) -> None:
    """Settle all of it, and check the conversations concerned; raises RefusedError."""
    for reference in open_.references:
        _settle_reference(db, arrivals, reference)
    _free_sources(db, open_.freed)
    for conversation_id, marks in open_.marks.items():
        _settle_watermarks(db, conversation_id, marks, open_)
    _settle_archived(db, open_)
    _check(db, open_)


def diverged(db: sqlite3.Connection, conversation_id: int, where: str = "") -> RefusedError:
    """Return the refusal of a conversation that cannot be brought together with itself."""
    title = scalar(db, "SELECT title FROM conversations WHERE id = ?", (conversation_id,))
    name = f"“{shorten(title, 60)}”" if title else "(no title)"
    return RefusedError(
        f"{where}conversation {conversation_id} {name}",
        "it has gone on both here and in the file, each in its own way",
        _APART,
    )


def _settle_reference(db: sqlite3.Connection, arrivals: Arrivals, to: Reference) -> None:
    found = arrivals.find(to.kind, to.uid)
    if found is None:
        raise RefusedError(f"line {to.line}", f"it names {to.uid}, and no {to.kind} in the file has that uid")
    if to.superseded_at is not None:
        if found.fresh:
            supersede_memory(db, to.row_id, str(to.superseded_at), found.id)
    elif found.id is None:  # the memory that took this one's place was forgotten here
        revive_memory(db, to.row_id)
    else:
        db.execute(f"UPDATE {to.table} SET {to.column} = ? WHERE id = ?", (found.id, to.row_id))


def _free_sources(db: sqlite3.Connection, freed: list[tuple[int, int]]) -> None:
    """Let the sources of reflections that were left out be active again, unless another one stands for them.

    Memories that went together with a source come back together with it.
    """
    for source_id, cycle_id in freed:
        memories = column(
            db,
            """SELECT memories.id FROM memories JOIN observations ON observations.id = observation_id
               WHERE observation_id = ? AND memories.superseded_by IS NULL
               AND memories.superseded_at = observations.superseded_at""",
            (source_id,),
        )
        changed = db.execute(
            """UPDATE observations SET superseded_at = NULL, superseded_by = NULL
               WHERE id = :source AND superseded_by = :cycle AND NOT EXISTS (
                   SELECT 1 FROM observation_sources JOIN observations AS kept ON kept.id = observation_id
                   WHERE source_id = :source AND kept.cycle_id = :cycle)""",
            {"source": source_id, "cycle": cycle_id},
        ).rowcount
        for memory_id in memories if changed else []:
            revive_memory(db, memory_id)


def _settle_watermarks(
    db: sqlite3.Connection, conversation_id: int, marks: dict[str, tuple[int, SqlValue]], open_: Unsettled
) -> None:
    """Set a new conversation's watermarks; a known one's rise as far as cycles that came along bear them."""
    here = asdict(watermarks(db, conversation_id))
    known = conversation_id not in open_.made
    limit = LAST
    if known and conversation_id not in open_.observed.values():
        limit = here["observed"]
    for name, (message_id, updated_at) in marks.items():
        goal = min(message_id, limit)
        if goal > here[name]:
            set_watermark(db, conversation_id, name, goal, str(updated_at))
            open_.touched.add(conversation_id)


def _settle_archived(db: sqlite3.Connection, open_: Unsettled) -> None:
    """Archive what came and no cycle has observed; wake what a cycle that came has observed."""
    for conversation_id in open_.touched:
        db.execute(
            """UPDATE messages SET archived = 1
               WHERE conversation_id = :conversation AND archived = 0 AND id > max(:before, ifnull((
                   SELECT message_id FROM watermarks WHERE conversation_id = :conversation AND name = 'observed'), 0))
               AND NOT EXISTS (
                   SELECT 1 FROM cycles WHERE cycles.conversation_id = :conversation
                   AND kind = 'observer' AND status = 'succeeded'
                   AND messages.id BETWEEN first_message_id AND last_message_id)""",
            {"conversation": conversation_id, "before": open_.newest_before},
        )
    db.executemany(
        """UPDATE messages SET archived = 0 WHERE id = ? AND EXISTS (
               SELECT 1 FROM cycles WHERE cycles.conversation_id = messages.conversation_id
               AND messages.id BETWEEN first_message_id AND last_message_id
               AND id IN (SELECT value FROM json_each(?)))""",
        [(message_id, json.dumps(list(open_.observed))) for message_id in open_.awake if open_.observed],
    )


def _check(db: sqlite3.Connection, open_: Unsettled) -> None:
    for cycle_id, conversation_id in open_.observed.items():
        unread = exists(
            db,
            """cycles JOIN messages ON messages.conversation_id = cycles.conversation_id
                   AND messages.id BETWEEN first_message_id AND last_message_id AND archived = 0
               WHERE cycles.id = ? AND messages.uid NOT IN (SELECT uid FROM temp.arrived WHERE kind = 'message')""",
            (cycle_id,),
        )
        if unread:
            raise diverged(db, conversation_id)
    broken = violations(db, open_.touched)
    if broken:
        more = f" ({len(broken) - 1} more like this)" if len(broken) > 1 else ""
        joined = bool(open_.touched - open_.made)
        raise RefusedError("", broken[0].rstrip(".") + more, *([_APART] if joined else []))
