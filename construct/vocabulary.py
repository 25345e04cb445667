"""The closed sets of words: what a column, a setting or a mark may hold.

Every member is the text that stands in the database, in JSON and in prompts. The schema's
CHECKs list the same words; `tests/store/test_vocabulary.py` compares them.
"""

from enum import StrEnum

EXTRACTIVE = "extractive"
"""The worker's name where memory is made by rule, without a model."""


class Role(StrEnum):
    """Who said a message."""

    USER = "user"
    ASSISTANT = "assistant"


class MessageStatus(StrEnum):
    """Whether a message came whole."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"


class Priority(StrEnum):
    """How much an observation matters, the highest first."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Stance(StrEnum):
    """How firmly, and by whom, a fact was put; the weakest last."""

    STATED = "stated"
    PLANNED = "planned"
    ASKED = "asked"
    INFERRED = "inferred"
    HYPOTHETICAL = "hypothetical"
    ASSISTANT = "assistant"
    QUOTED = "quoted"


class WatermarkName(StrEnum):
    """The marks of a conversation, the highest first."""

    OBSERVED = "observed"
    COMPACTED = "compacted"
    WINDOW = "window"


class CycleKind(StrEnum):
    """What a cycle did."""

    OBSERVER = "observer"
    REFLECTOR = "reflector"
    GRAPH = "graph"
    EDIT = "edit"


class CycleStatus(StrEnum):
    """How a cycle stands."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ABANDONED = "abandoned"
    REVERTED = "reverted"


class Purpose(StrEnum):
    """What a model was asked for: the `purpose` of a line of usage."""

    CHAT = "chat"
    OBSERVER = "observer"
    REFLECTOR = "reflector"
    VERIFIER = "verifier"
    GRAPH = "graph"


class MemoryOrigin(StrEnum):
    """Who kept a memory."""

    USER = "user"
    ASSISTANT = "assistant"
    OBSERVATION = "observation"


class Relation(StrEnum):
    """Why one observation stands in another's place."""

    OUTDATED = "outdated"
    SAME = "same"
    EDIT = "edit"


class AgendaState(StrEnum):
    """Where something with a date stands."""

    AHEAD = "ahead"
    TODAY = "today"
    OUTCOME_UNKNOWN = "outcome unknown"


class Settled(StrEnum):
    """How the user settled something on the agenda."""

    DONE = "done"
    CANCELLED = "cancelled"


class Way(StrEnum):
    """How something of memory came into a request."""

    DUE = "due"
    PASSAGE = "passage"
    RECALL = "recall"
    SOURCE = "source"


class Scope(StrEnum):
    """Of which conversations a conversation is shown the observations."""

    USER = "user"
    CONVERSATION = "conversation"


class ItemKind(StrEnum):
    """What recall finds, and what a reference names."""

    MESSAGE = "message"
    OBSERVATION = "observation"
    MEMORY = "memory"


class AttachmentKind(StrEnum):
    """What an attached file is."""

    IMAGE = "image"
    PDF = "pdf"
    TEXT = "text"

    @classmethod
    def of(cls, media_type: str) -> "AttachmentKind":
        """Return what data of a media type is."""
        if media_type.startswith("image/"):
            return cls.IMAGE
        return cls.PDF if media_type == "application/pdf" else cls.TEXT


class Mode(StrEnum):
    """How the memory stands: open in a chat, at rest, or switched off."""

    ACTIVE = "active"
    PASSIVE = "passive"
    READ_ONLY = "read-only"
    OFF = "off"


class Phase(StrEnum):
    """What memory work is going on."""

    IDLE = "idle"
    OBSERVING = "observing"
    COMPACTING = "compacting"
    REFLECTING = "reflecting"
    CHECKING = "checking"
    PRUNING = "pruning"


class Provider(StrEnum):
    """Where replies come from."""

    ANTHROPIC = "anthropic"
    LOCAL = "local"
    NOTEBOOK = "notebook"
