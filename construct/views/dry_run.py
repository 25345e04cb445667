"""What an observer would learn now, beside what one has learned."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from construct.memory.learning.proposals import ProposedObservation
from construct.memory.shown.lines import SIGNS
from construct.operations.dry_run import DryRun, DryRunPlan
from construct.store.records import Observation
from construct.text import one_line
from construct.views.words import counted, money

_Line = Observation | ProposedObservation
_Part = tuple[str, str, str, Sequence[_Line]]


def dry_run_plan_view(plan: DryRunPlan) -> str:
    """Return what would be read again, and what that may cost."""
    messages = counted(len(plan.messages), "message")
    size = counted(sum(m.token_count for m in plan.messages), "token")
    if plan.model is None:
        return f"Reads {messages} again, about {size}, by rule and for nothing."
    calls = counted(plan.estimate.calls, "call")
    cost = f"; about {money(plan.estimate.usd)}" if plan.estimate.usd else ""
    return f"Reads {messages} again, about {size}, with {plan.model.name}, in about {calls}{cost}."


def dry_run_view(done: DryRun) -> RenderableType:
    """Return what is learned only now (+), only then (-) and both times (=)."""
    parts: list[RenderableType] = []
    titled: tuple[_Part, ...] = (
        ("Learned only now", "+", "success", done.added),
        ("Learned only then", "-", "error", done.missing),
        ("Learned both times", "=", "dim", done.same),
    )
    for title, sign, style, lines in titled:
        if lines:
            parts += [Text(title, style="heading3"), _table(sign, style, lines), Text()]
    return Group(*parts, Text(_closing(done), style="dim"))


def dry_run_json(plan: DryRunPlan, done: DryRun) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "messages": done.messages,
        "model": None if plan.model is None else plan.model.name,
        "estimated_usd": plan.estimate.usd,
        "cost_usd": done.cost_usd,
        "added": [_line_json(o) for o in done.added],
        "missing": [{"id": o.id} | _line_json(o) for o in done.missing],
        "same": [{"id": o.id} | _line_json(o) for o in done.same],
        "left_out": done.left_out,
        "problems": list(done.problems),
    }


def _closing(done: DryRun) -> str:
    left_out = f" Your rules left out {counted(done.left_out, 'note')}." if done.left_out else ""
    return (
        f"{len(done.added):,} only now, {len(done.missing):,} only then, "
        f"{len(done.same):,} both times.{left_out} "
        f"Nothing was stored. It cost {money(done.cost_usd)}."
    )


def _table(sign: str, style: str, lines: Sequence[_Line]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for o in lines:
        content = Text(one_line(o.content), style="" if sign == "+" else "dim")
        table.add_row(
            Text(f"  {sign}", style=style),
            Text(SIGNS[o.priority], style=o.priority),
            content.append(f"  {o.observation_date}", style="dim"),
        )
    return table


def _line_json(o: _Line) -> dict[str, Any]:
    return {
        "content": o.content,
        "priority": o.priority,
        "stance": o.stance,
        "observation_date": o.observation_date,
        "referenced_date": o.referenced_date,
    }
