"""What a worker proposes, before code and verifier have checked it and code has stored it.

Ids are database ids: anchors are translated on the way in, and what was no anchor that was sent is gone.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProposedObservation:
    """One observation as proposed; `sources` are message ids (observer) or observation ids (reflector)."""

    content: str
    priority: str
    stance: str
    observation_date: str
    referenced_date: str | None
    sources: tuple[int, ...]
    first_date: str | None = None
    """Of a reflection: the first day of its sources, where that is not `observation_date`."""
    replaces: tuple[int, ...] = ()
    """Observations that this one makes untrue or settles."""
    borrowed: tuple[int, ...] = ()
    """Observations that this one may have taken names from: those it was to replace, agreed to or not."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an observer found in a batch of messages.

    `current_task`, `suggested_response` and `title`: None leaves what is stored, "" clears the first two.
    """

    observations: tuple[ProposedObservation, ...] = ()
    current_task: str | None = None
    suggested_response: str | None = None
    title: str | None = None
    forget_observations: tuple[int, ...] = ()
    """Known observations that the user asked to forget."""
    forget_messages: tuple[int, ...] = ()
    """Messages of the batch that the user asked to forget or not to keep."""
    withdrawn: tuple[ProposedObservation, ...] = ()
    """What was written about an earlier part of the batch and, as a later part shows, is to be forgotten."""
    by_rule: bool = False
    """Whether no model has read the batch: its title then serves only a conversation that has none."""

    @property
    def says_something(self) -> bool:
        """Whether it notes anything, or names something to forget."""
        return bool(self.observations or self.forget_observations or self.forget_messages)


@dataclass(frozen=True, slots=True)
class ReflectionProposal:
    """A reflector's answer, not yet checked: new lines, repeated notes, outdated notes and notes to drop."""

    observations: tuple[ProposedObservation, ...] = ()
    same: tuple[tuple[int, int], ...] = ()
    """Pairs of notes that say the same, in the order they were named."""
    outdated: tuple[tuple[int, int], ...] = ()
    """Pairs of (stale id, newer id)."""
    drop: tuple[int, ...] = ()
