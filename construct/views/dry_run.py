"""Render a dry run: what an observer would learn now, beside what was learned before."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from construct.memory.learning.proposals import ProposedObservation
from construct.memory.shown.lines import readable_line
from construct.operations.dry_run import DryRun, DryRunPlan
from construct.operations.read_again import Difference, Taken
from construct.program import as_typed
from construct.store.records import Observation
from construct.text import one_line
from construct.views.shapes import draft_json, note_json
from construct.views.widgets import grid, spaced
from construct.views.words import counted, expected_cost, money

_Note = Observation | ProposedObservation


class _Row(NamedTuple):
    """A line of the comparison."""

    sign: str
    style: str
    note: _Note
    never: str = ""
    """The word of the user's rules that kept the note out."""


def dry_run_plan_view(plan: DryRunPlan) -> str:
    """Return how many messages would be read again, and what that may cost."""
    messages = counted(len(plan.messages), "message")
    size = counted(sum(m.token_count for m in plan.messages), "token")
    if plan.model is None:
        return f"Reads {messages} again, about {size}, without a model, at no cost."
    calls = counted(plan.estimate.calls, "call")
    cost = expected_cost(plan.estimate.usd)
    return f"Reads {messages} again, about {size}, with {plan.model.name}, in about {calls}{cost}."


def dry_run_view(done: DryRun, outcome: str = "Nothing was stored.") -> RenderableType:
    """Return the notes learned both times (=), only before (-) and only now (+).

    `outcome` says what has been stored.

    A changed note is shown as it was (-) and as it is now (+), one that the user's rules
    kept out with an x. The differences come last, so that they are on the screen after a
    long list.
    """
    changed: list[_Row] = []
    for pair in done.changed:
        changed += [_Row("-", "error", pair.before), _Row("+", "success", pair.now)]
    titled: tuple[tuple[str, list[_Row]], ...] = (
        ("Learned both times", [_Row("=", "dim", o) for o in done.same]),
        ("Learned both times, but differently", changed),
        ("Learned only before", [_Row("-", "error", o) for o in done.missing]),
        ("Learned only now", [_Row("+", "success", o) for o in done.added]),
        (
            "Kept out by your rules",
            [_Row("x", "error", o.note, never=o.word) for o in done.left_out],
        ),
    )
    parts: list[RenderableType] = [
        Group(Text(title, style="heading3"), _table(rows)) for title, rows in titled if rows
    ]
    if done.problems:
        parts.append(_problems(done))
    return spaced([*parts, Text(_summary(done, outcome), style="dim")])


def dry_run_json(plan: DryRunPlan, done: DryRun) -> dict[str, Any]:
    """Return the JSON form of `dry_run_view`."""
    return {
        "messages": done.messages,
        "model": None if plan.model is None else plan.model.name,
        "estimated_usd": plan.estimate.usd,
        "cost_usd": done.cost_usd,
        "added": [draft_json(o) for o in done.added],
        "missing": [note_json(o) for o in done.missing],
        "changed": [
            {"id": pair.before.id, "before": note_json(pair.before), "now": draft_json(pair.now)}
            for pair in done.changed
        ],
        "same": [note_json(o) for o in done.same],
        "left_out": [{"never": o.word, **draft_json(o.note)} for o in done.left_out],
        "problems": list(done.problems),
    }


def difference_view(difference: Difference) -> RenderableType:
    """Return one difference that can be taken over, as it was (-) and as it is now (+)."""
    rows = []
    if difference.before is not None:
        rows.append(_Row("-", "error", difference.before))
    if difference.now is not None:
        rows.append(_Row("+", "success", difference.now))
    return _table(rows)


def taken_view(taken: Taken) -> str:
    """Return what was taken over, and how to take it back."""
    if not taken.total:
        return "Nothing was taken over."
    counts = [
        f"{number:,} {what}"
        for number, what in (
            (taken.changed, "changed"),
            (taken.removed, "removed"),
            (taken.added, "new"),
        )
        if number
    ]
    return f"Taken over: {', '.join(counts)}. {as_typed('undo')} takes it back."


def _problems(done: DryRun) -> RenderableType:
    """Return what went wrong, each problem once.

    The last line matters: notes made without the model do not show what the user's
    rules change.
    """
    lines = (
        Text(f"  {one_line(problem)}", style="dim") for problem in dict.fromkeys(done.problems)
    )
    return Group(
        Text("Problems with the worker model", style="heading3"),
        *lines,
        Text("  Messages for which it gave no complete answer were read by fixed rules."),
    )


def _summary(done: DryRun, outcome: str) -> str:
    counts = [
        f"{len(done.same):,} as before",
        f"{len(done.changed):,} changed",
        f"{len(done.missing):,} gone",
        f"{len(done.added):,} new",
    ]
    if done.left_out:
        counts.append(f"{len(done.left_out):,} kept out by your rules")
    cost = "The cost is unknown"
    if done.cost_usd is not None:
        cost = f"It cost {money(done.cost_usd)}"
    return f"{', '.join(counts)}. {outcome} {cost}."


def _table(rows: Iterable[_Row]) -> Table:
    lines = ((Text(f"  {row.sign}", style=row.style), _line(row)) for row in rows)
    return grid(lines, Column(no_wrap=True), Column(overflow="fold"))


def _line(row: _Row) -> Text:
    line = Text(one_line(readable_line(row.note)), style="" if row.sign == "+" else "dim")
    line.stylize(row.note.priority, 0, 1)
    return line.append(f" (never: {row.never})" if row.never else "")
