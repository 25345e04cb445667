"""SillyTavern's chats: JSONL that begins with a line about the chat."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, tzinfo
from itertools import chain
from typing import Any

from construct.store.transfer.foreign import (
    ForeignConversation,
    ForeignFile,
    ForeignMessage,
    Format,
    Found,
    Moment,
    Part,
    Sample,
    file,
    image,
    omitted,
    stable_uid,
    words,
)
from construct.store.transfer.foreign_values import (
    Json,
    mapping,
    moment,
    moment_of,
    objects,
    string,
    title,
)
from construct.vocabulary import Role

_DIGITS = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s(?: ?(\d{1,3})ms)?"
)
"""A time such as `2023-7-13 @16h 8m 12s 123ms`, in UTC."""
_WORDS = ("%B %d, %Y %I:%M%p", "%b %d, %Y %I:%M%p", "%B %d, %Y %H:%M")
"""Times such as `July 13, 2023 4:08pm`, in the user's time zone."""


def looks_like(sample: Sample) -> bool:
    """Return whether this is the line about a chat, or a message of one."""
    item = mapping(sample.item)
    return {"user_name", "character_name"} <= item.keys() or {"mes", "is_user"} <= item.keys()


def conversations(file: ForeignFile) -> Iterator[Found]:
    """Yield the chat of a file."""
    items = (mapping(item) for item in file.items())
    first = next(items, {})
    lines = items if "mes" not in first else chain([first], items)
    character = title(first.get("character_name"))
    key = [string(first.get("create_date")), character or file.title]
    messages = list(_messages(lines, key, file.zone))
    heading = character if character not in (None, "unused") else file.title
    created_at = _time(first.get("create_date"), file.zone)
    uid = stable_uid("sillytavern", key, messages[0].uid if messages else None)
    yield ForeignConversation(uid, heading, messages, created_at)


def _messages(
    lines: Iterator[Json], key: list[str], zone: tzinfo | None
) -> Iterator[ForeignMessage]:
    occurrences: Counter[str] = Counter()
    for line in lines:
        role = Role.USER if line.get("is_user") is True else Role.ASSISTANT
        same = stable_uid("sillytavern", key, role, string(line.get("mes")), line.get("send_date"))
        occurrences[same] += 1
        parts = tuple(_parts(line))
        said_at = _time(line.get("send_date"), zone)
        yield ForeignMessage(stable_uid(same, occurrences[same]), role, parts, said_at)


def _parts(line: Json) -> Iterator[Part]:
    if line.get("is_system") is True:
        yield omitted("system messages")
        return
    extra = mapping(line.get("extra"))
    if extra.get("reasoning"):
        yield omitted("thinking")
    media = objects(extra.get("media")) or objects(extra.get("files"))
    if extra.get("image") or extra.get("image_swipes"):
        yield image(string(extra.get("title")))
    for one in [*media, *([extra["file"]] if mapping(extra.get("file")) else [])]:
        name = string(one.get("name")) or string(one.get("title"))
        yield image(name) if one.get("type") == "image" else file(name)
    yield words(string(line.get("mes")))
    swipes = line.get("swipes")
    if isinstance(swipes, list) and len(swipes) > 1:
        yield from [omitted("other answers")] * (len(swipes) - 1)


def _time(value: Any, zone: tzinfo | None) -> Moment | None:
    """Return the time of a message in one of the ways in which SillyTavern has written it."""
    text = string(value)
    if match := _DIGITS.search(text):
        year, month, day, hour, minute, second, thousandths = match.groups("0")
        with suppress(ValueError):
            day_said = date(int(year), int(month), int(day))
            said = time(int(hour), int(minute), int(second), int(thousandths) * 1000, UTC)
            return moment_of(datetime.combine(day_said, said))
    for form in _WORDS:
        with suppress(ValueError):
            return moment_of(datetime.strptime(text.strip(), form), zone)  # noqa: DTZ007
    return moment(value, zone)


SILLYTAVERN = Format(
    "SillyTavern",
    "The JSONL files in data/default-user/chats, or that folder.",
    looks_like,
    conversations,
)
