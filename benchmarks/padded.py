"""LoCoMo within a large file: the recall that the gate costs, and the time it saves.

    uv run python benchmarks/padded.py PATH
        [--messages 100000] [--queries 786] [--gate 0.1]

The gate: in a large file, search reads only the rows that have a rare enough word
(`query.gated`).

All conversations of the dataset (see locomo.py) lie in the middle of one database. The
rest is made up in their own words (`madeup.Echo`), so that every word of a question is
as common, for the file's size, as in the conversations themselves.

The same questions are asked with the gate as it is, with the gate scaled and with the
gate open. A gate of 0.1 in a file of 100,000 does what the real one does in a million.
The last row is for the passages recalled before a turn with the same words.
"""

import argparse
import json
import random
import sqlite3
import tempfile
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

from benchmarks.locomo import import_conversation, judged, turns
from benchmarks.madeup import Echo, fill
from benchmarks.measured import OPEN, Asked, ask, gate, p50_p95
from construct.memory.recall.passages import passages
from construct.memory.recall.search import search_memory
from construct.store.database import open_database
from construct.store.search import Filters

FOUND = 10


def main() -> None:
    """Build the file, ask, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path, help="the dataset's JSON file")
    parser.add_argument(
        "--messages", type=int, default=100_000, help="how many made-up messages to add"
    )
    parser.add_argument("--queries", type=int, default=786, help="questions asked, taken at random")
    parser.add_argument("--gate", type=float, default=0.1, help="what the gate is scaled by")
    options = parser.parse_args()
    samples = json.loads(options.path.read_text("utf-8"))
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_database(Path(folder) / "construct.db")) as db,
    ):
        asked = _built(db, samples, options.messages, Path(folder))
        asked = random.Random(0).sample(asked, min(options.queries, len(asked)))
        print(
            f"{options.messages:,} messages, {len(asked)} questions"
            f"{'R@10':>14}{'p50 ms':>10}{'p95 ms':>10}"
        )
        for name, scale in (
            ("as it is", 1.0),
            (f"times {options.gate:g}", options.gate),
            ("open", OPEN),
        ):
            with gate(scale):
                _print(f"gate {name}", *ask(asked, lambda text: _ids(db, text)))
        _print(
            "recalled before a turn",
            *ask(asked, lambda text: [hit.id for hit in passages(db, text)]),
        )


def _built(
    db: sqlite3.Connection, samples: list[dict[str, Any]], messages: int, folder: Path
) -> Asked:
    """Fill the database and return the questions with the messages that answer them."""
    said = (line["content"] for sample in samples for _, line in turns(sample))
    echo = Echo(said)
    fill(db, echo, messages // 2)
    asked = [
        (question["question"], evidence)
        for sample in samples
        for question, evidence in judged(sample, import_conversation(db, sample, folder))
    ]
    fill(db, echo, messages - messages // 2)
    return asked


def _ids(db: sqlite3.Connection, text: str) -> list[int]:
    return [
        hit.id for hit in search_memory(db, text, Filters(kind="message", zone=UTC), FOUND).hits
    ]


def _print(name: str, recalled: float, times: list[float]) -> None:
    p50, p95 = p50_p95(times)
    print(f"{name:32}{recalled:>14.3f}{p50:>10.1f}{p95:>10.1f}")


if __name__ == "__main__":
    main()
