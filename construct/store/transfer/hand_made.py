"""Reads hand-made JSONL: one message per line, with the title of its conversation."""

import sqlite3
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

from construct.clock import from_text, to_text
from construct.store.transfer.checks import one_of, text, time
from construct.store.transfer.imported import ImportedConversation, ImportedMessage, stable_uid
from construct.store.transfer.refused import RefusedError
from construct.vocabulary import Role


@dataclass(frozen=True, slots=True)
class HandMadeLine:
    """One line of a hand-made file."""

    title: str
    role: str
    content: str
    created_at: str | None


def _read_line(record: Mapping[str, Any]) -> HandMadeLine:
    """Read a line of a hand-made file. Raises a ValueError that says what is wrong."""
    if record.get("type") != "message":
        raise ValueError(
            '"type" must be "message" in a file that does not begin with'
            ' a line of type "construct-export"'
        )
    checks = {"conversation": text, "role": one_of(*Role), "content": text}
    values: dict[str, str] = {}
    for key, check in checks.items():
        try:
            values[key] = str(check(record[key]))
        except KeyError:
            raise ValueError(f'"{key}" is missing') from None
        except ValueError as error:
            raise ValueError(f'"{key}" {error}') from None
        if not values[key].strip():
            raise ValueError(f'"{key}" must not be blank')
    value = record.get("created_at")
    try:
        created_at = None if value is None else to_text(from_text(time(value)))
    except ValueError as error:
        raise ValueError(f'"created_at" {error}') from None
    return HandMadeLine(values["conversation"], values["role"], values["content"], created_at)


class HandMadeLines:
    """Collects the lines of a hand-made file, and groups them into conversations."""

    def __init__(self, db: sqlite3.Connection, now: str) -> None:
        self._db = db
        self._now = now
        self._numbers: dict[str, int] = {}
        self._last_time: dict[str, str] = {}
        db.execute(
            "CREATE TABLE scratch.lines (conversation INTEGER, title TEXT, role TEXT, content TEXT,"
            " created_at TEXT, has_time INTEGER, number INTEGER PRIMARY KEY)"
        )

    def add(self, number: int, record: Mapping[str, Any]) -> None:
        """Store a line. Raises RefusedError, which names the line, if it is invalid.

        A line without a time gets that of the line before it in its conversation, or now.
        """
        try:
            line = _read_line(record)
        except ValueError as error:
            raise RefusedError(f"line {number}", error) from None
        conversation = self._numbers.setdefault(line.title, len(self._numbers))
        created_at = line.created_at or self._last_time.get(line.title) or self._now
        self._last_time[line.title] = created_at
        has_time = line.created_at is not None
        row = (conversation, line.title, line.role, line.content, created_at, has_time, number)
        self._db.execute("INSERT INTO scratch.lines VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def conversations(self) -> Generator[ImportedConversation, None, None]:
        """Yield the conversations with their messages in order of time."""
        rows = self._db.execute(
            "SELECT * FROM scratch.lines ORDER BY conversation, created_at, number"
        )
        with closing(rows):  # an open cursor would keep `scratch` attached
            for _, lines in groupby(rows, key=lambda row: row[0]):
                messages = _messages(lines)
                title, first = next(messages)
                conversation_uid = stable_uid("hand-made", title, first.uid)
                others = (message for _, message in messages)
                yield ImportedConversation(conversation_uid, title, None, chain([first], others))


def _messages(lines: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, ImportedMessage]]:
    """Yield (conversation title, message) for the lines of one conversation.

    A message's uid is derived from its conversation's title, its role and text, its time if
    the file gives one, and how often it occurred before.
    """
    occurrences: Counter[str] = Counter()
    for _, title, role, content, created_at, has_time, _ in lines:
        key = stable_uid("hand-made", title, role, content, created_at if has_time else None)
        occurrences[key] += 1
        yield title, ImportedMessage(stable_uid(key, occurrences[key]), role, content, created_at)
