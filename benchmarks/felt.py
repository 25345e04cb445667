"""What a user waits for, in CPU time of processes, beside what cannot be avoided.

    uv run python benchmarks/felt.py
        [--runs 5] [--against PYTHON] [--only ask,search,chat]

- `ask`: `construct ask`, beside a script that streams the reply with the SDK alone;
- `search`: `construct memory search`, beside Python asking FTS5 in the same file;
- `chat`: one more turn of a chat in a terminal, whose reply comes at once, and one whose
  reply comes in 100 pieces over a second.

The model is the tests' fake, in this process. --against names the Python of another
installation of Construct, measured in turn with this one.
"""

import argparse
import os
import pty
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from tests.support.fake_api import FakeApi, Reply

_DEMO = Path(__file__).parent.parent / "data" / "demo.jsonl"
_PIECES, _SECONDS = 100, 1.0
_REPLY = """Lisbon in May is **mild**, and _light_ until nine.

| day | what |
|---|---|
| Friday | the river, `LX Factory` |
| Saturday | Sintra by train |

1. Take the first train: the palace is empty at nine.
2. Walk down by the old path, it takes an hour or so.

```python
for day in range(3):
    print(day, "walk")
```

Then there is time for the aquarium, and for a late lunch by the water."""
_SDK = """
import os, anthropic
with anthropic.Anthropic().messages.stream(
    model="claude-sonnet-5-5", max_tokens=99, messages=[{"role": "user", "content": "Lisbon?"}]
) as stream:
    print(stream.get_final_text())
"""
_FTS = """
import os, sqlite3
db = sqlite3.connect(os.environ["CONSTRUCT_DB"])
print(db.execute("SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'dentist'").fetchall())
"""


def cpu(run: Callable[[], object]) -> float:
    """Return the CPU milliseconds of the processes that this starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def process(python: str, env: dict[str, str], *arguments: str) -> float:
    """Return the CPU milliseconds that a process takes."""
    command = [python, "-P", *arguments]  # do not import from the current folder
    return cpu(partial(subprocess.run, command, env=env, check=True, stdout=subprocess.DEVNULL))


def turn(python: str, env: dict[str, str], turns: int) -> float:
    """Run a chat in a terminal and return the CPU milliseconds per turn.

    The first two turns are not counted.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(python, [python, "-P", "-m", "construct", "chat", "--new"], env)
    _await(terminal, "›")
    before = 0.0
    for number in range(2 + turns):
        if number == 2:
            before = sum(psutil.Process(pid).cpu_times()[:2])
        os.write(terminal, b"Lisbon %d?\r" % number)
        _await(terminal, f"END {number}.")
    after = sum(psutil.Process(pid).cpu_times()[:2])
    os.write(terminal, b"\x04")
    with suppress(OSError):
        while os.read(terminal, 65536):
            pass
    os.waitpid(pid, 0)
    os.close(terminal)
    return 1000 * (after - before) / turns


def _await(terminal: int, mark: str) -> None:
    seen = b""
    while mark.encode() not in seen:
        seen = seen[-200:] + os.read(terminal, 65536)


def measure(api: FakeApi, python: str, only: set[str], folder: Path) -> dict[str, float]:
    """Measure everything once, and return the milliseconds by name."""
    env = {
        "PATH": os.environ["PATH"], "TERM": "xterm-256color", "HOME": str(folder),
        "CONSTRUCT_DB": str(folder / "construct.db"), **api.env(),
    }  # fmt: skip
    if not (folder / "construct.db").exists():
        process(python, env, "-m", "construct", "import", str(_DEMO))

    def answer(body: dict[str, Any], **how: Any) -> Reply:
        asked = str(body["messages"][-1]).partition("Lisbon ")[2].partition("?")[0]
        return Reply(f"{_REPLY}\n\nEND {asked}.\n", **how)

    found = {}
    if "ask" in only:
        api.chat = answer
        found["ask"] = process(python, env, "-m", "construct", "ask", "--no-wait", "--new", "Hi")
        found["  the SDK alone"] = process(python, env, "-c", _SDK)
    if "search" in only:
        found["search"] = process(python, env, "-m", "construct", "memory", "search", "dentist")
        found["  FTS5 alone"] = process(python, env, "-c", _FTS)
    if "chat" in only:
        api.chat = answer
        found["a turn whose reply comes at once"] = turn(python, env, 30)
        size = -(-len(_REPLY) // _PIECES)
        api.chat = partial(answer, chunk_size=size, chunk_delay=_SECONDS / _PIECES)
        found["a turn that streams for a second"] = turn(python, env, 6)
    return found


def main() -> None:
    """Measure, and print medians and ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--against", metavar="PYTHON")
    parser.add_argument("--only", default="ask,search,chat")
    options = parser.parse_args()
    pythons = [sys.executable, *filter(None, [options.against])]
    rows: dict[str, list[list[float]]] = {}
    with FakeApi() as api, tempfile.TemporaryDirectory() as name:
        for number in range(options.runs + 1):
            for column, python in enumerate(pythons):
                folder = Path(name, str(column))
                folder.mkdir(exist_ok=True)
                for what, took in measure(api, python, {*options.only.split(",")}, folder).items():
                    rows.setdefault(what, [[] for _ in pythons])[column] += [took] * (number > 0)
    for what, columns in rows.items():
        medians = [statistics.median(column) for column in columns]
        ratio = f"{medians[0] / medians[1]:8.2f}" if options.against else ""
        print(f"{what:34}" + "".join(f"{median:9.1f}" for median in medians) + ratio)


if __name__ == "__main__":
    main()
