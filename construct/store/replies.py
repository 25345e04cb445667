"""Which messages a reply answers.

A reply answers the user's newest message, and the ones before it that got no reply: they
were sent again with it. `questions_answered` decides; the others only read rows.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from construct.store.driver import Connection
from construct.store.records import LEFT_OUT_SQL, Message
from construct.store.sql import ID_LIST, json_ids, select
from construct.vocabulary import Role

_SAID = f"SELECT id, role, archived, {LEFT_OUT_SQL}, retried FROM messages"


class Said(NamedTuple):
    """What decides which messages a reply answers."""

    id: int
    role: str
    archived: int = 0
    left_out: int = 0
    """Whether it is left out of requests: it was refused or dropped."""
    retried: int = 0


@dataclass(slots=True)
class _Question:
    said: Said
    has_reply: bool = False


def questions_answered(messages: Iterable[Said]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the id of each reply of a conversation, with the ids of the messages it answers.

    `messages` are in order. A message without a reply was sent again with the next one, so
    the reply to that one answers both, except for an imported message that was never
    observed and one said since. A next message that is left out of requests does not
    count, since `/retry` may have asked for another reply to the one before it. A part of
    a reply that is left out answers only the message just before it.
    """
    open_questions: list[_Question] = []
    for message in messages:
        if message.role == Role.USER:
            if not message.left_out:
                open_questions = [q for q in open_questions if _stays_open(q, message)]
            open_questions.append(_Question(message))
            continue
        is_part_left_out = message.left_out and not message.retried
        yield (
            message.id,
            tuple(
                question.said.id
                for question in open_questions
                if question is open_questions[-1] or question.said.left_out or not is_part_left_out
            ),
        )
        if not message.left_out:
            for question in open_questions:
                question.has_reply = True


def _stays_open(question: _Question, next_message: Said) -> bool:
    """Return whether a message is sent again with the user's next one."""
    is_older_import = question.said.archived > next_message.archived
    return not (question.has_reply or question.said.left_out or is_older_import)


def replies_to(db: Connection, message_ids: Iterable[int]) -> list[Message]:
    """Return the replies to those of these messages that are the user's, oldest first.

    A reply among them takes nothing along. The messages themselves are never included.
    """
    named = set(message_ids)
    asked: dict[int, set[int]] = {}
    query = f"SELECT conversation_id, id FROM messages WHERE role = 'user' AND id IN {ID_LIST}"
    for conversation_id, message_id in db.execute(query, (json_ids(named),)):
        asked.setdefault(conversation_id, set()).add(message_id)
    replies: set[int] = set()
    for conversation_id, questions in asked.items():
        said = _said_from(db, conversation_id, questions)
        replies.update(
            reply
            for reply, answered in questions_answered(said)
            if not questions.isdisjoint(answered)
        )
    source = f"messages WHERE id IN {ID_LIST} ORDER BY id"
    return select(db, Message, source, (json_ids(replies - named),))


def _said_from(db: Connection, conversation_id: int, questions: set[int]) -> Iterator[Said]:
    """Yield a conversation's messages from the first of these on, as far as is needed.

    A message that is sent and was said after a reply begins anew: no later reply answers
    an earlier one.
    """
    has_reply, last = False, max(questions)
    rows = db.execute(
        f"{_SAID} WHERE conversation_id = ? AND id >= ? ORDER BY id",
        (conversation_id, min(questions)),
    )
    for row in rows:
        message = Said(*row)
        if message.id > last and not message.left_out:
            if has_reply and message.role == Role.USER:
                return
            has_reply = has_reply or message.role == Role.ASSISTANT
        yield message


def question_of(db: Connection, reply: Message) -> Message | None:
    """Return the user's message that a reply answers: the newest that is sent, if several."""
    said = {message.id: message for message in _said_until(db, reply)}
    in_order = [said[i] for i in sorted(said)]
    answered = dict(questions_answered(in_order)).get(reply.id, ())
    best = max(answered, key=lambda i: (not said[i].left_out, i), default=None)
    if best is None:
        return None
    (question,) = select(db, Message, "messages WHERE id = ?", (best,))
    return question


def _said_until(db: Connection, reply: Message) -> Iterator[Said]:
    """Yield a reply and what was said before it, newest first, as far as is needed.

    That is as far as the last complete exchange before its own.
    """
    has_question = False
    rows = db.execute(
        f"{_SAID} WHERE conversation_id = ? AND id <= ? ORDER BY id DESC",
        (reply.conversation_id, reply.id),
    )
    for row in rows:
        message = Said(*row)
        yield message
        if message.left_out:
            continue
        if has_question and message.role == Role.ASSISTANT:
            return
        has_question = has_question or message.role == Role.USER
