"""A worker's proposals, before they are checked and stored.

Ids are database ids: anchors are translated when an answer is read, and unknown anchors
are dropped.
"""

from dataclasses import dataclass

from construct.memory.shown.lines import NoteFields
from construct.store.records import Observation


@dataclass(frozen=True, slots=True)
class ProposedObservation(NoteFields):
    """One observation as proposed.

    `sources` are message ids (observer) or observation ids (reflector).
    """

    sources: tuple[int, ...]
    replaces: tuple[int, ...] = ()
    """Ids of observations that this one makes untrue or settles."""
    borrowed: tuple[int, ...] = ()
    """Ids of observations whose names it may use: all that it proposed to replace."""
    unsettles: tuple[int, ...] = ()
    """Ids of observations that it contradicts and may not replace: they become doubtful."""
    stands_in_for: str = ""
    """The refused line in whose place this sentence of the user's is stored."""


def fact_of(note: ProposedObservation | Observation) -> tuple[str, ...]:
    """Return what is equal for notes that differ in case and spaces, or in their day, at most."""
    words = " ".join(note.content.casefold().split())
    when = (note.referenced_date, note.referenced_time, note.recurs, note.remind_at)
    return words, note.stance, *(part or "" for part in when)


@dataclass(frozen=True, slots=True)
class LostLine:
    """A line that was refused for good, with no words of the user's to stand in for it."""

    content: str
    observation_date: str
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ProposedValue:
    """An amount of what the user's rules follow, as proposed."""

    name: str
    amount: float
    unit: str | None
    day: str
    message_id: int
    replaces: tuple[int, ...] = ()
    """Ids of the stored values that it corrects."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an observer found in a batch of messages.

    `current_task`, `suggested_response` and `title`: None leaves what is stored, ""
    clears the first two.
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
    """Observations from an earlier part of the batch that a later part says to forget."""
    lost: tuple[LostLine, ...] = ()
    """Refused lines that the user is shown in `review`."""
    values: tuple[ProposedValue, ...] = ()
    """Amounts of what the user's rules follow."""
    unsupported: tuple[int, ...] = ()
    """Notes that the main model kept, and that the messages do not say: they become doubtful."""
    unsettled: tuple[int, ...] = ()
    """Notes that a change in it may have made untrue: they become doubtful."""
    by_rule: bool = False
    """True if no model's answer is in it."""
    is_title_by_rule: bool = False
    """True if the title was made by fixed rules: used only if the conversation has none."""
    is_whole: bool = True
    """False when the answer broke off."""

    @property
    def says_something(self) -> bool:
        """True if it has observations, values, or anything to forget."""
        return bool(
            self.observations or self.values or self.forget_observations or self.forget_messages
        )


@dataclass(frozen=True, slots=True)
class ReflectionProposal:
    """What a reflector, or a rule, proposes; not yet checked."""

    observations: tuple[ProposedObservation, ...] = ()
    same: tuple[tuple[int, int], ...] = ()
    """Pairs of notes that say the same thing; `check_reflection` decides which one stays."""
    outdated: tuple[tuple[int, int], ...] = ()
    """Pairs of (stale id, newer id)."""
    drop: tuple[int, ...] = ()
    """Notes to drop. `check_reflection` refuses all but those of low priority."""
    shelve: tuple[int, ...] = ()
    """Notes that are still true and need not be in sight."""
    is_whole: bool = True
    """False when the answer broke off."""
