"""Render what `observe` would do, and what `compact` and `observe` did."""

from typing import Any

from construct.memory.learning.reflection_checks import ChangeKind, Reflection
from construct.operations.learning import CompactResult, Observed, ObservePlan
from construct.program import as_typed
from construct.text import shorten
from construct.views.words import counted, expected_cost, money

_RETIREMENTS = {
    ChangeKind.SAME: "found to repeat another",
    ChangeKind.SHELVE: "shelved",
    ChangeKind.DROP: "dropped for low priority",
    ChangeKind.OUTDATED: "found outdated",
}


def compact_view(done: CompactResult) -> str:
    """Return one line: how many observations were made, became active and were condensed."""
    parts = [counted(done.observed, "new observation")] if done.observed else []
    compacted = done.compacted
    moved = []
    if compacted.committed:
        number = f"{compacted.committed:,}"
        if not parts:  # no earlier part says what is counted
            number = counted(compacted.committed, "observation")
        moved.append(f"{number} became active")
    if compacted.left_window:
        moved.append(f"{counted(compacted.left_window, 'message')} left the window")
    parts += [", ".join(moved)] if moved else []
    if done.reflection is not None and done.reflection.shrinks:
        parts += _reflection_parts(done.reflection)
    return ("; ".join(parts) or "No new observations") + "."


def compact_json(done: CompactResult | None) -> dict[str, Any]:
    """Return the JSON form of `compact_view`; None means there was no conversation."""
    if done is None:
        counts = ("observed", "committed", "left_window", "condensed", "into")
        return {"conversation": None, **dict.fromkeys(counts, 0), "kept_back": []}
    refused = done.reflection.refused if done.reflection else []
    shrunk = done.reflection if done.reflection and done.reflection.shrinks else Reflection()
    return {
        "conversation": done.conversation,
        "observed": done.observed,
        "committed": done.compacted.committed,
        "left_window": done.compacted.left_window,
        "condensed": len(shrunk.superseded),
        "into": len(shrunk.lines),
        "kept_back": [f"{refusal.proposal}: {refusal.reason}" for refusal in refused],
    }


def observe_plan_view(plan: ObservePlan) -> str:
    """Return how many messages would be observed, and what that may cost."""
    messages = counted(plan.messages, "imported message")
    conversations = counted(len(plan.backlogs), "conversation")
    tokens = counted(sum(waiting.tokens for waiting in plan.backlogs), "token")
    return (
        f"Not observed yet: {messages} in {conversations}, about {tokens}.\n"
        f"{'It' if plan.messages == 1 else 'They'} would be read {how_observed(plan)}."
    )


def how_observed(plan: ObservePlan) -> str:
    """Return the end of a sentence: with which model, in how many calls, and at what cost."""
    if plan.model is None:
        return f"without a model, at no cost{expected_cost(plan.estimate.usd)}"
    calls = counted(plan.estimate.calls, "call")
    return f"with {plan.model}, in about {calls}{expected_cost(plan.estimate.usd)}"


def observed_view(done: Observed, since: str | None = None) -> str:
    """Return how many messages were observed, at what cost, and how many are left.

    `since` is the earliest date that the user asked for.
    """
    if not done.messages and done.stopped is None:
        if since:
            day = shorten(since, 40)
            return f"No imported conversation with messages since {day} is left to observe."
        return "Nothing imported is left to observe."
    learned = f"{counted(done.messages, 'message')}: {counted(done.observations, 'observation')}"
    cost = "" if done.cost_usd is None else f", {money(done.cost_usd)}"
    lines = [f"Observed {learned}{cost}."]
    if done.stopped:
        lines.append(f"Stopped: {done.stopped}.")
    if done.messages_left:
        left = counted(done.messages_left, "message")
        lines.append(f"Left for the next {as_typed('observe')}: {left}.")
    return "\n".join(lines)


def _reflection_parts(reflection: Reflection) -> list[str]:
    parts = []
    if reflection.lines:
        replaced = counted(len(reflection.taken_by(ChangeKind.LINE)), "observation")
        parts.append(f"{replaced} condensed into {len(reflection.lines):,}")
    for kind, how in _RETIREMENTS.items():
        if retired := reflection.taken_by(kind):
            parts.append(f"{counted(len(retired), 'observation')} {how}")
    return parts


def stand_ins_view(count: int) -> str:
    """Return how many lines were refused for good, and what became of them."""
    lines = counted(count, "line")
    return (
        f"In the last 30 days {lines} of the memory worker's could not be confirmed. "
        "What you said is kept in their place, word for word."
    )
