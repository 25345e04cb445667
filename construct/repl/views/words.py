"""Numbers, money and times as people read them. Needs neither rich nor a database."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta

from construct.clock import Clock, from_text, gap_words
from construct.store.records import DROPPED, REFUSED
from construct.store.talk import ConversationSummary
from construct.text import shorten

_CENTS_FROM = 0.1
_HALF_PERCENT = 0.005


LEFT_OUT_WORDS = {
    REFUSED: "left out of requests: the model declined to answer",
    DROPPED: "left out of requests: dropped",
}
"""Why a message is not sent to the model any more."""


def nothing_yet(imported: int, compact: str = "/compact") -> str:
    """Return how there comes to be something remembered, where so many imported messages are not observed yet."""
    if imported:
        return "Nothing is remembered yet: `construct observe` learns from what was imported."
    return f"Nothing is remembered yet: what is said is observed as it adds up, or at once by {compact}."


def counted(number: int, noun: str) -> str:
    """Return "1 message", "1,240 messages", or "2 memories"."""
    if number == 1:
        return f"1 {noun}"
    ends_in_y = noun[-1] == "y" and noun[-2] not in "aeiou"
    return f"{number:,} {noun[:-1]}ies" if ends_in_y else f"{number:,} {noun}s"


def lost_words(lost: Sequence[str]) -> str:
    """Return what to say of names and numbers that an edit left out; "" for none."""
    if not lost:
        return ""
    quoted = [f"“{one}”" for one in lost]
    listed = " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
    return f"Note: the old line had {listed}, the new one does not."


def percent(ratio: float) -> str:
    """Return a share such as "41%"."""
    if 0 < ratio < _HALF_PERCENT:
        return "<1%"
    return f"{round(100 * ratio)}%"


def money(dollars: float | None) -> str:
    """Return dollars, small sums with more digits; "unknown" for a price that is not known."""
    if dollars is None:
        return "unknown"
    return f"${dollars:,.2f}" if dollars >= _CENTS_FROM or dollars == 0 else f"${dollars:.4f}"


def monies(dollars: Sequence[float]) -> list[str]:
    """Return sums that stand together, all with as many digits as the largest needs."""
    digits = 4 if 0 < max(dollars, default=0) < 1 else 2
    return [f"${one:,.{digits}f}" for one in dollars]


def ago(moment: str, clock: Clock) -> str:
    """Return how long ago a stored time was."""
    gap = clock.now() - from_text(moment)
    return "just now" if gap < timedelta(minutes=1) else f"{gap_words(gap)} ago"


def day(moment: str, clock: Clock) -> date:
    """Return the user's day of a stored time."""
    return clock.local(from_text(moment)).date()


def when(moment: str, clock: Clock) -> str:
    """Return a stored time as the user's wall clock showed it."""
    return clock.local(from_text(moment)).strftime("%Y-%m-%d %H:%M")


def period(start: datetime, end: datetime | None, clock: Clock) -> str:
    """Return "since 2026-03-01" or "from 2026-03-01 to 2026-04-01", with the time where whole days are not meant."""
    if end is None:
        return f"since {_moment(clock.local(start), time.min)}"
    return f"from {_moment(clock.local(start), time.min)} to {_moment(clock.local(end), time.max)}"


def _moment(moment: datetime, bound: time) -> str:
    return f"{moment:%Y-%m-%d}" if moment.time() == bound else f"{moment:%Y-%m-%d %H:%M}"


def title_of(talk: ConversationSummary, width: int = 60) -> str:
    """Return what a conversation is called everywhere: its title, else its first words, else its number."""
    return shorten(talk.conversation.title or talk.first_words or "", width) or f"conversation {talk.conversation.id}"
