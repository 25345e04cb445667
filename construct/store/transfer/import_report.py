"""What an import found, does and added."""

from collections.abc import Callable
from dataclasses import dataclass

from construct.store.transfer.foreign import LeftOut, Refused

Announce = Callable[["FoundFiles"], None]
"""Called with what was found, before it is read."""
Progress = Callable[[str, int, int], None]
"""Called with the step, how much of it is done, and the total (0 if unknown)."""
READING, STORING, INDEXING = "Reading", "Storing", "Indexing"
OWN = "Construct"
FORGOTTEN = "forgotten or deleted here"


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """What an import is going to read: how many files of each format, and their size."""

    formats: tuple[tuple[str, int], ...]
    size: int
    is_obvious: bool
    """Whether it is one small file, which need not be told to whoever named it."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import added."""

    formats: tuple[str, ...] = ()
    conversations: int = 0
    messages: int = 0
    observations: int = 0
    proposals: int = 0
    """Facts from memory lists that wait for the user's decision."""
    listed: tuple[str, ...] = ()
    """The uids of the questions about all facts in the memory lists, known ones too."""
    known: int = 0
    """Messages and facts (of Construct's own exports: rows) that were already known."""
    left_out: tuple[LeftOut, ...] = ()
    refused: tuple[Refused, ...] = ()
    warning: str | None = None

    @property
    def is_own(self) -> bool:
        """Whether everything comes from an export of Construct's."""
        return self.formats == (OWN,)

    @property
    def has_added(self) -> bool:
        """Whether anything new came in."""
        return bool(self.conversations or self.messages or self.observations or self.proposals)
