"""Conversations from other programs, and the writer that puts them in the scratch database."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from construct.clock import from_text
from construct.store.messages import message_tokens
from construct.store.sql import ID_LIST, column, insert, scalar

_MESSAGES_AT_ONCE = 500
"""Messages added at once, since a hand-made conversation may be larger than memory."""


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """A message from another program's export."""

    uid: str
    role: str
    content: str
    created_at: str | None


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """A conversation from another program's export."""

    uid: str
    title: str | None
    created_at: str | None
    messages: Iterable[ImportedMessage]
    """In order of time; can be iterated only once."""


def stable_uid(*parts: object) -> str:
    """Return a uid derived from these parts: the same in every import, on every machine."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


class ConversationWriter:
    """Adds conversations of other programs to the scratch database, archived.

    Messages that are already known are skipped. New ones continue their conversation. If
    they are older than what it already has, they become a new conversation.
    """

    def __init__(self, db: sqlite3.Connection, now: str) -> None:
        self.known = 0
        """Number of messages skipped."""
        self._db = db
        self._now = now
        self._newest: dict[str, str] = {}
        """The time of the newest message added, by the conversation's uid."""

    def add(self, conversation: ImportedConversation) -> None:
        """Add a conversation."""
        messages = iter(conversation.messages)
        conversation_id, conversation_uid = 0, ""
        while batch := list(islice(messages, _MESSAGES_AT_ONCE)):
            new = self._without_known(batch)
            self.known += len(batch) - len(new)
            if not new:
                continue
            if not conversation_id:
                conversation_id, conversation_uid = self._conversation_for(conversation, new[0])
            self._newest[conversation_uid] = self._time(conversation, new[-1])
            self._db.executemany(
                """INSERT INTO scratch.messages
                       (uid, conversation_id, role, content, archived, token_count, created_at)
                   VALUES (?, ?, ?, ?, 1, ?, ?)""",
                [
                    (
                        message.uid,
                        conversation_id,
                        message.role,
                        message.content,
                        message_tokens(message.content),
                        self._time(conversation, message),
                    )
                    for message in new
                ],
            )

    def _time(self, conversation: ImportedConversation, message: ImportedMessage) -> str:
        return message.created_at or conversation.created_at or self._now

    def _without_known(self, messages: Sequence[ImportedMessage]) -> list[ImportedMessage]:
        """Return the messages that are in neither database yet, each once."""
        uids = json.dumps([message.uid for message in messages])
        known: set[str] = set()
        for schema in ("main", "scratch"):
            query = f"SELECT uid FROM {schema}.messages WHERE uid IN {ID_LIST}"
            known.update(column(self._db, query, (uids,)))
        new: dict[str, ImportedMessage] = {}
        for message in messages:
            if message.uid not in known:
                new.setdefault(message.uid, message)
        return list(new.values())

    def _conversation_for(
        self, conversation: ImportedConversation, first: ImportedMessage
    ) -> tuple[int, str]:
        """Return the id and uid of the conversation for new messages, created if necessary."""
        begins = self._time(conversation, first)
        conversation_uid = conversation.uid
        last = self._last_time(conversation_uid)
        if last is not None and from_text(last) > from_text(begins):
            conversation_uid = stable_uid("late", conversation.uid, first.uid)
        query = "SELECT id FROM scratch.conversations WHERE uid = ?"
        conversation_id = scalar(self._db, query, (conversation_uid,))
        if conversation_id is None:
            row = {
                "uid": conversation_uid,
                "title": conversation.title,
                "titled_by": "user" if conversation.title else None,
                "created_at": conversation.created_at or begins,
            }
            conversation_id = insert(self._db, "scratch.conversations", row)
        return conversation_id, conversation_uid

    def _last_time(self, conversation_uid: str) -> str | None:
        stored = """SELECT created_at FROM main.messages WHERE conversation_id =
                  (SELECT id FROM main.conversations WHERE uid = ?) ORDER BY id DESC LIMIT 1"""
        newest = self._newest.get(conversation_uid)
        return newest or scalar(self._db, stored, (conversation_uid,))
