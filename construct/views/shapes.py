"""The JSON of a note, a message, a conversation and a plan, wherever they appear.

Each field says what it means; `python -m docs.programs` makes the tables of
docs/programs.md from this. Fields may be added, but none may go or change its meaning.
Does not import rich.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, TypedDict

from construct.store.records import Conversation, Message, Observation, StoredAttachment
from construct.vocabulary import AgendaState, Match

if TYPE_CHECKING:  # a command imports only what it prints
    from construct.memory.agenda import AgendaItem
    from construct.memory.learning.proposals import ProposedObservation
    from construct.memory.recall.search import Hit
    from construct.store.agenda import DatedNote
    from construct.store.conversations import ConversationSummary


class DraftJson(TypedDict):
    """What a note says, also one that is not stored."""

    kind: Annotated[Literal["observation"], "`observation`"]
    date: Annotated[str, "the day it is about or was said, `YYYY-MM-DD`"]
    text: Annotated[str, "the fact"]
    priority: Annotated[str, "`high`, `medium` or `low`"]
    stance: Annotated[
        str,
        "`stated`, `planned`, `asked`, `inferred`, `hypothetical`, `assistant` or `quoted`",
    ]
    referenced_date: Annotated[
        str | None, "the day, month or year it is for: `YYYY-MM-DD`, `YYYY-MM` or `YYYY`"
    ]
    referenced_time: Annotated[str | None, "`HH:MM` on that day"]
    recurs: Annotated[str | None, "`yearly`, `monthly`, `weekly` or `daily`, if it comes again"]
    label: Annotated[str | None, "a few words for a calendar"]
    remind_at: Annotated[
        str | None, "when to remind the user, `YYYY-MM-DD HH:MM` on the wall clock"
    ]


class NoteJson(DraftJson):
    """A note that is stored."""

    id: Annotated[int, "the number that commands take"]
    conversation: Annotated[
        int | None, "where it was learned; null for several conversations, or none"
    ]
    generation: Annotated[int, "0 if it was made from messages, more for a reflection"]
    state: Annotated[str, "`pending`, `active`, `shelved` (true, but out of sight) or `superseded`"]
    origin: Annotated[str, "who wrote it: `worker`, `user`, `assistant`, `door` or `import`"]
    pinned: Annotated[bool, "whether you pinned it"]
    kept: Annotated[bool, "whether it was kept on request"]
    category: Annotated[str | None, "the category it was kept under"]
    withheld: Annotated[bool, "whether you asked to forget it and have not decided yet"]


class ReflectionJson(NoteJson):
    """A reflection for HTTP, with what it rests on."""

    supportingObservationIds: list[int]


class FoundJson(TypedDict):
    """What `memory search` adds."""

    score: Annotated[float, "the higher the better"]
    match: Annotated[NotRequired[str], "`loose`, `related` or `respelt`; missing for the rest"]
    holds: Annotated[list[str], "the words of the query that it holds"]
    passage: Annotated[NotRequired[str], "the part of a long message that fits the query best"]
    pasted: Annotated[NotRequired[bool], "true if you pasted that part: somebody else's words"]


class FoundNoteJson(NoteJson, FoundJson):
    """A note that was found."""


class AttachmentJson(TypedDict):
    """A file that came with a message."""

    id: Annotated[int, "the number that `construct attachment` takes"]
    name: Annotated[str, "the file's name"]
    media_type: Annotated[str, "such as `image/png`"]


class SourceJson(TypedDict):
    """What `memory why` has of a message."""

    id: Annotated[
        int | str,
        "`message:N`, as commands take it; in `memory why` and `conversations show` the number N",
    ]
    role: Annotated[str, "`user` or `assistant`"]
    content: Annotated[str, "what was said"]
    created_at: Annotated[str, "when it was written, ISO 8601 in UTC"]


class MessageJson(SourceJson):
    """What the user or the assistant said."""

    kind: Annotated[Literal["message"], "`message`"]
    conversation: Annotated[int, "the conversation's number"]
    date: Annotated[str, "the same as `created_at`"]
    text: Annotated[str, "a line for each file, such as `[image: cat.png]`, then `content`"]
    status: Annotated[str, "`complete` or `interrupted`"]
    archived: Annotated[bool, "whether it was imported and is not observed yet"]
    left_out: Annotated[str | None, "`refusal` or `dropped`, if the model is not sent it any more"]


class TranscriptMessageJson(MessageJson):
    """A message of a transcript."""

    attachments: Annotated[list[AttachmentJson], "its files; only in `conversations show`"]


class FoundMessageJson(MessageJson, FoundJson):
    """A message that was found."""


class ConversationJson(TypedDict):
    """A conversation."""

    id: Annotated[int, "its number"]
    title: Annotated[str | None, "its title, if it has one"]
    created_at: Annotated[str, "when it began, ISO 8601 in UTC"]
    parent: Annotated[int | None, "the conversation it was forked from"]
    forked_at_message: Annotated[int | None, "the last message that it shares with that one"]
    current_task: Annotated[str | None, "what you are at, as the observer noted it"]
    message_count: Annotated[NotRequired[int], "how many messages it has; in `list` and `show`"]
    last_at: Annotated[NotRequired[str], "when its newest message was written; in both"]
    messages: Annotated[
        NotRequired[list[TranscriptMessageJson]], "its messages, oldest first; in `show`"
    ]


class PlanJson(TypedDict):
    """An item of the agenda."""

    id: Annotated[int, "the number of its note"]
    content: Annotated[str, "the fact"]
    label: Annotated[str | None, "a few words for a calendar"]
    date: Annotated[
        str | None,
        "the day, month or year; of what comes again the next day; null for a plan without a day",
    ]
    time: Annotated[str | None, "`HH:MM` on the wall clock"]
    recurs: Annotated[str | None, "`yearly`, `monthly`, `weekly` or `daily`, if it comes again"]
    stance: Annotated[str, "`stated`, `planned`, or `quoted` if it comes from a text"]
    state: Annotated[str, "`ahead`, `today` or `outcome unknown`"]


def draft_json(note: "Observation | ProposedObservation") -> DraftJson:
    """Return what a note says."""
    return {
        "kind": "observation",
        "date": note.observation_date,
        "text": note.content,
        "priority": note.priority,
        "stance": note.stance,
        "referenced_date": note.referenced_date,
        "referenced_time": note.referenced_time,
        "recurs": note.recurs,
        "label": note.label,
        "remind_at": note.remind_at,
    }


def note_json(note: Observation) -> NoteJson:
    """Return a stored note."""
    return {
        **draft_json(note),
        "id": note.id,
        "conversation": note.conversation_id,
        "generation": note.generation,
        "state": note.state,
        "origin": note.origin,
        "pinned": bool(note.pinned),
        "kept": bool(note.kept),
        "category": note.category,
        "withheld": bool(note.withheld),
    }


def source_json(message: Message) -> SourceJson:
    """Return a message as `memory why` has it; its id is the plain number."""
    return {
        "id": message.id,
        "role": message.role,
        "content": message.content,
        "created_at": message.created_at,
    }


def message_json(message: Message) -> MessageJson:
    """Return a message."""
    return {
        **source_json(message),
        "kind": "message",
        "id": f"message:{message.id}",
        "conversation": message.conversation_id,
        "date": message.created_at,
        "text": message.text,
        "status": message.status,
        "archived": bool(message.archived),
        "left_out": message.left_out,
    }


def item_json(item: Observation | Message) -> NoteJson | MessageJson:
    """Return a note or a message."""
    return note_json(item) if isinstance(item, Observation) else message_json(item)


def found_json(hit: "Hit", item: Observation | Message) -> FoundNoteJson | FoundMessageJson:
    """Return a note or a message that was found; a note's state as of the day asked for."""
    found: FoundJson = {"score": round(hit.score, 6), "holds": list(hit.holds)}
    if isinstance(item, Message) and hit.text != item.text:
        found["passage"] = hit.text
    if hit.is_pasted:
        found["pasted"] = True
    if hit.match != Match.DIRECT:
        found["match"] = hit.match
    if isinstance(item, Observation):
        return {**note_json(item), "state": hit.state or item.state, **found}
    return {**message_json(item), **found}


def attachment_json(attached: StoredAttachment) -> AttachmentJson:
    """Return a file that came with a message."""
    return {"id": attached.id, "name": attached.name, "media_type": attached.media_type}


def conversation_json(conversation: Conversation) -> ConversationJson:
    """Return a conversation."""
    return {
        "id": conversation.id,
        "title": conversation.title,
        "created_at": conversation.created_at,
        "parent": conversation.parent_id,
        "forked_at_message": conversation.forked_at_message_id,
        "current_task": conversation.current_task,
    }


def summary_json(summary: "ConversationSummary") -> ConversationJson:
    """Return a conversation with how many messages it has, and since when it rests."""
    return {
        **conversation_json(summary.conversation),
        "message_count": summary.messages,
        "last_at": summary.last_at,
    }


def talk_json(
    summary: "ConversationSummary",
    messages: Iterable[Message],
    attachments: Iterable[StoredAttachment],
) -> ConversationJson:
    """Return a conversation with its messages."""
    files: dict[int, list[AttachmentJson]] = {}
    for attached in attachments:
        files.setdefault(attached.message_id, []).append(attachment_json(attached))
    said: list[TranscriptMessageJson] = [
        {**message_json(m), "id": m.id, "attachments": files.get(m.id, [])} for m in messages
    ]
    return {**summary_json(summary), "messages": said}


def plan_json(item: "AgendaItem") -> PlanJson:
    """Return an item of the agenda."""
    return {
        **undated_plan_json(item.note),
        "date": item.when,
        "time": item.time,
        "recurs": item.recurs,
        "state": item.state,
    }


def undated_plan_json(note: "DatedNote") -> PlanJson:
    """Return a plan that has no day."""
    return {
        "id": note.id,
        "content": note.content,
        "label": note.label,
        "date": None,
        "time": None,
        "recurs": None,
        "stance": note.stance,
        "state": AgendaState.AHEAD,
    }
