"""The list of conversations."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from construct.clock import Clock
from construct.repl.columns import fitted
from construct.repl.views.words import ago, counted, title_of
from construct.store.talk import ConversationSummary

_BETWEEN = 2
_NARROWEST = 12
"""Columns of a title."""


def conversations_view(found: Sequence[ConversationSummary], clock: Clock, here: int | None = None) -> RenderableType:
    """Return conversations, the one last talked in first, a line each; `here` is marked."""
    if not found:
        return Text("There are no conversations yet.", style="dim")
    return _Conversations(found, clock, here)


@dataclass(frozen=True, slots=True)
class _Conversations:
    found: Sequence[ConversationSummary]
    clock: Clock
    here: int | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        beside = [self._beside(one) for one in self.found]
        taken = sum(max(map(len, column)) + _BETWEEN for column in zip(*beside, strict=True))
        room = max(_NARROWEST, options.max_width - taken)
        table = Table.grid(padding=(0, _BETWEEN))
        table.add_column(no_wrap=True, justify="right")
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, justify="right", style="dim")
        table.add_column(no_wrap=True, style="dim")
        for one, (number, messages, last) in zip(self.found, beside, strict=True):
            mine = one.conversation.id == self.here
            table.add_row(Text(number, style="accent" if mine else ""), _title(one, room), messages, last)
        yield table

    def _beside(self, one: ConversationSummary) -> tuple[str, str, str]:
        number = f"{'› ' if one.conversation.id == self.here else ''}{one.conversation.id}"
        return number, counted(one.messages, "message"), ago(one.last_at, self.clock)


def _title(one: ConversationSummary, room: int) -> Text:
    fork = "" if one.conversation.parent_id is None else f"  fork of {one.conversation.parent_id}"
    title = fitted(title_of(one), max(_NARROWEST, room - cell_len(fork)))
    return Text(title, style="" if one.conversation.title else "dim").append(fork, style="dim")
