"""The stand-in for a model in notebook mode, where fixed rules write the replies."""

from typing import TYPE_CHECKING, NoReturn

from construct.errors import NotConfiguredError
from construct.program import as_typed
from construct.vocabulary import AttachmentKind

if TYPE_CHECKING:
    from construct.llm.types import ReplyStream, Request, WorkReply, WorkRequest


class Notebook:
    """Stands in for a model. Every request raises NotConfiguredError."""

    name = "notebook"
    context_window = 200_000
    parameters: int | None = None
    reads: frozenset[AttachmentKind] = frozenset()

    def stream(self, request: "Request") -> "ReplyStream":
        """Raise NotConfiguredError."""
        self._refuse()

    async def complete(self, request: "WorkRequest") -> "WorkReply":
        """Raise NotConfiguredError."""
        self._refuse()

    async def close(self) -> None:
        """Do nothing."""

    @staticmethod
    def _refuse() -> NoReturn:
        raise NotConfiguredError(
            f"No model is configured. Run {as_typed('setup')} to choose one, or set"
            " ANTHROPIC_API_KEY,\n"
            "or ANTHROPIC_BASE_URL to a server that speaks the Messages API."
        )
