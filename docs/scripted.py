"""Parts shared by the pictures and the recordings.

They are workers that answer from a script, and typing at a terminal.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.support.emulator import PseudoTerminal
from tests.support.fake_types import Json
from tests.support.fake_worker import (
    note,
    observer_answer,
    read_lines,
    read_transcript,
    reflector_answer,
)


def observed(body: Json, script: Iterable[Json], title: str = "") -> str:
    """Return the observer's answer from the script.

    A script row applies to the user's messages that begin with its `said`.
    """
    found = [
        _note(row, [said.anchor], said.date)
        for said in read_transcript(body)
        for row in script
        if said.role == "user" and said.text.startswith(row["said"])
    ]
    return observer_answer(found, title=title)


def reflected(body: Json, merged: Iterable[Json], outdated: Iterable[tuple[str, str]]) -> str:
    """Return the reflector's answer from the script.

    Each row of `merged` becomes a line if there are lines that hold all of its `parts`.
    Each pair of `outdated` has parts of an old line and of the newer one that outdates
    it.
    """
    lines = read_lines(body)
    made = []
    for row in merged:
        parts = [line for line in lines if any(part in line.text for part in row["parts"])]
        if len(parts) == len(row["parts"]):
            made.append(_note(row, [line.anchor for line in parts], parts[-1].date))
    pairs = [
        (old.anchor, by.anchor)
        for before, after in outdated
        for old in lines
        for by in lines
        if before in old.text and after in by.text
    ]
    return reflector_answer(made, outdated=pairs)


def _note(row: Json, sources: Sequence[str], day: str) -> str:
    marks = {name: row[name] for name in ("stance", "referenced_date") if name in row}
    return note(
        row["content"], sources, priority=row.get("priority", "high"), observation_date=day, **marks
    )


def rests(terminal: PseudoTerminal) -> bool:
    """Return whether nothing is written for a second."""
    before = len(terminal.screen.raw)
    try:
        terminal.see(lambda screen: len(screen.raw) > before, 1.0)
    except AssertionError:
        return True
    return False


def with_ids(line: str, db: Path) -> str:
    """Replace each {words} with the id of the observation that contains them."""
    head, brace, rest = line.partition("{")
    if not brace:
        return line
    words, _, tail = rest.partition("}")
    query = "SELECT id FROM observations WHERE content LIKE ? ORDER BY generation DESC LIMIT 1"
    (found,) = sqlite3.connect(db).execute(query, (f"%{words}%",)).fetchone()
    return f"{head}{found}{tail}"
