"""Tokens and money."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from construct.operations.cost_report import CostReport, DayCost, Estimate
from construct.store.usage import UsageLine
from construct.text import one_line
from construct.views.widgets import AccentBar, ByWidth, grid, headed, spaced
from construct.views.words import counted, money, money_beside, percent

_BAR_WIDTH = 24
_MOST_DAYS = 7
_ROOM = 64
"""Columns from which tables have room for all their figures."""
_SUMMED = ("calls", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
_BASIS = (
    "An estimate, from the tokens of the stored messages and today's prices, "
    "with the prompt cache used where it pays."
)


def usage_view(found: CostReport) -> RenderableType:
    """Return what the talk would have cost instead, costs by day, usage by purpose."""
    if not found.lines:
        return Text("No model has been called yet.", style="dim")
    parts: list[RenderableType] = []
    if found.instead is not None:
        title = Text("The same talk, with and without a memory", style="heading3")
        compared = _compared(found.spent_on_talk, found.instead)
        parts.append(Group(title, compared, Text(_basis(found.instead), style="dim")))
    if found.days:
        parts.append(_by_day(found.days[-_MOST_DAYS:]))
    by_purpose = ByWidth(_ROOM, _by_purpose(found.lines), Group(*_purposes(found.lines)))
    return spaced([*parts, by_purpose])


def usage_json(found: CostReport) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "total": _total(found.lines),
        "today": _total(found.today),
        "by": [asdict(line) for line in found.lines],
        "days": [asdict(day) | {"date": str(day.date)} for day in found.days],
        "stored_talk_usd": found.spent_on_talk,
        "instead": None if found.instead is None else asdict(found.instead),
    }


def _total(lines: Sequence[UsageLine]) -> dict[str, Any]:
    sums = {name: sum(getattr(line, name) for line in lines) for name in _SUMMED}
    known = [line.cost_usd for line in lines if line.cost_usd is not None]
    return sums | {"cost_usd": sum(known) if known or not lines else None}


def _by_purpose(lines: Sequence[UsageLine]) -> Table:
    figures = ("calls", "prompt", "cached", "output", "cost")
    table = headed(
        ((line.purpose, Text(one_line(line.model)), *_figures([line])) for line in lines),
        Column("purpose", no_wrap=True),
        Column("model", style="dim"),
        *(Column(name, justify="right", no_wrap=True) for name in figures),
    )
    if len(lines) > 1:
        table.add_row("all", "", *_figures(lines), style="bold")
    return table


def _purposes(lines: Sequence[UsageLine]) -> Iterator[Text]:
    for line in lines:
        _, prompt, cached, output, cost = _figures([line])
        yield Text(f"{line.purpose}: {cost} for {counted(line.calls, 'call')}")
        share = f" ({cached} cached)" if cached else ""
        figures = f"{one_line(line.model)}, prompt {prompt}{share}, output {output}"
        yield Text(figures, style="dim")
    if len(lines) > 1:
        yield Text(f"all: {_cost(lines)}", style="bold")


def _figures(lines: Sequence[UsageLine]) -> list[str]:
    read = sum(line.cache_read_tokens for line in lines)
    prompt = read + sum(line.input_tokens + line.cache_write_tokens for line in lines)
    return [
        f"{sum(line.calls for line in lines):,}",
        f"{prompt:,}",
        percent(read / prompt) if prompt else "",
        f"{sum(line.output_tokens for line in lines):,}",
        _cost(lines),
    ]


def _by_day(days: Sequence[DayCost]) -> Table:
    most = max(day.total_usd for day in days)
    rows = (
        (
            str(day.date),
            AccentBar(most or 1.0, 0, day.total_usd),
            money_beside(day.total_usd, most),
            money_beside(day.talk_usd, most),
            money_beside(day.memory_usd, most),
        )
        for day in days
    )
    return headed(
        rows,
        Column("day", no_wrap=True),
        Column(max_width=_BAR_WIDTH),
        Column("cost", justify="right", no_wrap=True),
        Column("talk", justify="right", no_wrap=True, style="dim"),
        Column("memory", justify="right", no_wrap=True, style="dim"),
    )


def _compared(spent: float, instead: Estimate) -> ByWidth:
    costs = (spent, instead.recent_usd, instead.full_usd)
    names = ("as it was", f"last {counted(instead.recent_messages, 'message')}", "whole history")
    notes = ("memory work included", "what is older is forgotten", "all of it, every time")
    most = max(costs)
    bars = (AccentBar(most or 1.0, 0, cost) for cost in costs)
    sums = [money_beside(cost, most) for cost in costs]
    wide = grid(
        zip(names, bars, sums, notes, strict=True),
        Column(no_wrap=True),
        Column(max_width=_BAR_WIDTH),
        Column(justify="right", no_wrap=True),
        Column(style="dim", overflow="fold"),
        gap=1,
    )
    columns = Column(no_wrap=True), Column(justify="right", no_wrap=True)
    return ByWidth(_ROOM, wide, grid(zip(names, sums, strict=True), *columns, gap=1))


def _basis(instead: Estimate) -> str:
    if not instead.too_long:
        return _BASIS
    replies = counted(instead.too_long, "reply")
    return f"{_BASIS} For {replies} the whole history would not have fitted the model's window."


def _cost(lines: Sequence[UsageLine]) -> str:
    """Return the sum of the known costs, with "+" if there are unknown ones too."""
    known = [u.cost_usd for u in lines if u.cost_usd is not None]
    if not known:
        return money(None)
    return money(sum(known)) + ("+" if len(known) < len(lines) else "")
