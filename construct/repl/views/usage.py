"""Tokens and money."""

from collections import defaultdict
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from construct.clock import Clock
from construct.memory.inspection.accounts import Books
from construct.memory.inspection.whatif import Estimate
from construct.repl.views.bars import AccentBar
from construct.repl.views.words import counted, day, money, monies, percent
from construct.store.books import Spent, UsageLine
from construct.text import one_line

_FIGURES = ("calls", "prompt", "cached", "output", "cost")
_BAR_WIDTH = 24
_MOST_DAYS = 7
_BASIS = (
    "An estimate, from the tokens of the stored messages and today's prices, with the prompt cache used where it pays."
)


def usage_view(found: Books, clock: Clock) -> RenderableType:
    """Return what the same talk would have cost without a memory, each day, and each purpose, with the sum, last."""
    if not found.lines:
        return Text("No model has been called yet.", style="dim")
    parts: list[RenderableType] = []
    if found.instead is not None:
        parts += [Text("The same talk, with and without a memory", style="heading3")]
        parts += [_compared(found.spent_on_talk, found.instead), Text(_basis(found.instead), style="dim"), Text()]
    if days := by_day(found.spending, clock)[-_MOST_DAYS:]:
        parts += [_by_day(days), Text()]
    return Group(*parts, _by_purpose(found.lines))


def by_day(spent: Sequence[Spent], clock: Clock) -> list[tuple[str, float, float]]:
    """Return (day, dollars for the talk, dollars for memory work), oldest first; unknown costs count nothing."""
    costs: defaultdict[str, dict[bool, float]] = defaultdict(lambda: {True: 0.0, False: 0.0})
    for one in spent:
        costs[str(day(one.created_at, clock))][one.purpose == "chat"] += one.cost_usd or 0.0
    return [(date, of[True], of[False]) for date, of in sorted(costs.items())]


def _by_purpose(lines: Sequence[UsageLine]) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim", pad_edge=False)
    table.add_column("purpose", no_wrap=True)
    table.add_column("model", overflow="ellipsis", style="dim")
    for name in _FIGURES:
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(line.purpose, Text(one_line(line.model)), *_figures([line]))
    if len(lines) > 1:
        table.add_row("all", "", *_figures(lines), style="bold")
    return table


def _figures(lines: Sequence[UsageLine]) -> list[str]:
    read = sum(u.cache_read_tokens for u in lines)
    prompt = read + sum(u.input_tokens + u.cache_write_tokens for u in lines)
    cached = percent(read / prompt) if prompt else ""
    return [
        f"{sum(u.calls for u in lines):,}", f"{prompt:,}", cached, f"{sum(u.output_tokens for u in lines):,}",
        _cost(lines),
    ]  # fmt: skip


def _by_day(days: Sequence[tuple[str, float, float]]) -> Table:
    most = max(talk + work for _, talk, work in days)
    table = Table(box=None, padding=(0, 1), header_style="dim", pad_edge=False)
    table.add_column("day", no_wrap=True)
    table.add_column("", max_width=_BAR_WIDTH)
    for name in ("cost", "talk", "memory"):
        table.add_column(name, justify="right", no_wrap=True, style="" if name == "cost" else "dim")
    shown = monies([sum_ for _, talk, work in days for sum_ in (talk + work, talk, work)])
    for number, (date, talk, work) in enumerate(days):
        bar = AccentBar(most or 1.0, 0, talk + work)
        table.add_row(date, bar, *shown[3 * number : 3 * number + 3])
    return table


def _compared(spent: float, instead: Estimate) -> Table:
    costs = (spent, instead.recent_usd, instead.full_usd)
    names = ("as it was", f"last {counted(instead.recent_messages, 'message')}", "whole history")
    notes = ("memory work included", "what is older is forgotten", "all of it, every time")
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(max_width=_BAR_WIDTH)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    for name, cost, shown, note in zip(names, costs, monies(costs), notes, strict=True):
        table.add_row(name, AccentBar(max(costs) or 1.0, 0, cost), shown, note)
    return table


def _basis(instead: Estimate) -> str:
    if not instead.too_long:
        return _BASIS
    return (
        f"{_BASIS} For {counted(instead.too_long, 'reply')} the whole history would not have fitted the model's window."
    )


def _cost(lines: Sequence[UsageLine]) -> str:
    """Return the sum of the known costs, with a sign when there are unknown ones too."""
    known = [u.cost_usd for u in lines if u.cost_usd is not None]
    if not known:
        return money(None)
    return money(sum(known)) + ("+" if len(known) < len(lines) else "")
