"""Render the user's memory rules and what they left out."""

from construct.llm.types import Model
from construct.memory.learning.observer_call import fitting_wishes
from construct.operations.rules import RulesInForce
from construct.program import as_typed
from construct.views.words import counted


def rules_view(in_force: RulesInForce, worker: Model | None) -> str:
    """Return what the rules in force do with this memory worker, and in which file they are."""
    rules = in_force.rules
    if not rules.prose:
        return f"No rules yet: {in_force.file} has only comments."
    lines = [f"Your rules apply from now on. They are in {in_force.file}."]
    if rules.never:
        lines.append(
            f"Never in an observation: {', '.join(rules.never)}. Messages keep such words."
        )
    if worker is None:
        lines.append("No model does the memory work, so only never: lines have an effect.")
    else:
        fit = len(fitting_wishes(rules.prose, worker).splitlines())
        count = len(rules.prose.splitlines())
        if fit < count:
            read = f"only the first {fit} of {count} lines" if fit else "none of them"
            hint = "" if fit else " Write shorter lines."
            lines.append(f"They are too long: the memory worker's model reads {read}.{hint}")
    lines.append(f"{as_typed('observe --dry-run')} shows what they change.")
    return "\n".join(lines)


def forbidden_view(word: str) -> str:
    """Return the warning that the user wrote a word which their own rules forbid."""
    return f"Stored because you wrote it yourself, though your rules say never: {word}."


def left_out_view(count: int) -> str:
    """Return how many observations the rules have left out, and how to open the rules."""
    left_out = counted(count, "observation")
    return f"Your rules have left out {left_out} so far. {as_typed('/rules')} opens the rules."
