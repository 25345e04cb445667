"""Markdown notes: each file is one conversation of text that the user brought."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, tzinfo
from pathlib import PurePosixPath

from construct.store.transfer.foreign import (
    ForeignConversation,
    ForeignFile,
    ForeignMessage,
    Format,
    Found,
    Moment,
    Sample,
    pasted,
    stable_uid,
)
from construct.store.transfer.foreign_values import moment, noon
from construct.store.transfer.foreign_values import title as title_of
from construct.vocabulary import Role

_ENDINGS = {".md", ".markdown", ".txt", ".text"}
_NOT_NOTES = ("<!doctype", "<html", "<?xml")
_FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n(?:---|\.\.\.)\s*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(title|date|created|created_at|created-at)\s*:\s*(.+?)\s*$", re.I | re.M)
_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*\s*$", re.M)
_MONTHS = (
    "january february march april may june july august september october november december"
).split()
_YEARS = 1900, 2100
"""Other numbers are no years."""
_ISO = re.compile(r"(?<!\d)(\d{4})[-_./]?(\d{2})[-_./]?(\d{2})(?!\d)")
_DOTTED = re.compile(r"(?<!\d)(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\d)")
_DAY_FIRST = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th|\.)?\s+([A-Za-z]{3,9})\.?,?\s+(\d{4})\b")
_MONTH_FIRST = re.compile(r"\b([A-Za-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})\b")
_PATTERNS = (
    (_ISO, ("year", "month", "day")),
    (_DOTTED, ("day", "month", "year")),
    (_DAY_FIRST, ("day", "month", "year")),
    (_MONTH_FIRST, ("month", "day", "year")),
)


def looks_like(sample: Sample) -> bool:
    """Return whether this is a text by its name, and no web page."""
    ending = PurePosixPath(sample.name).suffix.lower()
    start = sample.text.lstrip().lower()
    return bool(start) and ending in _ENDINGS and not start.startswith(_NOT_NOTES)


def conversations(file: ForeignFile) -> Iterator[Found]:
    """Yield the file as a conversation; what stands under a dated heading is of that day."""
    text = file.text()
    front = _FRONT_MATTER.match(text)
    fields = dict(_FIELD.findall(front[1])) if front else {}
    fields = {key.lower(): value.strip("\"'") for key, value in fields.items()}
    title = title_of(fields.get("title")) or _first_title(text, file.zone) or file.title
    written = (fields.get(key) for key in ("date", "created", "created_at", "created-at"))
    dates = [_moment(value, file.zone) for value in [*written, file.title] if value]
    dated = next((one for one in dates if one), None)
    messages = [
        ForeignMessage(
            stable_uid("note", file.title, section), Role.USER, (pasted(section),), said_at
        )
        for said_at, section in _sections(text, file.zone)
    ]
    yield ForeignConversation(stable_uid("note", file.place), title, messages, dated)


def _first_title(text: str, zone: tzinfo | None) -> str | None:
    """Return the first heading of the highest level, unless it is a date."""
    heading = next((one for one in _HEADING.finditer(text) if one[1] == "#"), None)
    return None if heading is None or _moment(heading[2], zone) else heading[2]


def _sections(text: str, zone: tzinfo | None) -> list[tuple[Moment | None, str]]:
    """Return what stands before the first heading with a date, then under each, by date."""
    starts = [(0, None), *_dated_headings(text, zone)]
    ends = [start for start, _ in starts[1:]] + [len(text)]
    sections = [
        (dated, text[start:end].strip("\n"))
        for (start, dated), end in zip(starts, ends, strict=True)
    ]
    with_text = [section for section in sections if section[1].strip()]
    return sorted(with_text, key=lambda section: section[0].at if section[0] else "")


def _dated_headings(text: str, zone: tzinfo | None) -> list[tuple[int, Moment | None]]:
    found = [(one.start(), _moment(one[2], zone)) for one in _HEADING.finditer(text)]
    return [(start, dated) for start, dated in found if dated]


def _moment(text: str, zone: tzinfo | None) -> Moment | None:
    """Return the date that a title, a name or a field holds."""
    if re.match(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}", text):
        return moment(text, zone)
    for pattern, order in _PATTERNS:
        if match := pattern.search(text):
            values = dict(zip(order, match.groups(), strict=True))
            with suppress(ValueError):
                return noon(_day(values), zone)
    return None


def _day(values: dict[str, str]) -> date:
    """Return the day that these texts name. Raises ValueError if there is none."""
    month = values["month"]
    if not month.isdigit():
        names = [name for name in _MONTHS if name.startswith(month.lower())]
        if len(names) != 1:
            raise ValueError(month)
        month = str(_MONTHS.index(names[0]) + 1)
    year = int(values["year"])
    if not _YEARS[0] <= year <= _YEARS[1]:
        raise ValueError(year)
    return date(year, int(month), int(values["day"]))


MARKDOWN_NOTES = Format(
    "Markdown notes",
    "A folder of Markdown or text files, as of Obsidian, Logseq or Joplin.",
    looks_like,
    conversations,
)
