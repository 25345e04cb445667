"""Runs `construct` on a disk that fails.

One chosen write, sync or truncation fails, or all from one on.

A C library in LD_PRELOAD counts the calls on chosen files and fails them. Each run is a
process of its own, forked from one that has imported the program already: importing
takes most of a second.

The server of these processes (`python -m tests.support.disk_faults`) reads one run as a
line of JSON and answers with the run's exit status, -1 for one that hung.
"""

import atexit
import errno
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from anthropic import AsyncAnthropic

from construct.cli.run import run
from tests.support.program import Done, Program

COMPILER = shutil.which("cc") or shutil.which("gcc")
_SOURCE = Path(__file__).with_name("disk_faults.c")
_HANGS_AFTER = 120
_FILES = "construct.db:.construct-:etilqs_"
"""Prefixes of the files whose calls count: database and log, exports, SQLite's own."""


class Mode(IntEnum):
    """How long the disk fails, as the C library knows it."""

    ONCE = 0
    FROM_THEN_ON = 1
    HALF_WRITTEN = 2


@dataclass(frozen=True, slots=True)
class Fault:
    """The call that fails, counted from 1 (0: none does), and how."""

    at: int = 0
    number: int = errno.ENOSPC
    mode: Mode = Mode.ONCE


@dataclass(frozen=True, slots=True)
class Call:
    """A call on one of the files; `failed` when it was made to fail."""

    name: str
    file: str
    failed: bool


class FailingDisk:
    """Runs the program on a disk that fails; to be closed by `with`."""

    def __init__(self, folder: Path) -> None:
        assert COMPILER is not None
        library = folder / "disk_faults.so"
        subprocess.run(
            [COMPILER, "-shared", "-fPIC", "-O1", "-o", library, _SOURCE, "-ldl"], check=True
        )
        self._folder = folder
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.support.disk_faults"],
            env={**os.environ, "LD_PRELOAD": str(library)},
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        with self._server:  # which closes its standard input: it ends then
            pass

    def run(
        self, program: Program, *arguments: str, fault: Fault, stdin: str = ""
    ) -> tuple[Done, list[Call]]:
        """Run the program to its end.

        Return what it left, and its calls on the files.
        """
        paths = {name: self._folder / name for name in ("stdin", "stdout", "stderr", "calls")}
        paths["stdin"].write_text(stdin)
        paths["calls"].write_text("")
        settings = {
            "FAULT_NAMES": _FILES,
            "FAULT_AT": str(fault.at),
            "FAULT_ERRNO": str(fault.number),
            "FAULT_MODE": str(int(fault.mode)),
            "FAULT_LOG": str(paths["calls"]),
        }
        order = {
            "arguments": arguments,
            "env": {**program.environment(), **settings},
            "folder": str(program.folder),
            **{name: str(path) for name, path in paths.items()},
        }
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        status = int(self._server.stdout.readline())
        calls = [line.split() for line in paths["calls"].read_text().splitlines()]
        done = Done(status, paths["stdout"].read_text(), paths["stderr"].read_text())
        return done, [Call(fields[1], fields[2], fields[-1] == "1") for fields in calls]


def _serve() -> None:
    _import_all()
    gc.freeze()  # what is collected in a fork is copied first
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(order)
            status = run(order["arguments"])
            atexit._run_exitfuncs()
            os._exit(status)  # taking down a thousand modules would take longer than all of the run
        _, ended = os.waitpid(child, 0)
        status = os.waitstatus_to_exitcode(ended)
        print(-1 if status == -signal.SIGALRM else status, flush=True)


def _import_all() -> None:
    """Import what every forked process would spend a second or two on."""
    names = (
        "cli.app",
        "cli.ask",
        "cli.transfer",
        "operations.transfer",
        "cli.memory_work",
        "talk.companion",
        "llm.anthropic_stream",
        "chat.line_mode",
    )
    for name in (*names, "store.transfer.exporting", "store.transfer.importing"):
        import_module(f"construct.{name}")
    client = AsyncAnthropic(api_key="none")
    assert (
        client.messages
    )  # the SDK imports what belongs to an attribute when it is first asked for
    assert client.beta.messages
    assert client.models


def _become(order: Mapping[str, Any]) -> None:
    """Give this process the streams, folder and environment of its run."""
    for number, (name, flags) in enumerate(
        {"stdin": os.O_RDONLY, "stdout": os.O_WRONLY, "stderr": os.O_WRONLY}.items()
    ):
        descriptor = os.open(order[name], flags | (os.O_CREAT | os.O_TRUNC if number else 0), 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["env"])
    signal.alarm(_HANGS_AFTER)


if __name__ == "__main__":
    _serve()
