"""Rows as they cross module borders.

Named tuples, as hundreds are made in a turn: a frozen dataclass takes six times as
long.
"""

import json
from dataclasses import dataclass
from typing import NamedTuple

from construct.vocabulary import AttachmentKind, MemoryOrigin

REMOVED = "[removed]"
"""Stands in the place of words that were forgotten."""


REFUSED, DROPPED = "refusal", "dropped"
"""Values of `messages.stop_reason` for what is left out of requests: the model declined to answer
it, or the user dropped it. The user's message and what came of a reply both have it."""
LEFT_OUT_SQL = f"(stop_reason IS NOT NULL AND stop_reason IN ('{REFUSED}', '{DROPPED}'))"

SETTLING_SQL = "kind = 'edit' AND json_extract(notes, '$[0]') IN ('done', 'cancelled')"
"""A condition on `cycles`: an edit that says how something on the agenda turned out."""
SETTLED_SQL = f"cycle_id IN (SELECT id FROM cycles WHERE {SETTLING_SQL})"
"""A condition on `observations`: it was done or cancelled, and is no longer due."""


class Conversation(NamedTuple):
    """One thread of talk."""

    id: int
    uid: str
    title: str | None
    titled_by: str | None
    created_at: str
    parent_id: int | None
    forked_at_message_id: int | None
    forked_window_message_id: int | None
    """Where the window it inherits begins: after this message; None: at the start."""
    current_task: str | None
    suggested_response: str | None
    last_request_at: str | None
    cache_life: str | None


class Message(NamedTuple):
    """One turn's text as it was said.

    `blocks` is JSON, kept when there was more than text.
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
    """The lines that stand for its attachments, such as `[image: cat.png]`."""

    @property
    def shows_more(self) -> bool:
        """Whether it came with a picture or PDF: something that no code can read."""
        lines = (self.attached or "").splitlines()
        return any(line.startswith(("[image: ", "[pdf: ")) for line in lines)

    @property
    def text(self) -> str:
        """What was said, below a line for each attachment."""
        return "\n".join(part for part in (self.attached, self.content) if part)

    @property
    def left_out(self) -> str | None:
        """Why it is left out of requests: `refusal` or `dropped`.

        None when it is not.
        """
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


class Attached(NamedTuple):
    """A file that came with a message, without its data."""

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
        """What stands for it where it is not shown."""
        return f"[{AttachmentKind.of(self.media_type)}: {self.name}]"


class Observation(NamedTuple):
    """One dated, prioritised fact."""

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
    """Of a reflection: the first day of its sources, where that is another."""
    withheld: int = 0
    """Kept from the main model at the user's wish, until they say what to do."""

    @property
    def state(self) -> str:
        """`pending`, `active` or `superseded`."""
        if self.superseded_at:
            return "superseded"
        return "active" if self.committed_at else "pending"

    @property
    def is_protected(self) -> bool:
        """Whether no worker may overrule it: it is pinned, or the user's own words."""
        return bool(self.pinned) or self.origin == MemoryOrigin.USER


class Cycle(NamedTuple):
    """One run of a worker or one edit: the unit of commit, of undo and of the audit trail."""

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


class Memory(NamedTuple):
    """Something worth keeping by itself."""

    id: int
    uid: str
    content: str
    category: str | None
    origin: str
    observation_id: int | None
    created_at: str
    superseded_at: str | None
    superseded_by: int | None
    cycle_id: int | None


Descent = tuple[tuple[int, int], ...]
"""A talk and those it goes on from, its parent first.

Each conversation with its last message that counts.
"""


@dataclass(frozen=True, slots=True)
class Watermarks:
    """A conversation's watermarks; 0 where nothing has been passed yet."""

    observed: int = 0
    compacted: int = 0
    window: int = 0
