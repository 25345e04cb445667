"""Render the lines of `construct brief`. Does not import rich, to start fast."""

from datetime import date

from construct.memory.agenda import AgendaItem, day_words, due_words
from construct.operations.brief import Brief
from construct.program import program_name
from construct.text import one_line
from construct.vocabulary import AgendaState

_MAX_LINES = 5


def brief_lines(found: Brief, today: date) -> list[str]:
    """Return one line per item, and how many questions wait. At most five lines.

    Of more, the last line of items counts those that are left out.
    """
    waiting = [_waiting(found.waiting)] if found.waiting else []
    most = _MAX_LINES - len(waiting)
    lines = [_line(item, today) for item in found.items]
    lines += [f"Reminder not delivered ({f.due}): {one_line(f.text)}" for f in found.failed]
    if len(lines) <= most:
        return lines + waiting
    kept = lines[: most - 1]
    return [*kept, f"{len(lines) - len(kept)} more: {program_name()} agenda", *waiting]


def _waiting(count: int) -> str:
    questions = "question waits" if count == 1 else "questions wait"
    return f"{count} {questions} for you: {program_name()} review"


def _line(item: AgendaItem, today: date) -> str:
    if item.state is AgendaState.OUTCOME_UNKNOWN:
        return f"{due_words(item, today)}: {one_line(item.text)}"
    return f"{day_words(item, today).capitalize()}: {one_line(item.text)}"
