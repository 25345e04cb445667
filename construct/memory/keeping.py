"""Keep a note on request: of the user's own, or one that the main model asked for.

A kept note is an observation like any other, made by an edit of its own. It is shown in
every scope. The user's own rests on no message; the model's rests on the user's newest.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import NamedTuple

from construct.clock import Clock, to_text
from construct.errors import ConstructError, UsageError
from construct.language.dates import referenced_date
from construct.language.fact_match import fact_key
from construct.language.index_words import index_words
from construct.language.wordlists import NOTE_STOP_WORDS
from construct.language.words import words
from construct.memory.corrections import take_over
from construct.memory.shown.date_marks import read_label
from construct.memory.shown.lines import NoteFields, line_tokens, note_columns
from construct.store import cycles, note_links, observations
from construct.store.driver import Connection
from construct.store.forbidden import is_forbidden
from construct.store.questions import ListedFact
from construct.store.records import Message, Observation
from construct.text import one_line, storable
from construct.vocabulary import Origin, Priority, Stance

_CANDIDATES = 40
"""The most notes that are compared with a new one."""
_STANCES = frozenset({Stance.STATED, Stance.PLANNED})
"""Stances of notes that can say the same as one that is kept on request."""
_MAX_WORDS = 60
"""Words of a new note that are searched for in the others, to find those candidates."""


def keep_for_user(db: Connection, content: str, category: str | None, clock: Clock) -> Observation:
    """Store a note in the user's own words and return it.

    If an active note already says the same, that one is returned if the user kept it;
    another one is replaced by theirs, and stays a plan if it was one. Runs in the
    caller's transaction. Raises UsageError for content without a word.
    """
    note = _note(content, clock.today())
    same = _equal_note(db, note)
    if same is None:
        return _insert(db, note, category, Origin.USER, None, clock)
    if same.origin == Origin.USER and same.kept:
        return same
    return observations.observation(db, take_over(db, same, note, _one_line(category), clock))


class ModelNote(NamedTuple):
    """What came of the main model's wish to keep something."""

    note: Observation
    is_new: bool
    """False if an active note said the same already."""


def keep_for_model(
    db: Connection,
    content: str,
    category: str | None,
    said: Message | None,
    clock: Clock,
    stance: Stance = Stance.STATED,
) -> ModelNote:
    """Store a note that the main model asked for, unless an active one says the same.

    `said` is the user's newest message, which it rests on. Runs in the caller's
    transaction. Raises UsageError for content without a word, ConstructError if the user's
    rules forbid it.
    """
    note = replace(_note(content, clock.today()), stance=stance)
    if is_forbidden(db, note.content, category):
        raise ConstructError("The user's own rules forbid keeping that: nothing was stored.")
    same = _equal_note(db, note)
    if same is not None:
        return ModelNote(same, is_new=False)
    return ModelNote(_insert(db, note, category, Origin.ASSISTANT, said, clock), is_new=True)


def keep_reminder(
    db: Connection,
    content: str,
    moment: datetime,
    origin: Origin,
    said: Message | None,
    clock: Clock,
    stance: Stance = Stance.PLANNED,
) -> Observation:
    """Store a plan of which the user is reminded at a moment, and return it.

    `moment` is by the clock on the wall; the words become the label too. If an active note
    already says the same for that moment, that one is returned. Runs in the caller's
    transaction. Raises UsageError for content without a word, ConstructError if the model
    wants to keep what the user's rules forbid.
    """
    note = replace(
        _note(content, clock.today()),
        stance=stance,
        referenced_date=moment.date().isoformat(),
        referenced_time=f"{moment:%H:%M}",
        remind_at=moment.isoformat(" ", "minutes"),
    )
    note = replace(note, label=read_label(note.content))
    if origin != Origin.USER and is_forbidden(db, note.content):
        raise ConstructError("The user's own rules forbid keeping that: nothing was stored.")
    same = _equal_note(db, note)
    if same is not None and same.remind_at == note.remind_at:
        return same
    return _insert(db, note, None, origin, said, clock)


def keep_listed(db: Connection, fact: ListedFact, cycle_id: int, clock: Clock) -> int | None:
    """Store a fact of another program's list as a note, and return its id.

    It is stated, and dated by the list. None if an active note already says it, or if the
    user's rules forbid it. Runs in the caller's transaction, as part of an edit.
    """
    note = replace(_note(fact.text, _noted_on(fact, clock)), priority=Priority.MEDIUM)
    return _keep_text(db, note, Origin.IMPORT, cycle_id, clock)


def keep_proposed(db: Connection, fact: ListedFact, cycle_id: int, clock: Clock) -> int | None:
    """Store what another program proposed as a note that is that program's word.

    Otherwise as `keep_listed`.
    """
    note = replace(
        _note(fact.text, _noted_on(fact, clock)), priority=Priority.MEDIUM, stance=Stance.QUOTED
    )
    return _keep_text(db, note, Origin.DOOR, cycle_id, clock)


def keep_lost_line(
    db: Connection,
    fact: ListedFact,
    message_ids: Sequence[int],
    cycle_id: int,
    clock: Clock,
) -> int | None:
    """Store a refused line that the user vouches for, resting on the messages it named.

    Otherwise as `keep_listed`.
    """
    note = replace(_note(fact.text, _noted_on(fact, clock)), priority=Priority.MEDIUM)
    made = _keep_text(db, note, Origin.USER, cycle_id, clock)
    if made is not None:
        note_links.link_messages(db, made, message_ids)
    return made


def _noted_on(fact: ListedFact, clock: Clock) -> date:
    return date.fromisoformat(fact.noted_on) if fact.noted_on else clock.today()


def _keep_text(
    db: Connection, note: NoteFields, origin: Origin, cycle_id: int, clock: Clock
) -> int | None:
    if is_forbidden(db, note.content) or _equal_note(db, note) is not None:
        return None
    now = to_text(clock.now())
    row = {
        **note_columns(note),
        "origin": origin,
        "kept": 1,
        "cycle_id": cycle_id,
        "token_count": line_tokens(note),
        "created_at": now,
        "committed_at": now,
    }
    return observations.insert_observation(db, row)


def _note(content: str, today: date) -> NoteFields:
    text = one_line(storable(content))
    if not words(text):
        raise UsageError("A memory needs at least one word.")
    day = referenced_date(text, today)
    return NoteFields(
        content=text,
        priority=Priority.HIGH,
        stance=Stance.STATED,
        observation_date=today.isoformat(),
        referenced_date=day.isoformat() if day else None,
    )


def _insert(
    db: Connection,
    note: NoteFields,
    category: str | None,
    origin: Origin,
    said: Message | None,
    clock: Clock,
) -> Observation:
    now = to_text(clock.now())
    conversation_id = said.conversation_id if said else None
    observation_id = observations.insert_observation(
        db,
        {
            **note_columns(note),
            "conversation_id": conversation_id,
            "origin": origin,
            "kept": 1,
            "category": _one_line(category),
            "cycle_id": cycles.insert_edit(db, conversation_id, now),
            "token_count": line_tokens(note),
            "created_at": now,
            "committed_at": now,
        },
    )
    assert observation_id is not None  # the caller asked whether a rule forbids it
    if said is not None:
        note_links.link_messages(db, observation_id, [said.id])
    return observations.observation(db, observation_id)


def _equal_note(db: Connection, note: NoteFields) -> Observation | None:
    """Return an active or pending note that says the same, if there is one."""
    found = index_words(note.content)
    content_words = [word for word in found if word not in NOTE_STOP_WORDS] or found
    any_word = " OR ".join(f'"{word}"' for word in content_words[:_MAX_WORDS])
    candidates = observations.matching(db, any_word, None, _CANDIDATES)
    fact = _fact(note)
    stances = _STANCES | {note.stance}
    return next((o for o in candidates if o.stance in stances and _fact(o) == fact), None)


def _fact(note: NoteFields | Observation) -> Hashable:
    """Return a key that is equal for notes that say the same thing."""
    return fact_key(note.content, note.observation_date, note.referenced_date)


def _one_line(category: str | None) -> str | None:
    return one_line(storable(category or "")) or None
