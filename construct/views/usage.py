"""Tokens and money."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from construct.operations.cost_report import CostReport, DayCost, Estimate
from construct.store.usage import UsageLine
from construct.text import one_line
from construct.views.widgets import AccentBar, ByWidth
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
        parts += [
            Text("The same talk, with and without a memory", style="heading3"),
            _compared(found.spent_on_talk, found.instead),
            Text(_basis(found.instead), style="dim"),
            Text(),
        ]
    if found.days:
        parts += [_by_day(found.days[-_MOST_DAYS:]), Text()]
    by_purpose = ByWidth(_ROOM, _by_purpose(found.lines), Group(*_purposes(found.lines)))
    return Group(*parts, by_purpose)


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
    table = Table(box=None, padding=(0, 1), header_style="dim", pad_edge=False)
    table.add_column("purpose", no_wrap=True)
    table.add_column("model", overflow="ellipsis", style="dim")
    for name in ("calls", "prompt", "cached", "output", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(line.purpose, Text(one_line(line.model)), *_figures([line]))
    if len(lines) > 1:
        table.add_row("all", "", *_figures(lines), style="bold")
    return table


def _purposes(lines: Sequence[UsageLine]) -> Iterator[Text]:
    """Yield the same for a small screen: what each purpose cost, and below it the figures."""
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
    table = Table(box=None, padding=(0, 1), header_style="dim", pad_edge=False)
    table.add_column("day", no_wrap=True)
    table.add_column("", max_width=_BAR_WIDTH)
    for name in ("cost", "talk", "memory"):
        table.add_column(name, justify="right", no_wrap=True, style="" if name == "cost" else "dim")
    most = max(day.total_usd for day in days)
    for day in days:
        costs = (day.total_usd, day.talk_usd, day.memory_usd)
        bar = AccentBar(most or 1.0, 0, day.total_usd)
        table.add_row(str(day.date), bar, *(money_beside(cost, most) for cost in costs))
    return table


def _compared(spent: float, instead: Estimate) -> ByWidth:
    costs = (spent, instead.recent_usd, instead.full_usd)
    names = ("as it was", f"last {counted(instead.recent_messages, 'message')}", "whole history")
    notes = ("memory work included", "what is older is forgotten", "all of it, every time")
    wide, narrow = Table.grid(padding=(0, 1)), Table.grid(padding=(0, 1))
    wide.add_column(no_wrap=True)
    wide.add_column(max_width=_BAR_WIDTH)
    wide.add_column(justify="right", no_wrap=True)
    wide.add_column(style="dim", overflow="fold")
    narrow.add_column(no_wrap=True)
    narrow.add_column(justify="right", no_wrap=True)
    most = max(costs)
    for name, cost, note in zip(names, costs, notes, strict=True):
        bar = AccentBar(most or 1.0, 0, cost)
        wide.add_row(name, bar, money_beside(cost, most), note)
        narrow.add_row(name, money_beside(cost, most))
    return ByWidth(_ROOM, wide, narrow)


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
