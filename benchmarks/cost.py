"""What a long conversation costs with Construct, the last 20 messages, or full history.

    uv run --group bench python benchmarks/cost.py
        [--turns 2000] [--pauses] [--thresholds] [--json] [--figures]

The same made-up conversation goes through the whole program and the strict fake
Messages API. The fake's cache simulation says what is read, written and new, priced by
data/models.toml.

`construct` and `last 20` (CONSTRUCT_MEMORY=off) are played through the program; cache
writes of `last 20` count as plain input. `full history` is computed by the cache's
rules from the same messages, and tests/benchmarks compares it with one that is played.
Worker answers have realistic sizes (benchmarks/world.py).

Without other options there is one conversation with a minute between turns. --pauses
adds other rhythms and both cache lives, --thresholds adds other settings, one at a
time.
"""

import argparse
import asyncio
import json
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from itertools import accumulate
from pathlib import Path
from unittest.mock import patch

from benchmarks.world import BEGINS, Played, Speech, observer, playing, reflector, settings_in
from construct.llm.catalog import cost_usd, main_model
from construct.llm.providers import choose_models
from construct.llm.types import CacheLife
from construct.memory import policy
from construct.tokens import Usage, by_bytes
from tests.support.fake_api import FakeApi

FIGURES = Path(__file__).parent / "figures"
POINTS = (50, 100, 200, 500, 1_000, 2_000)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
RHYTHMS: Mapping[str, tuple[int, timedelta]] = {
    "a minute between turns": (1, MINUTE),
    "10 minutes between turns": (1, 10 * MINUTE),
    "20 turns, then half an hour": (20, 30 * MINUTE),
    "20 turns, then 8 hours": (20, 8 * HOUR),
    "5 turns, then 8 hours": (5, 8 * HOUR),
}
"""Turns a minute apart, and the pause after them."""
STEADY = next(iter(RHYTHMS))
MIXED = "20 turns, then 8 hours"
OTHERS: Mapping[str, Sequence[str]] = {
    "CONSTRUCT_OBSERVER_THRESHOLD": ("1500", "6000"),
    "CONSTRUCT_COMPACT_THRESHOLD": ("4000", "9000", "12000", "24000"),
    "CONSTRUCT_REFLECTOR_THRESHOLD": ("2000", "8000", "16000"),
    "CONSTRUCT_OBSERVATION_BUDGET": ("4000", "16000"),
    "CONSTRUCT_RETAIN": ("0.1", "0.4"),
}
OFF = {"CONSTRUCT_MEMORY": "off"}
_WRAPPING = 7
"""Tokens of JSON that the fake counts around each message's words."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one turn and its memory work took.

    That is tokens by purpose, and the dollars of the chat and of the worker.
    """

    usage: Mapping[str, Usage]
    chat_usd: float
    worker_usd: float = 0.0
    conversation_tokens: int = 0

    @property
    def usd(self) -> float:
        """Dollars together."""
        return self.chat_usd + self.worker_usd


@dataclass(frozen=True, slots=True)
class Figures:
    """A conversation up to some turn. Per turn; worker tokens per token said."""

    turns: int
    read: float
    written: float
    new: float
    produced: float
    worker_in: float
    worker_out: float
    chat_usd: float
    worker_usd: float

    @property
    def usd(self) -> float:
        """Dollars per turn."""
        return self.chat_usd + self.worker_usd


@dataclass(slots=True)
class Report:
    """All that one run of the benchmark found."""

    turns: int
    main: str
    talks: dict[str, list[Figures]] = field(default_factory=dict)
    pays_from: dict[str, int | None] = field(default_factory=dict)
    marginal_from: dict[str, int | None] = field(default_factory=dict)
    pauses: dict[str, dict[str, float]] = field(default_factory=dict)
    thresholds: dict[str, dict[str, Figures]] = field(default_factory=dict)


async def play(turns: int, rhythm: str, changed: dict[str, str], life: str = "auto") -> list[Spent]:
    """Play a conversation through the program.

    `life` other than auto forces the cache life that is asked for.
    """
    chosen = policy.choose_life if life == "auto" else lambda _: life
    with (
        FakeApi() as api,
        tempfile.TemporaryDirectory() as folder,
        patch.object(policy, "choose_life", chosen),
    ):
        # A worker at its daily limit would cost nothing, and condense nothing.
        limit = {"CONSTRUCT_WORKER_DAILY_USD": "1000"}
        settings = settings_in(Path(folder), **api.env(), **limit, **changed)
        async with playing(settings, choose_models(settings), Speech()) as played:
            _answer(api, played)
            spent: list[Spent] = []
            seen = (0, 0)
            for pause in _pauses(turns, rhythm):
                words = played.listen(pause)
                if pause > policy.LIVES["5m"]:
                    await played.upkeep()
                await played.say(words)
                await played.upkeep()
                api.requests.clear()
                one, seen = await played.companion.store.call(_booked, seen)
                spent.append(one)
            return spent


def _answer(api: FakeApi, played: Played) -> None:
    api.clock = lambda: played.now.timestamp()
    api.chat = lambda _: played.reply
    api.observer, api.reflector = observer, reflector


def _pauses(turns: int, rhythm: str) -> Iterator[timedelta]:
    size, pause = RHYTHMS[rhythm]
    for i in range(turns):
        yield pause if i and i % size == 0 else MINUTE


def _booked(db: sqlite3.Connection, seen: tuple[int, int]) -> tuple[Spent, tuple[int, int]]:
    """Return what the new usage rows and messages add up to, and the newest ids."""
    usage: dict[str, Usage] = {}
    dollars = {"chat": 0.0, "worker": 0.0}
    last, last_message = seen
    for row in db.execute(
        """SELECT id, purpose, cost_usd,
                  input_tokens, cache_read_tokens, cache_write_tokens, output_tokens
           FROM usage WHERE id > ? ORDER BY id""",
        (last,),
    ):
        last = row[0]
        usage[row[1]] = usage.get(row[1], Usage()) + Usage(*row[3:])
        dollars["chat" if row[1] == "chat" else "worker"] += row[2]
    tokens, newest = db.execute(
        "SELECT sum(token_count), max(id) FROM messages WHERE id > ?", (last_message,)
    ).fetchone()
    return Spent(usage, dollars["chat"], dollars["worker"], tokens), (last, newest)


def full_history(turns: int, rhythm: str, first: Usage) -> list[Spent]:
    """Compute a conversation in which every turn sends all earlier messages.

    The newest message has a cache mark. `first` is the first request of a conversation
    that was played; its system prompt and tools are used here too.
    """
    speech = Speech()
    said = [tuple(by_bytes(text) + _WRAPPING for text in speech.turn()) for _ in range(turns)]
    fixed = first.cache_write_tokens - said[0][0]
    times = [BEGINS]
    for pause in _pauses(turns, rhythm):
        times.append(times[-1] + pause)
    del times[0]
    spent: list[Spent] = []
    marked = 0
    for i, (words, reply) in enumerate(said):
        life = policy.choose_life(times[max(0, i - 11) : i + 1])
        before = policy.choose_life(times[max(0, i - 12) : i])
        prompt = (
            fixed + sum(map(sum, said[:i])) + words if i == 0 else marked + said[i - 1][1] + words
        )
        read = marked if i and not policy.is_cold(times[i - 1], before, times[i]) else 0
        usage = Usage(first.input_tokens, read, prompt - read, reply - _WRAPPING)
        spent.append(Spent({"chat": usage}, _dollars(usage, life)))
        marked = prompt
    return spent


def _uncached(one: Spent) -> Spent:
    """Return a turn without its cache writes.

    A window that slides every turn never reads them again.
    """
    chat = one.usage["chat"]
    chat = Usage(
        chat.input_tokens + chat.cache_write_tokens, chat.cache_read_tokens, 0, chat.output_tokens
    )
    return Spent({"chat": chat}, _dollars(chat, "5m"), conversation_tokens=one.conversation_tokens)


def _dollars(usage: Usage, life: CacheLife) -> float:
    dollars = cost_usd(main_model(), usage, life)
    assert dollars is not None
    return dollars


def figures(spent: Sequence[Spent]) -> Figures:
    """Return a conversation's figures, per turn."""
    n = len(spent)
    chat, worker = Usage(), Usage()
    for one in spent:
        for purpose, usage in one.usage.items():
            chat, worker = (chat + usage, worker) if purpose == "chat" else (chat, worker + usage)
    said = max(1, sum(one.conversation_tokens for one in spent))
    return Figures(
        n, chat.cache_read_tokens / n, chat.cache_write_tokens / n, chat.input_tokens / n,
        chat.output_tokens / n, worker.prompt_tokens / said, worker.output_tokens / said,
        sum(one.chat_usd for one in spent) / n, sum(one.worker_usd for one in spent) / n,
    )  # fmt: skip


def pays_from(ours: Sequence[Spent], theirs: Sequence[Spent]) -> int | None:
    """Return the turn from which on ours has cost less in total, up to the end.

    None when it has not.
    """
    behind = [
        a >= b
        for a, b in zip(
            accumulate(s.usd for s in ours), accumulate(s.usd for s in theirs), strict=True
        )
    ]
    last = max((i for i, more in enumerate(behind, 1) if more), default=0)
    return last + 1 if last < len(ours) else None


def cheaper_from(ours: Sequence[Spent], theirs: Sequence[Spent], window: int = 50) -> int | None:
    """Return the turn from which Construct's turns cost less.

    Costs are averaged over the turns around each.
    """

    def mean(spent: Sequence[Spent], i: int) -> float:
        return sum(one.usd for one in spent[i : i + window])

    starts = range(max(0, len(ours) - window))
    dear = max((i for i in starts if mean(ours, i) >= mean(theirs, i)), default=-1)
    return dear + 1 + window // 2 if dear + 1 < len(starts) else None


async def measure(options: argparse.Namespace) -> Report:
    """Run what was asked for."""
    report = Report(options.turns, main_model())
    conversations = await three_ways(options.turns, STEADY)
    for name, spent in conversations.items():
        report.talks[name] = [
            figures(spent[:n]) for n in sorted({*POINTS, options.turns}) if n <= options.turns
        ]
    for name in ("full history", "last 20"):
        ours, theirs = conversations["construct"], conversations[name]
        report.pays_from[name] = pays_from(ours, theirs)
        report.marginal_from[name] = cheaper_from(ours, theirs)
    for rhythm in RHYTHMS if options.pauses else ():
        report.pauses[rhythm] = await _in_rhythm(options.sweep_turns, rhythm)
        _note(rhythm)
    if options.thresholds:
        for name, settings in _settings():
            report.thresholds[name] = {
                rhythm: figures(await play(options.sweep_turns, rhythm, settings))
                for rhythm in (STEADY, MIXED)
            }
            _note(name)
    if options.figures:
        draw(report, conversations)
    return report


async def three_ways(turns: int, rhythm: str) -> dict[str, list[Spent]]:
    """Return the same conversation in three ways."""
    ours = await play(turns, rhythm, {})
    return {
        "construct": ours,
        "last 20": [_uncached(one) for one in await play(turns, rhythm, OFF)],
        "full history": full_history(turns, rhythm, ours[0].usage["chat"]),
    }


async def _in_rhythm(turns: int, rhythm: str) -> dict[str, float]:
    """Return dollars per turn of each way, and of Construct with each cache life."""
    found = {name: figures(spent).usd for name, spent in (await three_ways(turns, rhythm)).items()}
    for life in ("5m", "1h"):
        found[f"construct, {life}"] = figures(await play(turns, rhythm, {}, life)).usd
    return found


def _settings() -> Iterator[tuple[str, dict[str, str]]]:
    yield "as shipped", {}
    for name, values in OTHERS.items():
        for value in values:
            yield f"{name} {value}", {name: value}


def draw(report: Report, conversations: Mapping[str, Sequence[Spent]]) -> None:
    """Save the figures as SVG."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "construct", "font.size": 10}
    FIGURES.mkdir(exist_ok=True)
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, spent in conversations.items():
        total = list(accumulate(one.usd for one in spent))
        left.plot(range(1, len(total) + 1), total, label=name)
        means = [
            sum(one.usd for one in spent[i : i + 50]) / len(spent[i : i + 50])
            for i in range(0, len(spent), 50)
        ]
        right.plot(range(25, 25 + 50 * len(means), 50), [1000 * mean for mean in means], label=name)
    left.set(title="Dollars so far", xlabel="turns")
    right.set(title="Dollars for a thousand turns, at this length", xlabel="turns")
    left.legend(frameon=False)
    fig.savefig(FIGURES / "dollars.svg", metadata={"Date": None})
    if report.thresholds:
        fig, axes = plt.subplots(figsize=(8, 5), layout="constrained")
        names = list(report.thresholds)[::-1]
        for offset, rhythm in ((0.2, STEADY), (-0.2, MIXED)):
            dollars = [1000 * report.thresholds[name][rhythm].usd for name in names]
            axes.barh([i + offset for i in range(len(names))], dollars, 0.38, label=rhythm)
        axes.set_yticks(
            range(len(names)), [name.removeprefix("CONSTRUCT_").lower() for name in names]
        )
        axes.set(title="Dollars for a thousand turns, one setting changed")
        fig.legend(loc="outside lower center", ncols=2, frameon=False)
        fig.savefig(FIGURES / "thresholds.svg", metadata={"Date": None})


def _note(done: str) -> None:
    print(f"{done}: measured", file=sys.stderr)


def _print_tables(report: Report) -> None:
    print(
        f"{'':16}{'turns':>7}{'read':>9}{'written':>9}{'new':>7}{'produced':>10}"
        f"{'worker in':>11}{'out':>7}{'$/1000':>9}"
    )
    for name, rows in report.talks.items():
        for row in rows:
            print(
                f"{name:16}{row.turns:>7,}{row.read:>9,.0f}{row.written:>9,.0f}{row.new:>7,.0f}{row.produced:>10,.0f}"
                f"{row.worker_in:>11.2f}{row.worker_out:>7.2f}{1000 * row.usd:>9.2f}"
            )
    print(
        "\nMain-model tokens per turn; worker tokens per token of conversation; "
        "dollars per thousand turns."
    )
    for name, turn in report.pays_from.items():
        print(
            f"Cheaper than {name}: in total {_from('turn', turn)}, "
            f"per turn {_from('about turn', report.marginal_from[name])}."
        )
    for rhythm, found in report.pauses.items():
        print(
            f"\n{rhythm}: " + ", ".join(f"{name} {1000 * usd:.2f}" for name, usd in found.items())
        )
    if report.thresholds:
        print(f"\n{'$ for a thousand turns':40}{STEADY:>24}{MIXED:>26}{'worker':>9}")
    for name, by_rhythm in report.thresholds.items():
        steady = by_rhythm[STEADY]
        print(f"{name:40}{1000 * steady.usd:>24.2f}{1000 * by_rhythm[MIXED].usd:>26.2f}", end="")
        print(f"{steady.worker_in + steady.worker_out:>9.2f}")


def _from(point: str, turn: int | None) -> str:
    return "never" if turn is None else f"from {point} {turn}"


def main() -> None:
    """Measure, and print tables, or JSON and nothing else."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=2_000)
    parser.add_argument(
        "--sweep-turns",
        type=int,
        default=600,
        help="turns of each conversation for --pauses and --thresholds",
    )
    parser.add_argument(
        "--pauses", action="store_true", help="also measure other rhythms and both cache lives"
    )
    parser.add_argument(
        "--thresholds", action="store_true", help="also measure other settings, one at a time"
    )
    parser.add_argument(
        "--figures", action="store_true", help="save SVG figures (needs the group `bench`)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    report = asyncio.run(measure(options))
    if options.json:
        print(json.dumps(asdict(report), indent=2))
    else:
        _print_tables(report)


if __name__ == "__main__":
    main()
