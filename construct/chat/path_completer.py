"""Completion of paths behind `@`."""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable
from itertools import islice
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from construct.chat.completer import is_command
from construct.chat.mentions import can_be_named, mention_of, path_being_typed
from construct.text import printable

_MOST_SEEN, _MOST_SHOWN = 20_000, 200


class PathCompleter(Completer):
    """Completes the path behind an `@`; the disk is looked at in a thread."""

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Return nothing: see `get_completions_async`."""
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Yield the folders and files that go on from what is typed."""
        typed = path_being_typed(document.text_before_cursor)
        if typed is None or is_command(document.text):
            return
        for path in await asyncio.to_thread(path_choices, typed.removeprefix('"')):
            name = path.rstrip("/").rpartition("/")[2] + "/" * path.endswith("/")
            yield Completion(_as_typed(path, typed), -len(typed), display=name)


def path_choices(typed: str) -> list[str]:
    """Return the paths that begin as typed, in any case; folders end with a slash.

    Hidden ones only behind a dot. Of a huge folder, a part is looked at.
    """
    folder, slash, beginning = typed.rpartition("/")
    found = []
    try:
        with os.scandir(Path(folder + slash or ".").expanduser()) as entries:
            for entry in islice(entries, _MOST_SEEN):
                name = entry.name
                if name.startswith(".") and not beginning.startswith("."):
                    continue
                if name.casefold().startswith(beginning.casefold()) and printable(name) == name:
                    path = f"{folder}{slash}{name}"
                    if entry.is_dir():
                        found.append(f"{path}/")
                    elif entry.is_file():
                        found.append(path)
    except (OSError, ValueError, RuntimeError):
        return []
    return list(islice(filter(can_be_named, sorted(found, key=str.casefold)), _MOST_SHOWN))


def _as_typed(path: str, typed: str) -> str:
    """Return what stands behind the `@`: a folder's quotation mark stays open."""
    word = f'"{path}"' if typed.startswith('"') else mention_of(path)[1:]
    return word.removesuffix('"') if path.endswith("/") else word
