"""The verifier: another call of the worker model that checks a condensed line.

It sees only the notes and the line, not who wrote it or why (docs/memory.md, "What
keeps it correct").
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from construct.llm.types import Model, WorkRequest
from construct.memory.learning.asking import Account, ask, repeats_itself
from construct.memory.learning.reflection_checks import ChangeKind
from construct.memory.shown.lines import Note, Section, plain_line, section
from construct.prompts import prompt
from construct.vocabulary import Purpose

_REPLY_TOKENS = 8_192
_TOKENS_A_GROUP = 80
_LONGEST_REASON = 300
_ATTEMPTS = 2
_CHECK = re.compile(
    r"(?:[-*•] )?(?:group )?(\d{1,4})[.):]? (yes|no)\b[\s,;:.–—-]*(.*)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Group:
    """A proposal to check: the notes it retires, and the note that replaces them."""

    kind: ChangeKind
    notes: tuple[Note, ...]
    result: Note


async def verify(
    model: Model, groups: Sequence[Group], account: Account
) -> list[str | None] | None:
    """Return for each group what is wrong with it, or None if nothing is.

    A group that the verifier does not answer counts as wrong. Returns None if every
    call failed.
    """
    if not groups:
        return []
    needed = 500 + _TOKENS_A_GROUP * len(groups)
    request = WorkRequest(
        system=prompt("verifier"),
        user="\n".join(_group(number, group) for number, group in enumerate(groups, 1)),
        max_tokens=min(_REPLY_TOKENS, model.context_window // 3, needed),
        hopeless=repeats_itself,
    )
    answers: dict[int, str | None] = {}
    for _ in range(_ATTEMPTS):
        reply = await ask(model, request, account, Purpose.VERIFIER)
        if reply is None:
            continue
        checks = section(reply.text, "checks")
        answers = _read(checks, len(groups)) or answers
        if checks is not None and checks.is_closed and answers:
            break
        account.problems.append("the verifier's answer broke off or could not be read")
    if not answers:
        return None
    return [
        answers.get(number, "the verifier did not answer") for number in range(1, len(groups) + 1)
    ]


def _group(number: int, group: Group) -> str:
    opening = f'<group n="{number}" is="{group.kind}">'
    result = f"=> {plain_line(group.result)}"
    return "\n".join([opening, *map(plain_line, group.notes), result, "</group>"])


def _read(checks: Section | None, count: int) -> dict[int, str | None]:
    """Return what is wrong by group number, None for a yes; empty without answers.

    If a group has several answers, a no wins. A yes with words after it counts as a no:
    they are probably an objection.
    """
    objections: dict[int, str | None] = {}
    for line in checks.lines if checks else ():
        match = _CHECK.fullmatch(line)
        if match is None or not 1 <= int(match[1]) <= count:
            continue
        is_yes = match[2].lower() == "yes" and not match[3]
        objection = None if is_yes else match[3][:_LONGEST_REASON] or "the verifier said no"
        number = int(match[1])
        objections[number] = objections.get(number) or objection
    return objections
