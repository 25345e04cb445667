"""What a chat begins with: which models, which conversation.

It imports little, since the prompt waits for it.
"""

from contextlib import closing
from dataclasses import dataclass

from construct.config import Settings
from construct.errors import UsageError
from construct.llm.providers import Models, choose_models
from construct.store.conversations import (
    ConversationSummary,
    conversation_summary,
    current_conversation,
)
from construct.store.database import open_database


@dataclass(frozen=True, slots=True)
class Opening:
    """What a chat begins with."""

    settings: Settings
    models: Models
    conversation: ConversationSummary | None
    first_run: bool
    private: bool

    @property
    def conversation_id(self) -> int | None:
        """The conversation that continues, None for a new one."""
        return None if self.conversation is None else self.conversation.conversation.id


def open_chat(
    settings: Settings, conversation: int | None, *, new: bool, model: str | None, private: bool
) -> Opening:
    """Return what a chat begins with.

    Raises what keeps it from beginning, in the order in which the user can correct it.
    """
    if conversation is not None and new:
        raise UsageError("Pass --conversation or --new, not both.")
    models = choose_models(settings)
    if model is not None:
        models = models.with_model(model)
    with closing(open_database(settings.db)) as db:
        current = current_conversation(db)
        if conversation is None and not new:
            conversation = current
        here = None if conversation is None else conversation_summary(db, conversation)
    return Opening(settings, models, here, current is None, private)
