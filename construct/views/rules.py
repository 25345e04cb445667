"""The user's own rules for the memory."""

from construct.memory.learning.observer import WISHES_TOKENS
from construct.operations.rules import RulesInForce
from construct.views.words import counted


def rules_view(found: RulesInForce) -> str:
    """Return what the rules come to, and where they stand."""
    never, prose = found.rules.never, found.rules.prose
    if not prose:
        return f"No rules yet: there are only comments in {found.file}."
    lines = [f"Your rules hold from now on. They are in {found.file}."]
    if never:
        lines.append(f"Never written: {', '.join(never)}.")
    if found.is_too_long:
        lines.append(f"The memory worker reads their first {WISHES_TOKENS:,} tokens only.")
    lines.append("What they change: construct observe --dry-run")
    return "\n".join(lines)


def forbidden_view(word: str) -> str:
    """Return the warning about the user's own words that their rules speak against."""
    return f"Kept, since you wrote it, though your rules say never: {word}."


def left_out_view(count: int) -> str:
    """Return how much the rules have kept out of the memory."""
    return f"Your rules have left out {counted(count, 'note')} so far. /rules opens them."
