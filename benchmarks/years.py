"""What stays in sight over the years, and whether all that was said can still be found.

    uv run --group bench python benchmarks/years.py [--months 12] [--turns 20] [--json]

A made-up life is played through the whole program and the fake Messages API, month by
month: four sessions a month, days apart. Each turn plants one fact. The fake worker writes
every fact down, joins notes in threes, drops those of low priority and shelves the oldest
until its notes have the size asked for (benchmarks/world.py).

The table has, for each month, the tokens and notes in sight, the notes shelved and
superseded so far, and the average size of a request. At the end each planted fact is in
sight (most of its words stand in one line of the next request), found by recall (asked
with half of its words, among ten results), or out of reach. Five years are
`--months 60`, and a thousand facts `--months 50`.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, timedelta
from pathlib import Path

from benchmarks.world import Played, Speech, observer, playing, reflector, settings_in
from construct.language.words import words
from construct.llm.providers import choose_models
from construct.memory.recall.search import search_memory
from construct.store import observations
from construct.store.driver import Connection
from construct.store.search import Filters
from tests.support.fake_api import FakeApi

SESSIONS = 4
"""Sessions a month."""
MONTH = timedelta(days=30.4)
FOUND = 10
_MOST = 0.5
"""Share of a fact's words that a line or a result must have."""
_LEAST_LETTERS = 4
"""Shorter words are no words of a fact."""


@dataclass(frozen=True, slots=True)
class Month:
    """The figures at the end of one month."""

    number: int
    tokens_in_sight: int
    in_sight: int
    shelved: int
    superseded: int
    request: int
    """Average tokens of a request in this month."""


@dataclass(slots=True)
class Report:
    """All that one run of the benchmark found."""

    months: list[Month] = field(default_factory=list)
    facts: int = 0
    in_sight: int = 0
    by_recall: int = 0
    out_of_reach: list[str] = field(default_factory=list)


async def live(months: int, turns: int) -> Report:
    """Play so many months with so many turns each."""
    report = Report()
    planted: list[str] = []
    with FakeApi() as api, tempfile.TemporaryDirectory() as folder:
        settings = settings_in(Path(folder), **api.env(), CONSTRUCT_WORKER_DAILY_USD="1000")
        async with playing(settings, choose_models(settings), Speech()) as played:
            api.clock = lambda: played.now.timestamp()
            api.chat = lambda _: played.reply
            api.observer, api.reflector = observer, reflector
            for number in range(1, months + 1):
                report.months.append(await _month(played, api, number, turns, planted))
                print(_row(report.months[-1]), file=sys.stderr, flush=True)
            await played.say(played.listen(MONTH))
            shown = json.dumps(api.of("chat")[-1].body["messages"][0]["content"])
            await played.companion.store.call(_reach, report, planted, shown)
    return report


async def _month(
    played: Played, api: FakeApi, number: int, turns: int, planted: list[str]
) -> Month:
    api.requests.clear()
    for turn in range(turns):
        begins_session = turn % max(1, turns // SESSIONS) == 0
        said = played.listen(MONTH / SESSIONS if begins_session else timedelta(minutes=1))
        planted += [s for s in said.split(". ") if s.startswith("My ")][:1]
        if begins_session:
            await played.upkeep()
        await played.say(said)
        await played.upkeep()
    sizes = [one.usage.prompt for one in api.of("chat") if one.usage]
    config = played.companion.memory_config

    def count(db: Connection) -> observations.StateCounts:
        return observations.count_by_state(db, None, config.plans_from)

    counts = await played.companion.store.call(count)
    in_sight = sum(counts.committed.values(), observations.Count())
    return Month(
        number=number,
        tokens_in_sight=in_sight.tokens,
        in_sight=in_sight.count,
        shelved=counts.shelved,
        superseded=counts.superseded,
        request=round(sum(sizes) / len(sizes)),
    )


def _reach(db: Connection, report: Report, planted: Sequence[str], shown: str) -> None:
    """Say of each planted fact how it can be reached."""
    chance = random.Random(7)
    lines = [_telling(line) for line in shown.split("\\n")]
    for fact in planted:
        wanted = _telling(fact)
        report.facts += 1
        if _has(wanted, lines):
            report.in_sight += 1
            continue
        query = " ".join(chance.sample(sorted(wanted), max(2, len(wanted) // 2)))
        hits = search_memory(db, query, Filters(zone=UTC), FOUND).hits
        if _has(wanted, (_telling(hit.text) for hit in hits)):
            report.by_recall += 1
        else:
            report.out_of_reach.append(fact)


def _telling(text: str) -> Counter[str]:
    return Counter({word for word in words(text) if len(word) >= _LEAST_LETTERS})


def _has(wanted: Counter[str], texts: Iterable[Counter[str]]) -> bool:
    return any(len(wanted.keys() & text.keys()) > _MOST * len(wanted) for text in texts)


def _row(month: Month) -> str:
    return " | ".join(f"{value:>7,}" for value in asdict(month).values())


def main() -> None:
    """Play the months and print what became of the facts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--turns", type=int, default=20, help="turns a month")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    print("  month |  tokens | in sight | shelved | superseded | request", file=sys.stderr)
    report = asyncio.run(live(arguments.months, arguments.turns))
    if arguments.json:
        print(json.dumps(asdict(report)))
        return
    print(
        f"Of {report.facts:,} facts {report.in_sight:,} are in sight, {report.by_recall:,} are "
        f"found by recall, {len(report.out_of_reach):,} are out of reach."
    )
    for fact in report.out_of_reach[:10]:
        print(f"  {fact}")


if __name__ == "__main__":
    main()
