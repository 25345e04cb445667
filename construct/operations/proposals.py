"""What other programs propose to remember: it waits in the review, and no model is shown it."""

from construct.clock import to_text
from construct.errors import ConstructError, UsageError
from construct.language.words import words
from construct.llm.types import Tool
from construct.memory.reading_tools import tool
from construct.operations.context import Context
from construct.store import questions
from construct.store.database import transaction
from construct.store.forbidden import is_forbidden
from construct.text import one_line, shorten, storable

PROPOSE = "propose"
_MAX_CHARACTERS = 500
_MOST_WAITING = 100
_MAX_CLIENT_CHARACTERS = 60
"""A longer client name is shortened before it is stored."""
TOOL: Tool = tool(
    PROPOSE,
    "Propose one fact about the user to remember, in one self-contained sentence. It is no memory: "
    "the user reads it in a review and decides. Propose only what the user said to you and what "
    f"will matter later. At most {_MAX_CHARACTERS} characters.",
    {"text": {"type": "string", "maxLength": _MAX_CHARACTERS}},
    ["text"],
)


def propose(ctx: Context, client: str, text: object) -> str:
    """Let a fact wait for the user's decision, and return the answer for the client.

    Raises UsageError for what is no text, is too long or holds no word, ConstructError if the
    user's rules forbid it or too much waits.
    """
    ctx.settings.require_learning()
    if not isinstance(text, str):
        raise UsageError("`text` must be a text.")
    if len(text) > _MAX_CHARACTERS:
        raise UsageError(f"`text` may have {_MAX_CHARACTERS} characters at most.")
    content = one_line(storable(text))
    if not words(content):
        raise UsageError("`text` needs at least one word.")
    with transaction(ctx.db):
        if is_forbidden(ctx.db, content):
            raise ConstructError("The user's rules forbid that: nothing was stored.")
        if questions.is_proposed(ctx.db, content):
            return "This was proposed before: the user decides on it."
        if questions.count_proposals(ctx.db) >= _MOST_WAITING:
            raise ConstructError(f"{_MOST_WAITING} proposals wait for the user already.")
        name = shorten(storable(client), _MAX_CLIENT_CHARACTERS) or "unknown"
        questions.add_proposal(ctx.db, content, name, to_text(ctx.clock.now()))
    return "Proposed. It is no memory until the user keeps it."
