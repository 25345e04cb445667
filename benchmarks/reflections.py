"""Measures how well the checks in code and the verifier tell good reflections from bad ones.

    uv run --group dev python benchmarks/reflections.py CASES
        [--verifier MODEL] [--batch N] [--json]

It counts how many honest reflections they accept, and how many subtly wrong ones they
refuse.

CASES is a JSON list of proposals: `sources` (the notes to be replaced), `merge` (the
new line), `kind` (`honest` or `corrupt`) and `what` (which honest form, or which
defect). Without --verifier only the code judges. With it, what passes those
checks is put to that model as the program does it, --batch proposals per call, in an
order that gives nothing away. The model is reached as the settings say
(ANTHROPIC_BASE_URL and so on).
"""

import argparse
import asyncio
import json
import os
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from construct.llm.providers import choose_models
from construct.llm.types import Model
from construct.load_settings import load_settings
from construct.memory.learning.asking import Account
from construct.memory.learning.proposals import ProposedObservation, ReflectionProposal
from construct.memory.learning.reflection_checks import check_reflection
from construct.memory.learning.reflector import line_group
from construct.memory.learning.verifier import verify
from construct.memory.shown.lines import line_tokens
from construct.store.records import Observation


@dataclass(frozen=True)
class Case:
    """One proposal: its notes, the line in their place, and whether that is honest."""

    name: str
    what: str
    is_honest: bool
    notes: tuple[Observation, ...]
    line: ProposedObservation


@dataclass(frozen=True)
class Judged:
    """A case with what became of it; `reason` is None where the line was accepted."""

    case: Case
    by: str
    """`code` or `verifier`: who had the last word."""
    reason: str | None

    @property
    def is_right(self) -> bool:
        """Whether an honest line was accepted or a corrupt one refused."""
        return (self.reason is None) == self.case.is_honest


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a file."""
    return [_case(item) for item in json.loads(path.read_text("utf-8"))]


def _case(item: dict[str, Any]) -> Case:
    notes = tuple(_note(number, source) for number, source in enumerate(item["sources"], 1))
    merge = item["merge"]
    line = ProposedObservation(
        merge["content"], merge["priority"], merge["stance"], merge["observation_date"],
        merge["referenced_date"],
        tuple(note.id for note in notes),
    )  # fmt: skip
    return Case(str(item["id"]), item["what"], item["kind"] == "honest", notes, line)


def _note(number: int, source: dict[str, Any]) -> Observation:
    note = Observation(
        number, f"n{number}", 1, source["content"], source["priority"], source["stance"],
        source["observation_date"], source["referenced_date"], 0, 1, 0,
        int(source.get("pinned", 0)), "", "", None, None, source.get("origin", "worker"), None,
    )  # fmt: skip
    return note._replace(token_count=line_tokens(note))


_TODAY = date(2026, 11, 22)
"""The day on which the cases were written."""


def by_code(case: Case) -> Judged:
    """Return what code says of a case."""
    said = {note.id: (note.observation_date, note.id) for note in case.notes}
    found = check_reflection(ReflectionProposal((case.line,)), case.notes, said, _TODAY)
    if found.changes:
        return Judged(case, "code", None)
    return Judged(
        case, "code", found.refused[0].reason if found.refused else "no shorter than the one note"
    )


async def by_verifier(model: Model, cases: Sequence[Case], batch: int) -> list[Judged]:
    """Return what the verifier says of cases, `batch` per call."""
    judged = []
    order = random.Random(13).sample(list(cases), len(cases))
    for start in range(0, len(order), batch):
        part = order[start : start + batch]
        account = Account("verifier")
        answers = await verify(
            model,
            [line_group(case.notes, _as_proposed(case)) for case in part],
            account,
        )
        if answers is None:
            raise SystemExit(f"the verifier failed: {'; '.join(account.problems)}")
        judged += [
            Judged(case, "verifier", reason) for case, reason in zip(part, answers, strict=True)
        ]
    return judged


def _as_proposed(case: Case) -> ProposedObservation:
    """Return the line with the first day of its notes, as it would be stored."""
    first = min(note.observation_date for note in case.notes)
    return replace(case.line, first_date=first if first < case.line.observation_date else None)


def figures(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return the shares of honest lines accepted and of corrupt ones refused.

    They are given in all, by form and by defect.
    """
    kinds: defaultdict[str, list[bool]] = defaultdict(list)
    for one in judged:
        kinds["honest" if one.case.is_honest else "corrupt"].append(one.is_right)
        kinds[f"{'honest' if one.case.is_honest else 'corrupt'}: {one.case.what}"].append(
            one.is_right
        )
    shares = {kind: round(sum(right) / len(right), 3) for kind, right in sorted(kinds.items())}
    honest, corrupt = shares.pop("honest", None), shares.pop("corrupt", None)
    return {
        "n": len(judged),
        "honest_accepted": honest,
        "corrupt_refused": corrupt,
        "by_kind": shares,
    }


def main() -> None:
    """Run the benchmark and print the wrong judgements and the shares, or only JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", type=Path)
    parser.add_argument(
        "--verifier", metavar="MODEL", help="the model that checks what passes the code"
    )
    parser.add_argument("--batch", type=int, default=20, help="proposals per call")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    judged = [by_code(case) for case in read_cases(options.cases)]
    if options.verifier:
        models = choose_models(
            load_settings({**os.environ, "MEMORY_WORKER_MODEL": options.verifier})
        )
        if models.worker is None:
            raise SystemExit("--verifier needs a model")
        passed = [one.case for one in judged if one.reason is None]
        judged = [one for one in judged if one.reason] + asyncio.run(
            by_verifier(models.worker, passed, options.batch)
        )
    found = figures(judged)
    if options.json:
        print(json.dumps(found))
        return
    for one in judged:
        if not one.is_right:
            print(
                f"{one.case.name} {one.case.what}: {one.case.line.content} "
                f"[{one.by}: {one.reason or 'accepted'}]"
            )
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
