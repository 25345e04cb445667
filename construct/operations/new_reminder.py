"""`/remind WHEN TEXT`: store a plan of which the user is reminded."""

import re
from datetime import date, datetime, timedelta

from construct.clock import Clock
from construct.config import Settings
from construct.errors import UsageError
from construct.language.clock_times import read_time
from construct.memory import keeping
from construct.operations.agenda import parse_day
from construct.operations.context import Context
from construct.store.database import transaction
from construct.store.records import Observation
from construct.vocabulary import Origin

USAGE = "/remind [WHEN TEXT]"
_MOST_WORDS = 8
"""Words that WHEN may have."""
_IN_A_WHILE = re.compile(
    r"(?i)in (?P<count>\d{1,3}|an?|half an) (?P<unit>min(?:ute)?s?|h(?:ou)?rs?)"
)
_JOINING = {"on", "at", "um", "am"}
"""Words before a day or a time that change nothing."""
_LEADING = {"next", "this", "the", "coming"}
"""Words before a weekday that may change nothing, and belong to it."""
_YEAR = re.compile(r"(?:19|20)\d\d")


def remind(ctx: Context, argument: str) -> Observation:
    """Store a reminder, typed as `tomorrow 9am call Ana`. Raises UsageError."""
    ctx.settings.require_learning()
    moment, text = parse_reminder(argument, ctx.settings)
    with transaction(ctx.db):
        return keeping.keep_reminder(ctx.db, text, moment, Origin.USER, None, ctx.clock)


def parse_reminder(argument: str, settings: Settings) -> tuple[datetime, str]:
    """Return when to remind, by the clock on the wall, and of what. Raises UsageError.

    As many words as make a time are read as one: "friday 18:30", "in 20 minutes", "9am".
    """
    words = argument.split()
    now = settings.clock.wall()
    for count in range(min(_MOST_WORDS, len(words) - 1), 0, -1):
        moment = _moment(words[:count], settings)
        if moment is None:
            continue
        if moment <= now:
            raise UsageError(
                f"{moment:%Y-%m-%d %H:%M} is past.\nGive a later time, such as tomorrow 9:30."
            )
        return moment, " ".join(words[count:])
    raise UsageError(
        f"Usage: {USAGE}\n"
        "WHEN is a day, a time or both: friday 18:30, 2026-03-05 9am, in 20 minutes, 18:30."
    )


def _moment(words: list[str], settings: Settings) -> datetime | None:
    """Return the moment that some words name, if they name nothing else."""
    now = settings.clock.wall().replace(second=0, microsecond=0)
    if match := _IN_A_WHILE.fullmatch(" ".join(words)):
        return now + _while(match)
    for time_words in range(min(3, len(words)), -1, -1):
        for time_text, day_words in (
            (words[len(words) - time_words :], words[: len(words) - time_words]),
            (words[:time_words], words[time_words:]),
        ):
            time = read_time(" ".join(time_text)) if time_text else settings.remind_at
            if time is None:
                continue
            if not day_words:
                moment = datetime.combine(now.date(), time)
                return moment if moment > now else moment + timedelta(days=1)
            if (day := _whole_day(day_words, settings.clock)) is not None:
                return datetime.combine(day, time)
    return None


def _while(match: re.Match[str]) -> timedelta:
    count = match["count"].lower()
    number = {"a": 1.0, "an": 1.0, "half an": 0.5}.get(count) or float(count)
    return timedelta(minutes=number * (1 if match["unit"].lower().startswith("m") else 60))


def _whole_day(words: list[str], clock: Clock) -> date | None:
    """Return the day that all these words name together; None if one of them is needless."""
    while words and words[0].lower() in _JOINING:
        words = words[1:]
    day = _day(words, clock)
    has_needless_first = words[:1] and words[0].lower() not in _LEADING
    if len(words) > 1 and has_needless_first and _day(words[1:], clock) == day:
        return None
    if len(words) > 1 and not _YEAR.fullmatch(words[-1]) and _day(words[:-1], clock) == day:
        return None
    return day


def _day(words: list[str], clock: Clock) -> date | None:
    try:
        return date.fromisoformat(parse_day(" ".join(words), clock))
    except (UsageError, ValueError):  # no date, or a month or a year
        return None
