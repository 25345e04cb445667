"""Render the agenda for the terminal, as JSON and as a calendar file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from construct.clock import from_text
from construct.language.periods import parse_when, relative_words
from construct.memory.agenda import AgendaItem, short_text, skipped_days
from construct.operations.agenda import Agenda, CalendarEvent
from construct.program import as_typed
from construct.text import one_line
from construct.views.shapes import PlanJson, plan_json, undated_plan_json
from construct.views.widgets import Prose, grid, spaced
from construct.views.words import counted
from construct.vocabulary import AgendaState, Recurrence

NOTHING = "Nothing on the agenda. Plans for a day, a month or a year appear here."
_EVENT_MINUTES = 30
"""How long an event with a time of day lasts in the calendar."""
_EVERY: Mapping[str, str] = {
    Recurrence.YEARLY: "every year",
    Recurrence.MONTHLY: "every month",
    Recurrence.WEEKLY: "every week",
    Recurrence.DAILY: "every day",
}
_MAX_OCTETS = 75
"""The longest line that RFC 5545 allows, in bytes without the line break."""
_ESCAPES = str.maketrans({"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n"})


def agenda_json(agenda: Agenda) -> list[PlanJson]:
    """Return the JSON form of the agenda: its items by their last day, then plans without one."""
    dated = [plan_json(item) for item in agenda.items]
    return [*dated, *(undated_plan_json(note) for note in agenda.undated)]


def agenda_view(agenda: Agenda) -> RenderableType:
    """Return the agenda as sections: today, ahead, vague dates, outcome unknown, no day.

    `compact` is the command that adds plans from messages which are not compacted, and
    `show_all` the one that shows the plans left out.
    """
    sections: list[RenderableType] = [
        Group(Text(title, style="accent"), _section_table(items, agenda.today))
        for title, items in _sections(agenda.items)
    ]
    if agenda.undated:
        lines = [(note.id, Prose(one_line(short_text(note)))) for note in agenda.undated]
        sections.append(Group(Text("Without a day", style="accent"), _table(lines)))
    if not sections:
        sections.append(Text(NOTHING))
    if agenda.left_out:
        text = f"Not listed: {counted(agenda.left_out, 'plan')} without a day, or long past it."
        sections.append(Text(f"{text} {as_typed('agenda --all')} shows everything.", style="dim"))
    if agenda.not_compacted:
        count = agenda.not_compacted
        last, its = ("message", "its") if count == 1 else (f"{count:,} messages", "their")
        where = "the current conversation"
        text = (
            f"Not included yet: the last {last} of {where}. {as_typed('compact')} adds {its} plans."
        )
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
    return _table([(item.id, _dated_line(item, today))])


def _section_table(items: Iterable[AgendaItem], today: date) -> Table:
    """Return one row per item, with its date unless the heading above says when."""
    return _table((item.id, _line(item, today)) for item in items)


def _table(rows: Iterable[tuple[int, Text]]) -> Table:
    numbered = ((str(observation_id), line) for observation_id, line in rows)
    columns = Column(justify="right", no_wrap=True, style="dim"), Column(overflow="fold")
    return grid(numbered, *columns)


def _line(item: AgendaItem, today: date) -> Text:
    is_today = item.state is AgendaState.TODAY
    is_vague_ahead = item.state is AgendaState.AHEAD and item.is_vague
    if not (is_today or is_vague_ahead):
        return _dated_line(item, today)
    line = Prose(one_line(item.text))  # the heading above it says on which day
    notes = [note for note in (item.time, _EVERY.get(item.recurs or "")) if note]
    return line.append(f" · {', '.join(notes)}", style="dim") if notes else line


def _dated_line(item: AgendaItem, today: date) -> Text:
    notes = [" ".join(filter(None, (_day(item), item.time)))]
    is_vague_ahead = item.state is AgendaState.AHEAD and item.is_vague
    if not is_vague_ahead:  # a month may be today, or weeks away
        notes.append(relative_words(item.days.last, today))
    if item.recurs:
        notes.append(_EVERY[item.recurs])
    return Prose(one_line(item.text)).append(f" · {', '.join(notes)}", style="dim")


def _day(item: AgendaItem) -> str:
    """Return a date as "Fri 2026-03-06", a month as "March 2026", a year as "2026"."""
    if not item.is_vague:
        return f"{item.days.first:%a} {item.when}"
    return f"{item.days.first:%B} {item.when[:4]}" if len(item.when) > 4 else item.when


def agenda_calendar(events: Iterable[CalendarEvent]) -> bytes:
    """Return an iCalendar file (RFC 5545) with an event for each item.

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
    item = event.item
    return [
        "BEGIN:VEVENT",
        f"UID:{event.uid}",
        f"DTSTAMP:{from_text(event.revised_at):%Y%m%dT%H%M%SZ}",
        *(_timed_lines(item) if item.time else _whole_day_lines(item)),
        f"SUMMARY:{one_line(item.text).translate(_ESCAPES)}",
        "END:VEVENT",
    ]


def _timed_lines(item: AgendaItem) -> list[str]:
    """Return when something begins and ends, by the clock on the wall wherever the user is."""
    moment = f"T{str(item.time).replace(':', '')}00"
    skipped = [f"{day}{moment}" for day in _skipped(item)]
    return [
        f"DTSTART:{_compact(_first_day(item))}{moment}",
        f"DURATION:PT{_EVENT_MINUTES}M",
        *_repeat_lines(item),
        *([f"EXDATE:{','.join(skipped)}"] if skipped else []),
    ]


def _whole_day_lines(item: AgendaItem) -> list[str]:
    end_lines: list[str] = []
    if item.is_vague:  # without DTEND an event lasts one day
        last = min(item.days.last, date.max - timedelta(1))
        end_lines = [f"DTEND;VALUE=DATE:{_compact(last + timedelta(1))}"]  # DTEND is exclusive
    skipped = _skipped(item)
    return [
        f"DTSTART;VALUE=DATE:{_compact(_first_day(item))}",
        *end_lines,
        *_repeat_lines(item),
        *([f"EXDATE;VALUE=DATE:{','.join(skipped)}"] if skipped else []),
        "TRANSP:TRANSPARENT",
    ]


def _first_day(item: AgendaItem) -> date:
    """Return the day on which an item begins; of what comes again, the first of all."""
    return parse_when(item.note.referenced_date or item.when).first


def _skipped(item: AgendaItem) -> list[str]:
    """Return the days on which an item does not come again."""
    return [_compact(day) for day in sorted(skipped_days(item.note.recurs_except))]


def _repeat_lines(item: AgendaItem) -> list[str]:
    """Return the rule by which an item comes again.

    A day that a month lacks is skipped by the standard too; 29 February is said to be the
    last of February.
    """
    if item.recurs is None:
        return []
    first = _first_day(item)
    is_leap_day = item.recurs is Recurrence.YEARLY and (first.month, first.day) == (2, 29)
    return [f"RRULE:FREQ={item.recurs.upper()}{';BYMONTH=2;BYMONTHDAY=-1' if is_leap_day else ''}"]


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
