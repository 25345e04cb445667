"""Plan what to delete when something is forgotten. Nothing is changed here.

Forgetting a fact deletes the observations of generation 0 that state it, all edits of
them, and every reflection that rests on them. Undone copies and near-identical
observations from the same messages are deleted too. The other observations that the
reflections replaced become active again. Forgetting a message starts from everything
drawn from it; deleting a conversation, from all its messages. Titles, tasks, notes of
cycles and tool results that reveal the fact are cleared too.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from construct.errors import NotFoundError
from construct.language.fact_match import (
    fact_names,
    revealing_words,
    reveals,
    search_marks,
    states_fact,
)
from construct.language.terms import terms, words
from construct.memory.shown.escaping import escape
from construct.references import Reference
from construct.store import observations as stored_observations
from construct.store import provenance, references
from construct.store.conversations import forks_of, get_conversation
from construct.store.memories import get_memory, list_memories
from construct.store.messages import get_message, messages_of
from construct.store.records import REMOVED, Conversation, Memory, Message, Observation
from construct.store.references import ConversationNotes, CycleNotes
from construct.vocabulary import ItemKind


@dataclass(frozen=True, slots=True)
class Removal:
    """What is deleted when a fact is forgotten or a conversation deleted."""

    observations: tuple[Observation, ...]
    """Observations and reflections to delete, lowest generation first."""
    reactivated: tuple[Observation, ...]
    """Observations superseded only by deleted ones: they become active again."""
    memories: tuple[Memory, ...]
    threads: tuple[ConversationNotes, ...]
    """Conversations whose title, task or next response reveals it, after clearing."""
    cycles: tuple[CycleNotes, ...]
    """Cycles whose notes or error reveal it, after clearing."""
    lookups: tuple[int, ...]
    """Ids of other replies whose tool rounds reveal it. Only the tool rounds are deleted."""


@dataclass(frozen=True, slots=True)
class ForgetPlan(Removal):
    """What forgetting an observation, a memory or a message deletes."""

    words: bool
    """Whether the messages lose their text too."""
    messages: tuple[Message, ...]
    """The messages it comes from, which are withheld, or emptied with `words`."""
    replies: tuple[Message, ...]
    """The replies to those messages, which are treated the same."""
    marks: tuple[str, ...]
    """The words used to look for other messages that reveal it."""
    elsewhere: int
    """Number of other messages with any of those words, which are kept."""
    alike: int
    """Number of other observations that say nearly the same, which are kept."""
    beside: tuple[int, ...]
    """Ids of other observations from emptied messages, which are kept."""

    @property
    def message_ids(self) -> list[int]:
        """Ids of the messages and the replies."""
        return [m.id for m in (*self.messages, *self.replies)]

    @property
    def attachments(self) -> list[str]:
        """The files that are deleted with the messages, one line for each."""
        return [line for m in self.messages if m.attached for line in m.attached.split("\n")]


@dataclass(frozen=True, slots=True)
class DeletionPlan(Removal):
    """What deleting a conversation deletes."""

    conversation: Conversation
    messages: int
    forks: tuple[Conversation, ...]
    """Conversations forked from it: they lose what they inherited from it."""


def plan_forget(db: sqlite3.Connection, reference: Reference, *, words: bool) -> ForgetPlan:
    """Return what forgetting an observation, a memory or a message deletes.

    With a memory, the observations that say the same are deleted, or it would be
    promoted from them again. With a message, everything drawn from it is deleted.
    Raises NotFoundError.
    """
    kind, number = reference
    named_memories: list[Memory] = []
    named_messages: list[Message] = []
    if kind == ItemKind.MEMORY:
        named_memories = [get_memory(db, number)]
        starting_ids = _observations_behind(db, named_memories[0])
    elif kind == ItemKind.MESSAGE:
        named_messages = [get_message(db, number)]
        if named_messages[0].content == REMOVED:
            raise NotFoundError(f"message:{number} is forgotten already.")
        starting_ids = {o.id for o in provenance.observations_from(db, [number])}
    else:
        starting_ids = {stored_observations.observation(db, number).id}

    facts = _facts(db, starting_ids)
    deleted = provenance.with_dependents(db, facts | _twins(db, facts))
    observations = _lowest_first(db, deleted)
    messages = list(dict.fromkeys((*provenance.messages_behind(db, facts), *named_messages)))
    replies = references.replies_to(db, [m.id for m in messages])
    concerned = [m.id for m in (*messages, *replies)]

    contents = [o.content for o in observations if o.id in facts]
    contents += [m.content for m in named_memories]
    named_words = [m.content for m in named_messages]
    by_hand = [
        m
        for m in list_memories(db, include_superseded=True)
        if m.observation_id is None and states_any(m.content, [*contents, *named_words])
    ]
    promoted = provenance.memories_from(db, deleted)
    memories = sorted({*named_memories, *promoted, *by_hand}, key=lambda m: m.id)
    texts = [o.content for o in observations] + [m.content for m in memories] + named_words

    homes = {m.conversation_id for m in messages}
    # Of a message's own words only the names: too many others share the rest.
    marks = sorted(union(map(search_marks, contents)) | union(map(fact_names, named_words)))
    said = [m.content for m in messages]
    drawn = provenance.observations_from(db, [m.id for m in messages]) if words else []
    return ForgetPlan(
        observations=tuple(observations),
        reactivated=_reactivated(db, deleted),
        memories=tuple(memories),
        threads=tuple(threads_without(references.conversation_notes(db), homes, texts)),
        cycles=tuple(notes_without(references.cycle_notes(db), texts)),
        lookups=tuple(replies_holding(references.tool_rounds(db, concerned), texts, said)),
        words=words,
        messages=tuple(messages),
        replies=tuple(replies),
        marks=tuple(marks),
        elsewhere=references.count_messages_with(db, marks, concerned),
        alike=sum(
            observation_id not in deleted and states_any(content, contents)
            for observation_id, content in references.observations_with(db, marks)
        ),
        beside=tuple(o.id for o in drawn if o.id not in deleted),
    )


def plan_deletion(db: sqlite3.Connection, conversation_id: int) -> DeletionPlan:
    """Return what deleting a conversation deletes; raises NotFoundError."""
    conversation = get_conversation(db, conversation_id)
    own = messages_of(db, conversation_id)
    deleted = provenance.observations_in(db, conversation_id)
    while (more := provenance.with_dependents(db, _with_borrowers(db, deleted))) != deleted:
        deleted = more
    observations = _lowest_first(db, deleted)
    texts = [o.content for o in observations]
    rounds = references.tool_rounds(db, [m.id for m in own])
    return DeletionPlan(
        observations=tuple(observations),
        reactivated=_reactivated(db, deleted),
        memories=tuple(provenance.memories_from(db, deleted)),
        threads=tuple(threads_without(references.conversation_notes(db), (), texts)),
        cycles=tuple(notes_without(references.cycle_notes(db), texts)),
        lookups=tuple(replies_quoting(rounds, [m.content for m in own])),
        conversation=conversation,
        messages=len(own),
        forks=tuple(forks_of(db, conversation_id)),
    )


def _observations_behind(db: sqlite3.Connection, memory: Memory) -> set[int]:
    """Return the observations behind this memory, and behind memories that say the same."""
    return {
        m.observation_id
        for m in list_memories(db, include_superseded=True)
        if m.observation_id is not None
        and (
            memory.id in (m.id, m.superseded_by)
            or m.id == memory.superseded_by
            or states_fact(m.content, memory.content)
        )
    }


def _facts(db: sqlite3.Connection, starting_ids: Collection[int]) -> set[int]:
    """Return the observations of generation 0 that state what these state."""
    found = set(starting_ids)
    while (more := _with_borrowers(db, provenance.with_origins(db, found))) != found:
        found = more
    return {o.id for o in stored_observations.observations(db, sorted(found)) if o.generation == 0}


def _with_borrowers(db: sqlite3.Connection, ids: Collection[int]) -> set[int]:
    """Return these observations and those that took a term from one they replaced."""
    found = set(ids)
    for old, new in provenance.borrower_links(db, ids):
        if new in found:
            continue
        forgotten, borrower = (
            stored_observations.observation(db, old),
            stored_observations.observation(db, new),
        )
        shared = terms(borrower.content) & set(words(forgotten.content))
        if shared - {w for m in provenance.messages_behind(db, [new]) for w in words(m.content)}:
            found.add(new)
    return found


def _twins(db: sqlite3.Connection, facts: Collection[int]) -> set[int]:
    """Return observations from the same messages that were undone or say nearly the same."""
    message_ids = [message_id for _, message_id in provenance.message_links(db, facts)]
    near = provenance.observations_from(db, message_ids)
    counted = {o.id for o in provenance.without_reverted(db, [o.id for o in near])}
    contents = [o.content for o in near if o.id in facts]
    return {
        o.id
        for o in near
        if o.id not in counted
        or any(states_fact(o.content, c) or states_fact(c, o.content) for c in contents)
    }


def _lowest_first(db: sqlite3.Connection, ids: Collection[int]) -> list[Observation]:
    return sorted(
        stored_observations.observations(db, sorted(ids)), key=lambda o: (o.generation, o.id)
    )


def _reactivated(db: sqlite3.Connection, deleted: Collection[int]) -> tuple[Observation, ...]:
    return tuple(
        stored_observations.observations(db, sorted(provenance.reactivated_by(db, deleted)))
    )


_LEAST_QUOTE = 12
"""Shortest quotation that counts, in characters."""
_MAX_COLONS = 4
"""Colons that may come before the text in a line of a tool's result:
`message 1, 2026-03-01 user (loose: has only some of the words): …`."""


def union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return the union of the sets."""
    return frozenset().union(*sets)


def states_any(text: str, facts: Iterable[str]) -> bool:
    """Return whether a text says any of these facts."""
    return any(states_fact(text, fact) for fact in facts)


def threads_without(
    threads: Iterable[ConversationNotes], homes: Collection[int], texts: Sequence[str]
) -> list[ConversationNotes]:
    """Return the conversations whose notes reveal the texts, with those notes removed.

    In the conversations that the texts come from (`homes`), a single revealing word is
    enough to remove a note of the observer, and a name to remove one of the user. In
    others a note is removed only if it states one of the texts.
    """
    revealing = union(map(revealing_words, texts))
    names = union(map(fact_names, texts))

    def kept(thread: ConversationNotes, text: str | None, *, by_user: bool = False) -> str | None:
        if thread.id in homes and reveals(text, names if by_user else revealing):
            return None
        return None if text is None or states_any(text, texts) else text

    found = []
    for thread in threads:
        title = kept(thread, thread.title, by_user=thread.titled_by == "user")
        cleared = thread._replace(
            title=title,
            titled_by=thread.titled_by if title == thread.title else None,
            current_task=kept(thread, thread.current_task),
            suggested_response=kept(thread, thread.suggested_response),
        )
        if cleared != thread:
            found.append(cleared)
    return found


def notes_without(cycles: Iterable[CycleNotes], texts: Iterable[str]) -> list[CycleNotes]:
    """Return the cycles whose notes or error reveal the texts, with those removed."""
    revealing = union(map(revealing_words, texts))
    found = []
    for cycle in cycles:
        notes = tuple(REMOVED if reveals(note, revealing) else note for note in cycle.notes)
        error = REMOVED if reveals(cycle.error, revealing) else cycle.error
        cleared = CycleNotes(cycle.id, notes, error)
        if cleared != cycle:
            found.append(cleared)
    return found


def replies_holding(
    rounds: Iterable[tuple[int, str]], texts: Sequence[str], said: Sequence[str]
) -> list[int]:
    """Return the ids of replies with a tool round that reveals or states a text.

    `texts`: what is forgotten. `said`: the messages it comes from.
    """
    names = union(map(fact_names, texts))
    forgotten = (*texts, *said)
    # Most tool rounds have none of the words. Finding that out does not need their JSON parsed.
    escaped = [json.dumps(part)[1:-1] for part in union(map(revealing_words, forgotten))]
    found = []
    for message_id, blocks in rounds:
        folded = blocks.casefold()
        if any(part in folded for part in escaped) and any(
            reveals(line, names) or states_any(line, forgotten)
            for line in _lines_in(json.loads(blocks))
        ):
            found.append(message_id)
    return found


def replies_quoting(rounds: Iterable[tuple[int, str]], said: Iterable[str]) -> list[int]:
    """Return the ids of replies with a tool round that quotes one of these messages."""
    everything = " ".join(_one_line(escape(text)) for text in said)
    return [
        message_id
        for message_id, blocks in rounds
        if any(_is_quoted(line, everything) for line in _lines_in(json.loads(blocks)))
    ]


def _is_quoted(line: str, said: str) -> bool:
    """Return whether a tool's line, or the text after one of its first colons, was said."""
    parts = _one_line(line).split(": ", _MAX_COLONS)
    quoted = (": ".join(parts[start:]).strip(" …[]") for start in range(len(parts)))
    return any(len(text) >= _LEAST_QUOTE and text in said for text in quoted)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _lines_in(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield from data.splitlines()
    elif isinstance(data, Mapping):
        yield from _lines_in(list(data.values()))
    elif isinstance(data, list):
        for value in data:
            yield from _lines_in(value)
