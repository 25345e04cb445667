"""Decide how a chat opens: with which models, in which conversation.

Imports little, because the prompt appears only after this.
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
    """The settings, models and conversation that a chat opens with."""

    settings: Settings
    models: Models
    conversation: ConversationSummary | None
    """The conversation to continue; None for a new one."""
    first_run: bool
    """Whether there is no conversation yet, other than imported ones never continued."""
    private: bool
    """Whether the chat starts in private talk."""

    @property
    def conversation_id(self) -> int | None:
        """The id of the conversation to continue; None for a new one."""
        return None if self.conversation is None else self.conversation.conversation.id


def open_chat(
    settings: Settings, conversation: int | None, *, new: bool, model: str | None, private: bool
) -> Opening:
    """Open the database and choose models and conversation.

    Raises ConstructError for the first thing that prevents it: the options, then the
    models, then the database.
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
        summary = None if conversation is None else conversation_summary(db, conversation)
    return Opening(settings, models, summary, first_run=current is None, private=private)
