"""What was said before, as a chat showed it then."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from rich.text import Text

from construct.clock import Clock, from_text
from construct.repl.markdown import render_markdown
from construct.repl.themes import Theme
from construct.repl.views.console import to_ansi
from construct.repl.views.echo import echo_view
from construct.repl.views.words import LEFT_OUT_WORDS, when
from construct.store.records import Message

_PAUSE = timedelta(hours=1)


def replayed(messages: Sequence[Message], clock: Clock, width: int, theme: Theme) -> str:
    """Return messages as whole lines with blank ones between them; the time stands where a stretch of talk begins."""
    return "\n".join(_parts(messages, clock, width, theme))


def _parts(messages: Sequence[Message], clock: Clock, width: int, theme: Theme) -> Iterator[str]:
    until = None
    for message in messages:
        moment = from_text(message.created_at)
        begins = until is None or moment - until >= _PAUSE
        until = moment
        time = to_ansi(Text(when(message.created_at, clock), style="dim"), width, theme) if begins else ""
        yield time + _words(message, width, theme)


def _words(message: Message, width: int, theme: Theme) -> str:
    if message.role == "user":
        words = to_ansi(echo_view(message.content), width, theme)
        if message.left_out is None:
            return words
        return words + to_ansi(Text(f"· {LEFT_OUT_WORDS[message.left_out]}", style="dim"), width, theme)
    return render_markdown(message.content, width, theme)
