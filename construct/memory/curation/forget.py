"""Forget: the one thing that deletes, with all that rests on it, and not a byte left.

From any observation it goes down to the observations of generation 0, edits included, and up to
every reflection that rests on those. Undone copies and near-identical lines drawn from the same
messages go with them. What else the reflections were made of is active again. From a message it
begins at all that was drawn from it.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from construct.clock import Clock, to_text
from construct.errors import NotFoundError
from construct.memory.curation.memories import promote
from construct.memory.graph.storing import drop_unsaid_names
from construct.memory.language import mentions
from construct.memory.language.terms import terms, words
from construct.references import Reference
from construct.store import curated, erase, lineage, remnants, talk
from construct.store import observations as rows
from construct.store.database import transaction
from construct.store.records import REMOVED, Memory, Message, Observation
from construct.store.remnants import Thread


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What forgetting will take along."""

    words: bool
    observations: tuple[Observation, ...]
    """What is deleted, reflections too, lowest generation first."""
    reactivated: tuple[Observation, ...]
    """What those reflections were made of beside: active again."""
    memories: tuple[Memory, ...]
    messages: tuple[Message, ...]
    """The messages it comes from, or that were named: withheld, with `words` emptied."""
    replies: tuple[Message, ...]
    """The replies to them: likewise."""
    threads: tuple[Thread, ...]
    """Conversations whose title, task or suggested response holds it, as they are afterwards."""
    texts: tuple[str, ...]
    """What observations, memories and a message that was named say: what else holds it is looked for by these."""
    cycles: tuple[int, ...]
    """Cycles whose notes or error hold it: those go."""
    lookups: tuple[int, ...]
    """Other replies of which a tool's input or result holds it: those go, the reply stays."""
    marks: tuple[str, ...]
    """The words by which other messages were searched."""
    elsewhere: int
    """Other messages that hold any of them; they stay."""
    alike: int
    """Other observations that say nearly the same; they stay."""
    beside: tuple[int, ...]
    """Other observations drawn from messages that are emptied; they stay."""

    @property
    def message_ids(self) -> list[int]:
        """The messages concerned, replies too."""
        return [m.id for m in (*self.messages, *self.replies)]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was deleted; as `construct memory forget --json` counts it."""

    observations: int
    reflections: int
    """How many of the observations were."""
    reactivated: int
    memories: int
    relations: int
    entities: int
    messages: int
    """Messages withheld or emptied, replies too."""
    emptied: int
    """How many of the messages lost every word."""
    replies: int
    threads: int
    """Conversations whose title, task or suggested response went."""
    cycles: int
    """Cycles of which notes went."""
    lookups: int
    """Replies of which tool rounds went."""
    elsewhere: int
    alike: int
    beside: tuple[int, ...]
    """Other observations drawn from messages that were emptied; they stayed."""
    pending_erasure: bool
    """Its bytes are still in the file and are cleared out later (`erase.finish_erasure`).

    Another process reads the file, or the disk is full or failing.
    """


def plan_forget(db: sqlite3.Connection, reference: Reference, *, words: bool) -> ForgetPlan:
    """Return what forgetting an observation, a memory or a message will take along; raises NotFoundError.

    With a memory go the observations that say the same, or it would be promoted from them again; with a message all
    that was drawn from it.
    """
    kind, number = reference
    memories: tuple[Memory, ...] = ()
    said: tuple[Message, ...] = ()
    if kind == "memory":
        memories = (curated.memory(db, number),)
        begin = _behind(db, memories[0])
    elif kind == "message":
        said = (_still_said(db, number),)
        begin = {o.id for o in lineage.resting_on(db, [number])}
    else:
        begin = {rows.observation(db, number).id}
    return _plan(db, _facts(db, begin), memories, said, words=words)


def forget(
    db: sqlite3.Connection, reference: Reference, clock: Clock, *, words: bool, wait: float = erase.WAIT_SECONDS
) -> Forgotten:
    """Delete what is named with all that goes along, and clear its bytes out; raises NotFoundError."""
    with transaction(db):
        plan = plan_forget(db, reference, words=words)
        relations, entities = _carry_out(db, plan, to_text(clock.now()))
    return Forgotten(
        observations=len(plan.observations),
        reflections=sum(o.generation > 0 for o in plan.observations),
        reactivated=len(plan.reactivated),
        memories=len(plan.memories),
        relations=relations,
        entities=entities,
        messages=len(plan.message_ids),
        emptied=len(plan.message_ids) if plan.words else 0,
        replies=len(plan.replies),
        threads=len(plan.threads),
        cycles=len(plan.cycles),
        lookups=len(plan.lookups),
        elsewhere=plan.elsewhere,
        alike=plan.alike,
        beside=plan.beside,
        pending_erasure=not erase.finish_erasure(db, wait),
    )


def _still_said(db: sqlite3.Connection, message_id: int) -> Message:
    message = talk.message(db, message_id)
    if message.content == REMOVED:
        raise NotFoundError(f"message:{message_id} is forgotten already.")
    return message


def _behind(db: sqlite3.Connection, memory: Memory) -> set[int]:
    """Return the observations whose memories are this one, or say the same."""
    return {
        m.observation_id
        for m in curated.memories(db, include_superseded=True)
        if m.observation_id is not None
        and (
            memory.id in (m.id, m.superseded_by)
            or m.id == memory.superseded_by
            or mentions.says(m.content, memory.content)
        )
    }


def _facts(db: sqlite3.Connection, begin: Collection[int]) -> set[int]:
    """Return the sources of generation 0 of observations, with the edits of all in between and what repeats them."""
    found = set(begin)
    while (grown := borrowing(db, lineage.repeated(db, lineage.edited(db, lineage.below(db, found))))) != found:
        found = grown
    return {o.id for o in rows.observations(db, sorted(found)) if o.generation == 0}


def borrowing(db: sqlite3.Connection, ids: Collection[int]) -> set[int]:
    """Return these observations and those that took a term from one of them which they replaced."""
    found = set(ids)
    for old, new in lineage.replacing(db, ids):
        if new not in found:
            forgotten, borrower = rows.observation(db, old), rows.observation(db, new)
            own = {w for m in lineage.messages_below(db, [new]) for w in words(m.content)}
            if (terms(borrower.content) & frozenset(words(forgotten.content))) - own:
                found.add(new)
    return found


def _twins(db: sqlite3.Connection, facts: Collection[int]) -> set[int]:
    """Return other observations from the same messages that were undone, or say nearly the same."""
    near = lineage.resting_on(db, [message_id for _, message_id in lineage.message_links(db, facts)])
    counted = {o.id for o in lineage.unreverted(db, [o.id for o in near])}
    contents = [o.content for o in near if o.id in facts]
    return {
        o.id
        for o in near
        if o.id not in counted or any(mentions.says(o.content, c) or mentions.says(c, o.content) for c in contents)
    }


def risen(db: sqlite3.Connection, facts: Collection[int]) -> set[int]:
    """Return these observations with every reflection that rests on them, and the edits of all of them."""
    found = set(facts)
    while (grown := lineage.edited(db, lineage.above(db, found))) != found:
        found = grown
    return found


def _plan(
    db: sqlite3.Connection,
    facts: Collection[int],
    memories: tuple[Memory, ...],
    said: tuple[Message, ...],
    *,
    words: bool,
) -> ForgetPlan:
    gone = risen(db, {*facts, *_twins(db, facts)})
    observations = sorted(rows.observations(db, sorted(gone)), key=lambda o: (o.generation, o.id))
    contents = [o.content for o in observations if o.id in facts] + [m.content for m in memories]
    messages = list(dict.fromkeys((*lineage.messages_below(db, facts), *said)))
    replies = remnants.replies(db, [m.id for m in messages])
    concerned = [m.id for m in (*messages, *replies)]
    deleted = _memories(db, gone, [*contents, *(m.content for m in said)], memories)
    texts = [one.content for group in (observations, deleted, said) for one in group]
    homes = {m.conversation_id for m in messages} | {o.conversation_id for o in observations if o.conversation_id}
    named = (mentions.names(m.content) for m in said)  # of all its words too many others have some
    marks = tuple(sorted(_union((*(mentions.marks(c) for c in contents), *named))))
    return ForgetPlan(
        words=words,
        observations=tuple(observations),
        reactivated=tuple(rows.observations(db, sorted(freed(db, gone)))),
        memories=tuple(deleted),
        messages=tuple(messages),
        replies=tuple(replies),
        threads=tuple(threads_without(db, homes, texts)),
        texts=tuple(texts),
        cycles=tuple(noting_cycles(db, texts)),
        lookups=tuple(_lookups(db, concerned, texts, [m.content for m in messages])),
        marks=marks,
        elsewhere=remnants.count_messages(db, marks, concerned),
        alike=_count_alike(db, gone, contents, marks),
        beside=_beside(db, gone, messages) if words else (),
    )


def _beside(db: sqlite3.Connection, gone: Collection[int], messages: Sequence[Message]) -> tuple[int, ...]:
    return tuple(o.id for o in lineage.resting_on(db, [m.id for m in messages]) if o.id not in gone)


def freed(db: sqlite3.Connection, gone: Collection[int]) -> dict[int, set[int]]:
    """Return what was superseded only for the sake of what goes, and for which of it."""
    found: dict[int, set[int]] = {}
    going = {o.id: o for o in rows.observations(db, sorted(gone))}
    pairs = [(source, new, going[new].cycle_id) for new, source in lineage.sources(db, gone)]
    pairs += lineage.replaced_by(db, gone)
    old = {o.id: o for o in rows.observations(db, sorted({pair[0] for pair in pairs} - set(gone)))}
    for source, new, cycle_id in pairs:
        if source in old and old[source].superseded_by == cycle_id:
            found.setdefault(source, set()).add(new)
    return found


def _memories(
    db: sqlite3.Connection, gone: Collection[int], contents: Sequence[str], more: Iterable[Memory]
) -> list[Memory]:
    """Return the memories promoted from what goes, and those that say the same and come from no observation."""
    found = {m.id: m for m in (*more, *lineage.memories_from(db, gone))}
    for memory in curated.memories(db, include_superseded=True):
        if memory.observation_id is None and any(mentions.says(memory.content, c) for c in contents):
            found[memory.id] = memory
    return [found[i] for i in sorted(found)]


def threads_without(db: sqlite3.Connection, homes: Collection[int], texts: Sequence[str]) -> list[Thread]:
    """Return the conversations of which title, task or suggested response holds it, with those taken out.

    What the observer wrote in a conversation it comes from goes for a single word of it; what the
    user wrote, and what stands in other conversations, only where it names or says it.
    """
    parts = _union(mentions.pieces(c) for c in texts)
    named = _union(mentions.names(c) for c in texts)

    def held(thread: Thread, text: str | None, *, by_user: bool = False) -> bool:
        if thread.id in homes and mentions.touches(text, named if by_user else parts):
            return True
        return text is not None and any(mentions.says(text, c) for c in texts)

    found = []
    for thread in remnants.threads(db):
        titled = not held(thread, thread.title, by_user=thread.titled_by == "user")
        cleared = Thread(
            thread.id,
            thread.title if titled else None,
            thread.titled_by if titled else None,
            None if held(thread, thread.current_task) else thread.current_task,
            None if held(thread, thread.suggested_response) else thread.suggested_response,
        )
        found += [cleared] if cleared != thread else []
    return found


def _lookups(db: sqlite3.Connection, but: Sequence[int], texts: Sequence[str], said: Sequence[str]) -> list[int]:
    """Return the other replies of which a tool round names it, says it, or quotes a message it comes from."""
    named = _union(mentions.names(c) for c in texts)
    parts = [json.dumps(part)[1:-1] for part in _union(mentions.pieces(c) for c in (*texts, *said))]

    def holds(line: str) -> bool:
        return mentions.touches(line, named) or any(mentions.says(line, c) for c in (*texts, *said))

    return [
        i
        for i, blocks in remnants.tool_rounds(db, but)
        if any(map(blocks.casefold().__contains__, parts)) and any(map(holds, strings(json.loads(blocks))))
    ]


def strings(data: object) -> Iterator[str]:
    """Yield the lines of all text in a JSON value."""
    if isinstance(data, str):
        yield from data.splitlines()
    elif isinstance(data, Mapping):
        yield from (line for value in data.values() for line in strings(value))
    elif isinstance(data, list):
        yield from (line for value in data for line in strings(value))


def noting_cycles(db: sqlite3.Connection, texts: Sequence[str]) -> list[int]:
    """Return the cycles of which a note or the error holds it."""
    parts = _union(mentions.pieces(c) for c in texts)
    return [i for i, noted in remnants.notes(db) if any(mentions.touches(note, parts) for note in noted)]


def _count_alike(db: sqlite3.Connection, gone: Collection[int], contents: Sequence[str], marks: Sequence[str]) -> int:
    others = remnants.observations_with(db, marks)
    return sum(i not in gone and any(mentions.says(text, c) for c in contents) for i, text in others)


def _carry_out(db: sqlite3.Connection, plan: ForgetPlan, now: str) -> tuple[int, int]:
    """Do what was planned, inside the caller's transaction; return how many relations and entities went."""
    remnants.abandon_readers(db, now)
    withdraw(db, [o.id for o in plan.observations])
    relations, entities = erase.delete_memories(db, [m.id for m in plan.memories])
    erase.delete_observations(db, [o.id for o in plan.observations])
    erase.withhold(db, plan.message_ids, now, words=plan.words)
    remnants.drop_tool_rounds(db, plan.lookups)
    for thread in plan.threads:
        remnants.store_thread(db, thread)
    clear_notes(db, plan.cycles, plan.texts)
    promote(db, now)
    drop_unsaid_names(db)
    erase.begin_erasure(db)
    return relations, entities


def withdraw(db: sqlite3.Connection, gone: Collection[int]) -> None:
    """Let stand again, in the same places, what was superseded only for the sake of what goes."""
    returning = freed(db, gone)
    remnants.show_instead(
        db, {old: (lineage.above(db, [old, *new]) - {old}) & set(gone) for old, new in returning.items()}
    )
    erase.reactivate(db, returning)


def clear_notes(db: sqlite3.Connection, cycle_ids: Collection[int], texts: Sequence[str]) -> None:
    """Take out of cycles' notes what holds it."""
    parts = _union(mentions.pieces(c) for c in texts)
    remnants.clear_notes(db, cycle_ids, lambda note: mentions.touches(note, parts))


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)
