"""Render the user's memory rules and what they left out."""

from construct.memory.learning.observer import WISHES_TOKENS
from construct.operations.rules import RulesInForce
from construct.views.words import counted


def rules_view(in_force: RulesInForce) -> str:
    """Return which words the rules in force forbid, and in which file the rules are."""
    rules = in_force.rules
    if not rules.prose:
        return f"No rules yet: {in_force.file} has only comments."
    lines = [f"Your rules apply from now on. They are in {in_force.file}."]
    if rules.never:
        lines.append(f"Never written: {', '.join(rules.never)}.")
    if in_force.is_too_long:
        lines.append(f"The memory worker reads only their first {WISHES_TOKENS:,} tokens.")
    lines.append("`construct observe --dry-run` shows what they change.")
    return "\n".join(lines)


def forbidden_view(word: str) -> str:
    """Return the warning that the user wrote a word which their own rules forbid."""
    return f"Stored because you wrote it yourself, though your rules say never: {word}."


def left_out_view(count: int, *, in_shell: bool = False) -> str:
    """Return how many observations the rules have left out, and how to open the rules."""
    where = "In a chat, /rules" if in_shell else "/rules"
    return (
        f"Your rules have left out {counted(count, 'observation')} so far. {where} opens the rules."
    )
