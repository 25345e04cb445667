"""Render the lines of `construct brief`. Does not import rich, to start fast."""

from collections.abc import Sequence
from datetime import date

from construct.language.periods import relative_words
from construct.memory.agenda import AgendaItem
from construct.text import one_line
from construct.vocabulary import AgendaState

_MAX_LINES = 5


def brief_lines(items: Sequence[AgendaItem], today: date) -> list[str]:
    """Return one line per item. Beyond five lines, the last one counts the items left out."""
    lines = [_line(item, today) for item in items]
    if len(lines) <= _MAX_LINES:
        return lines
    kept = lines[: _MAX_LINES - 1]
    return [*kept, f"{len(lines) - len(kept)} more: construct agenda"]


def _line(item: AgendaItem, today: date) -> str:
    words = relative_words(item.days.last, today)
    if item.state is AgendaState.OUTCOME_UNKNOWN:
        return f"Outcome unknown ({words}): {one_line(item.content)}"
    if not item.is_vague:
        due = words.capitalize()
    elif words.startswith("in "):  # "in 2 days"
        due = f"Within {words.removeprefix('in ')}"
    else:
        due = f"By {words}"
    return f"{due}: {one_line(item.content)}"
