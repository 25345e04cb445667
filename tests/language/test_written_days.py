"""A `for` that contradicts a day that the line writes out."""

import pytest

from construct.language.written_days import contradicts


@pytest.mark.parametrize(
    ("text", "when", "expected"),
    [
        ("User sees Dr Moura on Tuesday 3 November", "2026-11-10", True),
        ("User sees Dr Moura on Tuesday 3 November", "2026-11-03", False),
        ("User sees Dr Moura on Tuesday 3 November", "2026-11", False),
        ("User tem consulta a 3 de novembro", "2026-11-10", True),
        ("User hat am 3. November einen Termin", "2026-11-03", False),
        ("User ma wizytę 3 listopada", "2026-11-10", True),
        ("User идёт к врачу 3 ноября", "2026-11-10", True),
        ("Userは11月3日に歯医者に行く", "2026-11-10", True),
        ("User flies on 3/11/2026", "2026-11-03", False),
        ("User, born on 3 May 1990, flies", "2026-11-10", False),
        ("User's flight of 3 November was moved to 10 November", "2026-11-10", False),
        ("User has 3 cats", "2026-11-10", False),
        ("User rated the film 0.0.", "2026-11-10", False),
        ("User bought 24.24. of it", "2026-11-10", False),
    ],
)
def test_days_that_contradict(text: str, when: str, expected: bool) -> None:
    """A day written out in any of the known ways; days before it was said do not count."""
    assert contradicts(text, when, "2026-11-02") is expected
