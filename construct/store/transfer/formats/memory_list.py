"""Lists of what another program kept about the user: a fact a line, or JSON."""

import re
from collections.abc import Iterator
from datetime import date, tzinfo
from pathlib import PurePosixPath
from typing import Any

from construct.store.transfer.foreign import (
    ForeignFile,
    ForeignMemory,
    Format,
    Found,
    Moment,
    Sample,
)
from construct.store.transfer.foreign_values import mapping, moment, noon, string

_CLAUDE = "Claude's memory"
_LIST = "a memory list"
_CERTAIN_KEYS = ("conversations_memory", "memory", "memories", "fact", "facts")
_TEXT_KEYS = ("memory", "fact", "content", "text")
_TIME_KEYS = ("updated_at", "created_at", "timestamp", "date", "create_time")
_BULLET = re.compile(r"^\s*(?:[-*•]\s+|\d{1,4}[.)]\s+)")
_DATE = re.compile(r"^\[?(\d{4}-\d{2}-\d{2})\]?\s*[.:–—-]?\s+")
_HEADING = re.compile(r"^(?:#{1,6}\s.*|\*\*[^*]+\*\*:?|__[^_]+__:?|=+|-{3,}|\*{3,})$")
_ENDINGS = {"", ".txt", ".text", ".md", ".markdown"}
_LONGEST_FACT = 400
"""The longest line of a text that is taken for a list of facts."""


def looks_like(sample: Sample) -> bool:
    """Return whether this is a list of facts: JSON that names them, or short lines."""
    name = sample.name.lower()
    item = sample.item
    if isinstance(item, str):
        return True
    if isinstance(item, dict):
        has_text = any(isinstance(item.get(key), str) for key in _TEXT_KEYS)
        is_certain = any(isinstance(item.get(key), str | list) for key in _CERTAIN_KEYS)
        return "role" not in item and (is_certain or (has_text and "memor" in name))
    ending = PurePosixPath(name).suffix
    is_note = ending in (".md", ".markdown") and "memor" not in name
    return bool(sample.text) and ending in _ENDINGS and not is_note and _has_facts(sample.text)


def _has_facts(text: str) -> bool:
    """Return whether a text is a list: no line is long, and none goes on in the next."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    whole = lines[:-1] or lines  # the last line may be cut off
    return all(len(line) <= _LONGEST_FACT and "\t" not in line for line in whole) and not any(
        line.startswith(("<", "{", "```")) or line.count(",") > len(line) / 5 for line in lines
    )


def conversations(file: ForeignFile) -> Iterator[Found]:
    """Yield the facts."""
    if file.is_text:
        yield from facts(file.text(), _LIST, None, file.zone)
        return
    for item in file.items():
        yield from _in_json(item, None, file.zone)


def _in_json(item: Any, listed_at: Moment | None, zone: tzinfo | None) -> Iterator[ForeignMemory]:
    """Yield the facts in a value: a text, an object that holds one, or lists of these."""
    if isinstance(item, str):
        yield from facts(item, _LIST, listed_at, zone)
        return
    value = mapping(item)
    times = (moment(value.get(key), zone) for key in _TIME_KEYS)
    noted_at = next((time for time in times if time), listed_at)
    if "conversations_memory" in value:
        yield from facts(string(value.get("conversations_memory")), _CLAUDE, noted_at, zone)
        for text in mapping(value.get("project_memories")).values():
            yield from facts(string(text), _CLAUDE, noted_at, zone)
        return
    for key in ("memories", "facts", "items"):
        for one in value[key] if isinstance(value.get(key), list) else []:
            yield from _in_json(one, noted_at, zone)
    text = next((string(value.get(key)) for key in _TEXT_KEYS if string(value.get(key))), "")
    yield from facts(text, _LIST, noted_at, zone)


def facts(
    text: str, source: str, noted_at: Moment | None, zone: tzinfo | None = None
) -> Iterator[ForeignMemory]:
    """Yield each line of a text as a fact, without bullets and headings.

    A date at the beginning of a line is when it was noted.
    """
    for raw in text.splitlines():
        line = _BULLET.sub("", raw.strip()).strip()
        if not line or _HEADING.match(raw.strip()) or not any(map(str.isalpha, line)):
            continue
        dated_at = noted_at
        if match := _DATE.match(line):
            try:
                dated_at = noon(date.fromisoformat(match[1]), zone)
            except ValueError:
                pass  # it only looks like a date
            else:
                line = line[match.end() :]
        yield ForeignMemory(line, source, dated_at)


MEMORY_LIST = Format(
    "memory lists",
    "ChatGPT: copy Settings, Personalization, Manage memories into a text file. Claude's"
    " memories.json is in its export. Others: a fact a line, or JSON.",
    looks_like,
    conversations,
)
