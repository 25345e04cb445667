"""What counts as the verifier's yes."""

from typing import Any

import pytest

from construct.llm.types import WorkReply, WorkRequest
from construct.memory.learning.asking import Account
from construct.memory.learning.reflector import line_group
from construct.memory.learning.verifier import verify
from construct.tokens import Usage
from tests.memory.making import observation, proposed

OLD = observation(1, "User has a dog called Ana")
GROUPS = [line_group([OLD], proposed("User has a dog", [1])) for _ in range(2)]


class Scripted:
    """A worker that gives these answers, one after the other."""

    name = "worker"
    context_window = 200_000

    def __init__(self, *answers: str) -> None:
        self._answers = [*answers]

    async def complete(self, request: WorkRequest) -> WorkReply:
        """Return the next answer."""
        return WorkReply(self._answers.pop(0), Usage(), "end_turn")


def checks(lines: str) -> str:
    """Return a whole answer."""
    return f"<checks>\n{lines}\n</checks>"


@pytest.mark.parametrize(
    ("answers", "holds"),
    [
        ([checks("1 yes\n2 no: the name")], [True, False]),
        ([checks("1 yes, but the name is wrong\n2 Yes.")], [False, True]),
        ([checks("1 yes\n1 no: on second thoughts\n2 yes")], [False, True]),
        (["<checks>\n1 yes\n2 ye", checks("1 yes")], [True, True]),
        (["<checks>\n1 yes\n2 ye", "<checks>\n1 y"], [True, False]),
        ([checks("1" * 5000 + " yes\n2 yes")], [False, True]),
    ],
    ids=[
        "yes and no",
        "yes, but",
        "both",
        "broken off once",
        "broken off twice",
        "a number of many digits",
    ],
)
async def test_only_a_plain_yes_holds(answers: list[str], holds: list[bool]) -> None:
    """Of an answer that breaks off, the whole lines count.

    The rest is asked for once more.
    """
    model: Any = Scripted(*answers)
    found = await verify(model, GROUPS, Account("reflector"))
    assert found is not None
    assert [wrong is None for wrong in found] == holds


async def test_nothing_that_can_be_read_checks_nothing() -> None:
    """Then all stays as it was."""
    model: Any = Scripted("Sure!", "Yes to all.")
    assert await verify(model, GROUPS, Account("reflector")) is None
