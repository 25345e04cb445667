"""The program's name as the user types it, for the commands that messages suggest."""

import os
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from pathlib import Path

_UNDER_UV = "UV_RUN_RECURSION_DEPTH"
"""What `uv run` sets for everything that it starts, and for what that starts."""


@cache
def program_name() -> str:
    """Return `uv run construct` if this process was started so, else `construct`."""
    if _UNDER_UV in os.environ and _starter() in {"uv", "uv.exe"}:
        return "uv run construct"
    return "construct"


def in_shell(arguments: str) -> str:
    """Return a command in backquotes, as the user would type it in the shell."""
    return f"`{program_name()} {arguments}`"


_write: ContextVar[Callable[[str], str]] = ContextVar("_write")


def as_typed(words: str) -> str:
    """Return a command, named by its words in the shell, as the user types it here.

    `memory list` is `/memory` in a chat and `construct memory list`, in backquotes, in a
    shell. A command that only a chat has begins with a slash: `/retry`.
    """
    return _write.get(in_shell_or_chat)(words)


def write_commands_as(write: Callable[[str], str]) -> None:
    """Say how `as_typed` writes a command, in this task and those that it starts."""
    _write.set(write)


def in_shell_or_chat(words: str) -> str:
    """Return a command as somebody in a shell types it, who may have to open a chat for it."""
    return f"{words} in a chat" if words.startswith("/") else in_shell(words)


def _starter() -> str:
    """Return the name of the program that started this one, empty if it is gone."""
    parent_name = Path(f"/proc/{os.getppid()}/comm")  # where there is one, it is faster
    if parent_name.exists():
        return parent_name.read_text("utf-8", "replace").strip()
    import psutil  # takes 20 ms

    try:
        parent = psutil.Process().parent()
        if parent is not None and parent.name().startswith("construct"):
            parent = parent.parent()  # on Windows a small program of this name starts Python
        return "" if parent is None else parent.name()
    except psutil.Error:
        return ""
