"""Plans that are due, in one line."""

from collections.abc import Sequence
from datetime import date

from construct.memory.turn_context import DuePlan, due_words
from construct.text import shorten

_BETWEEN = " · "


def due_line(plans: Sequence[DuePlan], today: date, width: int) -> str:
    """Return what is due, empty when nothing is."""
    if not plans:
        return ""
    share = (width - len(_BETWEEN) * (len(plans) - 1)) // len(plans)
    return _BETWEEN.join(
        shorten(f"{due_words(plan, today)}: {plan.content}", share) for plan in plans
    )
