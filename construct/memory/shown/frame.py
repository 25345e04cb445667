"""What decides which observations a conversation's model is shown.

A module of its own because most commands import it, and few need `view`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """Settings that decide which observations may be shown, and how many."""

    scope: str
    budget: int
    """Maximum tokens of all observations together."""
    plans_from: str = ""
    """Plans for a time before this day are out of sight."""
