"""Ask what a change in the user's life makes doubtful (docs/memory.md, "What keeps it correct").

"Moved to Porto" makes the tram line and the neighbour's key doubtful, not untrue. A call that
fails makes nothing doubtful.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from construct.llm.types import Model, WorkRequest
from construct.memory.learning.asking import Account, ask, repeats_itself
from construct.memory.learning.proposals import Extraction, ProposedObservation
from construct.memory.shown.lines import anchored_lines, anchors_in, plain_line, section
from construct.prompts import prompt
from construct.store.records import Observation
from construct.vocabulary import Purpose, Stance

_REPLY_TOKENS = 500
_UNSETTLING = {Stance.STATED, Stance.PLANNED}


@dataclass(frozen=True, slots=True)
class LifeChange:
    """Notes that are no longer true or are settled, and the line that takes their place."""

    old: tuple[Observation, ...]
    new: ProposedObservation


def changes_in(found: Extraction, known: Iterable[Observation]) -> list[LifeChange]:
    """Return the changes that an observer's accepted lines tell of."""
    by_id = {o.id: o for o in known if o.stance in _UNSETTLING}
    changes = [
        LifeChange(tuple(by_id[i] for i in line.replaces if i in by_id), line)
        for line in found.observations
    ]
    return [change for change in changes if change.old]


async def doubtful_after(
    model: Model, changes: Sequence[LifeChange], related: Sequence[Observation], account: Account
) -> tuple[int, ...]:
    """Return the ids of the related notes that the changes may have made untrue."""
    shown: list[str] = []
    for change in changes:
        old = map(plain_line, change.old)
        shown += ["<change>", *old, f"=> {plain_line(change.new)}", "</change>"]
    request = WorkRequest(
        system=prompt("unsettle"),
        user="\n".join([*shown, "<related>", *anchored_lines("R", related), "</related>"]),
        max_tokens=min(_REPLY_TOKENS, model.context_window // 3),
        hopeless=repeats_itself,
    )
    reply = await ask(model, request, account, Purpose.VERIFIER)
    answer = section(reply.text, "doubtful") if reply else None
    if answer is None or not answer.is_closed:
        account.problems.append("what the change unsettles could not be asked or read")
        return ()
    anchors = {f"R{number}": o.id for number, o in enumerate(related, 1)}
    return tuple(anchors[anchor] for anchor in anchors_in(answer.lines, anchors))
