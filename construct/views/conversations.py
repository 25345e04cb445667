"""Conversations: the list, one word for word, and what deleting one takes along."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column
from rich.text import Text

from construct.clock import Clock
from construct.memory.forgetting import Deleted
from construct.operations.conversations import DeletionPreview, Transcript
from construct.store.conversations import ConversationSummary
from construct.store.records import Conversation, Message
from construct.views.forgetting import STILL_IN_FILE
from construct.views.provenance import attachment_json
from construct.views.widgets import grid
from construct.views.words import LEFT_OUT_WORDS, ago, counted, when
from construct.views.wrapping import fitted
from construct.vocabulary import MessageStatus

_BETWEEN = 2
_NARROWEST = 12
"""Columns of a title."""


def conversations_view(
    found: Sequence[ConversationSummary], clock: Clock, here: int | None = None
) -> RenderableType:
    """Return conversations, a line each. `here` is marked."""
    if not found:
        return Text("There are no conversations yet.", style="dim")
    return _Conversations(found, clock, here)


@dataclass(frozen=True, slots=True)
class _Conversations:
    found: Sequence[ConversationSummary]
    clock: Clock
    here: int | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        beside = [self._beside(one) for one in self.found]
        taken = sum(max(map(len, column)) + _BETWEEN for column in zip(*beside, strict=True))
        room = max(_NARROWEST, options.max_width - taken)
        yield grid(
            (
                (Text(number, style="accent" if "›" in number else ""), _title(one, room), *rest)
                for one, (number, *rest) in zip(self.found, beside, strict=True)
            ),
            Column(no_wrap=True, justify="right"),
            Column(no_wrap=True),
            Column(no_wrap=True, justify="right", style="dim"),
            Column(no_wrap=True, style="dim"),
            gap=_BETWEEN,
        )

    def _beside(self, one: ConversationSummary) -> tuple[str, str, str]:
        number = f"{'› ' if one.conversation.id == self.here else ''}{one.conversation.id}"
        return number, counted(one.messages, "message"), ago(one.last_at, self.clock)


def _title(one: ConversationSummary, room: int) -> Text:
    fork = "" if one.conversation.parent_id is None else f"  fork of {one.conversation.parent_id}"
    title = fitted(one.name, max(_NARROWEST, room - cell_len(fork)))
    return Text(title, style="" if one.conversation.title else "dim").append(fork, style="dim")


def conversations_json(found: Sequence[ConversationSummary]) -> list[dict[str, Any]]:
    """Return the same for programs."""
    return [
        _json(one.conversation) | {"messages": one.messages, "last_at": one.last_at}
        for one in found
    ]


def transcript_text(found: Transcript, clock: Clock) -> str:
    """Return a conversation word for word."""
    return "\n".join([f"# {found.summary.name}", *(_said(m, found, clock) for m in found.messages)])


def transcript_json(found: Transcript) -> dict[str, Any]:
    """Return the same for programs."""
    messages = [
        {
            "id": m.id,
            "role": m.role,
            "content": m.content,
            "created_at": m.created_at,
            "status": m.status,
            "archived": bool(m.archived),
            "left_out": m.left_out,
            "attachments": [
                attachment_json(one) for one in found.attachments if one.message_id == m.id
            ],
        }
        for m in found.messages
    ]
    return _json(found.summary.conversation) | {"messages": messages}


def deletion_text(preview: DeletionPreview) -> str:
    """Return what deleting a conversation would take along."""
    here, plan = preview.summary, preview.plan
    text = (
        f"Conversation {here.conversation.id} “{here.name}”: {counted(plan.messages, 'message')}, "
        f"{counted(len(plan.observations), 'observation')} "
        f"and {counted(len(plan.memories), 'memory')} from them."
    )
    if plan.forks:
        text += f" {counted(len(plan.forks), 'fork')} will go on without what was said here."
    return text


def deleted_text(gone: Deleted) -> str:
    """Return what was deleted."""
    counts = f"{counted(gone.messages, 'message')}, {counted(gone.observations, 'observation')}"
    pending = STILL_IN_FILE if gone.pending_erasure else ""
    return f"Deleted conversation {gone.conversation}: {counts}.{pending}"


def _said(message: Message, found: Transcript, clock: Clock) -> str:
    notes = ["interrupted"] if message.status == MessageStatus.INTERRUPTED else []
    notes += [LEFT_OUT_WORDS[message.left_out]] if message.left_out else []
    note = f" ({', '.join(notes)})" if notes else ""
    files = [one for one in found.attachments if one.message_id == message.id]
    lines = [f"{one.line}  attachment {one.id}" for one in files]
    words = [message.content] if message.content or not files else []
    head = f"\n[{when(message.created_at, clock)}] {message.role}{note}:"
    return "\n".join([head, *lines, *words])


def _json(c: Conversation) -> dict[str, Any]:
    return {
        "id": c.id,
        "title": c.title,
        "created_at": c.created_at,
        "parent": c.parent_id,
        "forked_at_message": c.forked_at_message_id,
        "current_task": c.current_task,
    }
