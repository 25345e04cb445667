"""The errors that a user can do something about.

Each has the exit status of the process (docs/programs.md, "Exit status") and a message of one
or two lines: what happened, and what to do next.
"""

from enum import IntEnum

from construct.program import as_typed


def with_note(text: str, note: str) -> str:
    """Return an error message with one more sentence, in no more than two lines."""
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
    """A signal other than that of Ctrl-C told the process to stop."""

    def __init__(self, signal_number: int) -> None:
        self.status = 128 + signal_number  # the exit status that shells use
        super().__init__(self.status)


class ConstructError(Exception):
    """Base of all expected errors; `str()` gives the message for the user."""

    status = ExitStatus.FAILED


class UsageError(ConstructError):
    """The command line or a setting is wrong."""

    status = ExitStatus.USAGE


class NotConfiguredError(ConstructError):
    """Credentials, model weights or an optional extra are missing or cannot be used."""

    status = ExitStatus.NOT_CONFIGURED


class DatabaseUnusableError(ConstructError):
    """The database is too new, not Construct's, damaged, read-only or locked."""

    status = ExitStatus.DATABASE_UNUSABLE


class NewerDatabaseError(DatabaseUnusableError):
    """A newer version wrote the database."""


class AttachmentError(ConstructError):
    """A file cannot be attached."""


class NotFoundError(ConstructError):
    """Nothing has the given id or name."""


class ModelError(ConstructError):
    """A model call failed; the subclasses say how.

    `what` happened, without a full stop; `details` in brackets or the like; and `advice`.
    """

    def __init__(self, what: str, advice: str, details: str = "") -> None:
        self.what, self.advice, self.details = what, advice, details
        super().__init__(f"{self.without_advice} {advice}")

    @property
    def without_advice(self) -> str:
        """What happened, in a sentence."""
        return f"{self.what}{self.details}."

    def with_advice(self, advice: str) -> "ModelError":
        """Return the same error with other advice."""
        return type(self)(self.what, advice, self.details)


class ModelRejectedError(ModelError):
    """The key, the request or a setting was rejected; trying again would not help."""


class PicturesRefusedError(ModelRejectedError):
    """The model, or its server, takes no pictures."""


class ModelBusyError(ModelError):
    """The rate limit was reached or the server is overloaded; trying later helps."""


class ModelUnreachableError(ModelError):
    """The server could not be reached, or not in time."""


class ModelBrokenError(ModelError):
    """The model or its server failed, the connection broke, or the response was invalid."""


class ContextOverflowError(ModelError):
    """The request is larger than the model's context window."""

    def __init__(self, what: str, advice: str = "", details: str = "") -> None:
        super().__init__(what, advice or larger_window_advice(), details)


def larger_window_advice() -> str:
    """Return what to do when a request is larger than the model's context window."""
    return (
        "Send a shorter message, or use a model with a larger context window "
        f"(CONSTRUCT_MODEL; {as_typed('/model')})."
    )
