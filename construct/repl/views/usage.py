"""Tokens and money."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from construct.repl.views.console import to_text
from construct.repl.views.words import counted, money, percent
from construct.store.books import UsageLine
from construct.text import one_line

_FIGURES = ("calls", "input", "from cache", "to cache", "output")


def usage_view(lines: Sequence[UsageLine], today: Sequence[UsageLine]) -> RenderableType:
    """Return usage by purpose and model, its sum, and what of it is today's."""
    if not lines:
        return Text("No model has been called yet.", style="dim")
    table = Table(box=None, padding=(0, 1), header_style="dim", pad_edge=False)
    table.add_column("purpose", no_wrap=True)
    table.add_column("model", overflow="fold")
    for name in _FIGURES:
        table.add_column(name, justify="right")
    table.add_column("cost", justify="right")
    for line in lines:
        table.add_row(line.purpose, Text(one_line(line.model), style="dim"), *_figures([line]), money(line.cost_usd))
    if len(lines) > 1:
        table.add_row("all", "", *_figures(lines), _cost(lines), style="bold")
    return Group(table, Text(), Text(_closing(lines, today), style="dim"))


def usage_text(lines: Sequence[UsageLine], today: Sequence[UsageLine]) -> str:
    """Return the same as plain text."""
    return to_text(usage_view(lines, today))


def _figures(lines: Sequence[UsageLine]) -> list[str]:
    return [
        f"{sum(figures):,}"
        for figures in zip(
            *((u.calls, u.input_tokens, u.cache_read_tokens, u.cache_write_tokens, u.output_tokens) for u in lines),
            strict=True,
        )
    ]


def _cost(lines: Sequence[UsageLine]) -> str:
    """Return the sum of the known costs, with a sign when there are unknown ones too."""
    known = [u.cost_usd for u in lines if u.cost_usd is not None]
    if not known:
        return money(None)
    return money(sum(known)) + ("+" if len(known) < len(lines) else "")


def _closing(lines: Sequence[UsageLine], today: Sequence[UsageLine]) -> str:
    prompt = sum(u.input_tokens + u.cache_read_tokens + u.cache_write_tokens for u in lines)
    cached = sum(u.cache_read_tokens for u in lines)
    calls = sum(u.calls for u in today)
    words = f"Today: {counted(calls, 'call')}, {_cost(today) if today else money(0)}."
    return words + (f" Of all prompt tokens {percent(cached / prompt)} came from the cache." if prompt else "")
