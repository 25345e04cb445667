"""What every command starts from: the settings, the database and the log."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from construct.cli.keys import use_keys
from construct.cli.streams import answered_yes, complain, theme_setting
from construct.clock import to_text
from construct.config import SETTINGS, Settings
from construct.env_file import answers_file, record_answer
from construct.errors import ConstructError
from construct.load_settings import load_settings, warnings
from construct.program import in_shell, program_name
from construct.setting_sources import UntrustedFile
from construct.store import cycles, purge
from construct.store.conversations import (
    current_conversation,
    is_empty,
)
from construct.store.database import make_folder, open_database, open_without_creating, transaction
from construct.store.driver import Connection, errors
from construct.store.encryption import is_interrupted
from construct.store.faults import explain
from construct.text import shorten
from construct.user_rules import RulesFile

if TYPE_CHECKING:
    from construct.operations.context import Context

_UNLIMITED_WINDOW = 1_000_000
"""Tokens: enough for all usual thresholds, for commands that know no model."""
_PURGE_SECONDS = 0.5
_HIDDEN = "(not shown)"
_MAX_VALUE_LENGTH = 200


@dataclass
class Environment:
    """One run of the program, with its global options."""

    db: Path | None = None

    @cached_property
    def settings(self) -> Settings:
        """The settings in force. Raises UsageError if one is invalid.

        If a `.env` sets something that needs the user's trust, this asks on a terminal,
        unless the user has already refused. What stays ignored is reported, and so are
        misspelt names.
        """
        settings = load_settings(db=self.db)
        if settings.untrusted is not None and _ask_about(settings.untrusted, settings.config_dir):
            settings = load_settings(db=self.db)
        if settings.untrusted is not None:
            complain(_what_was_ignored(settings.untrusted, settings.config_dir))
        for warning in warnings(settings):
            complain(warning)
        theme_setting.set(settings.theme)
        use_keys(settings)
        if is_interrupted(settings.db):
            _tidy_up(settings)
        return settings

    @contextmanager
    def database(
        self, open_function: Callable[[Path, RulesFile | None], Connection] = open_database
    ) -> Iterator[Connection]:
        """Open the database and clean up after processes that were stopped.

        Raises ConstructError if the database cannot be used, or fails during the block.
        """
        with closing(open_function(self.settings.db, self.settings.memory_rules)) as db:
            try:
                if cycles.has_leases(db):
                    with transaction(db):
                        cycles.abandon_orphaned(db, to_text(self.settings.clock.now()))
                purge.finish_erasure(db, _PURGE_SECONDS)
                yield db
            except errors() as error:
                raise explain(error, self.settings.db) from error

    @contextmanager
    def database_to_read(self) -> Iterator[Connection]:
        """Open the database for reading. Without a file it is empty; none is made."""
        with self.database(open_without_creating) as db:
            yield db
            if self.db is not None and is_empty(db):
                complain(
                    f"Nothing is stored in {self.db}. Is the path right? "
                    f"{in_shell('--db PATH')} begins a conversation there."
                )

    @contextmanager
    def context(self) -> Iterator["Context"]:
        """Open the database and yield the context for an operation."""
        with self.database() as db:
            yield self._context(db)

    @contextmanager
    def reading(self) -> Iterator["Context"]:
        """Yield the context for an operation that only reads. Makes no file."""
        with self.database_to_read() as db:
            yield self._context(db)

    def _context(self, db: Connection) -> "Context":
        from construct.memory.config import memory_config_for
        from construct.operations.context import Context

        memory = memory_config_for(self.settings, _UNLIMITED_WINDOW)
        return Context(db, self.settings, memory, current_conversation(db))


def _tidy_up(settings: Settings) -> None:
    from construct.operations.encryption import after_interruption

    if note := after_interruption(settings):
        complain(note)


def _ask_about(untrusted: UntrustedFile, config_dir: Path) -> bool:
    """Ask whether to trust a `.env`. Return whether an answer was stored."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if untrusted.is_refused or not all(stream.isatty() for stream in streams):
        return False
    path = os.path.abspath(untrusted.file.path)  # noqa: PTH100 - unlike Path.resolve it keeps links
    complain(f"{path} is not yet trusted. It would set:")
    for name, value in untrusted.settings.items():
        complain(
            f"  {name}={_HIDDEN if SETTINGS[name].is_secret else shorten(value, _MAX_VALUE_LENGTH)}"
        )
    complain("Trust it only if you wrote it. Your other keys are never sent to an address it sets.")
    try:
        trusted = answered_yes("Trust it?")
    except EOFError:  # no answer; it will ask again next time
        complain("")
        return False
    try:
        make_folder(config_dir)
        record_answer(untrusted.file, config_dir, trusted=trusted)
    except OSError as error:
        where = answers_file(config_dir)
        complain(
            f"The answer cannot be stored in {where}: {error.strerror or error}. Check the folder"
            " and its permissions."
        )
        return False
    return True


def _what_was_ignored(untrusted: UntrustedFile, config_dir: Path) -> str:
    ignored = f"Ignored {', '.join(untrusted.ignored)} from {untrusted.file.path}"
    if untrusted.is_refused:
        return (
            f"{ignored}, which you do not trust. "
            f"Remove its line from {answers_file(config_dir)} to be asked again."
        )
    return (
        f"{ignored}, which is not trusted. "
        f"Run `{program_name()}` on a terminal to be asked, or use config.env."
    )


def start_log(path: Path, db: Path) -> None:
    """Append the program's log to a file that only the user can read.

    The log names events; it has no message text and no secrets. Raises UsageError if
    the file is the database.
    """
    import logging

    from construct.store.output_file import refuse_database

    refuse_database(path, db, "--log-file")
    try:
        make_folder(path.parent)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        if path.is_file():
            path.chmod(0o600)
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise ConstructError(
            f"Cannot write to {path}: {error.strerror or error}.\n"
            "Name another file with --log-file."
        ) from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("construct")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
