"""Render reminders, for the terminal and as JSON."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime

from rich.console import Group, RenderableType
from rich.text import Text

from construct.clock import Clock
from construct.config import Settings
from construct.language.periods import relative_words
from construct.memory.reminders import Reminder, when_words
from construct.operations.reminders import Reminders
from construct.program import as_typed
from construct.store.records import Observation
from construct.text import one_line, printable
from construct.views.memory import observation_table
from construct.views.widgets import Prose, grid, spaced

_NONE = "No reminders. Plans with a time of day, and important ones with a day, remind you."


def reminders_view(found: Reminders, clock: Clock) -> RenderableType:
    """Return what is due, what could not be delivered and what is to come, as sections."""
    now = clock.wall()
    rows: dict[str, list[tuple[str, Text]]] = {
        "Due": [_row(reminder, now) for reminder in found.due],
        "Not delivered": [
            (str(failed.observation_id), Prose(f"{failed.due}  {one_line(failed.text)}"))
            for failed in found.failed
        ],
        "Ahead": [_row(reminder, now) for reminder in found.ahead],
    }
    sections = [
        Group(Text(title, style="accent"), grid(lines)) for title, lines in rows.items() if lines
    ]
    return spaced(sections) if sections else Text(_NONE)


def _row(reminder: Reminder, now: datetime) -> tuple[str, Text]:
    line = Prose(f"{reminder.due}  {one_line(reminder.text)}")
    details = [relative_words(reminder.due_at.date(), now.date())]
    if for_when := when_words(reminder, now):
        details.append(f"for {for_when}")
    return str(reminder.note.id), line.append(f" · {', '.join(details)}", style="dim")


def reminder_set_view(new: Observation, clock: Clock) -> RenderableType:
    """Return that a reminder was stored, with its observation."""
    day, _, time = str(new.remind_at).partition(" ")
    words = relative_words(date.fromisoformat(day), clock.today())
    title = Text(f"Will remind you {words} at {time}:")
    return Group(title, observation_table([new], clock.today()))


def reminders_json(found: Reminders) -> list[dict[str, object]]:
    """Return the JSON form of `reminders_view`."""
    return list(_reminders_json(found))


def _reminders_json(found: Reminders) -> Iterator[dict[str, object]]:
    yield from (reminder_json(reminder, "due") for reminder in found.due)
    for failed in found.failed:
        yield {
            "id": failed.observation_id,
            "text": failed.text,
            "due": failed.due,
            "state": "not delivered",
        }
    yield from (reminder_json(reminder, "ahead") for reminder in found.ahead)


def reminder_json(reminder: Reminder, state: str) -> dict[str, object]:
    """Return a reminder as JSON: `due`, `ahead` or `delivered`."""
    return {
        "id": reminder.note.id,
        "text": reminder.text,
        "due": reminder.due,
        "state": state,
    }


def installed_text(written: Sequence[str], settings: Settings) -> str:
    """Return what was installed, and where reminders go. Paths are whole, for copying."""
    where = "the desktop" if settings.notify in {None, "desktop"} else "CONSTRUCT_NOTIFY"
    return (
        f"{_below('Wrote:', written)}\n"
        f"Reminders go to {where} when no chat is open.\n"
        f"{as_typed('remind uninstall')} removes this."
    )


def uninstalled_text(removed: Sequence[str]) -> str:
    """Return what was removed."""
    return _below("Removed:", removed)


def _below(title: str, names: Sequence[str]) -> str:
    return "\n".join([title, *(f"  {printable(name)}" for name in names)])
