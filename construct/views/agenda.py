"""Render the agenda for the terminal, as JSON and as a calendar file."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from construct.clock import from_text
from construct.language.periods import relative_words
from construct.memory.agenda import AgendaItem
from construct.operations.agenda import Agenda, CalendarEvent
from construct.text import one_line
from construct.views.widgets import Prose, grid, spaced
from construct.vocabulary import AgendaState

NOTHING = "Nothing on the agenda. Plans for a day, a month or a year appear here."
_MAX_OCTETS = 75
"""The longest line that RFC 5545 allows, in bytes without the line break."""
_ESCAPES = str.maketrans({"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n"})


def agenda_json(agenda: Agenda) -> list[dict[str, object]]:
    """Return the JSON form of the agenda: all items, ordered by their last day."""
    return [
        {"id": item.id, "content": item.content, "date": item.when, "state": item.state}
        for item in agenda.items
    ]


def agenda_view(agenda: Agenda, *, compact: str = "/compact") -> RenderableType:
    """Return the agenda as sections: today, ahead, vague dates, outcome unknown.

    `compact` is the command that adds plans from messages which are not compacted.
    """
    sections: list[RenderableType] = [
        Group(Text(title, style="accent"), _section_table(items, agenda.today))
        for title, items in _sections(agenda.items)
    ]
    if not sections:
        sections.append(Text(NOTHING))
    if agenda.not_compacted:
        count = agenda.not_compacted
        last, its = ("message", "its") if count == 1 else (f"{count:,} messages", "their")
        where = "the current conversation"
        text = f"Not included yet: the last {last} of {where}. {compact} adds {its} plans."
        sections.append(Text(text, style="dim"))
    return spaced(sections)


def _sections(items: Sequence[AgendaItem]) -> Iterator[tuple[str, list[AgendaItem]]]:
    for state, title in ((AgendaState.TODAY, "Today"), (AgendaState.AHEAD, "Ahead")):
        if exact := [item for item in items if item.state is state and not item.is_vague]:
            yield title, exact
    vague = [item for item in items if item.state is AgendaState.AHEAD and item.is_vague]
    for _, group in groupby(vague, key=lambda item: item.when):
        same_period = list(group)
        yield f"Sometime in {_day(same_period[0])}", same_period
    if passed := [item for item in items if item.state is AgendaState.OUTCOME_UNKNOWN]:
        yield "Passed, outcome unknown", passed


def in_shown_order(items: Sequence[AgendaItem]) -> list[AgendaItem]:
    """Return the items in the order in which `agenda_view` shows them."""
    return [item for _, section in _sections(items) for item in section]


def agenda_item_view(item: AgendaItem, today: date) -> Table:
    """Return one item with its number and its date."""
    return _table([(item, _dated_line(item, today))])


def _section_table(items: Iterable[AgendaItem], today: date) -> Table:
    """Return one row per item, with its date unless the heading above says when."""
    return _table((item, _line(item, today)) for item in items)


def _table(rows: Iterable[tuple[AgendaItem, Text]]) -> Table:
    numbered = ((str(item.id), line) for item, line in rows)
    columns = Column(justify="right", no_wrap=True, style="dim"), Column(overflow="fold")
    return grid(numbered, *columns)


def _line(item: AgendaItem, today: date) -> Text:
    is_today = item.state is AgendaState.TODAY
    is_vague_ahead = item.state is AgendaState.AHEAD and item.is_vague
    if is_today or is_vague_ahead:  # the heading above it says when
        return Prose(one_line(item.content))
    return _dated_line(item, today)


def _dated_line(item: AgendaItem, today: date) -> Text:
    line = Prose(one_line(item.content)).append(f" · {_day(item)}", style="dim")
    if item.state is AgendaState.AHEAD and item.is_vague:  # it may be today, or a year away
        return line
    return line.append(f", {relative_words(item.days.last, today)}", style="dim")


def _day(item: AgendaItem) -> str:
    """Return a date as "Fri 2026-03-06", a month as "March 2026", a year as "2026"."""
    if not item.is_vague:
        return f"{item.days.first:%a} {item.when}"
    return f"{item.days.first:%B} {item.when[:4]}" if len(item.when) > 4 else item.when


def agenda_calendar(events: Iterable[CalendarEvent]) -> bytes:
    """Return an iCalendar file (RFC 5545) with an all-day event for each item.

    Deterministic: the same events give the same bytes.
    """
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Construct//Agenda//EN",
        "CALSCALE:GREGORIAN",
        "X-WR-CALNAME:Construct",
    ]
    for event in events:
        lines += _event_lines(event)
    lines.append("END:VCALENDAR")
    return b"".join(_folded(line) for line in lines)


def _event_lines(event: CalendarEvent) -> list[str]:
    days = event.item.days
    end_lines: list[str] = []
    if days.first != days.last:  # without DTEND an event lasts one day
        last = min(days.last, date.max - timedelta(1))
        end_lines = [f"DTEND;VALUE=DATE:{_compact(last + timedelta(1))}"]  # DTEND is exclusive
    return [
        "BEGIN:VEVENT",
        f"UID:{event.uid}",
        f"DTSTAMP:{from_text(event.revised_at):%Y%m%dT%H%M%SZ}",
        f"DTSTART;VALUE=DATE:{_compact(days.first)}",
        *end_lines,
        f"SUMMARY:{one_line(event.item.content).translate(_ESCAPES)}",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    ]


def _compact(day: date) -> str:
    return day.isoformat().replace("-", "")


def _folded(line: str) -> bytes:
    """Return a line of the file, folded into rows of at most 75 octets.

    A character that takes several bytes is never split.
    """
    rows, row = [], b""
    for character in line:
        octets = character.encode("utf-8", "replace")
        if len(row) + len(octets) > _MAX_OCTETS:
            rows.append(row)
            row = b" "
        row += octets
    return b"\r\n".join([*rows, row]) + b"\r\n"
