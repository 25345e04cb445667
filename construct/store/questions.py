"""Queries for what waits for the user's decision, such as requests to forget something.

A request to forget that the observer heard deletes nothing. Once the observations of the
observer's cycle are committed, what it is about is withheld from the model: an
observation at once, a message as soon as it has left the window. Then the user is asked
once whether to forget it for good.
"""

import json
from collections.abc import Iterable
from typing import NamedTuple

from construct.store.driver import Connection
from construct.store.forbidden import is_forbidden
from construct.store.note_links import (
    messages_behind,
    messages_named,
    with_origins,
    with_reflections,
    with_sources,
)
from construct.store.observations import observations
from construct.store.replies import replies_to
from construct.store.sql import ID_LIST, column, exists, insert, json_ids, new_uid, scalar
from construct.vocabulary import Answer, QuestionKind

_ITEMS = "question_items AS item JOIN questions AS q ON q.id = item.question_id"
_NOT_KEPT = "ifnull(answer, '') <> 'keep'"
_APPLIED = f"SELECT {{}} FROM {_ITEMS} WHERE withheld_at IS NOT NULL AND {_NOT_KEPT}"


class ForgetRequest(NamedTuple):
    """A withheld observation or message that the user is to be asked about."""

    question_id: int
    observation_id: int | None
    message_id: int | None
    words: str
    asked_at: str | None
    """When the user was asked, if they have not answered yet."""
    created_at: str


class ListedFact(NamedTuple):
    """A fact of a memory list that the user has not decided on."""

    question_id: int
    text: str
    noted_on: str | None
    """The day on which it was noted, if the list says it."""


def listed_facts(db: Connection, uids: Iterable[str]) -> list[ListedFact]:
    """Return the facts of these questions that the user has not decided on, in their order."""
    rows = db.execute(
        """SELECT q.id, text, noted_on FROM json_each(?) AS named
           JOIN questions AS q ON q.uid = named.value
           WHERE kind = 'list' AND answered_at IS NULL AND text IS NOT NULL ORDER BY named.key""",
        (json.dumps(list(uids)),),
    )
    return [ListedFact(*row) for row in rows]


def add_forget(
    db: Connection,
    cycle_id: int,
    observation_ids: Iterable[int],
    message_ids: Iterable[int],
    now: str,
) -> None:
    """Store what a cycle heard the user ask to forget, and what has to go along with it.

    An observation takes along its sources, other versions and repeats, the messages
    behind all of these, and the reflections made from it in the meantime. A message,
    named or taken along, takes along its replies. Any of them would bring the forgotten
    words back. A pinned note, or one of the user's own, takes only its earlier versions
    along: it is asked about.
    """
    named, named_messages = set(observation_ids), set(message_ids)
    if not named and not named_messages:
        return
    protected = {o.id for o in observations(db, sorted(named)) if o.is_protected}
    free = named - protected
    sources = with_sources(db, free) | _versions(db, free)
    reflections = observations(db, sorted(with_reflections(db, free)))
    affected = (
        protected
        | _versions(db, protected)
        | sources
        | {o.id for o in reflections if o.state != "superseded"}
    )
    messages = named_messages | {m.id for m in messages_named(db, sources)}
    messages |= {m.id for m in replies_to(db, messages)}
    question_id = _insert(db, QuestionKind.FORGET, cycle_id, now)
    items = [{"observation_id": i, "along": i not in named} for i in sorted(affected)]
    items += [{"message_id": i, "along": i not in named_messages} for i in sorted(messages)]
    for item in items:
        _insert_item(db, question_id, **item)


def add_doubtful(db: Connection, cycle_id: int, observation_id: int, now: str) -> None:
    """Ask whether an observation still holds, unless that is asked already."""
    query = f"""SELECT count(*) FROM {_ITEMS}
                WHERE kind = 'doubtful' AND observation_id = ? AND answered_at IS NULL"""
    if not scalar(db, query, (observation_id,)):
        question_id = _insert(db, QuestionKind.DOUBTFUL, cycle_id, now)
        _insert_item(db, question_id, observation_id=observation_id)


def add_stand_in(
    db: Connection, cycle_id: int, observation_id: int, refused: str, now: str
) -> None:
    """Ask about the user's own sentence that was stored in the place of a refused line."""
    text = None if is_forbidden(db, refused) else refused
    question_id = _insert(db, QuestionKind.STAND_IN, cycle_id, now, text=text)
    _insert_item(db, question_id, observation_id=observation_id)


def add_lost_line(
    db: Connection,
    cycle_id: int,
    refused: str,
    noted_on: str,
    message_ids: Iterable[int],
    now: str,
) -> None:
    """Ask about a refused line that no words of the user's could stand in for."""
    if is_forbidden(db, refused):
        return
    question_id = _insert(db, QuestionKind.STAND_IN, cycle_id, now, text=refused, noted_on=noted_on)
    for message_id in message_ids:
        _insert_item(db, question_id, message_id=message_id)


def add_proposal(db: Connection, text: str, client: str, now: str) -> None:
    """Ask whether to remember what another program proposes."""
    row = {"uid": new_uid(), "kind": QuestionKind.PROPOSAL, "text": text, "source": client}
    insert(db, "questions", {**row, "created_at": now})


def is_proposed(db: Connection, text: str) -> bool:
    """Return whether this was proposed before, whatever the user answered."""
    return exists(db, "questions WHERE kind = 'proposal' AND text = ?", (text,))


def count_proposals(db: Connection) -> int:
    """Return how many proposals wait for an answer."""
    query = "SELECT count(*) FROM questions WHERE kind = 'proposal' AND answered_at IS NULL"
    return int(scalar(db, query))


def count_stand_ins(db: Connection, since: str) -> int:
    """Return how many lines were refused for good since a stored time."""
    query = "SELECT count(*) FROM questions WHERE kind = 'stand-in' AND created_at >= ?"
    return int(scalar(db, query, (since,)))


def _insert(
    db: Connection, kind: QuestionKind, cycle_id: int, now: str, **columns: str | None
) -> int:
    question = {"uid": new_uid(), "kind": kind, "cycle_id": cycle_id, "created_at": now}
    return insert(db, "questions", {**question, **columns})


def _insert_item(db: Connection, question_id: int, **about: int) -> None:
    insert(db, "question_items", {"uid": new_uid(), "question_id": question_id, **about})


def _versions(db: Connection, named: set[int]) -> set[int]:
    """Return the ids of other versions and repeats of these observations.

    Active ones count only if one of these has been replaced in the meantime. Otherwise,
    what once linked them was undone.
    """
    versions = observations(db, sorted(with_origins(db, named)))
    superseded = {o.id for o in versions if o.state == "superseded"}
    return superseded | with_origins(db, named & superseded)


def withhold_committed(db: Connection, conversation_id: int, now: str) -> None:
    """Apply the requests to forget that a conversation's committed cycles heard.

    What they are about is withheld from the model. A message that is still in its
    conversation's window is withheld from recall at once, from requests when it leaves
    the window. What is pinned, or the user's own, is only asked about.
    """
    db.execute(
        """UPDATE questions SET withheld_at = ?
           WHERE kind = 'forget' AND withheld_at IS NULL AND cycle_id IN (
               SELECT id FROM cycles
               WHERE conversation_id = ? AND kind = 'observer' AND status = 'succeeded')""",
        (now, conversation_id),
    )
    _withhold_applied(db)


def _withhold_applied(db: Connection) -> None:
    """Withhold from the model what the applied requests to forget are about."""
    db.execute(
        f"""UPDATE observations SET withheld = 1
            WHERE withheld = 0 AND NOT pinned AND origin <> 'user'
            AND id IN ({_APPLIED.format("observation_id")})"""
    )
    db.execute(
        f"""UPDATE messages SET withheld = 1
            WHERE withheld = 0 AND id IN ({_APPLIED.format("message_id")})
            AND (archived OR id <= ifnull((
                SELECT w.message_id FROM watermarks AS w
                WHERE w.conversation_id = messages.conversation_id AND w.name = 'window'), 0))"""
    )


def not_yet_withheld(db: Connection) -> frozenset[int]:
    """Return the ids of observations whose requests to forget are not yet applied."""
    query = f"""SELECT observation_id FROM {_ITEMS} WHERE kind = 'forget'
               AND withheld_at IS NULL AND observation_id IS NOT NULL"""
    return frozenset(column(db, query))


def messages_not_yet_withheld(db: Connection) -> frozenset[int]:
    """Return the ids of messages whose requests to forget are not yet applied."""
    query = f"""SELECT message_id FROM {_ITEMS} WHERE kind = 'forget'
               AND withheld_at IS NULL AND message_id IS NOT NULL"""
    return frozenset(column(db, query))


def messages_to_forget(db: Connection) -> frozenset[int]:
    """Return the ids of messages that the user asked to forget, withheld yet or not."""
    query = f"""SELECT message_id FROM {_ITEMS}
               WHERE kind = 'forget' AND {_NOT_KEPT} AND message_id IS NOT NULL"""
    return frozenset(column(db, query))


def unanswered_requests(db: Connection) -> list[ForgetRequest]:
    """Return the applied requests to forget that the user has not answered, oldest first.

    What only goes along with something else is left out, such as the messages behind an
    observation that is listed.
    """
    rows = db.execute(
        f"""SELECT q.id, item.observation_id, item.message_id, coalesce(o.content, m.content),
                  q.asked_at, q.created_at
           FROM {_ITEMS} LEFT JOIN observations AS o ON o.id = item.observation_id
           LEFT JOIN messages AS m ON m.id = item.message_id
           WHERE kind = 'forget' AND withheld_at IS NOT NULL AND answered_at IS NULL AND NOT along
           ORDER BY q.id, item.id"""
    )
    requests = [ForgetRequest(*row) for row in rows]
    named = [r.observation_id for r in requests if r.observation_id is not None]
    behind = {m.id for m in messages_behind(db, named)}
    return [r for r in requests if r.message_id not in behind]


def answer(
    db: Connection, question_id: int, words: str, now: str, cycle_id: int | None = None
) -> None:
    """Record what the user answered, and by which edit; what it withholds stays withheld."""
    db.execute(
        "UPDATE questions SET answered_at = ?, answer = ?, answered_by = ? WHERE id = ?",
        (now, words, cycle_id, question_id),
    )


def answer_about(db: Connection, observation_id: int, words: str, now: str, cycle_id: int) -> None:
    """Record an answer to all open questions about a note, except requests to forget it."""
    db.execute(
        """UPDATE questions SET answered_at = ?, answer = ?, answered_by = ?
           WHERE answered_at IS NULL AND kind IN ('doubtful', 'stand-in', 'new')
           AND id IN (SELECT question_id FROM question_items WHERE observation_id = ?)""",
        (now, words, cycle_id, observation_id),
    )


def keep_requested(db: Connection, question_id: int, now: str, cycle_id: int) -> None:
    """Record that what was to be forgotten is kept, and stop withholding it."""
    answer(db, question_id, Answer.KEEP, now, cycle_id)
    _give_back(db, *_items_of(db, question_id))


def reopen(db: Connection, cycle_id: int) -> tuple[str, ...]:
    """Ask again what an undone edit answered. Returns what these questions are about."""
    about = column(
        db,
        """SELECT coalesce(o.content, text, m.content, '') FROM questions AS q
           LEFT JOIN question_items AS item ON item.question_id = q.id AND NOT along
           LEFT JOIN observations AS o ON o.id = item.observation_id
           LEFT JOIN messages AS m ON m.id = item.message_id
           WHERE answered_by = ? GROUP BY q.id ORDER BY q.id""",
        (cycle_id,),
    )
    if about:
        db.execute(
            """UPDATE questions SET answered_at = NULL, answer = NULL, answered_by = NULL
               WHERE answered_by = ?""",
            (cycle_id,),
        )
        _withhold_applied(db)
    return tuple(about)


def link_note(db: Connection, question_id: int, observation_id: int) -> None:
    """Let a question be about the note that its text became: it is forgotten with it."""
    _insert_item(db, question_id, observation_id=observation_id)


def note_asked(db: Connection, question_id: int, now: str) -> None:
    """Record that the user has seen a question."""
    db.execute("UPDATE questions SET asked_at = ? WHERE id = ?", (now, question_id))


def forget_text(db: Connection, question_id: int, now: str) -> None:
    """Delete the text of a question. The row stays, so that no import asks it again."""
    answer(db, question_id, Answer.FORGET, now)
    db.execute("UPDATE questions SET text = NULL, source = NULL WHERE id = ?", (question_id,))


def withheld_by(db: Connection, cycle_id: int) -> tuple[str, ...]:
    """Return the text of the observations and the user's messages that a cycle withholds."""
    query = f"""SELECT coalesce(o.content, m.content) FROM {_ITEMS}
               LEFT JOIN observations AS o ON o.id = item.observation_id
               LEFT JOIN messages AS m ON m.id = item.message_id
               WHERE q.cycle_id = ? AND withheld_at IS NOT NULL AND ifnull(m.role, 'user') = 'user'
               AND o.superseded_at IS NULL
               ORDER BY item.id"""
    return tuple(dict.fromkeys(column(db, query, (cycle_id,))))


def withdraw_of(db: Connection, cycle_id: int) -> None:
    """Drop all questions of an undone cycle, and stop withholding what they withheld."""
    for question_id in column(db, "SELECT id FROM questions WHERE cycle_id = ?", (cycle_id,)):
        withdraw(db, question_id)


def withdraw(db: Connection, question_id: int) -> None:
    """Drop a question, and stop withholding what no other question withholds.

    Messages forgotten for good stay withheld.
    """
    observation_ids, message_ids = _items_of(db, question_id)
    db.execute("DELETE FROM questions WHERE id = ?", (question_id,))
    db.execute("DELETE FROM question_items WHERE question_id = ?", (question_id,))
    _give_back(db, observation_ids, message_ids)


def _items_of(db: Connection, question_id: int) -> tuple[list[int], list[int]]:
    """Return the ids of the observations and of the messages that a question is about."""
    query = "SELECT {0} FROM question_items WHERE question_id = ? AND {0} IS NOT NULL"
    return (
        column(db, query.format("observation_id"), (question_id,)),
        column(db, query.format("message_id"), (question_id,)),
    )


def _give_back(db: Connection, observation_ids: Iterable[int], message_ids: Iterable[int]) -> None:
    """Stop withholding what no question withholds any more."""
    db.execute(
        f"""UPDATE observations SET withheld = 0
            WHERE id IN {ID_LIST} AND id NOT IN ({_APPLIED.format("observation_id")}
                AND observation_id IS NOT NULL)""",
        (json_ids(observation_ids),),
    )
    db.execute(
        f"""UPDATE messages SET withheld = 0 WHERE id IN {ID_LIST}
            AND uid NOT IN (SELECT message_uid FROM tombstones)
            AND id NOT IN ({_APPLIED.format("message_id")} AND message_id IS NOT NULL)""",
        (json_ids(message_ids),),
    )
