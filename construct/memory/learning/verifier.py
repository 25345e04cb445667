"""The verifier: a separate call of the worker model that checks proposed changes.

It sees the notes and what is to replace them, or the messages and what is to be noted of
them, but not who proposed it or why (docs/memory.md, "What keeps it correct").
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from construct.llm.types import File, Model, WorkRequest
from construct.memory.learning.asking import Account, ask, repeats_itself
from construct.memory.shown.escaping import inline
from construct.memory.shown.lines import Section, section
from construct.prompts import prompt
from construct.vocabulary import Purpose

_REPLY_TOKENS = 8_192
_TOKENS_PER_GROUP = 80
_MAX_REASON_LENGTH = 300
_ATTEMPTS = 2
UNANSWERED = "the verifier did not answer"
# For example "2 no: the date is missing" or "- group 3: yes".
_CHECK = re.compile(
    r"(?:[-*•] )?(?:group )?(\d{1,4})[.):]? (yes|no)\b[\s,;:.–—-]*(.*)", re.IGNORECASE
)


class GroupKind(StrEnum):
    """What a group asks, in the words of the request."""

    LINE = "line"
    SAME = "same"
    OUTDATED = "outdated"
    NOTE = "note"
    FORGET = "forget"
    TASK = "task"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Group:
    """A proposal to check: notes, and the line that replaces them or is made of them."""

    kind: str
    notes: tuple[str, ...]
    """Lines as the request shows them, without anchors."""
    result: str
    look: tuple[str, ...] = ()
    """Names and numbers of `result` that code could not find in what it rests on."""


async def verify(
    model: Model,
    groups: Sequence[Group],
    account: Account,
    messages: str = "",
    pictures: tuple[File, ...] = (),
) -> list[str | None] | None:
    """Return for each group what is wrong with it, or None if nothing is.

    A group without an answer counts as wrong. Returns None if no call returned a readable
    answer. An answer that breaks off counts as far as it goes; the rest is asked for once
    more. `messages`: what lines of an observer rest on, shown before the groups.
    """
    answers: dict[int, str | None] = {}
    for _ in range(_ATTEMPTS):
        waiting = [index for index in range(len(groups)) if index not in answers]
        if not waiting:
            break
        request = _request(model, [groups[index] for index in waiting], messages)
        reply = await ask(model, replace(request, pictures=pictures), account, Purpose.VERIFIER)
        if reply is None:
            continue
        checks = section(reply.text, "checks")
        for number, objection in _read_checks(checks, len(waiting)).items():
            answers[waiting[number - 1]] = objection
        if checks is not None and checks.is_closed and answers:
            break
        account.problems.append("the verifier's answer broke off or could not be read")
    if groups and not answers:
        return None
    return [answers.get(index, UNANSWERED) for index in range(len(groups))]


def _request(model: Model, groups: Sequence[Group], messages: str) -> WorkRequest:
    shown = "\n".join(_group_text(number, group) for number, group in enumerate(groups, 1))
    needed = 500 + _TOKENS_PER_GROUP * len(groups)
    return WorkRequest(
        system=prompt("verifier"),
        user=f"{messages}\n\n{shown}" if messages else shown,
        max_tokens=min(_REPLY_TOKENS, model.context_window // 3, needed),
        hopeless=repeats_itself,
    )


def _group_text(number: int, group: Group) -> str:
    look = ", ".join(inline(word).replace('"', "'") for word in group.look)
    hint = f' look="{look}"' if look else ""
    opening = f'<group n="{number}" is="{group.kind}"{hint}>'
    return "\n".join([opening, *group.notes, f"=> {group.result}", "</group>"])


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
