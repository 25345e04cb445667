"""The standard streams: printing, made safe for a terminal, reading and asking."""

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TextIO

from construct.errors import UsageError
from construct.text import printable

if TYPE_CHECKING:
    from rich.console import RenderableType


def say(text: str = "") -> None:
    """Print text, made safe for a terminal and there broken between words."""
    print(_laid_out(printable(text), sys.stdout))


def tell(view: Callable[[], "RenderableType"], plainly: str) -> None:
    """Print a view on a terminal, elsewhere plain lines for other programs."""
    if sys.stdout.isatty():
        show(view())
    else:
        say(plainly)


def show(view: "RenderableType", stream: TextIO | None = None) -> None:
    """Print a view: on a terminal in colours and as wide as that, elsewhere plainly."""
    to = stream or sys.stdout
    if isinstance(view, str):
        print(_laid_out(printable(view), to), file=to)
        return
    from construct.views.console import PLAIN_WIDTH, to_ansi
    from construct.views.themes import theme_on

    to.write(to_ansi(view, _width(to) or PLAIN_WIDTH, theme_on(to, os.environ)))


def complain(text: str) -> None:
    """Print an error: plain lines on standard error."""
    try:
        print(_laid_out(printable(text), sys.stderr), file=sys.stderr, flush=True)
    except OSError:  # nobody reads it, or there is no room for it
        let_go(sys.stderr)


def _laid_out(text: str, stream: TextIO) -> str:
    """Return text broken between words for a terminal, which breaks it anywhere."""
    width = _width(stream)
    if width is None:
        return text
    from construct.views.wrapping import wrapped

    return wrapped(text, width)


def _width(stream: TextIO) -> int | None:
    import shutil

    return shutil.get_terminal_size().columns if stream.isatty() else None


def let_go(stream: TextIO) -> None:
    """Drop what a stream still holds, or the interpreter would complain at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_json(data: Any) -> None:
    """Print data as JSON, escaped so that nothing in it can move a cursor.

    A dataclass is the object of its fields.
    """
    print(json.dumps(data, indent=2, ensure_ascii=True, default=asdict))


def standard_input() -> str | None:
    """Return what is piped or redirected in, None when there is nothing to read."""
    import stat

    if sys.stdin.isatty():
        return None
    mode = os.fstat(sys.stdin.fileno()).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
        return None
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def confirmed(question: str) -> bool:
    """Ask before something is deleted; raises UsageError where nobody can answer."""
    if not sys.stdin.isatty():
        raise UsageError("No terminal to confirm on. Pass --yes.")
    return answered_yes(question)


def answered_yes(question: str) -> bool:
    """Ask for a yes as the chat does; anything else is no. Raises EOFError without an answer."""
    return input(f"{_laid_out(question, sys.stdout)} [y/N] ").strip().lower() in {"y", "yes"}
