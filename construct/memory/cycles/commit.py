"""Write what observers, reflectors and compactions change, in the caller's transaction.

A cycle whose input has changed in the meantime writes nothing (StaleError).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf

from construct.clock import Clock, to_text
from construct.language.terms import takes_term_from
from construct.memory.learning.proposals import Extraction, ProposedObservation
from construct.memory.learning.reflection_checks import ChangeKind, Reflection
from construct.memory.shown.frame import Frame
from construct.memory.shown.lines import line_tokens, note_columns
from construct.memory.shown.transcript import window_start
from construct.memory.shown.view import take_in
from construct.store import note_links, questions, tracked
from construct.store import observations as stored_observations
from construct.store.conversations import (
    get_conversation,
    get_watermarks,
    rename_conversation,
    set_task_and_response,
    set_watermark,
)
from construct.store.cycles import is_running
from construct.store.driver import Connection
from construct.store.flags import set_flag
from construct.store.forbidden import is_forbidden
from construct.store.messages import get_message, is_readable, is_shown, live_messages
from construct.store.records import Message, Observation
from construct.store.succession import apply_replacements
from construct.store.tracked import TrackedValue
from construct.vocabulary import Flag, Replacement, Stance, WatermarkName


class StaleError(Exception):
    """The cycle's input has changed in the meantime, or the cycle is no longer running."""


@dataclass(frozen=True, slots=True)
class Stored:
    """How many of an observer's notes were stored, and how many were forbidden."""

    observations: int
    left_out: int
    """Notes that the user's rules forbid."""


def store_extraction(
    db: Connection,
    cycle_id: int,
    found: Extraction,
    batch: Sequence[Message],
    based_on: int,
    now: str,
) -> Stored:
    """Store an observer's notes as pending and move `observed` past the batch.

    What they replace, and what the user asked to forget, is kept with the cycle until
    they are committed. What they contradict and may not replace is doubtful at once. The
    watermark does not move for archived messages: it has already passed them.
    """
    conversation_id = batch[0].conversation_id
    require_running(db, cycle_id)
    is_archived = bool(batch[0].archived)
    if not is_archived and get_watermarks(db, conversation_id).observed != based_on:
        raise StaleError
    present = _as_now(db, batch, based_on)
    if [(m.id, m.archived) for m in present] != [(m.id, m.archived) for m in batch]:
        raise StaleError
    allowed = {m.id for m in present if is_readable(m)}
    stored = left_out = 0
    for proposed in found.observations:
        said = [m for m in present if m.id in proposed.sources and m.id in allowed]
        if not said:
            continue
        if _store_note(db, proposed, said, cycle_id, now):
            stored += 1
        else:
            left_out += 1
    left_out += _store_values(db, cycle_id, found, allowed, now)
    for line in found.lost:
        sources = [i for i in line.sources if i in allowed]
        questions.add_lost_line(db, cycle_id, line.content, line.observation_date, sources, now)
    for note in stored_observations.observations(db, [*found.unsupported, *found.unsettled]):
        _doubt(db, note, cycle_id, now)
    known = [o.id for o in stored_observations.observations(db, found.forget_observations)]
    asked = [i for i in found.forget_messages if i in allowed]
    questions.add_forget(db, cycle_id, known, asked, now)
    if is_archived:
        return Stored(stored, left_out)
    set_watermark(db, conversation_id, WatermarkName.OBSERVED, batch[-1].id, now)
    conversation = get_conversation(db, conversation_id)
    keeps_title = found.is_title_by_rule and conversation.title
    if found.title and not keeps_title and not is_forbidden(db, found.title):
        rename_conversation(db, conversation_id, found.title, by="observer")
    set_task_and_response(
        db,
        conversation_id,
        _updated(db, conversation.current_task, found.current_task),
        _updated(db, conversation.suggested_response, found.suggested_response),
    )
    return Stored(stored, left_out)


def _store_values(
    db: Connection, cycle_id: int, found: Extraction, allowed: set[int], now: str
) -> int:
    """Store the values that an observer found, each once. Returns how many the rules forbid."""
    forbidden = 0
    for value in found.values:
        if value.message_id not in allowed or value.message_id in found.forget_messages:
            continue
        if is_forbidden(db, value.name, value.unit):
            forbidden += 1
            continue
        tracked.supersede_values(db, value.replaces, cycle_id, now)
        row = TrackedValue(0, value.name, value.amount, value.unit, value.day, value.message_id)
        tracked.add_value(db, row, cycle_id)
    return forbidden


def _store_note(
    db: Connection,
    proposed: ProposedObservation,
    sources: Sequence[Message],
    cycle_id: int,
    now: str,
) -> bool:
    """Store an observer's line as pending, with its links, flags and questions.

    False if the user's rules forbid it.
    """
    home = sources[0].conversation_id
    observation_id = _insert(db, proposed, cycle_id, home, 0, now, committed_at=None)
    if observation_id is None:
        return False
    note_links.link_messages(db, observation_id, [m.id for m in sources])
    replaced = [
        o.id
        for o in stored_observations.observations(db, proposed.replaces)
        if o.state != "superseded"
    ]
    note_links.link_replaced(
        db, [(observation_id, old) for old in replaced], Replacement.OUTDATED, cycle_id
    )
    lenders = stored_observations.observations(db, [*proposed.replaces, *proposed.borrowed])
    note_links.link_borrowed(db, [(observation_id, o.id) for o in lenders if o.id not in replaced])
    own = [m.text for m in sources]
    named = [o.id for o in lenders if takes_term_from(proposed.content, o.content, own)]
    note_links.link_through(db, observation_id, named)
    if proposed.stands_in_for:
        questions.add_stand_in(db, cycle_id, observation_id, proposed.stands_in_for, now)
    for contradicted in stored_observations.observations(db, proposed.unsettles):
        _doubt(db, contradicted, cycle_id, now)
    return True


def _doubt(db: Connection, note: Observation, cycle_id: int, now: str) -> None:
    """Mark a note as doubtful, and ask the user about it, unless it is superseded by now."""
    if note.state == "superseded":
        return
    set_flag(db, note.id, Flag.DOUBTFUL, cycle_id)
    questions.add_doubtful(db, cycle_id, note.id, now)


def store_reflection(
    db: Connection, cycle_id: int, found: Reflection, given: Sequence[Observation], now: str
) -> Reflection:
    """Store a reflector's new lines, and supersede and shelve what it takes out of sight.

    Returns what was done: where the user's rules forbid a line, its notes stay.
    """
    require_running(db, cycle_id)
    by_id = {o.id: o for o in given}
    as_given = {o.id: _unread(o) for o in given}
    staying = {change.stays for change in found.changes if change.stays is not None}
    needed = found.superseded | found.shelved | staying
    present = {o.id: o for o in stored_observations.observations(db, sorted(needed))}
    if present.keys() != needed or not all(
        o.state == "active" and _unread(o) == as_given[o.id] for o in present.values()
    ):
        raise StaleError
    # A new line would repeat what the user has asked to forget in the meantime.
    if found.superseded & questions.not_yet_withheld(db):
        raise StaleError
    done = []
    for change in found.changes:
        if change.line is not None:
            sources = [by_id[i] for i in change.retired]
            homes = {o.conversation_id for o in sources}
            home = homes.pop() if len(homes) == 1 else None
            generation = 1 + max(o.generation for o in sources)
            kept = int(all(o.kept for o in sources))
            new = _insert(db, change.line, cycle_id, home, generation, now, now, kept)
            if new is None:
                continue
            note_links.link_sources(db, new, change.retired)
            stored_observations.note_asked(db, [new] * _all_asked(sources), now)
        elif change.stays is not None:
            note_links.link_replaced(
                db, [(change.stays, old) for old in change.retired], change.kind, cycle_id
            )
            if change.kind == ChangeKind.OUTDATED:
                _link_terms_taken(db, by_id[change.stays], [by_id[i] for i in change.retired])
        elif change.kind == ChangeKind.SHELVE:
            for observation_id in change.retired:
                set_flag(db, observation_id, Flag.SHELVED, cycle_id)
        done.append(change)
    carried_out = replace(found, changes=tuple(done))
    stored_observations.supersede(db, carried_out.superseded, cycle_id, now)
    return carried_out


def _all_asked(sources: Iterable[Observation]) -> bool:
    """Return whether the outcome of all plans among these notes was asked about."""
    plans = [o for o in sources if o.stance == Stance.PLANNED]
    return bool(plans) and all(o.asked_at for o in plans)


def _link_terms_taken(db: Connection, stays: Observation, retired: Sequence[Observation]) -> None:
    """Let a note that outdates others rest on the messages of those it has a name from.

    So forgetting one of them finds it. A reflection has all its names from its sources.
    """
    if stays.generation:
        return
    own = [m.text for m in note_links.messages_named(db, [stays.id])]
    lenders = [o.id for o in retired if takes_term_from(stays.content, o.content, own)]
    for observation_id in note_links.with_reflections(db, [stays.id]):
        note_links.link_through(db, observation_id, lenders)


def _unread(o: Observation) -> Observation:
    """Return a note without what asking about it and reading it for the graph change."""
    return o._replace(asked_at=None, graph_cycle_id=None)


def _updated(db: Connection, old: str | None, answer: str | None) -> str | None:
    """Return the task or suggested response to store after an observer's answer.

    Without an answer, the old one stays. An empty one clears it, and so does one that the user's
    rules forbid.
    """
    if answer is None:
        return old
    return None if is_forbidden(db, answer) else answer or None


def require_running(db: Connection, cycle_id: int) -> None:
    """Raise StaleError when a cycle is no longer running.

    Another process may have abandoned it, or deleted its conversation.
    """
    if not is_running(db, cycle_id):
        raise StaleError


def _as_now(db: Connection, batch: Sequence[Message], based_on: int) -> list[Message]:
    """Return the current state of the messages a cycle read.

    Archived messages may have been unarchived in the meantime.
    """
    if batch[0].archived:
        return [get_message(db, m.id) for m in batch]
    return live_messages(db, batch[0].conversation_id, based_on, batch[-1].id)


def _insert(
    db: Connection,
    proposed: ProposedObservation,
    cycle_id: int,
    conversation_id: int | None,
    generation: int,
    now: str,
    committed_at: str | None,
    kept: int = 0,
) -> int | None:
    return stored_observations.insert_observation(
        db,
        {
            **note_columns(proposed),
            "conversation_id": conversation_id,
            "generation": generation,
            "cycle_id": cycle_id,
            "token_count": line_tokens(proposed),
            "created_at": now,
            "committed_at": committed_at,
            "kept": kept,
        },
    )


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction changed."""

    committed: int
    left_window: int
    """Messages that are no longer shown raw."""


def compact(
    db: Connection,
    conversation_id: int,
    retained: int,
    frame: Frame,
    clock: Clock,
    largest: float = inf,
) -> Compacted:
    """Commit what is pending, move watermarks, and show what is new.

    This needs no model and is not a cycle. What the committed observations replace is
    superseded, and what the user asked to forget is withheld. `retained` and `largest` as in
    `window_start`. Raises NotFoundError.
    """
    get_conversation(db, conversation_id)
    now = to_text(clock.now())
    marks = get_watermarks(db, conversation_id)
    messages = live_messages(db, conversation_id, marks.window)
    pending = [o.id for o in stored_observations.pending(db, conversation_id)]
    committed = stored_observations.commit_pending(db, conversation_id, now)
    apply_replacements(db, pending, now)
    window = window_start(messages, marks, retained, largest)
    set_watermark(db, conversation_id, WatermarkName.COMPACTED, marks.observed, now)
    set_watermark(db, conversation_id, WatermarkName.WINDOW, window, now)
    questions.withhold_committed(db, conversation_id, now)
    take_in(db, conversation_id, frame)
    return Compacted(committed, sum(m.id <= window and is_shown(m) for m in messages))
