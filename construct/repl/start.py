"""The way into a chat: which models, which talk. Light, since the prompt waits for it."""

from contextlib import closing
from dataclasses import dataclass

from construct.config import Settings
from construct.errors import UsageError
from construct.llm.providers import Models, choose_models
from construct.store import talk
from construct.store.database import open_database
from construct.store.talk import ConversationSummary


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
        """The conversation that goes on, None for a new one."""
        return None if self.conversation is None else self.conversation.conversation.id


def open_chat(settings: Settings, conversation: int | None, *, new: bool, model: str | None, private: bool) -> Opening:
    """Return the opening; raises what keeps a chat from beginning, in the order in which it can be put right."""
    if conversation is not None and new:
        raise UsageError("--conversation and --new exclude each other: name one of them.")
    models = choose_models(settings)
    if model is not None:
        models = models.with_model(model)
    with closing(open_database(settings.db)) as db:
        latest = talk.latest_conversation(db)
        wanted = conversation if conversation is not None else None if new else latest
        here = None if wanted is None else talk.summary(db, wanted)
    return Opening(settings, models, here, latest is None, private)
