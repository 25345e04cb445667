"""The agenda on the screen, as JSON, and as a calendar file."""

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
_OCTETS = 75
_ESCAPES = str.maketrans({"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n"})


def agenda_json(agenda: Agenda) -> list[dict[str, object]]:
    """Return what `--json` prints: all items, by last day."""
    return [
        {"id": item.id, "content": item.content, "date": item.when, "state": item.state}
        for item in agenda.items
    ]


def agenda_view(agenda: Agenda) -> RenderableType:
    """Return today first, then what is ahead, then what has passed."""
    sections = [
        Group(Text(title, style="accent"), _table(items, agenda.today))
        for title, items in _sections(agenda.items)
    ]
    return spaced(sections) if sections else Text(NOTHING)


def _sections(items: Sequence[AgendaItem]) -> Iterator[tuple[str, list[AgendaItem]]]:
    for state, title in ((AgendaState.TODAY, "Today"), (AgendaState.AHEAD, "Ahead")):
        if exact := [i for i in items if i.state is state and not i.is_vague]:
            yield title, exact
    vague = [i for i in items if i.state is AgendaState.AHEAD and i.is_vague]
    for _, of_one in groupby(vague, key=lambda item: item.when):
        month = list(of_one)
        yield f"Some day in {_day(month[0])}", month
    if passed := [i for i in items if i.state is AgendaState.OUTCOME_UNKNOWN]:
        yield "Passed, outcome unknown", passed


def _table(items: Iterable[AgendaItem], today: date) -> Table:
    rows = ((str(item.id), _line(item, today)) for item in items)
    return grid(rows, Column(justify="right", no_wrap=True, style="dim"), Column(overflow="fold"))


def _line(item: AgendaItem, today: date) -> Text:
    line = Prose(one_line(item.content))
    is_under_its_day = item.state is AgendaState.TODAY
    if is_under_its_day or (item.is_vague and item.state is AgendaState.AHEAD):
        return line
    far = relative_words(item.days.last, today)
    return line.append(f" · {_day(item)}, {far}", style="dim")


def _day(item: AgendaItem) -> str:
    """Return a day as "Fri 2026-03-05", a month as "March 2026", a year as it is."""
    if not item.is_vague:
        return f"{item.days.first:%a} {item.when}"
    return f"{item.days.first:%B} {item.when[:4]}" if len(item.when) > 4 else item.when


def agenda_calendar(events: Iterable[CalendarEvent]) -> bytes:
    """Return an iCalendar file (RFC 5545) with a whole-day event for each item.

    Its bytes change only when an event does.
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
    is_single = (
        days.first == days.last
    )  # without an end it lasts one day, on the calendar's last too
    after = min(days.last, date.max - timedelta(1)) + timedelta(1)
    return [
        "BEGIN:VEVENT",
        f"UID:{event.uid}",
        f"DTSTAMP:{from_text(event.revised_at):%Y%m%dT%H%M%SZ}",
        f"DTSTART;VALUE=DATE:{_compact(days.first)}",
        *([] if is_single else [f"DTEND;VALUE=DATE:{_compact(after)}"]),
        f"SUMMARY:{one_line(event.item.content).translate(_ESCAPES)}",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    ]


def _compact(day: date) -> str:
    return day.isoformat().replace("-", "")


def _folded(line: str) -> bytes:
    """Return a line as it stands in the file: no row longer than 75 octets.

    No character is cut in two.
    """
    rows, row = [], b""
    for character in line:
        octets = character.encode("utf-8", "replace")
        if len(row) + len(octets) > _OCTETS:
            rows.append(row)
            row = b" "
        row += octets
    return b"\r\n".join([*rows, row]) + b"\r\n"
