"""Search in a growing file: CPU time, insert rate and size, next to the plain FTS5 query in the same run.

    uv run python benchmarks/scale.py [--sizes 10000,100000,1000000] [--queries 200] [--json]

The talk is made up: words by Zipf's law from 60,000, a few of them common to each conversation, 25 words a turn in
the middle. A question is two to four words of one turn, the hundred commonest left out, with one or two that are not
in it, and asks for that turn.
`plain` is all of the question's words joined by OR, ranked by bm25; `ungated` is Construct's search with the gate of
large files open, for the recall that the gate costs. Everything is on disk in a temporary folder, removed at the end.
"""

import argparse
import json
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

from construct.memory import recall
from construct.memory.recall import Filters, search
from construct.memory.recall_passages import passages
from construct.store import search as store
from construct.store.database import open_database, transaction

VOCABULARY = 60_000
EXPONENT = 1.0
STOP_RANK = 100
TURNS_A_TALK = 200
TOPIC_WORDS, TOPIC_SHARE = 40, 0.25
BATCH = 5_000
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
    """Words that were never asked for in this process are counted first."""
    plain_p50: float
    plain_p95: float
    ungated_p50: float
    ungated_p95: float
    recall: float
    ungated_recall: float
    plain_recall: float
    passages_p50: float
    passages_p95: float


class Talk:
    """Made-up talk, the same each time."""

    def __init__(self) -> None:
        self.chance = random.Random(20261121)
        syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
        spoken: dict[str, None] = {}
        while len(spoken) < VOCABULARY:
            spoken["".join(self.chance.choices(syllables, k=self.chance.choice((2, 3, 3, 4)))) + "n"] = None
        self.words = list(spoken)
        self.shares = list(accumulate(1 / (rank + 2) ** EXPONENT for rank in range(VOCABULARY)))
        self.topic: list[str] = []
        self.turns = 0

    def turn(self) -> str:
        """Return the next turn's words."""
        if self.turns % TURNS_A_TALK == 0:
            self.topic = [self.words[self.chance.randrange(STOP_RANK, 20_000)] for _ in range(TOPIC_WORDS)]
        self.turns += 1
        length = min(200, max(3, int(self.chance.lognormvariate(3.2, 0.6))))
        own = sum(self.chance.random() < TOPIC_SHARE for _ in range(length))
        said = self.chance.choices(self.words, cum_weights=self.shares, k=length - own)
        said += self.chance.choices(self.topic, k=own)
        self.chance.shuffle(said)
        return " ".join(said)

    def question(self, turn: str, common: frozenset[str]) -> str:
        """Return some of a turn's words, and others."""
        telling = sorted({word for word in turn.split() if word not in common})
        own = self.chance.sample(telling, min(len(telling), self.chance.randint(2, 4)))
        return " ".join(own + self.chance.sample(self.words[STOP_RANK:3_000], self.chance.randint(1, 2)))


def main() -> None:
    """Measure each size in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10000,100000", help="numbers of messages, ascending")
    parser.add_argument("--queries", type=int, default=200, help="questions asked at each size")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, closing(open_database(Path(folder) / "construct.db")) as db:
        rows = []
        for row in _measured(
            db, Path(folder) / "construct.db", sorted(map(int, options.sizes.split(","))), options.queries
        ):
            rows.append(row)
            print(f"{row.messages} messages measured", file=sys.stderr)
    if options.json:
        json.dump([asdict(row) for row in rows], sys.stdout, indent=2)
        print()
    else:
        _print_table(rows)


def _measured(db: sqlite3.Connection, path: Path, sizes: list[int], queries: int) -> Iterator[Row]:
    talk = Talk()
    common = frozenset(talk.words[:STOP_RANK])
    for size in sizes:
        rate = _insert(db, talk, size)
        single = _insert_singly(db, talk, 100)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (spoken,) = db.execute("SELECT sum(length(content)) FROM messages").fetchone()
        asked = _questions(db, talk, common, queries)
        first, _ = _ask(asked, lambda text: _ids(db, text))
        own, own_recall = _ask(asked, lambda text: _ids(db, text))
        plain, plain_recall = _ask(asked, lambda text: _plain(db, text))
        ungated, ungated_recall = _ungated(db, asked)
        ambient, _ = _ask(asked, lambda text: _brought_back(db, text))
        yield Row(
            size, rate, single, path.stat().st_size / 1e6, path.stat().st_size / spoken, *_p50_p95(own),
            _p50_p95(first)[1], *_p50_p95(plain), *_p50_p95(ungated), own_recall, ungated_recall, plain_recall,
            *_p50_p95(ambient),
        )  # fmt: skip


def _insert(db: sqlite3.Connection, talk: Talk, size: int) -> float:
    """Fill the database up to `size` messages; return how many a second of the database's own CPU time."""
    spent, made = 0.0, 0
    while talk.turns < size:
        batch = [(talk.turns, talk.turn()) for _ in range(min(BATCH, size - talk.turns))]
        start = time.process_time()
        with transaction(db):
            for number, text in batch:
                _store(db, number, text)
        spent += time.process_time() - start
        made += len(batch)
    return made / spent if spent else 0.0


def _insert_singly(db: sqlite3.Connection, talk: Talk, times: int) -> float:
    batch = [(talk.turns, talk.turn()) for _ in range(times)]
    start = time.process_time()
    for number, text in batch:
        with transaction(db):
            _store(db, number, text)
    return (time.process_time() - start) / times * 1000


def _store(db: sqlite3.Connection, number: int, text: str) -> None:
    conversation = number // TURNS_A_TALK + 1
    moment = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(hours=number // 20 * 8, seconds=30 * (number % 20))
    if number % TURNS_A_TALK == 0:
        db.execute(
            "INSERT INTO conversations(id, uid, created_at) VALUES (?, ?, ?)",
            (conversation, f"c{conversation}", moment.isoformat(timespec="microseconds")),
        )
    db.execute(
        "INSERT INTO messages(uid, conversation_id, role, content, archived, token_count, created_at) "
        "VALUES (?, ?, ?, ?, 1, ?, ?)",
        (
            f"m{number}", conversation, ("user", "assistant")[number % 2], text, len(text) // 4,
            moment.isoformat(timespec="microseconds"),
        ),
    )  # fmt: skip


def _questions(db: sqlite3.Connection, talk: Talk, common: frozenset[str], queries: int) -> list[tuple[int, str]]:
    asked: list[tuple[int, str]] = []
    (last,) = db.execute("SELECT max(id) FROM messages").fetchone()
    while len(asked) < queries:
        number = talk.chance.randint(1, last)
        (turn,) = db.execute("SELECT content FROM messages WHERE id = ?", (number,)).fetchone()
        text = talk.question(turn, common)
        if len(text.split()) >= 3:
            asked.append((number, text))
    return asked


def _ask(asked: list[tuple[int, str]], find: Callable[[str], list[int]]) -> tuple[list[float], float]:
    """Return the CPU milliseconds of each question, ascending, and the share whose turn was found."""
    times, found = [], 0
    for number, text in asked:
        start = time.process_time()
        ids = find(text)
        times.append((time.process_time() - start) * 1000)
        found += number in ids
    return sorted(times), found / len(asked)


def _ids(db: sqlite3.Connection, text: str) -> list[int]:
    return [hit.id for hit in search(db, text, Filters(kind="message", zone=UTC), FOUND)]


def _brought_back(db: sqlite3.Connection, text: str) -> list[int]:
    return [hit.id for hit in passages(db, f"What did I say about {text}?")]


def _plain(db: sqlite3.Connection, text: str) -> list[int]:
    either = " OR ".join(f'"{word}"' for word in text.split())
    rows = db.execute(
        "SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? ORDER BY rank LIMIT ?", (either, FOUND)
    )
    return [row[0] for row in rows]


def _ungated(db: sqlite3.Connection, asked: list[tuple[int, str]]) -> tuple[list[float], float]:
    required, weighed = recall.REQUIRED_ROWS, recall.WEIGHED_ROWS
    recall.REQUIRED_ROWS = recall.WEIGHED_ROWS = store.total(db, "message") * 1_000
    try:
        return _ask(asked, lambda text: _ids(db, text))
    finally:
        recall.REQUIRED_ROWS, recall.WEIGHED_ROWS = required, weighed


def _p50_p95(times: list[float]) -> tuple[float, float]:
    return times[len(times) // 2], times[int(len(times) * 0.95)]


def _print_table(rows: list[Row]) -> None:
    lines: dict[str, Callable[[Row], str]] = {
        "search p50 / p95, ms": lambda r: f"{r.search_p50:.1f} / {r.search_p95:.1f}",
        "  its words new, p95": lambda r: f"{r.first_p95:.1f}",
        "  gate open": lambda r: f"{r.ungated_p50:.1f} / {r.ungated_p95:.1f}",
        "plain FTS5 OR": lambda r: f"{r.plain_p50:.1f} / {r.plain_p95:.1f}",
        "R@10": lambda r: f"{r.recall:.3f}",
        "  gate open ": lambda r: f"{r.ungated_recall:.3f}",
        "  plain FTS5 OR": lambda r: f"{r.plain_recall:.3f}",
        "passages p50 / p95, ms": lambda r: f"{r.passages_p50:.1f} / {r.passages_p95:.1f}",
        "inserts a second, bulk": lambda r: f"{r.inserts_a_second:,.0f}",
        "one insert, ms": lambda r: f"{r.single_insert_ms:.2f}",
        "size, MB": lambda r: f"{r.megabytes:.0f}",
        "  a byte of talk": lambda r: f"{r.bytes_a_byte:.2f}",
    }
    print(f"{'':26}" + "".join(f"{row.messages:>16,}" for row in rows))
    for name, figure in lines.items():
        print(f"{name:26}" + "".join(f"{figure(row):>16}" for row in rows))


if __name__ == "__main__":
    main()
