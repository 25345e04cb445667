"""The memory panel."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from construct.clock import from_text, gap_words
from construct.memory.cycles.policy import REFLECT_REGARDLESS
from construct.memory.inspection.status import Standing
from construct.repl.views.words import counted, money, percent
from construct.store.records import Cycle
from construct.text import one_line

_BAR_WIDTH = 24
_MINUTES_FROM = timedelta(minutes=2)
_MODES = {
    "active": "a chat is open",
    "passive": "no chat is open",
    "read-only": "memory is shown, nothing is learned",
    "off": "memory is neither shown nor learned",
}


def status_view(
    figures: Mapping[str, Any],
    standing: Standing,
    title: str | None = None,
    *,
    imported: int = 0,
    compact: str = "/compact",
) -> RenderableType:
    """Return the panel for what `memory.status` says; `title` is the conversation's.

    `imported` are the messages that `observe` would read; `compact` is what the user types to have the work done at
    once.
    """
    parts: list[RenderableType] = [
        _head(title),
        Padding(_bars(figures["progress"]), (1, 0, 1, 2)),
        Padding(_counts(figures, standing), (0, 0, 0, 2)),
    ]
    notes = list(status_notes(figures, standing, imported, compact))
    return Group(*parts, *([Text()] if notes else []), *(Text(note, style="medium") for note in notes))


def status_notes(
    figures: Mapping[str, Any], standing: Standing, imported: int = 0, compact: str = "/compact"
) -> Iterator[str]:
    """Give a sentence for each thing that the bars alone would leave unexplained."""
    if figures["mode"] in {"read-only", "off"}:
        return
    ratios = {name: one["ratio"] for name, one in figures["progress"].items()}
    if standing.held_tokens:
        waiting = " Compacting waits for it." if ratios["compaction"] >= 1 else ""
        yield (
            "An observation run was undone. What it had read is held: it is observed again after "
            f"{counted(standing.held_tokens, 'more token')} of talk, or by {compact}.{waiting}"
        )
    elif ratios["observation"] >= 1 and not standing.running:
        yield f"An observation is due: it is made with your next message, or by {compact}."
    if ratios["reflection"] >= 1:
        yield _reflection_note(figures["progress"]["reflection"], standing, compact)
    if standing.is_limited:
        yield (
            f"Memory work has cost {money(standing.spent_usd)} today, and the limit is {money(standing.limit_usd)} a "
            f"day (CONSTRUCT_WORKER_DAILY_USD): until midnight the extractive worker serves."
        )
    if imported:
        yield f"Not observed yet: {counted(imported, 'imported message')}. `construct observe` learns from them."


def _reflection_note(progress: Mapping[str, Any], standing: Standing, compact: str) -> str:
    if progress["tokens"] < standing.reflect_from:
        why = "was undone" if standing.reflector_undone else "could take little away"
        return (
            f"The last reflection {why}: the next is due at {standing.reflect_from:,} tokens of observations, "
            f"or by {compact}."
        )
    at_once = int(REFLECT_REGARDLESS * progress["threshold"])
    return f"A reflection is due: it comes with the next compaction, at {at_once:,} tokens at the latest."


def _head(title: str | None) -> Text:
    head = Text()
    head.append("Memory", style="heading3")
    return head.append(f" · {one_line(title)}" if title else "")


def _bars(progress: Mapping[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, min_width=len("next observation"))
    table.add_column(max_width=_BAR_WIDTH)
    table.add_column(justify="right", no_wrap=True, min_width=4)
    table.add_column(style="dim", no_wrap=True)  # where there is little room the bar gives way
    for name, one in progress.items():
        bar = ProgressBar(
            total=max(1, one["threshold"]), completed=min(one["tokens"], one["threshold"]),
            style="dim", complete_style="accent", finished_style="medium",
        )  # fmt: skip
        table.add_row(f"next {name}", bar, percent(one["ratio"]), f"{one['tokens']:,} of {one['threshold']:,} tokens")
    return table


def _counts(figures: Mapping[str, Any], standing: Standing) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, words in (
        ("mode", _mode_words(figures)),
        ("observations", _observation_words(figures["observations"])),
        ("reflections", _reflection_words(figures["reflections"])),
        ("messages", _message_words(figures["messages"])),
        ("in flight", _work_words(standing)),
        ("worker", _worker_words(standing)),
    ):
        table.add_row(Text(label, style="dim"), words)
    return table


def _mode_words(figures: Mapping[str, Any]) -> Text:
    mode, phase = str(figures["mode"]), str(figures["phase"])
    words = Text().append(mode, style="success" if mode == "active" else "medium")
    words.append(f" ({_MODES.get(mode, '')}) · ", style="dim")
    return words.append(phase, style="dim" if phase == "idle" else "accent")


def _observation_words(observations: Mapping[str, Any]) -> str:
    committed, pending = observations["committed"], observations["pending"]
    return (
        f"{committed['count']:,} committed ({committed['tokens']:,} tokens)"
        f" · {pending['count']:,} pending ({pending['tokens']:,})"
        f" · {observations['superseded']['count']:,} superseded"
    )


def _reflection_words(found: Mapping[str, Any]) -> str:
    return f"{found['count']:,} of these ({found['tokens']:,} tokens)" if found["count"] else "none yet"


def _message_words(messages: Mapping[str, Any]) -> str:
    """Return the counts of the talk at hand: what was imported is none as long as nobody goes on with it."""
    if not (messages["total"] or messages["window"]):
        return "none in this talk yet"
    return (
        f"{messages['total']:,} in all · {messages['window']:,} in the window ({messages['window_tokens']:,} tokens)"
        f" · {messages['unobserved']:,} unobserved ({messages['unobserved_tokens']:,})"
    )


def _work_words(standing: Standing) -> Text:
    at_work = "\n".join(_at_work(cycle, standing.now) for cycle in standing.running)
    return Text(at_work or "nothing", style="accent" if at_work else "")


def _at_work(cycle: Cycle, now: datetime) -> str:
    """Return what a cycle is at, and for how long."""
    passed = now - from_text(cycle.started_at)
    for_long = gap_words(passed) if passed >= _MINUTES_FROM else f"{max(0, int(passed.total_seconds()))} s"
    span = "" if cycle.last_message_id is None else f" on messages {cycle.first_message_id} to {cycle.last_message_id}"
    return f"{cycle.kind}{span}, {one_line(cycle.model or 'extractive')}, {for_long}"


def _worker_words(standing: Standing) -> str:
    spent, limit = money(standing.spent_usd), money(standing.limit_usd)
    return f"{one_line(standing.worker)} · {spent} today, at most {limit} a day"
