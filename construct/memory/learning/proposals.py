"""What a worker proposes, before the guard has judged it and code has stored it.

Ids are database ids already: anchors are translated on the way in, and what was no anchor is gone.
"""

from dataclasses import dataclass

PRIORITIES = ("high", "medium", "low")
STANCES = ("stated", "asked", "planned", "hypothetical", "inferred", "assistant", "quoted")


@dataclass(frozen=True, slots=True)
class Draft:
    """One observation as proposed; `sources` are message ids (observer) or observation ids (reflector)."""

    content: str
    priority: str
    stance: str
    observation_date: str
    referenced_date: str | None
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Extraction:
    """An observer's answer for one batch of messages."""

    drafts: tuple[Draft, ...] = ()
    current_task: str | None = None
    suggested_response: str | None = None
    title: str | None = None
    by_rule: bool = False
    """Whether no model has read it: its title does for a talk that has none."""


@dataclass(frozen=True, slots=True)
class Condensation:
    """A reflector's answer: new lines, what it would drop, and pairs of (old, newer that makes it outdated)."""

    drafts: tuple[Draft, ...] = ()
    superseded: tuple[int, ...] = ()
    outdated: tuple[tuple[int, int], ...] = ()
