"""Enumerations of the words that columns, settings and marks can have.

Each member's value is the word used in the database, in JSON or in prompts. Many are
also listed in the schema's CHECKs; `tests/store/test_vocabulary.py` compares the two.
"""

from enum import StrEnum

EXTRACTIVE = "extractive"
"""The worker's name if observations are extracted by fixed rules, without a model."""


class Role(StrEnum):
    """Who wrote a message."""

    USER = "user"
    ASSISTANT = "assistant"


class MessageStatus(StrEnum):
    """Whether a message arrived completely."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"


class Priority(StrEnum):
    """How important an observation is, the highest first."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Stance(StrEnum):
    """How firmly a fact was stated, and by whom; the weakest last."""

    STATED = "stated"
    PLANNED = "planned"
    ASKED = "asked"
    INFERRED = "inferred"
    HYPOTHETICAL = "hypothetical"
    ASSISTANT = "assistant"
    QUOTED = "quoted"


class WatermarkName(StrEnum):
    """The watermarks of a conversation, the highest first."""

    OBSERVED = "observed"
    COMPACTED = "compacted"
    WINDOW = "window"


class CycleKind(StrEnum):
    """What kind of work a cycle did."""

    OBSERVER = "observer"
    REFLECTOR = "reflector"
    GRAPH = "graph"
    EDIT = "edit"


class CycleStatus(StrEnum):
    """Whether a cycle is running, and how it ended."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ABANDONED = "abandoned"
    REVERTED = "reverted"


class Purpose(StrEnum):
    """What a model was called for, as recorded with its usage."""

    CHAT = "chat"
    OBSERVER = "observer"
    REFLECTOR = "reflector"
    VERIFIER = "verifier"
    GRAPH = "graph"


class Origin(StrEnum):
    """Who wrote a note: a worker, the user, or what was asked to keep it."""

    WORKER = "worker"
    USER = "user"
    ASSISTANT = "assistant"
    DOOR = "door"
    IMPORT = "import"


class Recurrence(StrEnum):
    """How often what a note speaks of comes again."""

    YEARLY = "yearly"
    MONTHLY = "monthly"
    WEEKLY = "weekly"
    DAILY = "daily"


class Flag(StrEnum):
    """What a cycle may mark an active note as."""

    SHELVED = "shelved"
    DOUBTFUL = "doubtful"


class QuestionKind(StrEnum):
    """What the user is asked to decide."""

    FORGET = "forget"
    DOUBTFUL = "doubtful"
    STAND_IN = "stand-in"
    LIST = "list"
    PROPOSAL = "proposal"
    NEW = "new"


class WaitingKind(StrEnum):
    """What a review shows, in its order: questions, and what waits in another place."""

    FORGET = "forget"
    DOUBTFUL = "doubtful"
    STAND_IN = "stand-in"
    OUTCOME = "outcome"
    REMINDER = "reminder"
    LIST = "list"
    TEXT = "text"
    PROPOSAL = "proposal"
    NEW = "new"
    LEARNED = "learned"


class Answer(StrEnum):
    """What the user can answer in a review."""

    KEEP = "keep"
    KEEP_ALL = "keep all"
    EDIT = "edit"
    PIN = "pin"
    UNTRUE = "no longer true"
    WITHHOLD = "withheld"
    FORGET = "forget"
    LATER = "later"


class Replacement(StrEnum):
    """Why one observation replaced another."""

    OUTDATED = "outdated"
    SAME = "same"
    EDIT = "edit"


class AgendaState(StrEnum):
    """The state of an agenda item."""

    AHEAD = "ahead"
    TODAY = "today"
    OUTCOME_UNKNOWN = "outcome unknown"


class Settled(StrEnum):
    """How the user settled an agenda item."""

    DONE = "done"
    CANCELLED = "cancelled"


class Way(StrEnum):
    """How a memory item got into a request."""

    DUE = "due"
    PASSAGE = "passage"
    RECALL = "recall"
    SOURCE = "source"


class Scope(StrEnum):
    """Whose observations a conversation sees: all of the user's, or its own."""

    USER = "user"
    CONVERSATION = "conversation"


class ItemKind(StrEnum):
    """The kinds of items that recall finds and ids refer to."""

    MESSAGE = "message"
    OBSERVATION = "observation"


class AttachmentKind(StrEnum):
    """The kinds of files that can be attached."""

    IMAGE = "image"
    PDF = "pdf"
    TEXT = "text"

    @classmethod
    def of(cls, media_type: str) -> "AttachmentKind":
        """Return the kind of files with this media type."""
        if media_type.startswith("image/"):
            return cls.IMAGE
        return cls.PDF if media_type == "application/pdf" else cls.TEXT


class Mode(StrEnum):
    """The state of the memory: in use by a chat, at rest, read-only or switched off."""

    ACTIVE = "active"
    PASSIVE = "passive"
    READ_ONLY = "read-only"
    OFF = "off"


class Phase(StrEnum):
    """The memory work that is running."""

    IDLE = "idle"
    OBSERVING = "observing"
    COMPACTING = "compacting"
    REFLECTING = "reflecting"
    CHECKING = "checking"
    PRUNING = "pruning"


class WorkKind(StrEnum):
    """The memory work that can be due in a conversation."""

    OBSERVE = "observe"
    COMPACT = "compact"
    REFLECT = "reflect"


class MemorySetting(StrEnum):
    """The values of CONSTRUCT_MEMORY."""

    ON = "on"
    READ_ONLY = "read-only"
    OFF = "off"


class LearnSetting(StrEnum):
    """The values of CONSTRUCT_LEARN."""

    ON = "on"
    ASK = "ask"


class Match(StrEnum):
    """How a search result matches the query."""

    DIRECT = "direct"
    RELATED = "related"
    LOOSE = "loose"
    RESPELT = "respelt"


class Provider(StrEnum):
    """Where replies come from."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    LOCAL = "local"
    NOTEBOOK = "notebook"


class Permission(StrEnum):
    """The user's lasting answer about a tool from outside."""

    ALWAYS = "always"
    NEVER = "never"


class Outside(StrEnum):
    """How a reply is mixed with text from outside: words that are not the user's own."""

    BEFORE = "before"
    """The request held such text, as a paste."""
    RESULT = "result"
    """The reply itself holds a tool's or the web's result, which is sent along with it."""
