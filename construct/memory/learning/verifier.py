"""The verifier: a separate call of the worker model that checks proposed changes.

It sees the notes and what is to replace them, but not who proposed it or why
(docs/memory.md, "What keeps it correct").
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from construct.llm.types import Model, WorkRequest
from construct.memory.learning.asking import Account, ask, repeats_itself
from construct.memory.learning.reflection_checks import ChangeKind
from construct.memory.shown.lines import NoteFields, Section, plain_line, section
from construct.prompts import prompt
from construct.store.records import Observation
from construct.vocabulary import Purpose

_REPLY_TOKENS = 8_192
_TOKENS_PER_GROUP = 80
_MAX_REASON_LENGTH = 300
_ATTEMPTS = 2
# For example "2 no: the date is missing" or "- group 3: yes".
_CHECK = re.compile(
    r"(?:[-*•] )?(?:group )?(\d{1,4})[.):]? (yes|no)\b[\s,;:.–—-]*(.*)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Group:
    """A proposal to check: the notes it retires, and the note that replaces them."""

    kind: ChangeKind
    notes: tuple[NoteFields | Observation, ...]
    result: NoteFields | Observation


async def verify(
    model: Model, groups: Sequence[Group], account: Account
) -> list[str | None] | None:
    """Return for each group what is wrong with it, or None if nothing is.

    A group without an answer counts as wrong. Returns None if no call returned a readable
    answer.
    """
    if not groups:
        return []
    needed = 500 + _TOKENS_PER_GROUP * len(groups)
    request = WorkRequest(
        system=prompt("verifier"),
        user="\n".join(_group_text(number, group) for number, group in enumerate(groups, 1)),
        max_tokens=min(_REPLY_TOKENS, model.context_window // 3, needed),
        hopeless=repeats_itself,
    )
    answers: dict[int, str | None] = {}
    for _ in range(_ATTEMPTS):
        reply = await ask(model, request, account, Purpose.VERIFIER)
        if reply is None:
            continue
        checks = section(reply.text, "checks")
        answers = _read_checks(checks, len(groups)) or answers
        if checks is not None and checks.is_closed and answers:
            break
        account.problems.append("the verifier's answer broke off or could not be read")
    if not answers:
        return None
    return [
        answers.get(number, "the verifier did not answer") for number in range(1, len(groups) + 1)
    ]


def _group_text(number: int, group: Group) -> str:
    opening = f'<group n="{number}" is="{group.kind}">'
    result = f"=> {plain_line(group.result)}"
    return "\n".join([opening, *map(plain_line, group.notes), result, "</group>"])


def _read_checks(checks: Section | None, count: int) -> dict[int, str | None]:
    """Return by group number what is wrong, or None for a yes; empty without answers.

    If a group has several answers, a no wins. A yes with words after it counts as a no:
    they are probably an objection.
    """
    objections: dict[int, str | None] = {}
    for line in checks.lines if checks else ():
        match = _CHECK.fullmatch(line)
        if match is None or not 1 <= int(match[1]) <= count:
            continue
        is_yes = match[2].lower() == "yes" and not match[3]
        objection = None if is_yes else match[3][:_MAX_REASON_LENGTH] or "the verifier said no"
        number = int(match[1])
        objections[number] = objections.get(number) or objection
    return objections
