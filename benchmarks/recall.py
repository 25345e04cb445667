"""Recall on several data sets at once, beside plain FTS5, by kind of question.

    uv run python benchmarks/recall.py PATH... [--semantic] [--keep FOLDER] [--json]

A PATH is one of these files; each is recognised by its form:

- LoCoMo (`locomo10.json` of https://github.com/snap-research/locomo; CC BY-NC 4.0), or a part
  of it. Speaker A is the user; the kinds are its categories 1 to 4.
- BEAM (https://github.com/mohammadtavakoli78/BEAM), or a file of your own in the same form:

      [{"chat": 1,
        "messages": [{"id": 1, "role": "user", "content": "…", "time_anchor": "March-15-2024"}],
        "questions": [{"kind": "facts", "question": "…", "evidence": [1]}]}]

  `time_anchor` may be missing, or be a time such as "2024-03-15T10:00:00Z"; what has none was
  said half a minute after the message before it. `evidence` has the ids of the messages that
  hold the answer.

Each conversation is imported into a database of its own as `construct import` does it. Every
question goes through the function that `construct memory search` calls. "Plain" is FTS5 with
its porter stemmer over whole messages: all words of the question joined by OR, ranked by bm25.

A figure is the share of a question's evidence among the first ten messages found, averaged
over the questions, with a 95 % bootstrap interval. The interval of "gain" is of the difference
between the two on the same questions.

--semantic also searches by meaning; it needs the extra `semantic`. --keep keeps the databases
in FOLDER, so that the next run need not make them again.
"""

import argparse
import json
import random
import re
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks import locomo
from benchmarks.measured import p50_p95, timed
from construct.clock import Clock
from construct.load_settings import load_settings
from construct.memory.recall.meaning import Meaning, meaning_for
from construct.memory.recall.search import search_memory
from construct.store import search_index
from construct.store.database import open_database
from construct.store.driver import Connection
from construct.store.search import Filters
from construct.store.transfer.importing import import_file
from construct.store.version import SCHEMA_VERSION

FOUND = 10
"""The first messages found, which are judged."""
_RESAMPLES = 2000
_BETWEEN_MESSAGES = timedelta(seconds=30)
_FIRST_DAY = datetime(2024, 1, 1, 9, tzinfo=UTC)
_FILTERS = Filters(kind="message", zone=UTC)


@dataclass(frozen=True)
class Question:
    """A question, and the database's ids of the messages that hold the answer."""

    kind: str
    text: str
    evidence: frozenset[int]


@dataclass(frozen=True)
class Talk:
    """A conversation with its questions, before it is imported."""

    name: str
    said: Sequence[tuple[str, dict[str, str]]]
    """The data set's id of each message, and its line for `construct import`."""
    asked: Sequence[tuple[str, str, Sequence[str]]]
    """The kind, the text and the ids of the evidence of each question."""


@dataclass(frozen=True)
class Judged:
    """What Construct and plain FTS5 found of one question's evidence."""

    kind: str
    talk: str
    ours: float
    plain: float
    milliseconds: float
    plain_milliseconds: float


def main() -> None:
    """Run the benchmark and print the tables, or JSON and nothing else."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="data sets")
    parser.add_argument("--semantic", action="store_true", help="compare by meaning too")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the databases here")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    meaning = meaning_for(load_settings({})) if options.semantic else None
    if options.semantic and meaning is None:
        parser.error("The extra `semantic` is not installed. Run: uv run --extra semantic …")
    figures = {}
    with tempfile.TemporaryDirectory() as temporary:
        for path in options.paths:
            judged = list(judge_all(path, options.keep or Path(temporary), meaning))
            figures[path.name] = _figures(judged)
            if not options.json:
                print_table(path.name, judged)
    if options.json:
        print(json.dumps(figures, indent=2))


def judge_all(path: Path, folder: Path, meaning: Meaning | None) -> Iterator[Judged]:
    """Yield the result of every question of a data set."""
    for talk in talks(path):
        with closing(opened(talk, folder, meaning)) as db:
            for question in questions(db, talk):
                yield judge(db, talk.name, question, meaning)


def judge(db: Connection, talk: str, question: Question, meaning: Meaning | None) -> Judged:
    """Put one question to Construct and to plain FTS5."""
    ours, own_time = timed(
        lambda: [
            h.id for h in search_memory(db, question.text, _FILTERS, FOUND, meaning=meaning).hits
        ]
    )
    plain, plain_time = timed(lambda: _plain(db, question.text))
    share, plain_share = (
        len(question.evidence & set(found)) / len(question.evidence) for found in (ours, plain)
    )
    return Judged(question.kind, talk, share, plain_share, own_time, plain_time)


def talks(path: Path) -> Iterator[Talk]:
    """Yield the conversations of a data set that have questions."""
    for item in json.loads(path.read_text("utf-8")):
        yield _of_locomo(item) if "conversation" in item else _of_beam(item)


def _of_locomo(sample: dict[str, Any]) -> Talk:
    asked = [
        (locomo.CATEGORIES[q["category"]], q["question"], list(locomo.evidence_of(q)))
        for q in sample["qa"]
        if q["category"] in locomo.CATEGORIES
    ]
    return Talk(str(sample["sample_id"]), list(locomo.turns(sample)), asked)


def _of_beam(chat: dict[str, Any]) -> Talk:
    said, moment = [], _FIRST_DAY
    for message in chat["messages"]:
        moment = _anchored(message.get("time_anchor")) or moment + _BETWEEN_MESSAGES
        line = {
            "type": "message",
            "conversation": str(chat["chat"]),
            "role": message["role"],
            "content": message["content"],
            "created_at": moment.isoformat(),
        }
        said.append((str(message["id"]), line))
    asked = [
        (q.get("kind", "all"), q["question"], [str(i) for i in q["evidence"]])
        for q in chat["questions"]
    ]
    return Talk(str(chat["chat"]), said, asked)


def _anchored(text: str | None) -> datetime | None:
    """Return the time that a message names, "March-15-2024" or ISO 8601, or None."""
    if not text:
        return None
    if re.fullmatch(r"[A-Z][a-z]+-\d+-\d+", text):
        return datetime.strptime(text, "%B-%d-%Y").replace(hour=9, tzinfo=UTC)
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def opened(talk: Talk, folder: Path, meaning: Meaning | None) -> Connection:
    """Open the database of a conversation in a folder; make it if it is not there."""
    fingerprint = sha256(f"{SCHEMA_VERSION}{talk.said}".encode()).hexdigest()[:16]
    file = folder / f"{fingerprint}.db"
    folder.mkdir(parents=True, exist_ok=True)
    is_new = not file.exists()
    db = open_database(file)
    if is_new:
        lines = folder / "conversation.jsonl"
        lines.write_text("".join(json.dumps(line) + "\n" for _, line in talk.said), "utf-8")
        import_file(db, lines, Clock(zone=UTC))
        lines.unlink()
        search_index.complete(db)
    locomo.index(db, meaning)
    db.execute("CREATE VIRTUAL TABLE temp.plain USING fts5(text, tokenize='porter unicode61')")
    db.execute("INSERT INTO temp.plain (rowid, text) SELECT id, content FROM messages")
    return db


def questions(db: Connection, talk: Talk) -> Iterator[Question]:
    """Yield the questions of a conversation whose evidence exists."""
    rows = db.execute("SELECT id FROM messages ORDER BY id").fetchall()
    ids = {name: row[0] for (name, _), row in zip(talk.said, rows, strict=True)}
    for kind, text, evidence in talk.asked:
        if known := frozenset(ids[i] for i in evidence if i in ids):
            yield Question(kind, text, known)


def _plain(db: Connection, text: str) -> list[int]:
    either = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
    query = "SELECT rowid FROM temp.plain WHERE plain MATCH ? ORDER BY rank LIMIT ?"
    return [row[0] for row in db.execute(query, (either, FOUND))]


def _rows(judged: Sequence[Judged]) -> dict[str, list[Judged]]:
    rows = {"all": list(judged)}
    for one in judged:
        rows.setdefault(one.kind, []).append(one)
    return rows


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean."""
    chance = random.Random(0)
    means = sorted(
        statistics.fmean(chance.choices(values, k=len(values))) for _ in range(_RESAMPLES)
    )
    return means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES)]


def _figures(judged: Sequence[Judged]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name, own in _rows(judged).items():
        figures[name] = {"n": len(own)}
        for what, values in _columns(own).items():
            figures[name][what] = round(statistics.fmean(values), 4)
            figures[name][f"{what}_interval"] = [round(end, 4) for end in interval(values)]
    return figures


def _columns(judged: Sequence[Judged]) -> dict[str, list[float]]:
    return {
        "r@10": [one.ours for one in judged],
        "plain": [one.plain for one in judged],
        "gain": [one.ours - one.plain for one in judged],
    }


def print_table(name: str, judged: Sequence[Judged]) -> None:
    """Print the figures of a data set, by kind of question."""
    print(f"{name:28}{'n':>5}{'R@10':>23}{'plain FTS5':>23}{'gain':>25}")
    for kind, own in _rows(judged).items():
        cells = []
        for what, values in _columns(own).items():
            low, high = interval(values)
            sign = "+" if what == "gain" else ""
            cells.append(
                f"{statistics.fmean(values):{sign}8.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"
            )
        print(f"{kind:28}{len(own):>5}" + "".join(f"{cell:>25}" for cell in cells))
    ours = p50_p95([one.milliseconds for one in judged])
    plain = p50_p95([one.plain_milliseconds for one in judged])
    print("CPU per query: p50 {:.1f} ms, p95 {:.1f} ms".format(*ours), end="")
    print(" (plain {:.1f} and {:.1f})\n".format(*plain))


if __name__ == "__main__":
    main()
