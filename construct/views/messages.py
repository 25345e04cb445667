"""Messages as a chat shows them: what the user just said, and what was said before."""

from collections.abc import Iterator, Sequence
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
from construct.views.words import LEFT_OUT_WORDS, when
from construct.vocabulary import Role

_FIRST_LINES, _LAST_LINES = 8, 2
_FIRST_CHARACTERS, _LAST_CHARACTERS = 1_600, 400
_READ = 20_000
"""Characters of either end that are looked at: a paste may have megabytes."""
_PAUSE = timedelta(hours=1)


def echo_view(text: str) -> RenderableType:
    """Return a message behind the prompt's sign.

    Of a long one beginning and end: a question often follows a paste.
    """
    columns = Column(no_wrap=True, style="accent"), Column(overflow="fold")
    return grid([("›", _abbreviated(text))], *columns, gap=1)


def replayed(messages: Sequence[Message], clock: Clock, width: int, theme: Theme) -> str:
    """Return messages as whole lines with blank ones between them.

    The time stands where a stretch of talk begins.
    """
    return "\n".join(_parts(messages, clock, width, theme))


def _parts(messages: Sequence[Message], clock: Clock, width: int, theme: Theme) -> Iterator[str]:
    until = None
    for message in messages:
        moment = from_text(message.created_at)
        begins = until is None or moment - until >= _PAUSE
        until = moment
        time = (
            to_ansi(Text(when(message.created_at, clock), style="dim"), width, theme)
            if begins
            else ""
        )
        yield time + _words(message, width, theme)


def _words(message: Message, width: int, theme: Theme) -> str:
    if message.role == Role.USER:
        words = to_ansi(echo_view(message.text), width, theme)
        if message.left_out is None:
            return words
        return words + to_ansi(
            Text(f"· {LEFT_OUT_WORDS[message.left_out]}", style="dim"), width, theme
        )
    return render_markdown(message.content, width, theme)


def _abbreviated(text: str) -> Text:
    head, tail = printable(text[:_READ]), printable(text[-_READ:])
    hidden = text.count("\n") + 1 - _FIRST_LINES - _LAST_LINES
    if hidden > 1:
        first, last = (
            "\n".join(head.split("\n")[:_FIRST_LINES]),
            "\n".join(tail.split("\n")[-_LAST_LINES:]),
        )
        left_out = f"… {hidden:,} more lines …"
    else:
        first, last, left_out = head, "", ""
    if len(first) + len(last) > _FIRST_CHARACTERS + _LAST_CHARACTERS:
        first, last = head[:_FIRST_CHARACTERS], tail[-_LAST_CHARACTERS:]
        left_out = f"… {len(text) - len(first) - len(last):,} more characters …"
    shown = Prose(first, style="strong")
    if left_out:
        shown.append(f"\n{left_out}\n", style="dim").append(last, style="strong")
    return shown
