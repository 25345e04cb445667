"""Charts as rectangles and curves in the units of an SVG's view box; what they look like is the template's.

Own code: a chart here is a row of bars. The libraries that write SVG (pygal, leather) bring styles,
fonts or scripts of their own into it, which a page with a strict policy must not run, and know no dark mode.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

WIDTH = 960
_LEFT, _TOP, _PLOT, _FOOT = 66, 12, 180, 26
_WIDEST_BAR = 40.0
_MARKS_APART = 66.0


@dataclass(frozen=True, slots=True)
class Column:
    """One column before it is drawn: what it stands for, and how much of each kind."""

    day: date
    title: str
    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """Return how high it is."""
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class Part:
    """A rectangle of one kind."""

    kind: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A column as drawn."""

    x: float
    width: float
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A stacked bar chart with lines across at `ticks` (y, value) and words under it at `marks` (x, words)."""

    width: int
    height: int
    left: int
    floor: int
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, float], ...]
    marks: tuple[tuple[float, str], ...]


def stacked(columns: Sequence[Column], kinds: Sequence[str]) -> Chart:
    """Draw columns side by side, `kinds` from the bottom up."""
    step = (WIDTH - _LEFT) / max(1, len(columns))
    ticks = _ticks(max((c.total for c in columns), default=0))
    scale = _PLOT / (ticks[-1] or 1)
    floor = _TOP + _PLOT
    width = min(step * 0.76, _WIDEST_BAR)
    bars = tuple(
        Bar(round(_LEFT + i * step + (step - width) / 2, 2), round(width, 2), c.title, _parts(c, kinds, scale, floor))
        for i, c in enumerate(columns)
    )
    lines = tuple((round(floor - value * scale, 2), value) for value in ticks)
    return Chart(WIDTH, floor + _FOOT, _LEFT, floor, bars, lines, _marks(columns, step))


def _parts(column: Column, kinds: Sequence[str], scale: float, floor: int) -> tuple[Part, ...]:
    found, y = [], float(floor)
    for kind in kinds:
        height = column.parts.get(kind, 0) * scale
        if height:
            y -= height
            found.append(Part(kind, round(y, 2), round(height, 2)))
    return tuple(found)


def _ticks(most: float) -> list[float]:
    """Return round values from 0 to `most` or a little above, five at most."""
    if most <= 0:
        return [0.0, 1.0]
    power = 1.0
    while power * 10 <= most:
        power *= 10
    while power > most:
        power /= 10
    step = next(power * f for f in (0.25, 0.5, 1, 2, 2.5) if power * f * 4 >= most)
    count = next(n for n in range(1, 5) if step * n >= most - step * 1e-9)
    return [step * n for n in range(count + 1)]


def _marks(columns: Sequence[Column], step: float) -> tuple[tuple[float, str], ...]:
    """Return the names of months under the first column of each, as many as there is room for."""
    found: list[tuple[float, str]] = []
    month, year = (0, 0), 0
    for i, day in enumerate(column.day for column in columns):
        x = _LEFT + i * step
        begins, month = (day.year, day.month) != month, (day.year, day.month)
        room = not found or found[-1][0] + _MARKS_APART <= x <= WIDTH - _MARKS_APART
        if begins and room:
            found.append((round(x, 2), f"{day:%b}" if day.year == year else f"{day:%b %Y}"))
            year = day.year
    return tuple(found)


def days_between(first: date, last: date) -> list[date]:
    """Return every day from the first to the last."""
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]
