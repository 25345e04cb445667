"""Render tokens and costs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from construct.operations.cost_report import CostReport, DayCost, Estimate
from construct.store.usage import UsageLine
from construct.text import one_line
from construct.views.widgets import AccentBar, ByWidth, grid, headed, spaced
from construct.views.words import counted, known_sum, money_in_table, money_sum, percent

_BAR_WIDTH = 24
_MAX_DAYS = 7
_WIDE_FROM = 64
"""Terminal width from which the tables have room for all their columns."""
_SUMMED_FIELDS = (
    "calls",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
)
_BASIS = (
    "Construct: what was spent. The others are estimates, from the tokens of the stored "
    "messages and today's prices, with the prompt cache used where it pays."
)


def usage_view(report: CostReport) -> RenderableType:
    """Return a comparison with talking without a memory, then costs, then usage."""
    if not report.lines:
        return Text("No model has been called yet.", style="dim")
    parts: list[RenderableType] = []
    if report.instead is not None:
        title = Text("The same conversations, with and without a memory", style="heading3")
        compared = _compared(report.spent_on_conversations, report.instead)
        parts.append(Group(title, compared, Text(_basis(report.instead), style="dim")))
    if any(known_sum(day.costs) is not None for day in report.days):
        parts.append(_by_day(report.days))
    by_purpose = ByWidth(
        _WIDE_FROM, _by_purpose(report.lines), Group(*_narrow_by_purpose(report.lines))
    )
    return spaced([*parts, by_purpose])


def usage_json(report: CostReport) -> dict[str, Any]:
    """Return the JSON form of `usage_view`."""
    return {
        "total": _total(report.lines),
        "today": _total(report.today),
        "by": [asdict(line) for line in report.lines],
        "days": [_day_json(day) for day in report.days],
        "stored_conversations_usd": report.spent_on_conversations,
        "instead": None if report.instead is None else asdict(report.instead),
    }


def _day_json(day: DayCost) -> dict[str, Any]:
    return {
        "date": str(day.date),
        "chat_usd": known_sum(day.chat),
        "memory_usd": known_sum(day.memory),
    }


def _total(lines: Sequence[UsageLine]) -> dict[str, Any]:
    sums = {name: sum(getattr(line, name) for line in lines) for name in _SUMMED_FIELDS}
    return sums | {"cost_usd": known_sum([line.cost_usd for line in lines])}


def _by_purpose(lines: Sequence[UsageLine]) -> Table:
    table = headed(
        ((line.purpose, Text(one_line(line.model)), *_figures([line])) for line in lines),
        Column("purpose", no_wrap=True),
        Column("model", style="dim"),
        *(Column(name, justify="right", no_wrap=True) for name in _Figures._fields),
    )
    if len(lines) > 1:
        table.add_row("all", "", *_figures(lines), style="bold")
    return table


def _narrow_by_purpose(lines: Sequence[UsageLine]) -> Iterator[Text]:
    for line in lines:
        figures = _figures([line])
        yield Text(f"{line.purpose}: {figures.cost} for {counted(line.calls, 'call')}")
        cached = f" ({figures.cached} cached)" if figures.cached else ""
        details = f"{one_line(line.model)}, prompt {figures.prompt}{cached}"
        yield Text(f"{details}, output {figures.output}", style="dim")
    if len(lines) > 1:
        yield Text(f"all: {_cost(lines)}", style="bold")


class _Figures(NamedTuple):
    """The figures of a row, as they are shown."""

    calls: str
    prompt: str
    cached: str
    """The share of the prompt that was read from the cache."""
    output: str
    cost: str


def _figures(lines: Sequence[UsageLine]) -> _Figures:
    cached = sum(line.cache_read_tokens for line in lines)
    prompt = cached + sum(line.input_tokens + line.cache_write_tokens for line in lines)
    return _Figures(
        calls=f"{sum(line.calls for line in lines):,}",
        prompt=f"{prompt:,}",
        cached=percent(cached / prompt) if prompt else "",
        output=f"{sum(line.output_tokens for line in lines):,}",
        cost=_cost(lines),
    )


def _by_day(all_days: Sequence[DayCost]) -> Table:
    days = all_days[-_MAX_DAYS:]
    totals = [known_sum(day.costs) or 0.0 for day in days]
    most = max(totals)
    in_words = partial(money_in_table, largest=most)
    rows = (
        (
            str(day.date),
            AccentBar(most or 1.0, 0, total),
            money_sum(day.costs, in_words),
            money_sum(day.chat, in_words),
            money_sum(day.memory, in_words),
        )
        for day, total in zip(days, totals, strict=True)
    )
    return headed(
        rows,
        Column(
            "day" if len(days) == len(all_days) else f"last {_MAX_DAYS} days of use", no_wrap=True
        ),
        Column(max_width=_BAR_WIDTH),
        Column("cost", justify="right", no_wrap=True),
        Column("chat", justify="right", no_wrap=True, style="dim"),
        Column("memory", justify="right", no_wrap=True, style="dim"),
    )


def _compared(spent: float, instead: Estimate) -> ByWidth:
    costs = (spent, instead.recent_usd, instead.full_usd)
    names = ("Construct", f"last {counted(instead.recent_messages, 'message')}", "whole history")
    notes = ("notes and the newest messages", "older messages are forgotten", "sent every time")
    most = max(costs)
    bars = (AccentBar(most or 1.0, 0, cost) for cost in costs)
    sums = [money_in_table(cost, most) for cost in costs]
    wide = grid(
        zip(names, bars, sums, notes, strict=True),
        Column(no_wrap=True),
        Column(max_width=_BAR_WIDTH),
        Column(justify="right", no_wrap=True),
        Column(style="dim", overflow="fold"),
        gap=1,
    )
    columns = Column(no_wrap=True), Column(justify="right", no_wrap=True)
    return ByWidth(_WIDE_FROM, wide, grid(zip(names, sums, strict=True), *columns, gap=1))


def _basis(instead: Estimate) -> str:
    if not instead.too_long:
        return _BASIS
    replies = counted(instead.too_long, "reply")
    return f"{_BASIS} For {replies} the whole history would not have fitted the model's window."


def _cost(lines: Sequence[UsageLine]) -> str:
    return money_sum([line.cost_usd for line in lines])
