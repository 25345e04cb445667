"""The standard streams: print safely, read piped input, ask for confirmation."""

import json
import os
import sys
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TextIO

from construct.errors import UsageError
from construct.pipes import utf8_text
from construct.text import printable

if TYPE_CHECKING:
    from rich.console import RenderableType


theme_setting = ContextVar("theme_setting", default="auto")
"""CONSTRUCT_THEME, once the settings have been read."""


def say(text: str = "") -> None:
    """Print text without control characters; on a terminal, wrap it between words."""
    print(_wrapped(printable(text), sys.stdout))


def show(view: "RenderableType", stream: TextIO | None = None) -> None:
    """Print a view: on a terminal in colour and at its width, else as plain text."""
    target = stream or sys.stdout
    if isinstance(view, str):
        print(_wrapped(printable(view), target), file=target)
        return
    from construct.views.console import PLAIN_WIDTH, to_ansi
    from construct.views.themes import theme_on

    theme = theme_on(target, theme_setting.get(), os.environ)
    target.write(to_ansi(view, _width(target) or PLAIN_WIDTH, theme))


def complain(text: str) -> None:
    """Print plain text on standard error: an error, a note or a question's details."""
    try:
        print(_wrapped(printable(text), sys.stderr), file=sys.stderr, flush=True)
    except OSError:  # nobody reads it, or the disk is full
        discard(sys.stderr)


def _wrapped(text: str, stream: TextIO) -> str:
    """Return text wrapped between words for a terminal; unchanged for other streams."""
    width = _width(stream)
    if width is None:
        return text
    from construct.views.wrapping import wrapped

    return wrapped(text, width)


def _width(stream: TextIO) -> int | None:
    import shutil

    return shutil.get_terminal_size().columns if stream.isatty() else None


def discard(stream: TextIO) -> None:
    """Drop what a stream still buffers; flushing it at exit would fail."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_json(data: Any) -> None:
    """Print data as ASCII JSON, so that no text in it can control the terminal.

    A dataclass becomes an object with its fields.
    """
    print(json.dumps(data, indent=2, ensure_ascii=True, default=asdict))


def standard_input() -> str | None:
    """Return piped or redirected input; None if there is none.

    Raises ConstructError if it is not UTF-8.
    """
    import stat

    if sys.stdin.isatty():
        return None
    mode = os.fstat(sys.stdin.fileno()).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
        return None
    return utf8_text(sys.stdin.buffer.read(), "Standard input")


def confirmed(question: str) -> bool:
    """Ask for confirmation. Raises UsageError without a terminal."""
    if not sys.stdin.isatty():
        raise UsageError("No terminal to confirm on. Pass --yes.")
    return answered_yes(question)


def answer_to(question: str) -> str:
    """Ask on standard error, and return the line that is typed; "" at the end of input."""
    print(f"{_wrapped(question, sys.stderr)} ", end="", file=sys.stderr, flush=True)
    try:
        return input().strip()
    except EOFError:
        complain("")
        return ""


def answered_yes(question: str) -> bool:
    """Return whether the user answers y or yes. Raises EOFError without an answer."""
    # `input` would write the question into redirected standard output.
    print(f"{_wrapped(question, sys.stderr)} [y/N] ", end="", file=sys.stderr, flush=True)
    return input().strip().lower() in {"y", "yes"}
