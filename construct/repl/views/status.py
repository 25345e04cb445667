"""The memory panel."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from construct.repl.views.console import to_text
from construct.repl.views.words import percent
from construct.text import one_line

_BARS = (
    ("observation", "next observation"),
    ("compaction", "next compaction"),
    ("reflection", "next reflection"),
)
_BAR_WIDTH = 24
_MODES = {
    "active": "a chat is open",
    "passive": "no chat is open",
    "read-only": "memory is shown, nothing is learned",
    "off": "memory is neither shown nor learned",
}


def status_view(figures: Mapping[str, Any], title: str | None = None) -> RenderableType:
    """Return the panel for the figures of `memory.status`; `title` is the conversation's."""
    return Group(
        _head(figures, title),
        Padding(_bars(figures["progress"]), (1, 0, 1, 2)),
        Padding(_counts(figures), (0, 0, 0, 2)),
    )


def status_lines(figures: Mapping[str, Any]) -> list[str]:
    """Return the panel as plain lines."""
    return to_text(status_view(figures)).splitlines()


def _head(figures: Mapping[str, Any], title: str | None) -> Text:
    head = Text()
    head.append("Memory", style="heading3")
    if title:
        head.append(f" · {one_line(title)}")
    mode = str(figures["mode"])
    head.append(f"   {mode}", style="success" if mode == "active" else "medium")
    head.append(f" ({_MODES.get(mode, '')})", style="dim")
    if figures["phase"] != "idle":
        head.append(f"   {figures['phase']}…", style="accent")
    return head


def _bars(progress: Mapping[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, min_width=len("next observation"))
    table.add_column(max_width=_BAR_WIDTH)
    table.add_column(justify="right", no_wrap=True, min_width=4)
    table.add_column(style="dim", overflow="fold")
    for name, label in _BARS:
        one = progress[name]
        bar = ProgressBar(
            total=max(1, one["threshold"]), completed=min(one["tokens"], one["threshold"]),
            style="dim", complete_style="accent", finished_style="medium",
        )  # fmt: skip
        table.add_row(label, bar, percent(one["ratio"]), f"{one['tokens']:,} of {one['threshold']:,} tokens")
    return table


def _counts(figures: Mapping[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    observations, messages = figures["observations"], figures["messages"]
    table.add_row("observations", " · ".join(_observation_words(observations)))
    if figures["reflections"]["count"]:
        made = figures["reflections"]
        table.add_row("reflections", f"{made['count']:,} among them ({made['tokens']:,} tokens)")
    table.add_row("messages", " · ".join(_message_words(messages)))
    if figures["in_flight"]:
        table.add_row("in flight", Text(", ".join(figures["in_flight"]), style="accent"))
    return table


def _observation_words(observations: Mapping[str, Any]) -> list[str]:
    committed, pending = observations["committed"], observations["pending"]
    return [
        f"{committed['count']:,} committed ({committed['tokens']:,} tokens)",
        f"{pending['count']:,} pending ({pending['tokens']:,})",
        f"{observations['superseded']['count']:,} superseded",
    ]


def _message_words(messages: Mapping[str, Any]) -> list[str]:
    return [
        f"{messages['total']:,}",
        f"{messages['window']:,} shown word for word ({messages['window_tokens']:,} tokens)",
        f"{messages['unobserved']:,} not observed yet ({messages['unobserved_tokens']:,})",
    ]
