"""What a command works with: streams, settings, the database; and how it prints."""

import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from construct.clock import to_text
from construct.config import SECRETS, Settings, UntrustedFile, load_settings
from construct.env_file import answers_file, keep_answer
from construct.errors import UsageError
from construct.store import cycles, erase, talk
from construct.store.database import look_into, make_folder, open_database, transaction
from construct.store.faults import explain
from construct.text import printable, shorten

if TYPE_CHECKING:
    from rich.console import RenderableType

_HIDDEN = "(not shown)"
_LONGEST_VALUE = 200


@dataclass
class Environment:
    """One run of the program; the global options stand here."""

    db: Path | None = None
    log_file: Path | None = None

    @cached_property
    def settings(self) -> Settings:
        """The settings in force; raises UsageError when one is wrong.

        Where a `.env` that the user has not been asked about sets something that needs trust,
        this asks, on a terminal; otherwise it says what was ignored.
        """
        settings = load_settings(db=self.db)
        if settings.untrusted is not None and _ask_about(settings.untrusted, settings.config_dir):
            settings = load_settings(db=self.db)
        if settings.untrusted is not None:
            complain(_ignored_words(settings.untrusted, settings.config_dir))
        return settings

    @contextmanager
    def database(self, opened: Callable[[Path], sqlite3.Connection] = open_database) -> Iterator[sqlite3.Connection]:
        """Open the database, what a stopped process left behind put right; raises ConstructError when it fails."""
        with closing(opened(self.settings.db)) as db:
            try:
                tidy(db, self.settings)
                yield db
            except sqlite3.Error as error:
                raise explain(error, self.settings.db) from error

    @contextmanager
    def looking(self) -> Iterator[sqlite3.Connection]:
        """Open the database for a command that only reads, and makes no file: where there is none, nothing is stored.

        One named by --db with nothing in it may be a slip.
        """
        with self.database(look_into) as db:
            yield db
            if self.db is not None and talk.is_empty(db):
                complain(
                    f"Nothing is stored in {self.db}: is the path right? `construct --db PATH` begins a talk there."
                )


def _ask_about(found: UntrustedFile, config_dir: Path) -> bool:
    """Ask whether to trust a `.env` and keep the answer; False where it was not asked."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if found.is_refused or not all(stream.isatty() for stream in streams):
        return False
    complain(f"{os.path.abspath(found.file.path)} is not yet trusted. It sets:")  # noqa: PTH100 - keeps links
    for name, value in found.ignored.items():
        complain(f"  {name}={_HIDDEN if name in SECRETS else shorten(value, _LONGEST_VALUE)}")
    complain("Trust it only if you wrote it. A key of yours from elsewhere is never sent to an address it sets.")
    try:
        trusted = input("Type yes to trust it: ").strip().lower() in {"y", "yes"}
    except EOFError:  # no answer: ask again next time
        complain("")
        return False
    try:
        make_folder(config_dir)
        keep_answer(found.file, config_dir, trusted=trusted)
    except OSError as error:
        complain(f"The answer cannot be kept in {answers_file(config_dir)}: {error.strerror or error}.")
        return False
    return True


def _ignored_words(found: UntrustedFile, config_dir: Path) -> str:
    """Return the line about what was ignored, and what to do."""
    ignored = f"Ignored {', '.join(found.ignored)} from {found.file.path}"
    if found.is_refused:
        return f"{ignored}, which you do not trust. Remove its line from {answers_file(config_dir)} to be asked again."
    return f"{ignored}, which is not trusted. Run `construct` on a terminal to be asked, or use config.env."


def tidy(db: sqlite3.Connection, settings: Settings) -> None:
    """Abandon the cycles of processes that are gone, and clear out bytes that one of them could not."""
    if db.execute("SELECT 1 FROM cycles WHERE status = 'running' UNION SELECT 1 FROM sessions").fetchone():
        with transaction(db):
            cycles.abandon_dead(db, to_text(settings.clock.now()))
    erase.finish_erasure(db, 0.5)


def pick_conversation(db: sqlite3.Connection, settings: Settings, wanted: int | None, *, new: bool) -> int:
    """Return the conversation to talk in: the one named, a new one, or the latest; makes the first."""
    if wanted is not None and new:
        raise UsageError("--conversation and --new exclude each other: name one of them.")
    if wanted is not None:
        return talk.conversation(db, wanted).id
    latest = None if new else talk.latest_conversation(db)
    if latest is not None:
        return latest
    with transaction(db):
        return talk.create_conversation(db, to_text(settings.clock.now()))


def say(text: str = "") -> None:
    """Print text from anywhere, made safe for a terminal; on one, broken between words."""
    print(_laid_out(printable(text), sys.stdout))


def tell(view: Callable[[], "RenderableType"], plainly: str) -> None:
    """Print a view on a terminal, elsewhere plain lines for other programs."""
    if sys.stdout.isatty():
        show(view())
    else:
        say(plainly)


def show(view: "RenderableType", stream: TextIO | None = None) -> None:
    """Print a view, on standard output by default: in colours and as wide as a terminal, elsewhere plainly."""
    from construct.repl.themes import theme_on
    from construct.repl.views.console import PLAIN_WIDTH, to_ansi

    to = stream or sys.stdout
    to.write(to_ansi(view, _width(to) or PLAIN_WIDTH, theme_on(to, os.environ)))


def complain(text: str) -> None:
    """Print an error: plain lines on standard error."""
    try:
        print(_laid_out(printable(text), sys.stderr), file=sys.stderr, flush=True)
    except OSError:  # nobody reads it, or there is no room for it
        let_go(sys.stderr)


def _laid_out(text: str, stream: TextIO) -> str:
    """Return text as a stream takes it: a terminal would break its lines within words."""
    from construct.repl.line_breaks import wrapped

    width = _width(stream)
    return wrapped(text, width) if width else text


def _width(stream: TextIO) -> int | None:
    """Return the columns of a terminal, None for what is none."""
    import shutil

    return shutil.get_terminal_size().columns if stream.isatty() else None


def let_go(stream: TextIO) -> None:
    """Send what a stream still holds nowhere: the interpreter would complain of it at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_json(data: Any) -> None:
    """Print data as JSON; escapes leave nothing in it that could move a cursor."""
    print(json.dumps(data, indent=2, ensure_ascii=True))


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
    """Ask before something that cannot be taken back; where nobody can answer, only `--yes` will do."""
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Nobody is here to answer: say --yes to do it.")
    complain(question)
    return input("Type yes to do it: ").strip().lower() in {"y", "yes"}
