"""Keep a note on request: of the user's own, or one that the main model asked for.

A kept note is an observation like any other, made by an edit of its own. It is shown in
every scope. The user's own rests on no message; the model's rests on the user's newest.
"""

import sqlite3
from collections.abc import Hashable

from construct.clock import Clock, to_text
from construct.errors import ConstructError, UsageError
from construct.language.dates import referenced_date
from construct.language.fact_match import fact_key
from construct.language.index_words import index_words
from construct.language.wordlists import NOTE_STOP_WORDS
from construct.language.words import words
from construct.memory.corrections import take_over
from construct.memory.shown.lines import NoteFields, line_tokens, note_columns
from construct.store import cycles, note_links, observations
from construct.store.forbidden import is_forbidden
from construct.store.records import Message, Observation
from construct.text import one_line, storable
from construct.vocabulary import Origin, Priority, Stance

_CANDIDATES = 40
"""The most notes that are compared with a new one."""
_STANCES = frozenset({Stance.STATED, Stance.PLANNED})
"""Stances of notes that can say the same as one that is kept on request."""
_MAX_WORDS = 60
"""Words of a new note that are searched for in the others, to find those candidates."""


def keep_for_user(
    db: sqlite3.Connection, content: str, category: str | None, clock: Clock
) -> Observation:
    """Store a note in the user's own words and return it.

    If an active note already says the same, that one is returned if the user kept it;
    another one is replaced by theirs, and stays a plan if it was one. Runs in the
    caller's transaction. Raises UsageError for content without a word.
    """
    note = _note(content, clock)
    same = _equal_note(db, note)
    if same is None:
        return _insert(db, note, category, Origin.USER, None, clock)
    if same.origin == Origin.USER and same.kept:
        return same
    return observations.observation(db, take_over(db, same, note, _one_line(category), clock))


def keep_for_model(
    db: sqlite3.Connection,
    content: str,
    category: str | None,
    said: Message | None,
    clock: Clock,
) -> Observation:
    """Store a note that the main model asked for and return it.

    `said` is the user's newest message, which it rests on. If an active note already says
    the same, that one is returned. Runs in the caller's transaction. Raises UsageError for
    content without a word, ConstructError if the user's rules forbid it.
    """
    note = _note(content, clock)
    if is_forbidden(db, note.content, category):
        raise ConstructError("The user's own rules forbid keeping that: nothing was stored.")
    same = _equal_note(db, note)
    return same or _insert(db, note, category, Origin.ASSISTANT, said, clock)


def _note(content: str, clock: Clock) -> NoteFields:
    text = one_line(storable(content))
    if not words(text):
        raise UsageError("A memory needs at least one word.")
    today = clock.today()
    day = referenced_date(text, today)
    return NoteFields(
        content=text,
        priority=Priority.HIGH,
        stance=Stance.STATED,
        observation_date=today.isoformat(),
        referenced_date=day.isoformat() if day else None,
    )


def _insert(
    db: sqlite3.Connection,
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


def _equal_note(db: sqlite3.Connection, note: NoteFields) -> Observation | None:
    """Return an active or pending note that says the same, if there is one."""
    found = index_words(note.content)
    content_words = [word for word in found if word not in NOTE_STOP_WORDS] or found
    any_word = " OR ".join(f'"{word}"' for word in content_words[:_MAX_WORDS])
    candidates = observations.matching(db, any_word, None, _CANDIDATES)
    fact = _fact(note)
    return next((o for o in candidates if o.stance in _STANCES and _fact(o) == fact), None)


def _fact(note: NoteFields | Observation) -> Hashable:
    """Return a key that is equal for notes that say the same thing."""
    return fact_key(note.content, note.observation_date, note.referenced_date)


def _one_line(category: str | None) -> str | None:
    return one_line(storable(category or "")) or None
