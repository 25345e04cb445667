"""Does it remember? Plays lives through the program, then asks questions each way.

    uv run --extra local python benchmarks/quality.py PATH
        [--worker extractive|local|NAME] [--reader extractive|local|NAME] [--judge NAME]
        [--gguf FILE] [--conversations 2 | conv-26,conv-41/Maria] [--sessions N]
        [--questions N] [--ways recent,construct] [--budget N] [--cache DIR] [--show]
        [--keep DIR] [--figure FILE.svg] [--json]

PATH is `locomo10.json` of https://github.com/snap-research/locomo (Maharana et al., ACL
2024; CC BY-NC 4.0), or a file of LongMemEval
(https://github.com/xiaowu0162/LongMemEval), or a part of either. In a LoCoMo
conversation each speaker is the user once, and is asked the questions that name them
first.

Every session goes through the real turn, observer, compaction and reflector at its own
time. Every question goes through a turn of its own, a day after the last session. The
ways are:

- `recent`: the last 20 messages
- `full`: the whole conversation, cut to the reader's window
- `recall`: the passages recalled before each turn
- `observations`: the observations
- `construct`: Construct as shipped

`extractive` as the worker is Construct's own, by rule. As the reader it picks a
sentence of what it is shown, for trying the benchmark out. Other names are reached as
the settings say (ANTHROPIC_BASE_URL and so on).

F1 is LoCoMo's own; `holds` is the share of the answer's words in the reply; `shown` is
their share in what the reader was shown, which no reader can beat by much. Questions
without an answer count by whether the reply says so, and are reported separately. Calls
are kept in the cache folder, so that a stopped run can go on, and can be judged later.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from platformdirs import user_cache_path
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from benchmarks.remembering.asking import WAYS, Answer, Files, Room, ask, cycles, play
from benchmarks.remembering.figure import draw
from benchmarks.remembering.judging import judge
from benchmarks.remembering.lives import Life, Question, chosen, read_lives
from benchmarks.remembering.models import KeptModel, Picker
from benchmarks.remembering.report import Scored, figures, print_table, scored
from construct.config import Thresholds
from construct.errors import ConstructError, ContextOverflowError
from construct.llm.local_model import LocalModel
from construct.llm.providers import choose_models
from construct.llm.types import Model
from construct.load_settings import load_settings
from construct.vocabulary import EXTRACTIVE, Provider

_LOCAL_REPLY, _SERVED_REPLY = 120, 4096
"""The most tokens in an answer. A served model may think before it answers."""


@dataclass
class Bench:
    """One run: its models, where answers are kept, what is printed."""

    options: argparse.Namespace
    worker: KeptModel | None
    reader: KeptModel
    judge: KeptModel | None
    progress: Progress
    cycles: Counter[str] = field(default_factory=Counter)
    """Who did the memory work; where a model fails, it is the extractive worker."""

    async def run(self, lives: Sequence[Life]) -> list[Scored]:
        """Play all lives and ask all questions."""
        ways = self.options.ways.split(",")
        sessions = self.progress.add_task(
            "playing", total=2 * sum(len(life.sessions) for life in lives)
        )
        questions = self.progress.add_task(
            "asking", total=len(ways) * sum(len(life.questions) for life in lives)
        )
        results = []
        for life in lives:
            with tempfile.TemporaryDirectory() as temporary:
                self.progress.update(sessions, description=f"playing {life.name}")
                files = await self._play(life, self._folder(life, temporary), sessions)
                self.cycles += cycles(files.lived)
                for way in ways:  # one way's questions in a row: they begin alike
                    for question in life.questions:
                        results.append(await self._ask(life, question, way, files))
                        self.progress.advance(questions)
        return results

    def _folder(self, life: Life, temporary: str) -> Path:
        folder = (self.options.keep or Path(temporary)) / life.name.replace("/", "-")
        folder.mkdir(parents=True)
        return folder

    async def _play(self, life: Life, folder: Path, task: TaskID) -> Files:
        return await play(
            life, folder, self.worker, self._room, lambda: self.progress.advance(task)
        )

    @property
    def _room(self) -> Room:
        return Room(self.reader.context_window, self.options.budget)

    async def _ask(self, life: Life, question: Question, way: str, files: Files) -> Scored:
        answer = await ask(life, question, way, files, self.reader, self._room)
        if answer.error is not None and not isinstance(answer.error, ContextOverflowError):
            raise answer.error
        judged = await judge(self.judge, question, answer.reply) if self.judge else None
        result = scored(answer, question, judged)
        if self.options.show:
            self._show(question, answer, result)
        return result

    def _show(self, question: Question, answer: Answer, result: Scored) -> None:
        found = " ".join(f"{name} {value:.2f}" for name, value in result.scores.items())
        line = (
            f"{answer.life} {answer.way:12} {question.text} = {question.answer} "
            f"| {answer.error or answer.reply}"
        )
        print(f"{' '.join(line.split())} | {found}", flush=True)


def main() -> None:
    """Run the benchmark and print the table, or JSON and nothing else."""
    options = _parser().parse_args()
    if unknown := set(options.ways.split(",")) - set(WAYS):
        sys.exit(f"Unknown way: {', '.join(sorted(unknown))}. The ways are {', '.join(WAYS)}.")
    try:
        lives = chosen(
            read_lives(options.path), options.conversations, options.sessions, options.questions
        )
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"{options.path} cannot be read: {error}")
    if not lives:
        sys.exit(f"--conversations: {options.path} has none of these.")
    if options.keep and options.keep.exists():
        sys.exit(f"--keep: {options.keep} already exists. Name a new folder.")
    try:
        results, worked = asyncio.run(_run(options, lives))
    except ConstructError as error:
        sys.exit(f"{error}\nRun it again: it goes on where it stopped.")
    found = figures(results) | {"cycles": dict(worked)}
    if options.figure:
        draw(found, options.figure)
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        print_table(found)


async def _run(
    options: argparse.Namespace, lives: Sequence[Life]
) -> tuple[list[Scored], Counter[str]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    async with AsyncExitStack() as stack:
        cabinet = _Cabinet(options, stack)
        worker, judging = cabinet.model(options.worker), cabinet.model(options.judge)
        reader = cabinet.model(options.reader) or KeptModel(Picker(), None)
        with Progress(*columns, console=Console(stderr=True)) as progress:
            bench = Bench(options, worker, reader, judging, progress)
            return await bench.run(lives), bench.cycles


class _Cabinet:
    """The models by name, each made once and closed at the end."""

    def __init__(self, options: argparse.Namespace, stack: AsyncExitStack) -> None:
        self._options, self._stack = options, stack
        self._made: dict[str, KeptModel] = {}

    def model(self, name: str) -> KeptModel | None:
        """Return the model of a name; None for `extractive` and for no name."""
        if name in {"", EXTRACTIVE}:
            return None
        if name not in self._made:
            model, identity, most = self._local() if name == Provider.LOCAL else self._served(name)
            self._stack.push_async_callback(model.close)
            self._made[name] = KeptModel(model, self._options.cache, identity, most)
        return self._made[name]

    def _local(self) -> tuple[Model, str, int]:
        settings = load_settings()
        weights = self._options.gguf or settings.local_model
        if weights is None:
            sys.exit("There is no local model: name a GGUF file with --gguf.")
        model = LocalModel(weights)
        return model, f"{model.name} of {weights.stat().st_size} bytes", _LOCAL_REPLY

    def _served(self, name: str) -> tuple[Model, str, int]:
        settings = replace(
            load_settings(), provider="anthropic", model=name, worker_model=EXTRACTIVE
        )
        model = choose_models(settings).main
        return model, model.name, _SERVED_REPLY


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("path", type=Path, help="the dataset's JSON file")
    add(
        "--worker",
        default=EXTRACTIVE,
        help="who observes and reflects: extractive, local, or a model's name",
    )
    add("--reader", default=EXTRACTIVE, help="who answers: extractive, local, or a model's name")
    add("--judge", default="", help="who marks the answers: local, or a model's name")
    add("--gguf", type=Path, help="weights of the local model")
    add("--conversations", default="", help="how many lives, or names of conversations or lives")
    add(
        "--sessions",
        type=int,
        default=0,
        help="how many sessions of each life; only what they answer is asked",
    )
    add("--questions", type=int, default=0, help="how many questions of each life, drawn at random")
    add("--ways", default=",".join(WAYS), help="ways to ask")
    add("--budget", type=int, default=Thresholds().budget, help="CONSTRUCT_OBSERVATION_BUDGET")
    add(
        "--cache",
        type=Path,
        default=user_cache_path("construct") / "quality",
        help="where answers are kept",
    )
    add("--keep", type=Path, help="a new folder in which the lives' databases are left")
    add("--show", action="store_true", help="print each answer")
    add("--figure", type=Path, help="an SVG file to draw (needs the group bench)")
    add("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    main()
