"""The notebook: how a message is answered where no model is configured.

A reply quotes what was said before that bears on the message, or says that the message is
noted. What is stored of it is only which messages it quotes, by uid, so that nothing of
it is observed, indexed, exported or sent to a model, and what is forgotten disappears
from it (contract.md, "First minute, models, notebook").
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence

from construct.clock import Clock, from_text
from construct.memory.cycles.situation import MemoryConfig
from construct.memory.recall.passages import passages
from construct.memory.recall.search import Hit, searched
from construct.memory.shown.forks import reach
from construct.store.messages import get_message, messages_with_uids
from construct.store.records import Message
from construct.store.search import Filters
from construct.text import one_line, shorten
from construct.vocabulary import ItemKind, Role

_MOST_QUOTES = 3
_LONGEST_QUOTE = 200
NOTED = "Noted."
_WHO = {Role.USER: "you", Role.ASSISTANT: "the companion"}


def bearing_on(db: sqlite3.Connection, words: Message, config: MemoryConfig) -> list[Message]:
    """Return the messages that bear on what was just said, best first, three at most.

    A question is searched for as a whole. Of anything else only what is clearly about the
    same comes back, as it would by itself in a turn with a model.
    """
    filters = Filters(
        talk=reach(db, config.scope, words.conversation_id),
        kind=ItemKind.MESSAGE,
        without=(words.id,),
        zone=config.clock.zone,
        for_model=True,
    )
    today = config.clock.today()
    hits: Sequence[Hit]
    if is_question(words.content):
        found = searched(
            db, words.content, filters, 2 * _MOST_QUOTES, today=today, meaning=config.meaning
        )
        hits = [hit for hit in found.hits if hit.match != "loose"]  # "loose" is only near it
    else:
        hits = passages(db, words.content, today=today, filters=filters, meaning=config.meaning)
    return [get_message(db, hit.id) for hit in hits[:_MOST_QUOTES]]


def is_question(text: str) -> bool:
    """Tell whether a message asks something, in any script."""
    return text.rstrip(" \t\n\"'”’)").endswith(("?", "？", "؟", ";"))


def dump(quoted: Sequence[Message]) -> str:
    """Return the `blocks` that are stored for a reply."""
    return json.dumps({"type": "notebook", "quotes": [message.uid for message in quoted]})


def with_words(db: sqlite3.Connection, messages: Iterable[Message], clock: Clock) -> list[Message]:
    """Return messages to be shown: the notebook's replies with their words."""
    return [m if m.quotes is None else m._replace(content=rendered(db, m, clock)) for m in messages]


def rendered(db: sqlite3.Connection, reply: Message, clock: Clock) -> str:
    """Return the words of a stored reply, of what still stands of the messages it quotes."""
    quotes = [
        m for m in messages_with_uids(db, reply.quotes or ()) if not (m.withheld or m.left_out)
    ]
    if not quotes:
        return NOTED
    lines = [
        f"- {_day(m, clock)}, {_WHO[Role(m.role)]}: “{_excerpt(m.content)}” (message:{m.id})"
        for m in quotes
    ]
    return "\n".join(["Noted. From before:", "", *lines])


def _excerpt(text: str) -> str:
    return shorten(one_line(text), _LONGEST_QUOTE)


def _day(message: Message, clock: Clock) -> str:
    return clock.local(from_text(message.created_at)).date().isoformat()
