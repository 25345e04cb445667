"""The list of conversations."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from construct.clock import Clock
from construct.repl.views.words import ago, counted, title_of
from construct.store.talk import ConversationSummary


def conversations_view(found: Sequence[ConversationSummary], clock: Clock, here: int | None = None) -> RenderableType:
    """Return conversations, the one last talked in first; `here` is marked."""
    if not found:
        return Text("There are no conversations yet.", style="dim")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, justify="right")
    table.add_column(no_wrap=True, overflow="ellipsis")
    table.add_column(no_wrap=True, justify="right", style="dim")
    table.add_column(no_wrap=True, style="dim")
    for one in found:
        mine = one.conversation.id == here
        number = Text(f"› {one.conversation.id}" if mine else str(one.conversation.id), style="accent" if mine else "")
        table.add_row(number, _title(one), counted(one.messages, "message"), ago(one.last_at, clock))
    return table


def _title(one: ConversationSummary) -> Text:
    text = Text(title_of(one), style="" if one.conversation.title else "dim")
    if one.conversation.parent_id is not None:
        text.append(f"  fork of {one.conversation.parent_id}", style="dim")
    return text
