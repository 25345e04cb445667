"""Search in a growing file: CPU time, insert rate and size, beside a plain FTS5 query.

    uv run python benchmarks/scale.py
        [--sizes 1000,10000,100000] [--queries 200] [--json]

The conversations are made up (`madeup.Zipf`). A question is two to four words of one
turn with one or two that are not in it, and asks for that turn. A turn in a new
conversation asks the same way, and is answered by a model that costs nothing.

`plain` is all of the question's words joined by OR, ranked by bm25, in the same run.
`ungated` is Construct's search with the gate open, to show the recall that the gate
costs (in a large file, it lets search read only the rows that have a rare enough word:
`query.gated`). Everything is on disk in a temporary folder, removed at the end.
"""

import argparse
import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC
from itertools import pairwise
from pathlib import Path

from benchmarks.madeup import Zipf, fill
from benchmarks.measured import OPEN, Asked, ask, gate, p50_p95
from benchmarks.turns import WARMING, turn_times
from construct.memory.recall.passages import passages
from construct.memory.recall.search import search_memory
from construct.store import search as store
from construct.store.database import open_database
from construct.store.search import Filters
from construct.store.search_index import merge_some

TURNS = 40
SINGLY = 100
"""Messages inserted one at a time."""
_SMALLEST_STEP = SINGLY + 2 * TURNS
"""Messages that measuring one size adds."""
FOUND = 10


@dataclass(frozen=True)
class Row:
    """The figures of one size; times are CPU milliseconds."""

    messages: int
    inserts_a_second: float
    single_insert_ms: float
    megabytes: float
    bytes_a_byte: float
    search_p50: float
    search_p95: float
    first_p95: float
    """The first time that each question is asked, so its words are counted first."""
    plain_p50: float
    plain_p95: float
    ungated_p50: float
    ungated_p95: float
    recall: float
    ungated_recall: float
    plain_recall: float
    passages_p50: float
    passages_p95: float
    turn_p50: float
    turn_p95: float


def main() -> None:
    """Measure each size in turn and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sizes", default="1000,10000,100000", help="numbers of messages, ascending"
    )
    parser.add_argument("--queries", type=int, default=200, help="questions asked at each size")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    sizes = sorted(map(int, options.sizes.split(",")))
    if any(larger - smaller <= _SMALLEST_STEP for smaller, larger in pairwise([0, *sizes])):
        parser.error(f"--sizes must be more than {_SMALLEST_STEP}, and as far apart.")
    if options.queries <= WARMING:
        parser.error(f"--queries must be more than {WARMING}.")
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_database(Path(folder) / "construct.db")) as db,
    ):
        rows = []
        for row in _measured(db, Path(folder) / "construct.db", sizes, options.queries):
            rows.append(row)
            print(f"{row.messages} messages measured", file=sys.stderr)
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        _print_table(rows)


def _measured(db: sqlite3.Connection, path: Path, sizes: list[int], queries: int) -> Iterator[Row]:
    speaker = Zipf()
    for size in sizes:
        count = size - SINGLY - store.highest_id(db, "message")
        rate = count / fill(db, speaker, count)
        single = fill(db, speaker, SINGLY, batch=1) / SINGLY * 1000
        while merge_some(db):  # as a chat does in the background
            pass
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (spoken,) = db.execute("SELECT sum(length(content)) FROM messages").fetchone()
        megabytes = path.stat().st_size / 1e6
        asked = _questions(db, speaker, queries)
        _, first = ask(asked, lambda text: _ids(db, text))
        own_recall, own = ask(asked, lambda text: _ids(db, text))
        plain_recall, plain = ask(asked, lambda text: _plain(db, text))
        with gate(OPEN):
            ungated_recall, ungated = ask(asked, lambda text: _ids(db, text))
        _, ambient = ask(asked, lambda text: _recalled(db, text))
        turns = turn_times(path, [f"What did I say about {text}?" for text, _ in asked[:TURNS]])
        yield Row(
            size, rate, single, megabytes, megabytes * 1e6 / spoken, *p50_p95(own),
            p50_p95(first)[1], *p50_p95(plain), *p50_p95(ungated), own_recall, ungated_recall,
            plain_recall, *p50_p95(ambient),
            *p50_p95(turns),
        )  # fmt: skip


def _questions(db: sqlite3.Connection, speaker: Zipf, queries: int) -> Asked:
    asked: Asked = []
    (last,) = db.execute("SELECT max(id) FROM messages").fetchone()
    while len(asked) < queries:
        number = speaker.chance.randint(1, last)
        (turn,) = db.execute("SELECT content FROM messages WHERE id = ?", (number,)).fetchone()
        text = speaker.question(turn)
        if len(text.split()) >= 3:
            asked.append((text, {number}))
    return asked


def _ids(db: sqlite3.Connection, text: str) -> list[int]:
    return [
        hit.id for hit in search_memory(db, text, Filters(kind="message", zone=UTC), FOUND).hits
    ]


def _recalled(db: sqlite3.Connection, text: str) -> list[int]:
    return [hit.id for hit in passages(db, f"What did I say about {text}?")]


def _plain(db: sqlite3.Connection, text: str) -> list[int]:
    either = " OR ".join(f'"{word}"' for word in text.split())
    rows = db.execute(
        "SELECT rowid >> 8 FROM messages_fts WHERE messages_fts MATCH ? ORDER BY rank LIMIT ?",
        (either, FOUND),
    )
    return [row[0] for row in rows]


def _print_table(rows: list[Row]) -> None:
    lines: dict[str, Callable[[Row], str]] = {
        "search p50 / p95, ms": lambda r: f"{r.search_p50:.1f} / {r.search_p95:.1f}",
        "  asked the first time, p95": lambda r: f"{r.first_p95:.1f}",
        "  gate open": lambda r: f"{r.ungated_p50:.1f} / {r.ungated_p95:.1f}",
        "plain FTS5 OR": lambda r: f"{r.plain_p50:.1f} / {r.plain_p95:.1f}",
        "R@10": lambda r: f"{r.recall:.3f}",
        "  gate open ": lambda r: f"{r.ungated_recall:.3f}",
        "  plain FTS5 OR": lambda r: f"{r.plain_recall:.3f}",
        "passages p50 / p95, ms": lambda r: f"{r.passages_p50:.1f} / {r.passages_p95:.1f}",
        "a turn's own p50 / p95, ms": lambda r: f"{r.turn_p50:.1f} / {r.turn_p95:.1f}",
        "inserts per second, bulk": lambda r: f"{r.inserts_a_second:,.0f}",
        "one insert, ms": lambda r: f"{r.single_insert_ms:.2f}",
        "size, MB": lambda r: f"{r.megabytes:.0f}",
        "  bytes per byte of conversation": lambda r: f"{r.bytes_a_byte:.2f}",
    }
    print(f"{'':32}" + "".join(f"{row.messages:>16,}" for row in rows))
    for name, figure in lines.items():
        print(f"{name:32}" + "".join(f"{figure(row):>16}" for row in rows))


if __name__ == "__main__":
    main()
