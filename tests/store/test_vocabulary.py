"""The closed sets of words agree with the schema."""

import re
from enum import StrEnum

import pytest

from construct.vocabulary import (
    CycleKind,
    CycleStatus,
    Flag,
    MessageStatus,
    Origin,
    Priority,
    QuestionKind,
    Recurrence,
    Replacement,
    Role,
    Scope,
    Stance,
    WatermarkName,
    Way,
)
from tests.memory.builders import Life


@pytest.mark.parametrize(
    ("table", "column", "words"),
    [
        ("messages", "role", Role),
        ("messages", "status", MessageStatus),
        ("observations", "priority", Priority),
        ("observations", "stance", Stance),
        ("watermarks", "name", WatermarkName),
        ("cycles", "kind", CycleKind),
        ("cycles", "status", CycleStatus),
        ("observations", "origin", Origin),
        ("observations", "recurs", Recurrence),
        ("observation_flags", "flag", Flag),
        ("questions", "kind", QuestionKind),
        ("observation_replaced", "relation", Replacement),
        ("briefed", "way", Way),
        ("last_take_ins", "scope", Scope),
    ],
)
def test_a_check_lists_the_words(life: Life, table: str, column: str, words: type[StrEnum]) -> None:
    """A column takes the members of its enum and no other word."""
    (sql,) = life.db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    listed = re.search(rf"CHECK\s*\({column} IN\s*\(([^)]*)\)", sql)
    assert listed is not None
    assert set(re.findall(r"'([^']+)'", listed[1])) == set(words)
