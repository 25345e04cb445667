"""The days on which something comes again: yearly, monthly, weekly or daily. No I/O."""

import calendar
from collections.abc import Collection, Iterator
from datetime import date
from itertools import count

from construct.vocabulary import Recurrence

_STEP_DAYS = {Recurrence.DAILY: 1, Recurrence.WEEKLY: 7}
_STEP_MONTHS = {Recurrence.MONTHLY: 1, Recurrence.YEARLY: 12}


def next_occurrence(
    first: date, every: Recurrence, since: date, skipped: Collection[date] = ()
) -> date | None:
    """Return the first day from `since` on, on which what began on `first` comes again.

    None if the calendar ends before that.
    """
    return next((day for day in occurrences(first, every, since) if day not in skipped), None)


def occurrences(first: date, every: Recurrence, since: date) -> Iterator[date]:
    """Yield the days from `since` on, on which what began on `first` comes again.

    A day that a month lacks is skipped; 29 February becomes the last of February.
    """
    since = max(first, since)
    if every in _STEP_DAYS:
        step = _STEP_DAYS[every]
        days_since_last = (since - first).days % step
        start = since.toordinal() + (step - days_since_last) % step
        yield from map(date.fromordinal, range(start, date.max.toordinal() + 1, step))
        return
    step = _STEP_MONTHS[every]
    months = (since.year - first.year) * 12 + since.month - first.month
    for months_later in count(months - months % step, step):
        year, month = divmod(first.year * 12 + first.month - 1 + months_later, 12)
        if year > date.max.year:
            return
        last = calendar.monthrange(year, month + 1)[1]
        is_skipped = first.day > last and every is Recurrence.MONTHLY
        day = date(year, month + 1, min(first.day, last))
        if day >= since and not is_skipped:
            yield day
