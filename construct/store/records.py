"""The types of database rows, and of a few things put together from rows.

Rows are named tuples because a turn makes hundreds of them, and a frozen dataclass takes
six times as long to make.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from construct.clock import Clock
from construct.vocabulary import AttachmentKind, Origin

REMOVED = "[removed]"
"""Replaces the text of a forgotten message."""

REFUSED, DROPPED = "refusal", "dropped"
"""Values of `messages.stop_reason` for messages that are left out of requests.

The model declined to answer, or the user dropped the turn. Both the user's message and
any part of a reply are marked.
"""
LEFT_OUT_SQL = f"(stop_reason IS NOT NULL AND stop_reason IN ('{REFUSED}', '{DROPPED}'))"
TO_FORGET_SQL = """(SELECT message_id FROM question_items
    JOIN questions ON questions.id = question_id
    WHERE message_id IS NOT NULL AND withheld_at IS NOT NULL
        AND ifnull(answer, '') <> 'keep')"""
"""SQL for the right side of `IN`: the messages that the user asked to forget.

Recall does not give them to a model. They are withheld once they have left their window.
"""
NOTEBOOK_SQL = "(ifnull(blocks, '') LIKE '{%' AND content = '')"
"""SQL condition on `messages`: a notebook's reply, which no model is sent."""

NOT_REVERTED_SQL = "(SELECT id FROM cycles WHERE status <> 'reverted')"
"""SQL for the right side of `IN`: the cycles that were not undone."""
SETTLING_SQL = "kind = 'edit' AND json_extract(notes, '$[0]') IN ('done', 'cancelled')"
"""SQL condition on `cycles`: an edit that marked an agenda item as done or cancelled."""
SETTLED_SQL = f"cycle_id IN (SELECT id FROM cycles WHERE {SETTLING_SQL})"
"""SQL condition on `observations`: done or cancelled, so no longer due."""


class Conversation(NamedTuple):
    """A row of `conversations`."""

    id: int
    uid: str
    title: str | None
    titled_by: str | None
    created_at: str
    parent_id: int | None
    forked_at_message_id: int | None
    forked_window_message_id: int | None
    """The window that a fork inherits begins after this message, or at the start if None."""
    current_task: str | None
    suggested_response: str | None
    last_request_at: str | None
    cache_life: str | None


class Message(NamedTuple):
    """A row of `messages`: what the user or the assistant said.

    `blocks` is JSON: the tool rounds of a reply, or what a notebook's reply quotes.
    """

    id: int
    uid: str
    conversation_id: int
    role: str
    content: str
    blocks: str | None
    status: str
    archived: int
    token_count: int
    created_at: str
    stop_reason: str | None
    model: str | None
    retried: int
    withheld: int
    attached: str | None = None
    """One line per attachment, such as `[image: cat.png]`."""
    utc_offset: int | None = None
    """Minutes east of UTC at the place where it was written, if that is known."""
    pasted: str | None = None
    """JSON list of `[start, end]` in characters: parts that are not the user's own words."""
    outside: str | None = None
    """How a reply is mixed with text from outside (`Outside`); None if it is not."""

    def written(self, clock: Clock) -> datetime:
        """Return when it was written, as clocks showed it at that place."""
        return clock.there(self.created_at, self.utc_offset)

    @property
    def has_unreadable_attachment(self) -> bool:
        """Whether a picture or PDF is attached, which only a model can read."""
        lines = (self.attached or "").splitlines()
        return any(line.startswith(("[image: ", "[pdf: ")) for line in lines)

    @property
    def text(self) -> str:
        """The attachment lines followed by what was said."""
        return "\n".join(part for part in (self.attached, self.content) if part)

    @property
    def left_out(self) -> str | None:
        """Why it is left out of requests (`refusal` or `dropped`), or None if it is not."""
        return self.stop_reason if self.stop_reason in (REFUSED, DROPPED) else None

    @property
    def quotes(self) -> tuple[str, ...] | None:
        """The uids of the messages that a notebook's reply quotes; None for any other message."""
        if self.content or not (self.blocks or "").startswith("{"):
            return None
        try:
            stored = json.loads(self.blocks or "")
        except ValueError:
            return None
        uids = stored.get("quotes") if stored.get("type") == "notebook" else None
        return tuple(map(str, uids)) if isinstance(uids, list) else None


class StoredAttachment(NamedTuple):
    """A row of `attachments`, without the file's data."""

    id: int
    message_id: int
    position: int
    name: str
    media_type: str
    sha256: str
    size: int
    token_count: int

    @property
    def line(self) -> str:
        """The text that represents the file where its content is not shown."""
        return f"[{AttachmentKind.of(self.media_type)}: {self.name}]"


def written_when(day: str | None, time: str | None, recurs: str | None) -> str:
    """Return when a note is for, as in its line: `2026-03-05 09:30 weekly`, or ""."""
    return " ".join(part for part in (day, time, recurs) if part)


class Observation(NamedTuple):
    """A row of `observations`: one dated fact with a priority."""

    id: int
    uid: str
    conversation_id: int | None
    content: str
    priority: str
    stance: str
    observation_date: str
    referenced_date: str | None
    generation: int
    cycle_id: int
    token_count: int
    pinned: int
    created_at: str
    committed_at: str | None
    superseded_at: str | None
    superseded_by: int | None
    origin: str
    asked_at: str | None
    first_date: str | None = None
    """For a reflection: the earliest date among its sources, if that differs from its own."""
    withheld: int = 0
    """1 while a request to forget it keeps it from the model, until it is kept or deleted."""
    kept: int = 0
    """1 if it was kept on request, by the user or the main model: it is shown in every scope."""
    category: str | None = None
    referenced_time: str | None = None
    """`HH:MM` on the wall clock of `referenced_date`."""
    recurs: str | None = None
    """A value of `Recurrence`, if it comes again from `referenced_date` on."""
    recurs_except: str | None = None
    """JSON list of days on which it does not come again."""
    label: str | None = None
    """A few words for a calendar."""
    remind_at: str | None = None
    """`YYYY-MM-DD HH:MM` on the wall clock."""
    graph_cycle_id: int | None = None
    """The graph cycle that has read it."""
    shelved: int = 0
    """1 while a reflection keeps it out of sight; a pin overrides that."""

    @property
    def when(self) -> str:
        """When it is for, as in its line: `2026-03-05 09:30 weekly`; "" if it is for no day."""
        return written_when(self.referenced_date, self.referenced_time, self.recurs)

    @property
    def state(self) -> str:
        """`pending`, `active`, `shelved` or `superseded`."""
        if self.superseded_at:
            return "superseded"
        if not self.committed_at:
            return "pending"
        return "shelved" if self.shelved and not self.pinned else "active"

    @property
    def is_protected(self) -> bool:
        """Whether workers must leave it alone: it is pinned, or the user wrote it."""
        return bool(self.pinned) or self.origin == Origin.USER


class Cycle(NamedTuple):
    """A row of `cycles`: one worker run or one edit by the user.

    A cycle is the unit of commit, undo and audit.
    """

    id: int
    uid: str
    conversation_id: int | None
    kind: str
    status: str
    first_message_id: int | None
    last_message_id: int | None
    model: str | None
    input_tokens: int
    output_tokens: int
    attempts: int
    started_at: str
    finished_at: str | None
    error: str | None
    notes: str | None
    base_tokens: int | None
    reverted_at: str | None
    held_message_id: int | None


Descent = tuple[tuple[int, int], ...]
"""A conversation and its ancestors, nearest first, as (conversation id, message id) pairs.

The message id is the last one of that conversation that belongs to the line of descent.
"""


@dataclass(frozen=True, slots=True)
class Watermarks:
    """A conversation's watermarks: message ids, 0 for a watermark that was never set."""

    observed: int = 0
    compacted: int = 0
    window: int = 0
