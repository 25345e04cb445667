"""Render the memory panel and the watermarks."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from construct.clock import Clock, from_text, gap_words
from construct.memory.policy import REFLECT_REGARDLESS
from construct.operations.context import ModelWindow
from construct.operations.status import Progress, Status, Watermark, Work
from construct.program import as_typed
from construct.store.records import Cycle
from construct.text import one_line, shorten
from construct.views.learning import stand_ins_view
from construct.views.review import waiting_words
from construct.views.rules import left_out_view
from construct.views.widgets import ByWidth, grid
from construct.views.words import counted, money, percent, when
from construct.vocabulary import EXTRACTIVE, CycleKind, CycleStatus, Mode, Phase, WatermarkName

_BAR_WIDTH = 24
_BARS_FROM = 56
"""Terminal width from which there is room for bars."""
_QUOTE_LENGTH = 60
_NAME_LENGTH = 40
_MINUTES_FROM = timedelta(minutes=2)
"""Shorter spans are shown in seconds."""
_MODES = {
    Mode.ACTIVE: "a chat is open",
    Mode.PASSIVE: "no chat is open",
    Mode.READ_ONLY: "memory is shown, nothing is learned",
    Mode.OFF: "memory is neither shown nor learned",
}
_WATERMARKS = {
    WatermarkName.OBSERVED: ("read by the observer", "still to be read"),
    WatermarkName.COMPACTED: ("their observations are active", "still to be compacted"),
    WatermarkName.WINDOW: ("out of the window", "still in it"),
}
"""For each watermark, what is true of the messages up to it and of those after it."""


def status_view(status: Status, *, imported: int = 0) -> RenderableType:
    """Return the memory panel.

    `imported` is the number of messages that `construct observe` would read; `compact`
    is the command that starts memory work at once.
    """
    name = "" if status.here is None else f" · {one_line(status.here.name)}"
    head = Text.assemble(("Memory", "heading3"), name)
    parts: list[RenderableType] = [
        head,
        Padding(_bars(status), (1, 0, 1, 2)),
        Padding(_counts(status), (0, 0, 0, 2)),
    ]
    notes = [Text(note, style="medium") for note in status_notes(status, imported)]
    return Group(*parts, *([Text()] if notes else []), *notes)


def status_json(status: Status) -> dict[str, Any]:
    """Return the JSON form of `status_view`."""
    return {
        "conversation": None if status.here is None else status.here.conversation.id,
        "mode": status.mode,
        "phase": status.phase,
        "provider": status.provider,
        "in_flight": sorted(cycle.kind for cycle in status.work.running),
        "messages": asdict(status.messages)
        | {
            "unobserved_tokens": status.observation.tokens,
            "window_tokens": status.compaction.tokens,
        },
        "observations": {
            "committed": asdict(status.observations),
            "pending": asdict(status.pending),
            "superseded": {"count": status.superseded},
        },
        "reflections": asdict(status.reflections),
        "waiting": status.waiting,
        "shelved": {"count": status.shelved},
        "stand_ins": status.work.stand_ins,
        "generations": {str(level): size.count for level, size in status.committed.items()},
        "watermarks": {name: id_ or None for name, id_ in asdict(status.watermarks).items()},
        "progress": {
            name: asdict(progress) | {"ratio": progress.ratio}
            for name, progress in _steps(status).items()
        },
    }


def status_notes(status: Status, imported: int = 0) -> Iterator[str]:
    """Yield sentences on what the bars do not explain: delays, limits, backlog."""
    yield from _waiting_note(status.waiting)
    if status.mode in {Mode.READ_ONLY, Mode.OFF}:
        return
    work = status.work
    if work.held_tokens:
        waiting = " Compaction waits until then." if status.compaction.ratio >= 1 else ""
        yield (
            "An observation run was undone. Its messages will be read again after "
            f"{counted(work.held_tokens, 'more token')} of talk, or when you run "
            f"{as_typed('compact')}.{waiting}"
        )
    elif status.observation.ratio >= 1 and not work.running:
        yield (
            "An observation run is due. It starts with your next message, or when you run "
            f"{as_typed('compact')}."
        )
    is_reflecting = any(cycle.kind == CycleKind.REFLECTOR for cycle in work.running)
    if status.reflection.ratio >= 1 and not is_reflecting:
        yield _reflection_note(status.reflection, work)
    if work.is_limited:
        yield _limit_note(work)
    if work.left_out:
        yield left_out_view(work.left_out)
    if work.stand_ins:
        yield stand_ins_view(work.stand_ins)
    if imported:
        messages = counted(imported, "imported message")
        yield f"Not observed yet: {messages}. {as_typed('observe')} learns from them."


def _waiting_note(waiting: int) -> Iterator[str]:
    if waiting:
        yield f"{waiting_words(waiting)}: {as_typed('review')}"


def watermarks_view(watermarks: Sequence[Watermark], clock: Clock) -> RenderableType:
    """Return a conversation's watermarks, each with the message it stands at."""
    if not watermarks:
        return Text("Nothing has been said in this conversation yet.")
    rows: list[tuple[RenderableType, Text]] = []
    for mark in watermarks:
        up_to_it, after_it = _WATERMARKS[WatermarkName(mark.name)]
        head = Text("no message yet", style="dim")
        if mark.message is not None:
            place = f"up to message {mark.message.id}, {when(mark.message.created_at, clock)}"
            head = Text.assemble(place, (f": {up_to_it}", "dim"))
        if mark.above:
            head.append(f"; {counted(mark.above, 'message')} {after_it}", style="dim")
        rows.append((Text(mark.name, style="accent"), head))
        if mark.message is not None and mark.message.text.strip():
            rows.append(("", Text(f"“{shorten(mark.message.text, _QUOTE_LENGTH)}”", style="dim")))
    return grid(rows, Column(no_wrap=True), Column(overflow="fold"))


def _steps(status: Status) -> dict[str, Progress]:
    return {
        "observation": status.observation,
        "compaction": status.compaction,
        "reflection": status.reflection,
    }


def _reflection_note(progress: Progress, work: Work) -> str:
    if progress.tokens < work.reflect_from:
        match work.last_reflection:
            case CycleStatus.REVERTED:
                outcome = "was undone"
            case CycleStatus.FAILED:
                outcome = "condensed nothing"
            case _:
                outcome = "saved little"
        return (
            f"The last reflection {outcome}. The next is due at {work.reflect_from:,} tokens of "
            f"observations, or when you run {as_typed('compact')}."
        )
    latest = int(REFLECT_REGARDLESS * progress.threshold)
    if progress.tokens >= latest:
        now = f"or when you run {as_typed('compact')}"
        return f"A reflection is due. It starts with your next message, {now}."
    return (
        "A reflection is due. It runs with the next compaction, or at "
        f"{latest:,} tokens at the latest."
    )


def _bars(status: Status) -> ByWidth:
    rows = [
        (
            f"next {name}",
            ProgressBar(
                total=max(1, progress.threshold),
                completed=min(progress.tokens, progress.threshold),
                style="dim",
                complete_style="accent",
                finished_style="medium",
            ),
            percent(progress.ratio),
            f"{progress.tokens:,} of {progress.threshold:,} tokens",
        )
        for name, progress in _steps(status).items()
    ]
    wide = grid(
        rows,
        Column(no_wrap=True, min_width=len("next observation")),
        Column(max_width=_BAR_WIDTH),
        Column(justify="right", no_wrap=True, min_width=4),
        Column(style="dim", no_wrap=True),
    )
    narrow = grid(
        ((name, share, tokens) for name, _, share, tokens in rows),
        Column(no_wrap=True),
        Column(justify="right", no_wrap=True),
        Column(style="dim"),
    )
    return ByWidth(_BARS_FROM, wide, narrow)


def _limit_note(work: Work) -> str:
    """Return which daily limit is reached, and what happens until midnight."""
    by_rule = "observations are made by fixed rules, without a model."
    used, limit = f"cost {money(work.spent_usd)}", money(work.limit_usd)
    if work.reached == "CONSTRUCT_WORKER_DAILY_TOKENS":
        used, limit = f"taken {work.tokens:,} tokens", f"{work.limit_tokens:,} tokens"
    if limit in {money(0), "0 tokens"}:
        limit = limit.replace(money(0), "$0")
        return f"The daily limit for memory work is {limit} ({work.reached}), so {by_rule}"
    return (
        f"Memory work has {used} today; the daily limit is {limit} ({work.reached}). "
        f"Until midnight, {by_rule}"
    )


def _counts(status: Status) -> Table:
    work = status.work
    running = "\n".join(_running(cycle, work.now) for cycle in work.running)
    reflections = status.reflections
    worker = one_line(work.worker) + (f": {work.worker_reason}" if work.worker_reason else "")
    if not (work.has_price or work.worker == EXTRACTIVE or work.is_limited):
        worker += f" · {work.tokens:,} tokens today, at most {work.limit_tokens:,} a day"
    elif work.has_price or work.spent_usd:
        worker += f" · {money(work.spent_usd)} today, at most {money(work.limit_usd)} a day"
    condensed = f"{reflections.count:,} of these ({reflections.tokens:,} tokens)"
    rows: dict[str, RenderableType] = {
        "mode": _mode_words(status),
        "observations": _observation_words(status),
        "reflections": condensed if reflections.count else "none yet",
        "messages": _message_words(status),
        "in flight": Text(running, style="accent") if running else "nothing",
        "worker": worker,
    }
    if status.window is not None:
        rows["model"] = window_words(status.window)
    labelled = ((Text(label, style="dim"), value) for label, value in rows.items())
    return grid(labelled, Column(no_wrap=True), Column(overflow="fold"))


def window_words(window: ModelWindow) -> str:
    """Return how much a model can read, and how to change that if nobody said it."""
    name = shorten(window.model.rpartition("/")[2], _NAME_LENGTH)
    words = f"{name} reads {window.tokens:,} tokens at once"
    if window.is_assumed:
        return f"{words}, as its server does not say: CONSTRUCT_CONTEXT_WINDOW changes it"
    return words


def _mode_words(status: Status) -> Text:
    return Text.assemble(
        (status.mode, "success" if status.mode == Mode.ACTIVE else "medium"),
        (f" ({_MODES[status.mode]}) · ", "dim"),
        ("no memory work running", "dim")
        if status.phase == Phase.IDLE
        else (status.phase, "accent"),
    )


def _observation_words(status: Status) -> str:
    active, pending = status.observations, status.pending
    out_of_sight = status.shelved + status.past_plans
    return (
        f"{active.count:,} in sight ({active.tokens:,} tokens)"
        f" · {pending.count:,} pending ({pending.tokens:,})"
        + (f" · {out_of_sight:,} out of sight" if out_of_sight else "")
        + f" · {status.superseded:,} superseded"
    )


def _message_words(status: Status) -> str:
    """Return this conversation's counts. Only the first includes archived messages."""
    counts = status.messages
    if not (counts.total or counts.window):
        return "none in this conversation yet"
    return (
        f"{counts.total:,} said here"
        f" · {counts.window:,} in the window ({status.compaction.tokens:,} tokens)"
        f" · {counts.unobserved:,} unobserved ({status.observation.tokens:,})"
    )


def _running(cycle: Cycle, now: datetime) -> str:
    passed = now - from_text(cycle.started_at)
    seconds = f"{max(0, int(passed.total_seconds()))} s"
    lasted = gap_words(passed) if passed >= _MINUTES_FROM else seconds
    span = ""
    if cycle.last_message_id is not None:
        span = f" on messages {cycle.first_message_id} to {cycle.last_message_id}"
    by = "without a model" if cycle.model in {None, EXTRACTIVE} else one_line(cycle.model)
    return f"{cycle.kind}{span}, {by}, {lasted}"
