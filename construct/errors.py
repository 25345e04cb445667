"""Everything that can go wrong in a way the user can do something about.

Each error carries the process's exit status (contract.md, "Exit status") and says in
one or two plain lines what happened and what to do next.
"""

import re
from enum import IntEnum


def with_note(text: str, note: str) -> str:
    """Return an error's text with a sentence more, still one or two lines."""
    separator = " " if "\n" in text else "\n"
    return f"{text}{separator}{note}"


class ExitStatus(IntEnum):
    """Exit statuses of the command line."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_CONFIGURED = 3
    DATABASE_UNUSABLE = 4
    INTERRUPTED = 130


class StoppedError(SystemExit):
    """The process was told to stop by a signal other than Ctrl-C's."""

    def __init__(self, number: int) -> None:
        self.status = 128 + number  # as a shell says it
        super().__init__(self.status)


class ConstructError(Exception):
    """Base of all expected errors; `str()` of it is fit to be shown."""

    status = ExitStatus.FAILED


class UsageError(ConstructError):
    """The command line or a setting is wrong."""

    status = ExitStatus.USAGE


class NotConfiguredError(ConstructError):
    """Neither credentials nor a local model are there."""

    status = ExitStatus.NOT_CONFIGURED


class DatabaseUnusableError(ConstructError):
    """The database is newer, foreign, damaged, read-only or locked."""

    status = ExitStatus.DATABASE_UNUSABLE


class AttachmentError(ConstructError):
    """A file that cannot be attached."""


class NotFoundError(ConstructError):
    """An id that names nothing."""


class ModelError(ConstructError):
    """A model call failed. The subclasses are the kinds a caller may tell apart."""

    @property
    def in_short(self) -> str:
        """What happened, without details, advice and the last full stop."""
        return re.split(r" \(|\. |\.?\n|\.$", str(self))[0]


class ModelRejectedError(ModelError):
    """The key or the request was rejected: asking again changes nothing."""


class ModelBusyError(ModelError):
    """Rate limit or overload: asking again later helps."""


class ModelUnreachableError(ModelError):
    """No connection, or none in time."""


class ModelBrokenError(ModelError):
    """The connection broke, or what came was no answer."""


class ContextOverflowError(ModelError):
    """The request is larger than the model's context window."""

    ADVICE = "Send a shorter message, or use a model that reads more: --model, in the chat /model."
