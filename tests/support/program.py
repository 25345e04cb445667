"""Running `construct` as a user does.

It has arguments, standard input and an environment of its own. `run` calls the
program's entry point in this process, since importing the SDK takes seconds; `start`
and `process` are for what only a process can show: signals, streams, crashes.
"""

import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from construct.cli.run import run as construct


@dataclass(frozen=True, slots=True)
class Done:
    """What a run of the program left."""

    returncode: int
    stdout: str
    stderr: str


@dataclass
class Program:
    """The program with a database and settings of its own."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def db(self) -> Path:
        """The database file."""
        return self.folder / "construct.db"

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment a run of this program gets."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in {"PATH", "HOME", "LANG", "TMPDIR"}
        }
        return {**kept, "CONSTRUCT_DB": str(self.db), **self.env, **(more or {})}

    def run(
        self,
        *arguments: str,
        stdin: str | None = None,
        more: Mapping[str, str] | None = None,
        stdout: io.StringIO | None = None,
    ) -> Done:
        """Run the program to its end, in this process.

        Without `stdin` there is nothing to read.
        """
        out, err = stdout or io.StringIO(), io.StringIO()
        with (
            tempfile.TemporaryFile("w+") if stdin is not None else Path(os.devnull).open() as file,
            mock.patch.dict(os.environ, self.environment(more), clear=True),
            mock.patch.object(sys, "stdin", file),
            redirect_stdout(out),
            redirect_stderr(err),
            chdir(self.folder),
        ):
            if stdin is not None:
                file.write(stdin)
                file.seek(0)
            status = construct(arguments)
        return Done(status, out.getvalue(), err.getvalue())

    def signalled(self, number: int, when: Callable[[str], object], *arguments: str) -> Done:
        """Run the program and send it a signal while it runs.

        The signal is sent once `when` is true of the output so far.
        """
        printed = io.StringIO()

        def send() -> None:
            while not when(printed.getvalue()):
                time.sleep(0.01)
            os.kill(os.getpid(), number)

        threading.Thread(target=send, daemon=True).start()
        return self.run(*arguments, stdout=printed)

    def json(
        self, *arguments: str, stdin: str | None = None, more: Mapping[str, str] | None = None
    ) -> Any:
        """Run the program with `--json` and return what it printed, parsed."""
        done = self.run(*arguments, "--json", stdin=stdin, more=more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def start(
        self, *arguments: str, more: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start a process and return it.

        Its streams are pipes, to be closed by `with`.
        """
        return subprocess.Popen(
            [sys.executable, "-m", "construct", *arguments],
            env=self.environment(more),
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def process(
        self,
        *arguments: str,
        stdin: str | None = None,
        more: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> Done:
        """Run a process to its end."""
        with self.start(*arguments, more=more) as process:
            out, err = process.communicate(stdin or "", timeout=timeout)
        return Done(process.returncode, out, err)
