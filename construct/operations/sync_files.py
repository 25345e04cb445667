"""The persona and the rules of the memory, which go to other machines only on request."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from construct.errors import ConstructError
from construct.operations.context import Context
from construct.store.database import transaction
from construct.store.output_file import replacing
from construct.store.sync import shared_files
from construct.text import is_blank

PERSONA, RULES = "persona", "rules"
NAMES = (PERSONA, RULES)


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    path: Path


def offer(ctx: Context, names: Collection[str]) -> None:
    """Let the next exchange tell of these files, where they have changed here."""
    with transaction(ctx.db):
        for file in _files(ctx, names):
            text = _read(file.path)
            if text is not None and not is_blank(text):
                shared_files.offer(ctx.db, file.name, text, _digest(text))


def take_over(ctx: Context, names: Collection[str]) -> list[str]:
    """Write these files as another machine has them, where it changed them later.

    Return the names of those that changed. Raises ConstructError.
    """
    changed = []
    for file in _files(ctx, names):
        content = shared_files.content(ctx.db, file.name)
        if content is None or content == _read(file.path):
            continue
        try:
            with replacing(file.path) as new:
                new.write_text(content, encoding="utf-8")
        except OSError as error:
            raise ConstructError(
                f"Cannot write to {file.path}: {error.strerror or error}.\n"
                "The exchange is done. Check the folder and the disk, then try again."
            ) from error
        with transaction(ctx.db):
            shared_files.note_same(ctx.db, file.name, _digest(content))
        changed.append(file.name)
    return changed


def _files(ctx: Context, names: Collection[str]) -> list[_File]:
    settings = ctx.settings
    rules = settings.memory_rules.path if settings.memory_rules else None
    paths = {
        PERSONA: settings.persona_file,
        RULES: rules or settings.config_dir / "memory-rules.md",
    }
    return [_File(name, paths[name]) for name in NAMES if name in names]


def _read(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError) as error:
        raise ConstructError(
            f"{path} cannot be read: {error}.\nCorrect it, or sync without it."
        ) from error


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
