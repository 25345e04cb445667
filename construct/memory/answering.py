"""Carry out what the user answers in a review. Each edit is one cycle, so undo asks again."""

from collections.abc import Callable, Sequence
from datetime import date

from construct.clock import Clock, to_text
from construct.memory import corrections, keeping
from construct.memory.review import Waiting
from construct.store import cycles, questions, reminders
from construct.store.acceptance import take_in_anew, unaccepted
from construct.store.database import transaction
from construct.store.driver import Connection
from construct.store.flags import end_flag
from construct.store.observations import observation, observations
from construct.store.questions import ListedFact
from construct.store.records import Observation
from construct.store.review import messages_of, open_questions
from construct.store.succession import replace_when_accepted
from construct.vocabulary import Answer, Flag, Settled, Stance, WaitingKind

_ANSWERED_BY_NOTE = frozenset({WaitingKind.OUTCOME, WaitingKind.TEXT})
"""Kinds that have no question: what becomes of the note is the answer."""


def keep(db: Connection, waiting: Waiting, clock: Clock) -> Observation | None:
    """Keep what waits, and return the note that stays or is made; None if there is none."""
    match waiting.kind:
        case WaitingKind.FORGET:
            with transaction(db):
                now = to_text(clock.now())
                cycle_id = cycles.insert_edit(db, None, now)
                questions.keep_requested(db, waiting.id, now, cycle_id)
            return None
        case WaitingKind.REMINDER:
            _seen(db, waiting, clock)
            return None
        case WaitingKind.OUTCOME:
            new = corrections.settle(db, waiting.id, Settled.DONE, clock)
        case WaitingKind.TEXT:
            new = corrections.take_as_own(db, waiting.id, Stance.PLANNED, clock)
        case WaitingKind.LEARNED:
            new = waiting.id
        case _ if waiting.observation_id is None:
            return _keep_text(db, waiting, clock)
        case _:
            _keep_note(db, waiting, waiting.observation_id, clock)
            new = waiting.observation_id
    return observation(db, new)


def keep_all_listed(db: Connection, facts: Sequence[ListedFact], clock: Clock) -> list[int]:
    """Keep the facts of memory lists by one edit, and return the ids of the notes made."""
    if not facts:
        return []
    made = []
    with transaction(db):
        now = to_text(clock.now())
        cycle_id = cycles.insert_edit(db, None, now)
        for fact in facts:
            note_id = keeping.keep_listed(db, fact, cycle_id, clock)
            if note_id is not None:
                made.append(note_id)
                questions.link_note(db, fact.question_id, note_id)
            questions.answer(db, fact.question_id, Answer.KEEP, now, cycle_id)
    return made


def keep_all(db: Connection, waiting: Waiting, clock: Clock) -> None:
    """Keep all that waits of a kind, by one edit: new notes, or facts of memory lists."""
    asked = [question for question in open_questions(db) if question.kind == waiting.kind]
    if waiting.kind == WaitingKind.LIST:
        facts = [ListedFact(q.id, q.text or "", q.noted_on) for q in asked]
        keep_all_listed(db, facts, clock)
        return
    with transaction(db):
        now = to_text(clock.now())
        cycle_id = cycles.insert_edit(db, None, now)
        for note in observations(db, [q.observation_id for q in asked if q.observation_id]):
            _accept(db, note, cycle_id, now)


def edit(db: Connection, waiting: Waiting, text: str, clock: Clock) -> Observation:
    """Put the user's own words in the place of what waits. Raises UsageError for no words."""
    if waiting.observation_id is not None:
        is_new = waiting.observation_id in unaccepted(db)
        new = corrections.edit(db, waiting.observation_id, text, clock)
        made = observation(db, new)
        if is_new and made.committed_at is not None:
            with transaction(db):
                now = to_text(clock.now())
                replace_when_accepted(db, waiting.observation_id, new, made.cycle_id, now)
        if waiting.kind not in _ANSWERED_BY_NOTE | {WaitingKind.LEARNED}:
            _answered(db, waiting, Answer.EDIT, made.cycle_id, clock)
        return made
    with transaction(db):
        made = keeping.keep_for_user(db, text, None, clock)
        questions.link_note(db, waiting.id, made.id)
        questions.answer(db, waiting.id, Answer.EDIT, to_text(clock.now()), made.cycle_id)
        return made


def pin(db: Connection, waiting: Waiting, clock: Clock) -> Observation | None:
    """Keep what waits, except how a plan came out, and pin its note."""
    kept: Observation | None
    if waiting.kind == WaitingKind.OUTCOME:
        kept = observation(db, waiting.id)
    else:
        kept = keep(db, waiting, clock)
    return None if kept is None else corrections.pin(db, kept.id)


def no_longer_true(db: Connection, waiting: Waiting, clock: Clock) -> None:
    """Take what waits out of what is believed; a plan did not come about."""
    if waiting.kind == WaitingKind.OUTCOME:
        corrections.settle(db, waiting.id, Settled.CANCELLED, clock)
        return
    if waiting.observation_id is not None:
        cycle_id = corrections.retract(db, waiting.observation_id, clock)
        if waiting.kind not in _ANSWERED_BY_NOTE | {WaitingKind.LEARNED}:
            _answered(db, waiting, Answer.UNTRUE, cycle_id, clock)
        return
    with transaction(db):
        now = to_text(clock.now())
        questions.answer(db, waiting.id, Answer.UNTRUE, now, cycles.insert_edit(db, None, now))


def withhold(db: Connection, waiting: Waiting, clock: Clock) -> None:
    """Leave withheld what the user asked to forget."""
    with transaction(db):
        now = to_text(clock.now())
        questions.answer(db, waiting.id, Answer.WITHHOLD, now, cycles.insert_edit(db, None, now))


def later(db: Connection, waiting: Waiting, clock: Clock) -> None:
    """Record that the user has seen what waits: it stays in the review."""
    has_no_question = {WaitingKind.OUTCOME, WaitingKind.TEXT, WaitingKind.REMINDER}
    if waiting.kind not in has_no_question | {WaitingKind.LEARNED}:
        questions.note_asked(db, waiting.id, to_text(clock.now()))


def _seen(db: Connection, waiting: Waiting, clock: Clock) -> None:
    """Record that the user has seen a reminder that could not be delivered."""
    for failed in reminders.failed_reminders(db, date.min):
        if failed.observation_id == waiting.id:
            now = to_text(clock.now())
            reminders.note_delivered(db, failed.observation_id, failed.due, now)


def _answered(
    db: Connection, waiting: Waiting, answer: Answer, cycle_id: int, clock: Clock
) -> None:
    questions.answer(db, waiting.id, answer, to_text(clock.now()), cycle_id)


def _keep_note(db: Connection, waiting: Waiting, observation_id: int, clock: Clock) -> None:
    """Record that a note holds, as an edit; it is doubtful no more."""
    with transaction(db):
        now = to_text(clock.now())
        note = corrections.in_force(db, observation_id)
        cycle_id = cycles.insert_edit(db, note.conversation_id, now)
        end_flag(db, observation_id, Flag.DOUBTFUL, cycle_id)
        _accept(db, note, cycle_id, now)


def _accept(db: Connection, note: Observation, cycle_id: int, now: str) -> None:
    """Record that a note is kept; a new one counts everywhere from now on."""
    is_new = note.id in unaccepted(db)
    questions.answer_about(db, note.id, Answer.KEEP, now, cycle_id)
    if is_new and note.committed_at is not None:
        replace_when_accepted(db, note.id, note.id, cycle_id, now)
        take_in_anew(db, note.id)


def _keep_text(db: Connection, waiting: Waiting, clock: Clock) -> Observation | None:
    """Make a note of a text that is no note yet, and return it.

    None if an active note says the same, or if the user's rules forbid it.
    """
    asked = {question.id: question for question in open_questions(db)}[waiting.id]
    fact = ListedFact(asked.id, asked.text or "", asked.noted_on)
    with transaction(db):
        now = to_text(clock.now())
        cycle_id = cycles.insert_edit(db, None, now)
        match waiting.kind:
            case WaitingKind.PROPOSAL:
                made = keeping.keep_proposed(db, fact, cycle_id, clock)
            case WaitingKind.LIST:
                made = keeping.keep_listed(db, fact, cycle_id, clock)
            case _:
                made = keeping.keep_lost_line(db, fact, messages_of(db, asked.id), cycle_id, clock)
        if made is not None:
            questions.link_note(db, waiting.id, made)
        questions.answer(db, waiting.id, Answer.KEEP, now, cycle_id)
        return next(iter(observations(db, [] if made is None else [made])), None)


CARRY_OUT: dict[Answer, Callable[[Connection, Waiting, Clock], Observation | None]] = {
    Answer.KEEP: keep,
    Answer.KEEP_ALL: keep_all,
    Answer.PIN: pin,
    Answer.UNTRUE: no_longer_true,
    Answer.WITHHOLD: withhold,
    Answer.LATER: later,
}
"""What carries out each answer that needs no words and deletes nothing."""
