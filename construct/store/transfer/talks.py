"""Talks that come from elsewhere on their way into the database: archived, and each message once.

They wait in temporary tables until all have been read: a file may be larger than memory, and nobody else
should wait for its reading.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from typing import Any

from construct.clock import Clock, from_text, to_text
from construct.store.records import REMOVED
from construct.store.sql import GIVEN, column, insert, scalar
from construct.store.talk import last_time, message_tokens
from construct.store.transfer.format import RefusedError, one_of, text, time
from construct.store.transfer.shapes import Said, Talk, identity

_AT_ONCE = 500
"""Messages: a conversation may be larger than memory."""
_NEW = "temp.said AS s WHERE place BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM messages WHERE uid = s.uid)"


@dataclass(slots=True)
class Stored:
    """What became of the talks."""

    added: Counter[str] = field(default_factory=Counter)
    known: int = 0
    conversations: set[int] = field(default_factory=set)


class Waiting:
    """Talks that have been read: those of their messages that are not known yet."""

    def __init__(self, db: sqlite3.Connection, now: str) -> None:
        self._db = db
        self._now = now
        self._read = 0
        self.drop()
        db.execute("CREATE TEMP TABLE talk (uid TEXT, title TEXT, created_at TEXT, first INTEGER, last INTEGER)")
        # Without an index: one of a million identities is written many times over. `messages` has one anyway.
        db.execute(
            "CREATE TEMP TABLE said (place INTEGER PRIMARY KEY, uid TEXT, role TEXT,"
            " content TEXT, token_count INTEGER, created_at TEXT)"
        )

    def take(self, talk: Talk) -> None:
        """Keep a talk."""
        first = self._read + 1
        said = iter(talk.said)
        fresh = 0
        while some := list(islice(said, _AT_ONCE)):
            fresh += self._keep(some, talk.created_at or self._now)
        if fresh:
            self._db.execute(
                "INSERT INTO talk VALUES (?, ?, ?, ?, ?)", (talk.uid, talk.title, talk.created_at, first, self._read)
            )

    def _keep(self, said: Sequence[Said], otherwise: str) -> int:
        """Keep those of a talk's messages that are not known; return how many that are. `otherwise`: their time."""
        known = self._known(said)
        rows = [
            (place, s.uid, s.role, s.content, message_tokens(s.content), s.created_at or otherwise)
            for place, s in enumerate(said, self._read + 1)
            if s.uid not in known
        ]
        self._db.executemany("INSERT INTO said VALUES (?, ?, ?, ?, ?, ?)", rows)
        self._read += len(said)
        return len(rows)

    def store(self) -> Stored:
        """Store them, inside the caller's transaction.

        They go on their conversations; what would have to stand before what is there becomes a conversation of its own.
        """
        stored = Stored()
        for uid, title, at, *places in self._db.execute("SELECT * FROM talk ORDER BY first"):
            first = self._db.execute(
                f"SELECT s.uid, s.created_at FROM {_NEW} ORDER BY place LIMIT 1", places
            ).fetchone()
            if first is not None:
                first_uid, created_at = first
                conversation_id = _conversation_for(self._db, Talk(uid, title, at, ()), first_uid, created_at, stored)
                stored.added["message"] += self._insert(places, conversation_id)
        stored.known = self._read - stored.added["message"]
        return stored

    def drop(self) -> None:
        """Forget all."""
        self._db.execute("DROP TABLE IF EXISTS temp.said")
        self._db.execute("DROP TABLE IF EXISTS temp.talk")

    def _known(self, said: Iterable[Said]) -> set[str]:
        uids = json.dumps([s.uid for s in said])
        return set(column(self._db, f"SELECT uid FROM messages WHERE uid IN {GIVEN}", (uids,)))

    def _insert(self, places: Sequence[int], conversation_id: int) -> int:
        """Store a talk's new messages as archived; one that was forgotten here comes without its words."""
        return self._db.execute(
            """INSERT OR IGNORE INTO messages
                   (uid, conversation_id, role, content, archived, token_count, created_at, withheld)
               SELECT uid, ?, role, iif(t.message_uid IS NULL, content, ?), 1,
                      iif(t.message_uid IS NULL, token_count, ?), s.created_at, t.message_uid IS NOT NULL
               FROM temp.said AS s LEFT JOIN tombstones AS t ON t.message_uid = s.uid
               WHERE place BETWEEN ? AND ? ORDER BY place""",
            (conversation_id, REMOVED, message_tokens(REMOVED), *places),
        ).rowcount


def _conversation_for(db: sqlite3.Connection, talk: Talk, first_uid: str, created_at: str, stored: Stored) -> int:
    """Return the conversation that a talk's new messages go into, made if need be."""
    for uid in (talk.uid, identity("late", talk.uid, first_uid)):
        found = scalar(db, "SELECT id FROM conversations WHERE uid = ?", (uid,))
        if found is None:
            titled_by = "user" if talk.title else None
            begun = talk.created_at or created_at
            row = {"uid": uid, "title": talk.title, "titled_by": titled_by, "created_at": begun}
            found = insert(db, "conversations", row)
            stored.added["conversation"] += 1
            break
        last = last_time(db, found)
        if last is None or from_text(last) <= from_text(created_at):
            break
    stored.conversations.add(found)
    return int(found)


class HandMade:
    """Lines of messages, each with the title of its conversation."""

    def __init__(self, db: sqlite3.Connection, clock: Clock) -> None:
        self._db = db
        self._now = to_text(clock.now())
        self._numbers: dict[str, int] = {}
        self._last: dict[int, str] = {}
        db.execute("DROP TABLE IF EXISTS temp.told")
        db.execute(
            "CREATE TEMP TABLE told (talk INTEGER, title TEXT, role TEXT, content TEXT, at TEXT, given INTEGER,"
            " line INTEGER PRIMARY KEY)"
        )

    def take(self, line: int, record: Mapping[str, Any]) -> None:
        """Keep a message; raises RefusedError naming the line."""
        try:
            title, role, content, at = _hand_made(record)
        except ValueError as error:
            raise RefusedError(f"line {line}", error) from None
        talk = self._numbers.setdefault(title, len(self._numbers))
        stands = at or self._last.get(talk) or self._now
        self._last[talk] = stands
        self._db.execute(
            "INSERT INTO told VALUES (?, ?, ?, ?, ?, ?, ?)", (talk, title, role, content, stands, at is not None, line)
        )

    def talks(self) -> Iterator[Talk]:
        """Yield the conversations, their messages in order of time."""
        rows = self._db.execute("SELECT talk, title, role, content, at, given FROM told ORDER BY talk, at, line")
        for _, told in groupby(rows, key=lambda row: row[0]):
            yield _talk(told)
        self._db.execute("DROP TABLE temp.told")


def _hand_made(record: Mapping[str, Any]) -> tuple[str, str, str, str | None]:
    """Return title, role, words and time; raises ValueError naming what is wrong."""
    if record.get("type") != "message":
        raise ValueError(
            '"type" must be "message" in a file that does not begin with a line of type "construct-export"'
        )
    checks = {"conversation": text, "role": one_of("user", "assistant"), "content": text}
    values: list[str] = []
    for key, check in checks.items():
        try:
            values.append(str(check(record[key])))
        except KeyError:
            raise ValueError(f'"{key}" is missing') from None
        except ValueError as error:
            raise ValueError(f'"{key}" {error}') from None
        if not values[-1].strip():
            raise ValueError(f'"{key}" must not be blank')
    given = record.get("created_at")
    try:
        at = None if given is None else to_text(from_text(time(given)))
    except ValueError as error:
        raise ValueError(f'"created_at" {error}') from None
    return values[0], values[1], values[2], at


def _talk(told: Iterator[tuple[Any, ...]]) -> Talk:
    """Return a conversation, whose messages are read when they are asked for."""
    first = next(told)
    said = _said(chain([first], told))
    beginning = next(said)
    return Talk(identity("hand-made", first[1], beginning.uid), first[1], None, chain([beginning], said))


def _said(told: Iterable[tuple[Any, ...]]) -> Iterator[Said]:
    """Yield the messages; the identity of each is what it says, when, and for the how manieth time."""
    times: Counter[str] = Counter()
    for _, title, role, content, at, given in told:
        same = identity("hand-made", title, role, content, at if given else None)
        times[same] += 1
        yield Said(identity(same, times[same]), role, content, at)
