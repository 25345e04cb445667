"""The main model's tool `totals`: what the user follows, added up by code."""

from collections.abc import Mapping
from typing import Any

from construct.clock import Clock
from construct.language.moments import parse_moment
from construct.memory.shown.escaping import inline
from construct.memory.shown.value_lines import amount_words, is_called
from construct.memory.totals import Series, Total, series_of
from construct.store.driver import Connection
from construct.store.records import Descent
from construct.store.tracked import tracked_values

_MOST_WEEKS = 26


def totals_lines(
    db: Connection, clock: Clock, scope: Descent | None, arguments: Mapping[str, Any]
) -> list[str]:
    """Return what a call of the tool gives: a line for each week, and one for all of them.

    Raises UsageError if `since` is no date.
    """
    since = arguments.get("since")
    first = clock.local(parse_moment(str(since), clock)).date().isoformat() if since else ""
    values = tracked_values(db, since=first, descent=scope)
    wanted = str(arguments.get("name") or "")
    found = [s for s in series_of(values) if not wanted or is_called(s.name, wanted)]
    return [line for series in found for line in _lines(series)] or ["There are no such amounts."]


def _lines(series: Series) -> list[str]:
    name = inline(series.name).replace("<", "&lt;")
    days = f"{series.values[0].day} to {series.values[-1].day}"
    lines = [f"{name}, {days}: {_words(series.total, series.unit)}"]
    lines += [
        f"- week of {week.monday}: {_words(week.total, series.unit)}"
        for week in series.weeks[-_MOST_WEEKS:]
        if week.total.count
    ]
    return lines


def _words(total: Total, unit: str | None) -> str:
    shown_unit = None if unit is None else unit.replace("<", "&lt;")
    return (
        f"{total.count} amounts, sum {amount_words(total.sum, shown_unit)}, "
        f"mean {amount_words(round(total.mean or 0, 4), shown_unit)}"
    )
