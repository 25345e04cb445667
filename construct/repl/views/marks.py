"""The watermarks of a conversation."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from construct.clock import Clock
from construct.repl.views.words import counted, when
from construct.store.records import Message
from construct.text import shorten

_WORDS_WIDTH = 60


@dataclass(frozen=True, slots=True)
class Mark:
    """A watermark: its message, None while it is not set, and how many messages stand above it."""

    name: str
    message: Message | None
    above: int


_MEANINGS = {
    "observed": ("read by an observer", "not yet"),
    "compacted": ("observations stand in its place", "not yet"),
    "window": ("no longer shown word for word", "shown"),
}


def marks_view(marks: Sequence[Mark], clock: Clock) -> RenderableType:
    """Return the watermarks with the messages they stand at."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for mark in marks:
        meaning, above = _MEANINGS[mark.name]
        head = Text()
        if mark.message is None:
            head.append(f"no message is {meaning} yet", style="dim")
        else:
            head.append(f"up to message {mark.message.id}, {when(mark.message.created_at, clock)}")
            head.append(f": {meaning}", style="dim")
        if mark.above:
            head.append(f"; {counted(mark.above, 'message')} {above}", style="dim")
        table.add_row(Text(mark.name, style="accent"), head)
        if mark.message is not None:
            table.add_row("", Text(f"“{shorten(mark.message.content, _WORDS_WIDTH)}”", style="dim"))
    return table
