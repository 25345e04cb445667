"""Render conversations: the list, a transcript, and what deleting one removes."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column
from rich.text import Text

from construct.clock import Clock
from construct.memory.forgetting import Deleted
from construct.operations.conversations import DeletionPreview, Transcript
from construct.store.conversations import ConversationSummary
from construct.store.records import Message
from construct.views.forgetting import still_in_file
from construct.views.shapes import ConversationJson, summary_json, talk_json
from construct.views.widgets import grid
from construct.views.words import LEFT_OUT_WORDS, ago, counted, written_at
from construct.views.wrapping import ellipsized
from construct.vocabulary import MessageStatus

_GAP = 2
_MIN_TITLE_WIDTH = 12


def conversations_view(
    summaries: Sequence[ConversationSummary], clock: Clock, here: int | None = None
) -> RenderableType:
    """Return one line per conversation; the one with the id `here` is marked."""
    if not summaries:
        return Text("There are no conversations yet.", style="dim")
    return _Conversations(summaries, clock, here)


@dataclass(frozen=True, slots=True)
class _Conversations:
    """A table of conversations whose titles are cut to the console's width."""

    summaries: Sequence[ConversationSummary]
    clock: Clock
    here: int | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        beside = [self._beside_title(summary) for summary in self.summaries]
        taken = sum(max(map(len, column)) + _GAP for column in zip(*beside, strict=True))
        room = max(_MIN_TITLE_WIDTH, options.max_width - taken)
        rows: list[tuple[RenderableType, ...]] = []
        for summary, (number, *figures) in zip(self.summaries, beside, strict=True):
            style = "accent" if summary.conversation.id == self.here else ""
            rows.append((Text(number, style=style), _title(summary, room), *figures))
        yield grid(
            rows,
            Column(no_wrap=True, justify="right"),
            Column(no_wrap=True),
            Column(no_wrap=True, justify="right", style="dim"),
            Column(no_wrap=True, style="dim"),
            gap=_GAP,
        )

    def _beside_title(self, summary: ConversationSummary) -> tuple[str, str, str]:
        mark = "› " if summary.conversation.id == self.here else ""
        return (
            f"{mark}{summary.conversation.id}",
            counted(summary.messages, "message"),
            ago(summary.last_at, self.clock),
        )


def _title(summary: ConversationSummary, room: int) -> Text:
    fork = (
        ""
        if summary.conversation.parent_id is None
        else f"  fork of {summary.conversation.parent_id}"
    )
    title = ellipsized(summary.name, max(_MIN_TITLE_WIDTH, room - cell_len(fork)))
    return Text(title, style="" if summary.conversation.title else "dim").append(fork, style="dim")


def conversations_json(summaries: Sequence[ConversationSummary]) -> list[ConversationJson]:
    """Return the JSON form of `conversations_view`."""
    return [summary_json(summary) for summary in summaries]


def transcript_text(transcript: Transcript, clock: Clock) -> str:
    """Return a conversation word for word."""
    return "\n".join(
        [
            f"# {transcript.summary.name}",
            *(_message_text(m, transcript, clock) for m in transcript.messages),
        ]
    )


def transcript_json(transcript: Transcript) -> ConversationJson:
    """Return the JSON form of `transcript_text`."""
    return talk_json(transcript.summary, transcript.messages, transcript.attachments)


def deletion_text(preview: DeletionPreview) -> str:
    """Return what deleting a conversation would delete with it."""
    summary, plan = preview.summary, preview.plan
    source = "it" if plan.messages == 1 else "them"
    text = (
        f"Conversation {summary.conversation.id} “{summary.name}”: "
        f"{counted(plan.messages, 'message')} and "
        f"{counted(len(plan.observations), 'observation')} drawn from {source}."
    )
    if plan.forks:
        text += f" {counted(len(plan.forks), 'fork')} will continue without what was said here."
    return text


def deleted_text(deleted: Deleted) -> str:
    """Return what was deleted with a conversation."""
    counts = (
        f"{counted(deleted.messages, 'message')} and {counted(deleted.observations, 'observation')}"
    )
    pending = still_in_file() if deleted.pending_erasure else ""
    return f"Deleted conversation {deleted.conversation}: {counts}.{pending}"


def _message_text(message: Message, transcript: Transcript, clock: Clock) -> str:
    notes = ["interrupted"] if message.status == MessageStatus.INTERRUPTED else []
    notes += [LEFT_OUT_WORDS[message.left_out]] if message.left_out else []
    note = f" ({', '.join(notes)})" if notes else ""
    files = [attached for attached in transcript.attachments if attached.message_id == message.id]
    lines = [f"{attached.line}  attachment {attached.id}" for attached in files]
    content = [message.content] if message.content or not files else []
    head = f"\n[{written_at(message, clock)}] {message.role}{note}:"
    return "\n".join([head, *lines, *content])
