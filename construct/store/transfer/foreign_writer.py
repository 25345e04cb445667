"""Writes what was found in other programs' files into the scratch database, archived."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from construct.clock import Clock, from_text, to_text
from construct.program import as_typed
from construct.store.driver import Connection
from construct.store.forbidden import is_forbidden
from construct.store.messages import message_tokens
from construct.store.sql import ID_LIST, column, exists, insert, scalar
from construct.store.transfer.foreign import (
    ForeignConversation,
    ForeignMemory,
    ForeignMessage,
    Found,
    LeftOut,
    Moment,
    Part,
    Refused,
    named,
    stable_uid,
)
from construct.store.transfer.refused import RefusedError
from construct.text import is_blank, storable
from construct.vocabulary import QuestionKind, Role

_MESSAGES_AT_ONCE = 500
"""Messages added at once, since a hand-made conversation may be larger than memory."""
_BETWEEN_PARTS = "\n\n"
_THINKING = re.compile(r"\A\s*<(think|thinking)>.*?(?:</\1>|\Z)", re.DOTALL)
"""Thinking at the beginning of a reply; one that does not end is all thinking."""
_ABOUT_USER = re.compile(r"^(?:the )?user(?:'s)?\s+")
_NO_DATE = "nothing in it has a date; --date gives it one"


@dataclass(frozen=True, slots=True)
class _Row:
    """A message as it is stored."""

    uid: str
    role: Role
    content: str
    pasted: tuple[tuple[int, int], ...]
    """Where text that the user only brought begins and ends."""
    said_at: Moment | None


def not_decrypted(path: Path) -> bytes:
    """Refuse an age file."""
    raise RefusedError(
        "",
        "it is encrypted with a passphrase",
        f"Import it with {as_typed('import')} on a terminal",
    )


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How to import what does not say everything itself."""

    default_date: Moment | None = None
    """When something was said that has no date."""
    is_own_text: bool = False
    """Whether pasted text and notes are the user's own words."""
    decrypt: Callable[[Path], bytes] = not_decrypted
    """Returns what an age file holds. Raises ConstructError without its passphrase."""


class _UndatedError(Exception):
    """Raised for a conversation in which nothing has a date."""


class ForeignWriter:
    """Adds what a reader finds to the scratch database, and counts what is left out.

    Messages that are already known are skipped. New ones continue their conversation. If
    they are older than what it already has, they become a new conversation.
    """

    def __init__(self, db: Connection, options: ImportOptions, clock: Clock) -> None:
        self.known = 0
        """Number of messages and facts skipped."""
        self.listed: dict[str, None] = {}
        """The uids of the questions about facts that were found, in their order."""
        self.left_out: Counter[str] = Counter()
        self.refused: list[Refused] = []
        self._db = db
        self._options = options
        self._clock = clock
        self._conversations = 0
        self._newest: dict[str, str] = {}
        """The time of the newest message added, by the conversation's uid."""

    def add(self, found: Found) -> None:
        """Add one thing that a reader found."""
        match found:
            case ForeignConversation():
                self._conversations += 1
                self._add_conversation(found)
            case ForeignMemory():
                self._add_memory(found)
            case LeftOut():
                self.left_out[found.what] += found.count
            case Refused():
                self.refused.append(found)

    def _add_conversation(self, conversation: ForeignConversation) -> None:
        default = conversation.created_at or self._options.default_date
        rows = _dated(self._rows(conversation.messages), default)
        conversation_id, conversation_uid = 0, ""
        is_empty = True
        try:
            while batch := list(islice(rows, _MESSAGES_AT_ONCE)):
                is_empty = False
                new = self._without_known(batch)
                self.known += len(batch) - len(new)
                if not new:
                    continue
                if not conversation_id:
                    conversation_id, conversation_uid = self._place_for(conversation, *new[0])
                self._newest[conversation_uid] = new[-1][1].at
                self._insert(conversation_id, new)
        except _UndatedError:
            self.refused.append(Refused(named(conversation.title, self._conversations), _NO_DATE))
            return
        if is_empty:
            self.left_out["conversations without messages"] += 1

    def _add_memory(self, memory: ForeignMemory) -> None:
        """Add a fact as a question to the user. The same fact is asked about once."""
        uid = stable_uid("memory", _fact_key(memory.text))
        if uid in self.listed:
            return
        if is_forbidden(self._db, memory.text):
            self.left_out["facts that your rules forbid"] += 1
            return
        self.listed[uid] = None
        if exists(self._db, "main.questions WHERE uid = ?", (uid,)):
            self.known += 1
            return
        noted_at = memory.noted_at or self._options.default_date
        row = {
            "uid": uid,
            "kind": QuestionKind.LIST,
            "text": storable(memory.text),
            "noted_on": self._clock.day(noted_at.at).isoformat() if noted_at else None,
            "source": memory.source,
            "created_at": to_text(self._clock.now()),
        }
        insert(self._db, "scratch.questions", row)

    def _rows(self, messages: Iterable[ForeignMessage]) -> Iterator[_Row]:
        """Yield the messages that have words, and count what is left out of all of them."""
        for message in messages:
            parts = message.parts
            if message.role is Role.ASSISTANT:
                parts = tuple(_without_thinking(parts))
            self.left_out.update(part.left_out for part in parts if part.left_out)
            content, pasted = joined(parts)
            if self._options.is_own_text or message.role is not Role.USER:
                pasted = ()
            if content:
                yield _Row(message.uid, message.role, content, pasted, message.said_at)

    def _insert(self, conversation_id: int, rows: Iterable[tuple[_Row, Moment]]) -> None:
        self._db.executemany(
            """INSERT INTO scratch.messages
                   (uid, conversation_id, role, content, archived, token_count, created_at,
                    utc_offset, pasted)
               VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?)""",
            [
                (
                    row.uid,
                    conversation_id,
                    row.role,
                    row.content,
                    message_tokens(row.content),
                    said_at.at,
                    said_at.utc_offset,
                    json.dumps(row.pasted) if row.pasted else None,
                )
                for row, said_at in rows
            ],
        )

    def _without_known(self, rows: Sequence[tuple[_Row, Moment]]) -> list[tuple[_Row, Moment]]:
        """Return the messages that are in neither database yet, each once."""
        uids = json.dumps([row.uid for row, _ in rows])
        known: set[str] = set()
        for schema in ("main", "scratch"):
            query = f"SELECT uid FROM {schema}.messages WHERE uid IN {ID_LIST}"
            known.update(column(self._db, query, (uids,)))
        new: dict[str, tuple[_Row, Moment]] = {}
        for row, said_at in rows:
            if row.uid not in known:
                new.setdefault(row.uid, (row, said_at))
        return list(new.values())

    def _place_for(
        self, conversation: ForeignConversation, first: _Row, begins: Moment
    ) -> tuple[int, str]:
        """Return the id and uid of the conversation for new messages, created if necessary."""
        conversation_uid = conversation.uid
        last = self._last_time(conversation_uid)
        if last is not None and from_text(last) > from_text(begins.at):
            conversation_uid = stable_uid("late", conversation.uid, first.uid)
        query = "SELECT id FROM scratch.conversations WHERE uid = ?"
        conversation_id = scalar(self._db, query, (conversation_uid,))
        if conversation_id is None:
            created_at = conversation.created_at or begins
            row = {
                "uid": conversation_uid,
                "title": conversation.title,
                "titled_by": "user" if conversation.title else None,
                "created_at": min(created_at.at, begins.at),
            }
            conversation_id = insert(self._db, "scratch.conversations", row)
        return conversation_id, conversation_uid

    def _last_time(self, conversation_uid: str) -> str | None:
        stored = """SELECT created_at FROM main.messages WHERE conversation_id =
                  (SELECT id FROM main.conversations WHERE uid = ?) ORDER BY id DESC LIMIT 1"""
        newest = self._newest.get(conversation_uid)
        return newest or scalar(self._db, stored, (conversation_uid,))


def _fact_key(text: str) -> str:
    """Return a key that is equal for facts that two programs, or one twice, wrote alike."""
    return _ABOUT_USER.sub("", " ".join(text.casefold().split())).rstrip(" .")


def joined(parts: Iterable[Part]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return a message's text, and where in it begins and ends what the user only brought."""
    content = ""
    pasted: list[tuple[int, int]] = []
    for part in parts:
        text = storable(part.text)
        if is_blank(text):
            continue
        start = len(content) + len(_BETWEEN_PARTS) if content else 0
        content = f"{content}{_BETWEEN_PARTS}{text}" if content else text
        if part.is_pasted:
            pasted.append((start, len(content)))
    return content, tuple(pasted)


def _without_thinking(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the parts of a reply, without the thinking that local models write before it."""
    is_beginning = True
    for part in parts:
        match = _THINKING.match(part.text) if is_beginning else None
        is_beginning = is_beginning and is_blank(part.text)
        if match is None:
            yield part
            continue
        yield Part(left_out="thinking")
        yield Part(part.text[match.end() :].lstrip(), part.is_pasted, part.left_out)


def _dated(rows: Iterable[_Row], default: Moment | None) -> Iterator[tuple[_Row, Moment]]:
    """Yield each message with its time: its own, else its neighbour's, else `default`.

    No time is earlier than one before it. Raises _UndatedError if there is none at all.
    """
    waiting: list[_Row] = []
    latest: Moment | None = None
    for row in rows:
        said_at = row.said_at
        if said_at is None and latest is None:
            waiting.append(row)
            continue
        if latest is None or (said_at is not None and said_at.at >= latest.at):
            latest = said_at
        elif said_at is not None:
            latest = Moment(latest.at, said_at.utc_offset)
        assert latest is not None
        for earlier in waiting:
            yield earlier, latest
        waiting.clear()
        yield row, latest
    if waiting and default is None:
        raise _UndatedError
    for row in waiting:
        assert default is not None
        yield row, default
