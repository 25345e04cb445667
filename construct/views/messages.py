"""Render messages in a chat: the one just sent, and earlier ones."""

from collections.abc import Sequence
from datetime import timedelta

from rich.console import RenderableType
from rich.table import Column
from rich.text import Text

from construct.clock import Clock, from_text
from construct.store.records import Message
from construct.text import printable
from construct.views.console import to_ansi
from construct.views.markdown import render_markdown
from construct.views.themes import Theme
from construct.views.widgets import Prose, grid
from construct.views.words import LEFT_OUT_WORDS, written_at
from construct.vocabulary import Role

_FIRST_LINES, _LAST_LINES = 8, 2
_FIRST_CHARACTERS, _LAST_CHARACTERS = 1_600, 400
"""How much of a long message is shown: its first and its last lines, or characters."""
_MIN_HIDDEN_CHARACTERS = 40
"""A long line is not cut to hide fewer characters than this."""
_CLEANED_CHARACTERS = 20_000
"""Only this many characters at either end are cleaned: a paste may be megabytes long."""
_PAUSE = timedelta(hours=1)
"""The time is shown again after a pause this long."""


def echo_view(text: str) -> RenderableType:
    """Return the user's message after the prompt sign.

    A long one is cut in the middle: a question often follows a paste.
    """
    columns = Column(no_wrap=True, style="accent"), Column(overflow="fold")
    return grid([("›", _abbreviated(text))], *columns, gap=1)


def replayed(messages: Sequence[Message], clock: Clock, width: int, theme: Theme) -> str:
    """Return messages as printed lines, separated by blank lines.

    The time stands above the first one and above each that follows a pause.
    """
    parts = []
    previous = None
    for message in messages:
        moment = from_text(message.created_at)
        part = _message_text(message, width, theme)
        if previous is None or moment - previous >= _PAUSE:
            time = Text(written_at(message, clock), style="dim")
            part = to_ansi(time, width, theme) + part
        parts.append(part)
        previous = moment
    return "\n".join(parts)


def _message_text(message: Message, width: int, theme: Theme) -> str:
    if message.role != Role.USER:
        return render_markdown(message.content, width, theme)
    text = to_ansi(echo_view(message.text), width, theme)
    if message.left_out is not None:
        note = Text(f"· {LEFT_OUT_WORDS[message.left_out]}", style="dim")
        text += to_ansi(note, width, theme)
    return text


def _abbreviated(text: str) -> Text:
    head = printable(text[:_CLEANED_CHARACTERS])
    tail = printable(text[-_CLEANED_CHARACTERS:])
    first, last, left_out = head, "", ""
    hidden_lines = text.count("\n") + 1 - _FIRST_LINES - _LAST_LINES
    if hidden_lines > 1:
        first = "\n".join(head.split("\n")[:_FIRST_LINES])
        last = "\n".join(tail.split("\n")[-_LAST_LINES:])
        left_out = f"… {hidden_lines:,} more lines …"
    most = _FIRST_CHARACTERS + _LAST_CHARACTERS + _MIN_HIDDEN_CHARACTERS
    if len(first) + len(last) >= most:
        first, last = head[:_FIRST_CHARACTERS], tail[-_LAST_CHARACTERS:]
        left_out = f"… {len(text) - len(first) - len(last):,} more characters …"
    shown = Prose(first, style="strong")
    if left_out:
        shown.append(f"\n{left_out}\n", style="dim").append(last, style="strong")
    return shown
