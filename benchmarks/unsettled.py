"""Of what a change makes doubtful, how much is the worker model shown.

    uv run python benchmarks/unsettled.py

Ten changes by hand (benchmarks/data/changes.txt), each in a life of sixteen other facts of
which eight depend on it. The worker is shown twelve related notes; it can only doubt what it
is shown. A choice of twelve at random would show three quarters of either kind. The graph
is empty here, as in a young memory: search and age alone decide.
"""

import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from construct.clock import Clock
from construct.memory.cycles.known_notes import KnownSearch
from construct.memory.cycles.related_notes import related_notes
from construct.memory.keeping import keep_for_user
from construct.memory.learning.proposals import ProposedObservation
from construct.memory.learning.unsettling import LifeChange
from construct.store.conversations import create_conversation
from construct.store.database import open_database, transaction

CASES = Path(__file__).parent / "data" / "changes.txt"
CLOCK = Clock(datetime(2026, 11, 28, tzinfo=UTC), UTC)


@dataclass(slots=True)
class Case:
    """A change, what depends on it, and what does not."""

    old: str
    new: str = ""
    depends: list[str] = field(default_factory=list)
    stands: list[str] = field(default_factory=list)


def cases() -> Iterator[Case]:
    """Yield the cases of the file."""
    case: Case | None = None
    for line in CASES.read_text("utf-8").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "<":
            if case:
                yield case
            case = Case(text)
        elif case and mark == ">":
            case.new = text
        elif case and mark in "+-":
            (case.depends if mark == "+" else case.stands).append(text)
    if case:
        yield case


def shown(case: Case, folder: Path) -> set[str]:
    """Return the facts of a case that the worker is shown."""
    with closing(open_database(folder / "life.db")) as db:
        # The facts in turn, so that neither kind is newer.
        pairs = zip(case.depends, case.stands, strict=True)
        with transaction(db):
            here = create_conversation(db, "2026-11-28T00:00:00.000000+00:00")
            old = keep_for_user(db, case.old, None, CLOCK)
            for fact in (fact for pair in pairs for fact in pair):
                keep_for_user(db, fact, None, CLOCK)
        new = ProposedObservation(case.new, "high", "stated", "2026-11-28", None, sources=())
        wanted = KnownSearch(None, CLOCK, None, 2_500)
        found = related_notes(db, [LifeChange((old,), new)], here, "user", wanted)
        return {o.content for o in found}


def main() -> None:
    """Print the share of either kind that is shown, for each change and in all."""
    depends = stands = total = 0
    for case in cases():
        with tempfile.TemporaryDirectory() as folder:
            found = shown(case, Path(folder))
        here = len(found & set(case.depends)), len(found & set(case.stands))
        print(f"{here[0]} of 8 that depend, {here[1]} of 8 that do not: {case.new}")
        depends, stands, total = depends + here[0], stands + here[1], total + 8
    print(f"In all {depends / total:.2f} of what depends, {stands / total:.2f} of what does not")


if __name__ == "__main__":
    main()
