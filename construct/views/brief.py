"""Render the lines of `construct brief`. Does not import rich, to start fast."""

from datetime import date

from construct.memory.agenda import AgendaItem, day_words, due_words
from construct.operations.brief import Brief
from construct.program import program_name
from construct.text import one_line
from construct.vocabulary import AgendaState

_MAX_LINES = 5


def brief_lines(found: Brief, today: date) -> list[str]:
    """Return one line per item. Beyond five lines, the last one counts the items left out."""
    lines = [_line(item, today) for item in found.items]
    lines += [f"Reminder not delivered ({f.due}): {one_line(f.text)}" for f in found.failed]
    if len(lines) <= _MAX_LINES:
        return lines
    kept = lines[: _MAX_LINES - 1]
    return [*kept, f"{len(lines) - len(kept)} more: {program_name()} agenda"]


def _line(item: AgendaItem, today: date) -> str:
    if item.state is AgendaState.OUTCOME_UNKNOWN:
        return f"{due_words(item, today)}: {one_line(item.text)}"
    return f"{day_words(item, today).capitalize()}: {one_line(item.text)}"
