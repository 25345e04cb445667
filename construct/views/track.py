"""Render what the user follows: a line, and sums and means by week."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column
from rich.text import Text

from construct.memory.shown.value_lines import amount_words
from construct.memory.totals import Series, Total
from construct.operations.track import Tracked
from construct.text import one_line
from construct.views.widgets import headed, spaced
from construct.views.words import counted, listed

_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 60
_MOST_WEEKS = 26


def track_view(tracked: Tracked) -> RenderableType:
    """Return each series with its line, its weeks and its total."""
    if not tracked.series and not tracked.followed:
        return (
            "Nothing is followed yet. Write a line such as “track: coffee spending in euros” into "
            "your memory rules: /rules in the chat opens them."
        )
    if not tracked.series:
        return f"Followed, without a value so far: {listed(map(one_line, tracked.followed))}."
    return spaced([_series_view(series) for series in tracked.series])


def _series_view(series: Series) -> Group:
    total = series.total
    unit = f" in {one_line(series.unit)}" if series.unit else ""
    head = Text.assemble((f"{one_line(series.name)}{unit}", "heading3"))
    amounts = [value.amount for value in series.values][-_MOST_BARS:]
    days = f"{series.values[0].day} to {series.values[-1].day}"
    line = Text.assemble(line_of(amounts), (f"  {counted(total.count, 'value')}, {days}", "dim"))
    shown = series.weeks[-_MOST_WEEKS:]
    rows = [
        (f"week of {week.monday}", str(week.total.count), *_total_words(week.total))
        for week in shown
    ]
    rows.append(("in all", str(total.count), *_total_words(total)))
    right = {"justify": "right", "no_wrap": True}
    table = headed(
        rows,
        Column(no_wrap=True),
        Column("values", **right),  # type: ignore[arg-type]
        Column("sum", **right),  # type: ignore[arg-type]
        Column("mean", **right),  # type: ignore[arg-type]
    )
    return Group(head, line, table)


def _total_words(total: Total) -> tuple[str, str]:
    if total.mean is None:
        return "", ""
    return amount_words(total.sum), amount_words(round(total.mean, 2))


def line_of(amounts: Sequence[float]) -> str:
    """Return amounts as a line of bars, the lowest and the highest at either end of the scale."""
    low, high = min(amounts), max(amounts)
    if low == high:
        return _BARS[len(_BARS) // 2] * len(amounts)
    steps = (len(_BARS) - 1) / (high - low)
    return "".join(_BARS[round((amount - low) * steps)] for amount in amounts)


def track_json(tracked: Tracked) -> list[dict[str, Any]]:
    """Return the JSON form of `track_view`."""
    return [
        {
            "name": series.name,
            "unit": series.unit,
            **_total_json(series.total),
            "weeks": [
                {"monday": str(week.monday), **_total_json(week.total)} for week in series.weeks
            ],
            "values": [
                {
                    "id": value.id,
                    "amount": value.amount,
                    "day": value.day,
                    "message": value.message_id,
                }
                for value in series.values
            ],
        }
        for series in tracked.series
    ]


def _total_json(total: Total) -> dict[str, Any]:
    return {"count": total.count, "sum": total.sum, "mean": total.mean}
