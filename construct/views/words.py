"""Format counts, money and times for people. Does not import rich."""

from collections.abc import Callable, Collection, Iterable
from datetime import date, datetime, time, timedelta

from construct.clock import Clock, from_text, gap_words
from construct.store.records import DROPPED, REFUSED, Message
from construct.text import one_line, printable, shorten

_CENTS_FROM = 0.1
"""Dollars. Smaller sums are shown with four digits after the point."""
_HALF_PERCENT = 0.005


LEFT_OUT_WORDS = {
    REFUSED: "left out of requests: the model declined to answer",
    DROPPED: "left out of requests: dropped",
}
"""Why a message is no longer sent to the model."""


def counted(number: int, noun: str) -> str:
    """Return "1 message", "1,240 messages", or "2 memories"."""
    if number == 1:
        return f"1 {noun}"
    ends_in_y = noun[-1] == "y" and noun[-2] not in "aeiou"
    return f"{number:,} {noun[:-1]}ies" if ends_in_y else f"{number:,} {noun}s"


def listed(phrases: Iterable[str]) -> str:
    """Return "a", "a and b", or "a, b and c"."""
    *first, last = phrases
    return f"{', '.join(first)} and {last}" if first else last


def percent(ratio: float) -> str:
    """Return a ratio as "41%"; "<1%" for a small one that is not zero."""
    if 0 < ratio <= _HALF_PERCENT:
        return "<1%"
    return f"{round(100 * ratio)}%"


def money(dollars: float | None) -> str:
    """Return dollars as "$1.20", small sums as "$0.0042", None as "unknown"."""
    if dollars is None:
        return "unknown"
    return f"${dollars:,.2f}" if dollars >= _CENTS_FROM or dollars == 0 else f"${dollars:.4f}"


def expected_cost(dollars: float | None) -> str:
    """Return the end of a sentence about a plan: its cost. Empty if it is free."""
    if dollars is None:
        return "; the cost is unknown"
    return f", for about {money(dollars)}" if dollars else ""


def known_sum(costs: Collection[float | None]) -> float | None:
    """Return the sum of the costs that are known, None if all are unknown."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known or not costs else None


def money_sum(costs: Collection[float | None], in_words: Callable[[float], str] = money) -> str:
    """Return the sum of the known costs, with "+" if some are unknown.

    "unknown" if all are. `in_words` renders the dollars.
    """
    total = known_sum(costs)
    if total is None:
        return money(None)
    return in_words(total) + ("+" if None in costs else "")


def money_in_table(dollars: float, largest: float) -> str:
    """Return dollars with as many digits as the largest sum in the same table needs."""
    return f"${dollars:,.4f}" if 0 < largest < 1 else f"${dollars:,.2f}"


def ago(moment: str, clock: Clock) -> str:
    """Return how long ago a stored time was, such as "3 hours ago"."""
    gap = clock.now() - from_text(moment)
    return "just now" if gap < timedelta(minutes=1) else f"{gap_words(gap)} ago"


def model_words(name: str) -> str:
    """Return a model's name for the screen.

    If the name is a path, as in llama.cpp, only its last part.
    """
    return shorten(name.rpartition("/")[2] if name.startswith("/") else name, 40)


def forked_from_elsewhere(writer: str, before: int, now: int) -> str:
    """Return the notice that a conversation goes on in a fork, as another machine writes it."""
    name = shorten(one_line(printable(writer)), 40)
    return f"“{name}” writes conversation {before}. Forked it into {now}, which goes on here."


def day(moment: str, clock: Clock) -> date:
    """Return the day of a stored time in the user's time zone."""
    return clock.local(from_text(moment)).date()


def when(moment: str, clock: Clock) -> str:
    """Return a stored time in the user's time zone, as "2026-03-01 14:30"."""
    return clock.local(from_text(moment)).strftime("%Y-%m-%d %H:%M")


def written_at(message: Message, clock: Clock) -> str:
    """Return when a message was written, as clocks showed it there: "2026-03-01 14:30"."""
    return message.written(clock).strftime("%Y-%m-%d %H:%M")


def period(start: datetime, end: datetime | None, clock: Clock) -> str:
    """Return "since 2026-03-01" or "from 2026-03-01 to 2026-04-01".

    The time of day is added to a start that is not the beginning of a day, and to an end
    that is not the end of one.
    """
    if end is None:
        return f"since {_moment(clock.local(start), time.min)}"
    return f"from {_moment(clock.local(start), time.min)} to {_moment(clock.local(end), time.max)}"


def _moment(moment: datetime, bound: time) -> str:
    return f"{moment:%Y-%m-%d}" if moment.time() == bound else f"{moment:%Y-%m-%d %H:%M}"
