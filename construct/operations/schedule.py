"""`construct remind install`: let the system run `construct remind` every five minutes.

A systemd user timer on Linux, a launchd agent on macOS, a scheduled task on Windows. What
was written is noted in the configuration directory, so that it can be removed again.
"""

import json
import os
import plistlib
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from construct.config import Settings
from construct.errors import ConstructError
from construct.operations.encryption import secret_of
from construct.program import as_typed
from construct.store.database import make_folder
from construct.store.encryption import is_encrypted

_NAME = "construct-remind"
_TASK = "Construct reminders"
_LAUNCHD_LABEL = "construct.remind"
_MINUTES = 5
_SECONDS = 30
"""How long the system's own program may take."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """What makes the system run the reminders."""

    files: dict[Path, bytes]
    """What is written, by path."""
    start: Sequence[Sequence[str]]
    """The commands that begin it."""
    stop: Sequence[Sequence[str]]
    """The commands that end it."""

    @property
    def task(self) -> str | None:
        """The name of the scheduled task, where there are no files."""
        return None if self.files else _TASK


def is_installed(config_dir: Path) -> bool:
    """Return whether `construct remind install` was used on this machine."""
    return _note_file(config_dir).exists()


def install(settings: Settings) -> list[str]:
    """Let the system deliver the reminders of this database. Return what was written.

    Raises ConstructError if the system refuses; then nothing is left behind.
    """
    if is_encrypted(settings.db) and secret_of(settings) is None:
        raise ConstructError(
            f"{settings.db} is encrypted, and nobody can type its passphrase every five minutes.\n"
            "Set CONSTRUCT_KEY_COMMAND or CONSTRUCT_KEY_FILE first."
        )
    command = _command(settings.db)
    schedule = schedule_for(sys.platform, command)
    if is_installed(settings.config_dir):
        uninstall(settings)
    if taken := next((path for path in schedule.files if path.exists()), None):
        raise ConstructError(f"{taken} is there already.\nRemove it, then try again.")
    for path, content in schedule.files.items():
        make_folder(path.parent)
        _write(path, content)
    try:
        for words in schedule.start:
            _run(words)
    except ConstructError as error:
        _remove(schedule.files)
        line = shlex.join(command)
        raise ConstructError(
            f"Nothing was installed: {error}\n"
            f"Let something else run this every five minutes: {line}"
        ) from error
    written = [str(path) for path in schedule.files] or [_TASK]
    make_folder(settings.config_dir)
    note = {"files": [str(path) for path in schedule.files], "stop": schedule.stop}
    _write(_note_file(settings.config_dir), json.dumps(note, indent=2).encode())
    return written


def uninstall(settings: Settings) -> list[str]:
    """Remove exactly what `install` wrote, and return it. Raises ConstructError."""
    note_file = _note_file(settings.config_dir)
    if not note_file.exists():
        raise ConstructError(
            f"No reminders are installed on this machine.\n{as_typed('remind install')} does that."
        )
    note = json.loads(note_file.read_text("utf-8"))
    for words in note["stop"]:
        _run(words)
    _remove(map(Path, note["files"]))
    note_file.unlink()
    return note["files"] or [_TASK]


def schedule_for(platform: str, command: Sequence[str]) -> Schedule:
    """Return what makes a platform run a command every five minutes."""
    if platform == "darwin":
        return _launchd(command)
    if platform == "win32":
        return _scheduled_task(command)
    return _systemd(command)


def _systemd(command: Sequence[str]) -> Schedule:
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd/user"
    line = " ".join(map(_systemd_word, command))
    service = f"""[Unit]
Description=Deliver the reminders of Construct

[Service]
Type=oneshot
ExecStart={line}
"""
    timer = f"""[Unit]
Description=Deliver the reminders of Construct every {_MINUTES} minutes

[Timer]
OnCalendar=*:0/{_MINUTES}
Persistent=true

[Install]
WantedBy=timers.target
"""
    systemctl = ["systemctl", "--user"]
    return Schedule(
        {
            folder / f"{_NAME}.service": service.encode(),
            folder / f"{_NAME}.timer": timer.encode(),
        },
        [[*systemctl, "daemon-reload"], [*systemctl, "enable", "--now", f"{_NAME}.timer"]],
        [[*systemctl, "disable", "--now", f"{_NAME}.timer"]],
    )


def _systemd_word(word: str) -> str:
    """Return an argument as systemd reads it: in quotes, without specifiers and variables."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + escaped.replace("$", "$$") + '"'


def _launchd(command: Sequence[str]) -> Schedule:
    path = Path.home() / "Library/LaunchAgents" / f"{_LAUNCHD_LABEL}.plist"
    agent = {
        "Label": _LAUNCHD_LABEL,
        "ProgramArguments": list(command),
        "StartInterval": 60 * _MINUTES,
        "RunAtLoad": True,
    }
    domain = f"gui/{os.getuid()}" if hasattr(os, "getuid") else "gui"
    return Schedule(
        {path: plistlib.dumps(agent)},
        [["launchctl", "bootstrap", domain, str(path)]],
        [["launchctl", "bootout", f"{domain}/{_LAUNCHD_LABEL}"]],
    )


def _scheduled_task(command: Sequence[str]) -> Schedule:
    line = subprocess.list2cmdline(command)
    every = ["/SC", "MINUTE", "/MO", str(_MINUTES)]
    return Schedule(
        {},
        [["schtasks", "/Create", "/F", "/TN", _TASK, *every, "/TR", line]],
        [["schtasks", "/Delete", "/F", "/TN", _TASK]],
    )


def _command(db: Path) -> list[str]:
    return [sys.executable, "-m", "construct", "--db", str(db.absolute()), "remind"]


def _run(words: Sequence[str]) -> None:
    """Run one of the system's own programs. Raises ConstructError."""
    try:
        done = subprocess.run(  # noqa: S603 - arguments of our own, no shell
            words, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        )
    except FileNotFoundError:
        raise ConstructError(f"{words[0]} is not there.") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConstructError(f"{words[0]} did not run ({type(error).__name__}).") from error
    if done.returncode:
        said = " ".join(done.stderr.split())[:200] or f"status {done.returncode}"
        raise ConstructError(f"{words[0]} failed: {said}")


def _write(path: Path, content: bytes) -> None:
    """Write a file that only the user can read, in one piece."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(content)
    part.replace(path)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _note_file(config_dir: Path) -> Path:
    return config_dir / "remind.json"
