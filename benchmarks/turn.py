"""CPU, allocations and memory per turn, file size, and time to the first prompt.

    uv run --group dev python benchmarks/turn.py
        [--turns 2500] [--sizes 1000,100000,1000000] [--start 15] [--json]

The conversation of benchmarks/world.py goes through the whole program except for the
models. Those answer in the same process; the worker's CPU time is subtracted. A turn
goes from the user's message to the stored reply. The memory work after it, including
the indexes', is reported separately.

--sizes plays 300 turns in files that already hold this many messages of other
conversations. Each conversation has a process of its own and a file whose indexes are
in order, as they are some time after an import. --start runs the program in a
pseudo-terminal up to the first drawn prompt and, alternately, the bare imports; the
ratio is that of the medians.
"""

import argparse
import asyncio
import gc
import json
import os
import statistics
import sys
import tempfile
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from benchmarks.madeup import fill
from benchmarks.measured import p50_p95
from benchmarks.turns import ReadyReply
from benchmarks.world import Played, Speech, observer, playing, reflector, settings_in
from construct.cli import COLLECT_AFTER
from construct.llm.catalog import main_model, worker_model
from construct.llm.providers import Models
from construct.llm.types import Reply, Request, WorkReply, WorkRequest
from construct.store.database import open_database
from construct.store.search_index import merge_some
from construct.tokens import Usage, by_bytes
from construct.vocabulary import AttachmentKind
from tests.support.emulator import PseudoTerminal, python
from tests.support.fake_types import purpose_of
from tests.support.fake_worker import WORKERS

VOCABULARY = 60_000
_WORKERS = WORKERS | {"observer": observer, "reflector": reflector}
TURNS_AT_A_SIZE = 300
TURNS_TRACED = 30
# What a chat has imported, so that resident memory is that of the program.
_PROGRAM = (
    "anthropic",
    "prompt_toolkit",
    "construct.chat.app",
    "construct.chat.chat",
    "construct.views.markdown_render",
)
_BARE = (
    "import prompt_toolkit, sqlite3, time, os; "
    'open(os.environ["TOOK"], "w").write(str(time.process_time()))'
)
_DRAWN = """
import os, sys, time
import prompt_toolkit.renderer
draw = prompt_toolkit.renderer.Renderer.render
def draw_and_go(*arguments, **options):
    draw(*arguments, **options)
    open(os.environ["TOOK"], "w").write(str(time.process_time()))
    os._exit(0)
prompt_toolkit.renderer.Renderer.render = draw_and_go
sys.argv = ["construct"]
from construct.cli import main
from construct.vocabulary import AttachmentKind
main()
"""


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one file; times are CPU milliseconds."""

    stored: int
    """Messages in the file before the first turn."""
    turns: int
    turn_p50: float
    turn_p95: float
    upkeep_mean: float
    """Of the memory work, over all turns."""
    upkeep_most: float
    resident_mb: float
    """Of the process, less what the made-up words take."""
    peak_kb: float
    """The most memory that a turn held at once, including what it keeps."""
    kept_kb: float
    """Memory that a turn allocates and does not free."""
    bytes_a_byte: float


@dataclass(slots=True)
class Report:
    """All that one run of the benchmark found."""

    rows: list[Row] = field(default_factory=list)
    start_ms: dict[str, float] = field(default_factory=dict)


class StandIn:
    """A model in this process that gives set answers and measures its CPU time."""

    context_window = 1_000_000
    parameters: int | None = None
    reads: frozenset[AttachmentKind] = frozenset()

    def __init__(self, name: str) -> None:
        self.name = name
        self.played: Played | None = None
        self.spent = 0.0

    def stream(self, request: Request) -> ReadyReply:
        """Return the next reply of the conversation that is played."""
        assert self.played is not None
        text = self.played.reply
        return ReadyReply(
            Reply(text, usage=Usage(2_000, 0, 0, by_bytes(text)), stop_reason="end_turn")
        )

    async def complete(self, request: WorkRequest) -> WorkReply:
        """Answer as the benchmarks' workers do."""
        begun = time.process_time()
        body = {"messages": [{"role": "user", "content": request.user}]}
        text = str(_WORKERS[purpose_of(body)](body))
        self.spent += time.process_time() - begun
        return WorkReply(text, Usage(by_bytes(request.user), 0, 0, by_bytes(text)), "end_turn")

    async def close(self) -> None:
        """Do nothing."""


def make_file(folder: Path, stored: int) -> None:
    """Make a database that holds `stored` messages, its indexes in order."""
    with closing(open_database(settings_in(folder).db)) as db:
        fill(db, Others(), stored)
        while merge_some(db):
            pass


def play(folder: Path, turns: int, stored: int) -> Row:
    """Measure a conversation in this process, which holds what a chat has imported."""
    gc.set_threshold(COLLECT_AFTER)  # as the program does
    for name in _PROGRAM:
        import_module(name)
    return asyncio.run(measure_turns(folder, turns, stored))


async def measure_turns(folder: Path, turns: int, stored: int, traced: int = TURNS_TRACED) -> Row:
    """Play a conversation in a file that already holds `stored` messages."""
    settings = settings_in(folder, ANTHROPIC_API_KEY="none")
    before = _resident_mb()
    speech = Speech(vocabulary=VOCABULARY)
    speech.chance.seed(turns)  # not the sentences that are stored already
    made_up = _resident_mb() - before
    main, worker = StandIn(main_model()), StandIn(worker_model())
    async with playing(settings, Models(main, worker, worker.name, settings), speech) as played:
        main.played = played
        times = [await _timed(played, worker) for _ in range(turns)]
        resident = _resident_mb() - made_up
        kilobytes = await _traced(played, traced)
    with closing(open_database(settings.db)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (said,) = db.execute("SELECT sum(length(CAST(content AS BLOB))) FROM messages").fetchone()
    own, upkeep = [t for t, _ in times], [t for _, t in times]
    return Row(
        stored, turns, *p50_p95(own), statistics.fmean(upkeep), max(upkeep),
        resident, *kilobytes, settings.db.stat().st_size / said,
    )  # fmt: skip


async def _timed(played: Played, worker: StandIn) -> tuple[float, float]:
    """Return the CPU milliseconds of a turn and of its memory work.

    The worker model's are subtracted.
    """
    words = played.listen()
    begun = time.process_time()
    await played.say(words)
    said, spent = time.process_time(), worker.spent
    await played.upkeep()
    return 1000 * (said - begun), 1000 * (time.process_time() - said - (worker.spent - spent))


async def _traced(played: Played, turns: int) -> tuple[float, float]:
    """Return a turn's peak kilobytes and those it keeps, as medians of some turns."""
    peaks, kept = [], []
    tracemalloc.start()
    for _ in range(turns):
        words = played.listen()
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        await played.say(words)
        after, peak = tracemalloc.get_traced_memory()
        peaks.append((peak - before) / 1024)
        kept.append((after - before) / 1024)
        await played.upkeep()
    tracemalloc.stop()
    return statistics.median(peaks), statistics.median(kept)


def _resident_mb() -> float:
    import psutil

    return float(psutil.Process().memory_info().rss) / 1e6


class Others:
    """The turns of other conversations."""

    def __init__(self) -> None:
        self._speech = Speech(vocabulary=VOCABULARY)
        self._turns = 0

    def turn(self) -> str:
        """Return the next turn's words."""
        self._turns += 1
        return self._speech.sentence(24) if self._turns % 2 else self._speech.fact()


def measure_start(times: int) -> dict[str, float]:
    """Return the median CPU milliseconds to the first prompt and of the bare imports.

    Their ratio is returned too.
    """
    found: dict[str, list[float]] = {"bare imports": [], "first prompt": []}
    with tempfile.TemporaryDirectory() as folder:
        env = {
            "PATH": os.environ["PATH"], "HOME": folder, "XDG_CONFIG_HOME": folder,
            "XTERM_VERSION": "1", "CONSTRUCT_DB": f"{folder}/construct.db",
            "ANTHROPIC_API_KEY": "none", "TOOK": f"{folder}/took",
        }  # fmt: skip
        for _ in range(times + 1):
            for name, code in (("bare imports", _BARE), ("first prompt", _DRAWN)):
                found[name].append(_run(code, env))
    medians = {
        name: statistics.median(all_of[1:]) for name, all_of in found.items()
    }  # the first run makes the file
    return medians | {"ratio": medians["first prompt"] / medians["bare imports"]}


def _run(code: str, env: dict[str, str]) -> float:
    terminal = PseudoTerminal(python(code), env)
    try:
        terminal.wait()
    finally:
        terminal.close()
    return 1000 * float(Path(env["TOOK"]).read_text())


def measure(options: argparse.Namespace) -> Report:
    """Run what was asked for."""
    report = Report()
    plays = [
        (options.turns, 0),
        *((TURNS_AT_A_SIZE, int(size)) for size in options.sizes.split(",") if size),
    ]
    for turns, stored in plays:
        with (
            tempfile.TemporaryDirectory() as folder,
            ProcessPoolExecutor(1, get_context("spawn")) as own,
        ):
            make_file(Path(folder), stored)
            report.rows.append(own.submit(play, Path(folder), turns, stored).result())
        print(f"{stored} messages, {turns} turns: measured", file=sys.stderr)
    if options.start:
        report.start_ms = measure_start(options.start)
    return report


def _print_tables(report: Report) -> None:
    names = {
        "stored": "messages stored before", "turns": "turns", "turn_p50": "CPU per turn, p50, ms",
        "turn_p95": "CPU per turn, p95, ms", "upkeep_mean": "memory work per turn, mean, ms",
        "upkeep_most": "memory work, most, ms", "resident_mb": "resident, MB",
        "peak_kb": "allocated, peak, kB", "kept_kb": "allocated and kept, kB",
        "bytes_a_byte": "file bytes per byte of conversation",
    }  # fmt: skip
    for key, name in names.items():
        values = [asdict(row)[key] for row in report.rows]
        print(
            f"{name:36}"
            + "".join(f"{v:>12,}" if isinstance(v, int) else f"{v:>12.2f}" for v in values)
        )
    for name, value in report.start_ms.items():
        print(f"{name:36}{value:>12.2f}")


def main() -> None:
    """Measure, and print tables, or JSON and nothing else."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=2_500)
    parser.add_argument(
        "--sizes", default="1000,100000,1000000", help="messages stored before; empty: none"
    )
    parser.add_argument("--start", type=int, default=15, help="starts to measure; 0: none")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    report = measure(options)
    if options.json:
        print(json.dumps(asdict(report), indent=2))
    else:
        _print_tables(report)


if __name__ == "__main__":
    main()
