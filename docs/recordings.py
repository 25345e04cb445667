"""Makes the recordings of the documentation, in about ten minutes.

    uv run python -m docs.recordings [SIZE…]

The session in recordings/session.toml is typed into the real chat in a real tmux, once
at each size. The same file has what the models answer. What tmux draws is recorded
unchanged, as asciicast v2.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from docs.scripted import observed, reflected, rests, with_ids
from tests.support.emulator import Emulator, PseudoTerminal
from tests.support.fake_api import FakeApi, Reply
from tests.support.fake_types import Answer, Json, last_user_words
from tests.support.fake_worker import graph_answer, read_memories

RECORDINGS = Path(__file__).parent / "recordings"
SIZES = {"80x24": (80, 24), "200x50": (200, 50)}
LOW = {"CONSTRUCT_OBSERVER_THRESHOLD": "700", "CONSTRUCT_COMPACT_THRESHOLD": "2500"}
"""Low enough for memory work to happen within ten minutes."""
KEYS = {"Up": "\x1b[A", "C-c": "\x03", "C-d": "\x04", "C-u": "\x15"}
KEYS_AT_ONCE = re.compile(r"^/\S+|.")
"""Commands are typed at once: redrawing the menu at each key would take half of it."""
KEY_SECONDS, FRAME_SECONDS, LONGEST_PAUSE = 0.08, 0.1, 2.0
TO_ASCII = "\x1b(B"
"""tmux sends this with every change of colour, but uses one character set only."""
TMUX = "set -g status off\nset -g default-terminal tmux-256color\nset -g history-limit 5000\n"


class Recording(Emulator):
    """A terminal that records what it was sent, and when, as an asciicast.

    What comes within one frame is one event.
    """

    def __init__(self, columns: int, rows: int) -> None:
        super().__init__(columns, rows)
        self._began = time.monotonic()
        self._head = {
            "version": 2,
            "width": columns,
            "height": rows,
            "idle_time_limit": LONGEST_PAUSE,
        }
        self._events: list[tuple[float, str, str]] = []

    def write(self, text: str) -> int:
        """Record it, and draw it."""
        now = time.monotonic() - self._began
        before = ""
        if (
            self._events
            and self._events[-1][1] == "o"
            and now - self._events[-1][0] < FRAME_SECONDS
        ):
            now, _, before = self._events.pop()
        self._events.append((now, "o", before + text))
        return super().write(text)

    def resize(self, columns: int, rows: int) -> None:
        """Record the new size, and change to it."""
        self._events.append((time.monotonic() - self._began, "r", f"{columns}x{rows}"))
        super().resize(columns, rows)

    @property
    def cast(self) -> str:
        """The asciicast."""
        rows = [
            self._head,
            *([round(at, 2), kind, data.replace(TO_ASCII, "")] for at, kind, data in self._events),
        ]
        return "".join(
            json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows
        )


class Sitting:
    """A user at a terminal of one size."""

    def __init__(self, home: Path, env: dict[str, str], size: tuple[int, int]) -> None:
        self.db = home / ".local/share/construct/construct.db"
        self.size = size
        (home / "tmux.conf").write_text(TMUX, "utf-8")
        self._tmux = [
            "/usr/bin/env",
            "tmux",
            "-u",
            "-S",
            str(home / "tmux"),
            "-f",
            str(home / "tmux.conf"),
        ]
        self.terminal = PseudoTerminal(
            [*self._tmux, "new-session", "bash", "--norc", "--noprofile"], env, *size
        )
        self.terminal.screen = self.recording = Recording(*size)

    def play(self, script: Json) -> None:
        """Do all steps, one after the other."""
        self.terminal.see("$")
        for step in script["step"]:
            self._do(step, _pasted(step, script))

    def close(self) -> None:
        """Stop tmux and everything that runs in it."""
        subprocess.run([*self._tmux, "kill-server"], check=False)
        self.terminal.close()

    def _do(self, step: Json, pasted: str) -> None:
        for key in step.get("keys", []):
            self._press(KEYS[key])
        if "resize" in step:
            self._resize(step["resize"])
        if pasted:
            self.terminal.type(f"\x1b[200~{pasted}\x1b[201~")
            self.look(1.5)
        for keys in KEYS_AT_ONCE.findall(with_ids(step.get("type", ""), self.db)):
            self._press(keys)
        if pasted or "type" in step:
            self._press("\r")
        if not step.get("now"):
            self._wait()
        self.look(step["seconds"])

    def _press(self, key: str) -> None:
        self.terminal.type(key)
        self.look(KEY_SECONDS)

    def _resize(self, share: float) -> None:
        columns, rows = self.size
        self.terminal.resize(round(columns * share), round(rows * share))

    def _wait(self) -> None:
        """Wait until the screen is quiet."""
        while not rests(self.terminal):
            pass

    def look(self, seconds: float) -> None:
        """Wait, and draw what arrives meanwhile."""
        until = time.monotonic() + seconds
        with suppress(AssertionError):
            self.terminal.see(lambda _: time.monotonic() >= until, seconds)


def answers(api: FakeApi, script: Json) -> None:
    """Let the model and the workers answer from the script."""
    steps = {_said(step, script): step for step in script["step"] if "reply" in step}

    def chat(body: Json) -> Answer:
        words = last_user_words(body)
        step = next(step for said, step in steps.items() if said in words)
        return Reply(
            step["reply"].strip(), delay=step.get("thinks", 1.2), chunk_delay=0.15, chunk_size=60
        )

    api.chat = chat
    api.observer = lambda body: _slowly(
        observed(body, script["observed"], title=script["title"]), 6.0
    )
    api.reflector = lambda body: _slowly(reflected(body, script["merged"], []))
    api.graph = lambda body: _slowly(_drawn(body, script["graph"]))


def _said(step: Json, script: Json) -> str:
    """Return the start of a step's message, or all of it."""
    return str((_pasted(step, script) or step["type"]).splitlines()[0])


def _pasted(step: Json, script: Json) -> str:
    return str(script["mail"] if step.get("paste") == "mail" else step.get("paste", "")).strip()


def _drawn(body: Json, graph: Json) -> str:
    """Return the graph's answer.

    It has each relation with the memory that names its object.
    """
    named = [
        f"{relation} | {anchor}"
        for relation in graph["relations"]
        for anchor, text in read_memories(body).items()
        if relation.split(" | ")[2] in text
    ]
    return graph_answer(graph["entities"], named)


def _slowly(answer: str, seconds: float = 3.0) -> Reply:
    return Reply(answer, delay=seconds)


def record(size: str) -> None:
    """Play the session at one size in an empty home directory, and store it.

    Raises RuntimeError if the program sent a request that the script has no answer to.
    """
    script = tomllib.loads((RECORDINGS / "session.toml").read_text("utf-8"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, FakeApi() as api:
        answers(api, script)
        home = Path(folder) / "ruth"
        home.mkdir()
        env = {"HOME": str(home), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
               "LANG": "C.UTF-8", "PS1": "$ ", **LOW, **api.env()}  # fmt: skip
        sitting = Sitting(home, env, SIZES[size])
        try:
            sitting.play(script)
        finally:
            sitting.close()
        if unanswered := [request.error for request in api.requests if request.error]:
            raise RuntimeError(f"{size}: {unanswered[0]}")
        (RECORDINGS / f"{size}.cast").write_text(sitting.recording.cast, "utf-8")


def main() -> None:
    """Make the recordings of the given sizes, or of all, at the same time."""
    wanted = sys.argv[1:] or list(SIZES)
    with ThreadPoolExecutor() as pool:
        list(pool.map(record, wanted))


if __name__ == "__main__":
    main()
