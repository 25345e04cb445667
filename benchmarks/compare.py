"""Compares Construct's recall with that of rivals that run without a model.

    uv run python benchmarks/compare.py PATH [--alone]

The conversations, the questions and the scoring are the same for all. PATH is LoCoMo
(see locomo.py). Each rival runs as it comes from PyPI, through a small script named
after it in `rivals/`, in a temporary environment that uv makes (`uv run --isolated`).
The turns of one conversation go in as plain text; the turns found for each question
come out. CPU time is that of the search alone.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

from benchmarks.locomo import import_conversation, judged, turns
from benchmarks.measured import p50_p95
from construct.memory.recall.search import search_memory
from construct.store.database import open_database
from construct.store.search import Filters

RIVALS = {
    "agentrecall-db==0.2.0": "with_agentrecall.py",
    "geny-memory-adaptor==1.11.1": "with_geny.py",
}
MOST = 10
Answers = list[tuple[list[int], float]]
Finder = Callable[[dict[str, Any], list[str]], Answers]
"""Returns the positions of the turns found for each question, and the CPU seconds."""


def main() -> None:
    """Put every question to Construct and to each rival, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path, help="the dataset's JSON file")
    parser.add_argument("--alone", action="store_true", help="without the rivals")
    options = parser.parse_args()
    samples = json.loads(options.path.read_text("utf-8"))
    print(f"{'':28}{'n':>6}{'R@10':>8}{'p50 ms':>10}{'p95 ms':>10}")
    _print("Construct", samples, _construct)
    for package, script in ({} if options.alone else RIVALS).items():
        _print(package, samples, _rival(package, Path(__file__).parent / "rivals" / script))


def _print(name: str, samples: list[dict[str, Any]], find: Finder) -> None:
    recalls: list[float] = []
    times: list[float] = []
    for sample in samples:
        places = {dia_id: i for i, (dia_id, _) in enumerate(turns(sample))}
        asked = list(judged(sample, places))
        answers = find(sample, [question["question"] for question, _ in asked])
        for (_, evidence), (found, seconds) in zip(asked, answers, strict=True):
            recalls.append(len(evidence & set(found)) / len(evidence))
            times.append(seconds * 1000)
    p50, p95 = p50_p95(times)
    print(f"{name:28}{len(recalls):>6}{statistics.fmean(recalls):>8.3f}{p50:>10.1f}{p95:>10.1f}")


def _construct(sample: dict[str, Any], questions: list[str]) -> Answers:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_database(Path(folder) / "construct.db")) as db,
    ):
        ids = import_conversation(db, sample, Path(folder)).values()
        places = {id_: i for i, id_ in enumerate(ids)}
        answers = []
        for question in questions:
            start = time.process_time()
            hits = search_memory(db, question, Filters(kind="message", zone=UTC), MOST).hits
            answers.append(([places[hit.id] for hit in hits], time.process_time() - start))
        return answers


def _rival(package: str, script: Path) -> Finder:
    command = [
        "uv",
        "run",
        "--quiet",
        "--isolated",
        "--no-project",
        "--with",
        package,
        "python",
        str(script),
    ]

    def find(sample: dict[str, Any], questions: list[str]) -> Answers:
        given = {
            "turns": [line["content"] for _, line in turns(sample)],
            "questions": questions,
            "most": MOST,
        }
        done = subprocess.run(
            command, input=json.dumps(given), capture_output=True, text=True, check=True
        )
        return [(answer["found"], answer["seconds"]) for answer in json.loads(done.stdout)]

    return find


if __name__ == "__main__":
    main()
