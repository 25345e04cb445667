"""What compacting and observing changed."""

from typing import Any

from construct.memory.learning.floor import Reflection
from construct.operations.learning import CompactResult, Observed, ObservePlan
from construct.views.words import counted, expected_cost, money

_RETIRED = {
    "same": "found to say the same as another",
    "drop": "of low priority dropped",
    "outdated": "found outdated",
}


def compact_view(done: CompactResult) -> str:
    """Return what was observed, committed and condensed, in one line."""
    parts = [counted(done.observed, "new observation")] if done.observed else []
    compacted = done.compacted
    moved = [f"{compacted.committed:,} committed"] if compacted.committed else []
    if compacted.left_window:
        moved.append(f"{counted(compacted.left_window, 'message')} left the window")
    parts += [", ".join(moved)] if moved else []
    if done.reflection is not None and done.reflection.shrinks:
        parts += _reflected(done.reflection)
    return ("; ".join(parts) or "No new observations") + "."


def compact_json(done: CompactResult | None) -> dict[str, Any]:
    """Return the same for programs. None: there was no conversation to compact."""
    if done is None:
        counts = ("observed", "committed", "left_window", "condensed", "into")
        return {"conversation": None} | dict.fromkeys(counts, 0)
    refused = done.reflection.refused if done.reflection else []
    shrunk = done.reflection if done.reflection and done.reflection.shrinks else Reflection()
    return {
        "conversation": done.conversation,
        "observed": done.observed,
        "committed": done.compacted.committed,
        "left_window": done.compacted.left_window,
        "condensed": len(shrunk.gone),
        "into": len(shrunk.lines),
        "kept_back": [f"{one.what}: {one.reason}" for one in refused],
    }


def observe_plan_view(plan: ObservePlan) -> str:
    """Return what there is to observe, and what that may cost."""
    messages = counted(plan.messages, "imported message")
    conversations = counted(len(plan.backlogs), "conversation")
    tokens = counted(sum(waiting.tokens for waiting in plan.backlogs), "token")
    how = "by rule, at no cost"
    if plan.model is not None:
        how = f"with {plan.model}, in about {counted(plan.estimate.calls, 'call')}"
    cost = expected_cost(plan.estimate.usd)
    return (
        f"Not observed yet: {messages} in {conversations}, about {tokens}.\n"
        f"They would be read {how}{cost}."
    )


def observed_view(done: Observed) -> str:
    """Return what was observed, and what is left."""
    if not done.messages and done.stopped is None:
        return "Nothing imported is left to observe."
    learned = f"{counted(done.messages, 'message')}: {counted(done.observations, 'observation')}"
    lines = [f"Observed {learned}, {money(done.cost_usd)}."]
    if done.stopped:
        lines.append(f"Stopped: {done.stopped}.")
    if done.messages_left:
        left = counted(done.messages_left, "message")
        lines.append(f"Left: {left}; run the same command to continue.")
    return "\n".join(lines)


def _reflected(reflection: Reflection) -> list[str]:
    parts = []
    if reflection.lines:
        replaced = counted(len(reflection.retired("line")), "observation")
        parts.append(f"{replaced} condensed into {len(reflection.lines):,}")
    for kind, words in _RETIRED.items():
        if retired := reflection.retired(kind):
            parts.append(f"{counted(len(retired), 'observation')} {words}")
    return parts
