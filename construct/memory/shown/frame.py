"""What decides which observations a conversation's model is shown."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """Settings that decide which observations may be shown, and how many."""

    scope: str
    budget: int
