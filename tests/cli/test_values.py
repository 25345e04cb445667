"""What stands behind the options of a command."""

import pytest

from tests.support.program import Program


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("memory search tea --limit a", "'--limit': a is not a whole number."),
        ("memory search tea --limit 1.5", "'--limit': 1.5 is not a whole number."),
        ("memory search tea --limit 0", "'--limit': it must be at least 1."),
        ("observe --budget much", "'--budget': much is not a number."),
        ("observe --budget nan", "'--budget': it must be at least 0."),
        ("serve --port 99999", "'--port': it must be at most 65535."),
    ],
)
def test_wrong_values(program: Program, arguments: str, said: str) -> None:
    """They are refused in plain words, with the option's name."""
    done = program.run(*arguments.split())
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == f"Invalid value for {said}"


def test_right_values(program: Program) -> None:
    """Words, numbers and paths are read.

    A word may be given several times or not at all.
    """
    program.run("memory", "add", "Tea at five")
    found = program.json("memory", "search", "tea", "five", "--limit", "1")
    assert [hit["text"] for hit in found] == ["Tea at five"]
    assert len(program.json("memory", "list")) == 1
    assert program.run("export", "-o", "out.jsonl").returncode == 0
    assert (program.folder / "out.jsonl").exists()
