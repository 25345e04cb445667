"""A few lines for a shell's start. Needs no rich."""

from collections.abc import Sequence
from datetime import date

from construct.language.periods import relative_words
from construct.memory.agenda import AgendaItem
from construct.text import one_line
from construct.vocabulary import AgendaState

_MOST_LINES = 5


def brief_lines(items: Sequence[AgendaItem], today: date) -> list[str]:
    """Return a line for each item, five at most; the last says how many more there are."""
    lines = [_line(item, today) for item in items]
    if len(lines) <= _MOST_LINES:
        return lines
    kept = lines[: _MOST_LINES - 1]
    return [*kept, f"{len(lines) - len(kept)} more: construct agenda"]


def _line(item: AgendaItem, today: date) -> str:
    words = relative_words(item.days.last, today)
    if item.state is AgendaState.OUTCOME_UNKNOWN:
        return f"Outcome unknown ({words}): {one_line(item.content)}"
    until = "By " if item.is_vague else ""
    return f"{until}{words if until else words.capitalize()}: {one_line(item.content)}"
