"""The way into a chat: which models, which talk. Light, since the prompt waits for it."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass

from construct.config import Settings
from construct.errors import UsageError
from construct.llm.providers import Models, choose_models
from construct.memory import forks
from construct.store import talk
from construct.store.database import open_database
from construct.store.records import Conversation


@dataclass(frozen=True, slots=True)
class Opening:
    """What a chat begins with."""

    settings: Settings
    models: Models
    conversation: Conversation | None
    last_at: str | None
    first_run: bool
    private: bool


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
        here = None if wanted is None else talk.conversation(db, wanted)
        last_at = None if here is None else _last_at(db, here)
    return Opening(settings, models, here, last_at, latest is None, private)


def _last_at(db: sqlite3.Connection, here: Conversation) -> str:
    last = forks.last_messages(db, here.id, 1)
    return last[-1].created_at if last else here.created_at
