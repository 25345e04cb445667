"""Recall on LoCoMo: the share of the answering turns that are among the first k found.

    uv run python benchmarks/locomo.py PATH
        [--semantic] [--one-file] [--json | --passages]

PATH is `locomo10.json` of https://github.com/snap-research/locomo (Maharana et al., ACL
2024; CC BY-NC 4.0), or a part of it. Each conversation is imported into a database of
its own as `construct import` does it, with speaker A as the user. Every question goes
through the function that `construct memory search` calls.

--semantic also searches by meaning. It needs the extra `semantic` (uv run --extra
semantic).

--passages instead judges the passages recalled before each turn. They are recalled for
every question, which includes category 5 (questions that ascribe one speaker's words to
the other) and questions about other conversations. It counts how often any are
recalled, and whether they hold the evidence.
"""

import argparse
import json
import random
import re
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.measured import p50_p95
from construct.clock import Clock
from construct.load_settings import load_settings
from construct.memory.recall import indexing
from construct.memory.recall.meaning import Meaning, meaning_for
from construct.memory.recall.passages import passages
from construct.memory.recall.search import search_memory
from construct.store.database import open_database
from construct.store.search import Filters
from construct.store.transfer.importing import import_file

DEPTHS = (1, 5, 10, 20, 50)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop"}
_RESAMPLES = 2000


@dataclass(frozen=True)
class Result:
    """A question's category, recall at each depth, reciprocal rank and CPU seconds."""

    category: int
    recall: dict[int, float]
    reciprocal_rank: float
    seconds: float


def main() -> None:
    """Run the benchmark and print the table, or JSON and nothing else."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path, help="the dataset's JSON file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--one-file", action="store_true", help="import all conversations into one database"
    )
    parser.add_argument("--semantic", action="store_true", help="compare by meaning too")
    parser.add_argument(
        "--passages",
        action="store_true",
        help="judge the passages recalled before each turn instead",
    )
    options = parser.parse_args()
    samples = json.loads(options.path.read_text("utf-8"))
    meaning = meaning_for(load_settings({})) if options.semantic else None
    if options.semantic and meaning is None:
        parser.error("The extra `semantic` is not installed. Run: uv run --extra semantic …")
    if options.passages:
        _print_passages(samples, meaning)
        return
    groups = [samples] if options.one_file else [[sample] for sample in samples]
    results: list[Result] = []
    by_conversation: dict[str, list[Result]] = {}
    for group in groups:
        with tempfile.TemporaryDirectory() as folder:
            for name, result in ask_all(group, Path(folder), meaning):
                results.append(result)
                by_conversation.setdefault(name, []).append(result)
    if options.json:
        print(json.dumps(_figures(results, by_conversation), indent=2))
    else:
        _print_table(results, by_conversation)


def ask_all(
    samples: list[dict[str, Any]], folder: Path, meaning: Meaning | None
) -> Iterator[tuple[str, Result]]:
    """Import conversations into one database and yield each question's result.

    The conversation's name comes with it.
    """
    with closing(open_database(folder / "construct.db")) as db:
        imported = [(sample, import_conversation(db, sample, folder)) for sample in samples]
        index(db, meaning)
        for sample, ids in imported:
            for question, evidence in judged(sample, ids):
                start = time.process_time()
                filters = Filters(kind="message", zone=UTC)
                most = max(DEPTHS)
                hits = search_memory(db, question["question"], filters, most, meaning=meaning).hits
                seconds = time.process_time() - start
                yield (
                    str(sample["sample_id"]),
                    _judge(question, [h.id for h in hits], evidence, seconds),
                )


def judged(
    sample: dict[str, Any], ids: dict[str, int]
) -> Iterator[tuple[dict[str, Any], set[int]]]:
    """Yield the questions of categories 1 to 4 with the messages that answer them."""
    for question in sample["qa"]:
        evidence = {ids[i] for i in evidence_of(question) if i in ids}
        if question["category"] in CATEGORIES and evidence:
            yield question, evidence


def import_conversation(
    db: sqlite3.Connection, sample: dict[str, Any], folder: Path
) -> dict[str, int]:
    """Import a conversation as the program does; return the message of each turn."""
    said = list(turns(sample))
    file = folder / "conversation.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for _, line in said), "utf-8")
    import_file(db, file, Clock(zone=UTC))
    rows = db.execute(
        """SELECT id FROM messages WHERE conversation_id = (SELECT max(id) FROM conversations)
           ORDER BY id"""
    )
    return {dia_id: row[0] for (dia_id, _), row in zip(said, rows, strict=True)}


def index(db: sqlite3.Connection, meaning: Meaning | None) -> None:
    """Make all vectors."""
    after: dict[str, int] = {}
    while meaning and (texts := indexing.batch(db, meaning.embedder.name, after)):
        indexing.index_entries(db, meaning.embedder, texts)
        after[texts[-1].kind] = texts[-1].id


def turns(sample: dict[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the dataset's id of each turn, and its line for `construct import`."""
    conversation = sample["conversation"]
    number = 1
    while f"session_{number}" in conversation:
        begins = datetime.strptime(
            conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y"
        ).replace(tzinfo=UTC)
        for i, turn in enumerate(conversation[f"session_{number}"]):
            role = "user" if turn["speaker"] == conversation["speaker_a"] else "assistant"
            yield (
                turn["dia_id"],
                {
                    "type": "message",
                    "conversation": str(sample["sample_id"]),
                    "role": role,
                    "content": turn.get("text", "").strip() or "(a picture)",
                    "created_at": (begins + timedelta(seconds=30 * i)).isoformat(),
                },
            )
        number += 1


def evidence_of(question: dict[str, Any]) -> Iterator[str]:
    """Yield the ids of the turns that hold the answer.

    Some questions give several ids in one string.
    """
    for entry in question.get("evidence", []):
        yield from re.findall(r"D\d+:\d+", entry)


def _judge(
    question: dict[str, Any], found: list[int], evidence: set[int], seconds: float
) -> Result:
    recall = {k: len(evidence & set(found[:k])) / len(evidence) for k in DEPTHS}
    first = next((rank for rank, i in enumerate(found, 1) if i in evidence), None)
    return Result(question["category"], recall, 1 / first if first else 0.0, seconds)


def _figures(results: list[Result], by_conversation: dict[str, list[Result]]) -> dict[str, Any]:
    figures: dict[str, Any] = {"overall": _means(results)}
    for category, name in CATEGORIES.items():
        figures[name] = _means(r for r in results if r.category == category)
    figures["conversations"] = {name: _means(own) for name, own in by_conversation.items()}
    figures["interval_r@10"] = _interval(results)
    return figures


def _means(results: Iterable[Result]) -> dict[str, float]:
    found = list(results)
    if not found:
        return {"n": 0}
    means: dict[str, float] = {
        f"r@{k}": round(statistics.fmean(r.recall[k] for r in found), 4) for k in DEPTHS
    }
    return means | {
        "mrr": round(statistics.fmean(r.reciprocal_rank for r in found), 4),
        "n": len(found),
    }


def _interval(results: list[Result]) -> list[float]:
    """Return the 95 % bootstrap interval of the mean recall at 10."""
    values, chance = [r.recall[10] for r in results], random.Random(0)
    means = sorted(
        statistics.fmean(chance.choices(values, k=len(values))) for _ in range(_RESAMPLES)
    )
    return [round(means[int(0.025 * _RESAMPLES)], 4), round(means[int(0.975 * _RESAMPLES)], 4)]


def _print_table(results: list[Result], by_conversation: dict[str, list[Result]]) -> None:
    print(f"{'':24}{'n':>6}" + "".join(f"{'R@' + str(k):>8}" for k in DEPTHS) + f"{'MRR':>8}")
    rows = {"categories 1 to 4": results}
    rows |= {name: [r for r in results if r.category == c] for c, name in CATEGORIES.items()}
    for name, own in (rows | by_conversation).items():
        m = _means(own)
        if m["n"]:
            print(
                f"{name:24}{m['n']:>6}"
                + "".join(f"{m[f'r@{k}']:>8.3f}" for k in DEPTHS)
                + f"{m['mrr']:>8.3f}"
            )
    low, high = _interval(results)
    print(f"\nR@10 95 % interval [{low:.3f}, {high:.3f}] (bootstrap over questions)")
    print(
        "CPU per query: p50 {:.1f} ms, p95 {:.1f} ms".format(
            *p50_p95([r.seconds * 1000 for r in results])
        )
    )


_KINDS_ASKED = ("categories 1 to 4", "category 5", "about another conversation")


def _print_passages(samples: list[dict[str, Any]], meaning: Meaning | None) -> None:
    results: dict[str, list[tuple[bool, bool, float]]] = {kind: [] for kind in _KINDS_ASKED}
    for sample in samples:
        with (
            tempfile.TemporaryDirectory() as folder,
            closing(open_database(Path(folder) / "construct.db")) as db,
        ):
            ids = import_conversation(db, sample, Path(folder))
            index(db, meaning)
            for kind, text, evidence in _asked_of(sample, samples):
                start = time.process_time()
                recalled = {
                    hit.id for hit in passages(db, text, filters=Filters(zone=UTC), meaning=meaning)
                }
                seconds = time.process_time() - start
                results[kind].append(
                    (bool(recalled), bool(recalled & {ids.get(i) for i in evidence}), seconds)
                )
    print(f"{'':28}{'n':>6}{'recalled':>10}{'evidence':>10}")
    for kind, asked in results.items():
        came = [holds for something, holds, _ in asked if something]
        held = f"{statistics.fmean(came):>10.3f}" if came and kind != _KINDS_ASKED[2] else ""
        print(f"{kind:28}{len(asked):>6}{len(came) / max(1, len(asked)):>10.3f}{held}")
    times = [seconds * 1000 for asked in results.values() for _, _, seconds in asked]
    print("\nCPU per turn: p50 {:.1f} ms, p95 {:.1f} ms".format(*p50_p95(times)))


def _asked_of(
    sample: dict[str, Any], samples: list[dict[str, Any]]
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the questions put to a conversation.

    They are its own, and those of others with its speakers' names.
    """
    for question in sample["qa"]:
        evidence = list(evidence_of(question))
        if evidence:
            yield (
                _KINDS_ASKED[question["category"] not in CATEGORIES],
                question["question"],
                evidence,
            )
    chance, conversation = random.Random(0), sample["conversation"]
    for other in samples:
        asked = [q["question"] for q in other["qa"] if q["category"] in CATEGORIES]
        for text in chance.sample(asked, min(40, len(asked))) if other is not sample else ():
            for speaker in ("speaker_a", "speaker_b"):
                text = text.replace(other["conversation"][speaker], conversation[speaker])
            yield _KINDS_ASKED[2], text, []


if __name__ == "__main__":
    main()
