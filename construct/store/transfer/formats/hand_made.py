"""Hand-made JSONL: one message per line, with the title of its conversation."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import Any

from construct.store.transfer.checks import one_of, text, time
from construct.store.transfer.foreign import (
    ForeignConversation,
    ForeignFile,
    ForeignMessage,
    Format,
    Found,
    Moment,
    Sample,
    stable_uid,
    words,
)
from construct.store.transfer.foreign_values import moment_of
from construct.store.transfer.grouping import Keyed, grouped
from construct.store.transfer.refused import RefusedError
from construct.vocabulary import Role

_CHECKS = {"conversation": text, "role": one_of(*Role), "content": text}


def looks_like(sample: Sample) -> bool:
    """Return whether this is a line of a message, or would be one with its `type`."""
    item = sample.item
    if not isinstance(item, dict):
        return False
    return item.get("type") == "message" or {"conversation", "role", "content"} <= item.keys()


def conversations(file: ForeignFile) -> Iterator[Found]:
    """Yield the conversations. One wrong line fails the file: it is easy to mend."""
    for title, lines in grouped(_checked(file.numbered_lines())):
        messages = _messages(title, lines)
        first = next(messages)
        uid = stable_uid("hand-made", title, first.uid)
        yield ForeignConversation(uid, title, chain([first], messages))


def _checked(lines: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[Keyed]:
    """Yield each line by its conversation and time. Raises RefusedError for a wrong one.

    A line without a time has its place after the line before it in its conversation.
    """
    latest: dict[str, str] = {}
    for number, line in lines:
        try:
            title, role, content = _values(line)
            said_at = _time(line)
        except ValueError as error:
            raise RefusedError(f"line {number}", error) from None
        place = latest[title] = said_at.at if said_at else latest.get(title, "")
        yield title, place, [role, content, said_at]


def _values(line: Mapping[str, Any]) -> list[str]:
    if line.get("type") != "message":
        raise ValueError(
            '"type" must be "message" in a file that does not begin with'
            ' a line of type "construct-export"'
        )
    values: list[str] = []
    for key, check in _CHECKS.items():
        try:
            values.append(str(check(line[key])))
        except KeyError:
            raise ValueError(f'"{key}" is missing') from None
        except ValueError as error:
            raise ValueError(f'"{key}" {error}') from None
        if not values[-1].strip():
            raise ValueError(f'"{key}" must not be blank')
    return values


def _time(line: Mapping[str, Any]) -> Moment | None:
    value = line.get("created_at")
    if value is None:
        return None
    try:
        time(value)
        return moment_of(datetime.fromisoformat(value))
    except ValueError as error:
        raise ValueError(f'"created_at" {error}') from None


def _messages(title: str, lines: Iterable[list[Any]]) -> Iterator[ForeignMessage]:
    """Yield the messages of a conversation.

    A message's uid is derived from its conversation's title, its role and text, its time if
    the file gives one, and how often it occurred before.
    """
    occurrences: Counter[str] = Counter()
    for role, content, time_said in lines:
        said_at = Moment(*time_said) if time_said else None
        key = stable_uid("hand-made", title, role, content, said_at.at if said_at else None)
        occurrences[key] += 1
        uid = stable_uid(key, occurrences[key])
        yield ForeignMessage(uid, Role(role), (words(content),), said_at)


HAND_MADE = Format(
    "JSONL of messages",
    "Write it yourself: one JSON object per line, as in the documentation of files.",
    looks_like,
    conversations,
)
