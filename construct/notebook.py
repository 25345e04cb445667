"""The notebook: how a message is answered where no model is configured.

A reply quotes what was said before that bears on the message, or says that the message
is noted. What is stored of it is only which messages it quotes, by uid, so that nothing
of it is observed, indexed, exported or sent to a model, and what is forgotten
disappears from it (contract.md, "First minute, models, notebook").
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence

from construct.clock import Clock
from construct.language.index_words import index_words
from construct.memory.cycles.situation import MemoryConfig
from construct.memory.recall.passages import passages
from construct.memory.recall.query import analyse, excerpt
from construct.memory.recall.search import Hit, searched
from construct.memory.shown.forks import reach
from construct.store.messages import get_message, messages_with_uids, question_of
from construct.store.records import Message
from construct.store.search import Filters
from construct.vocabulary import ItemKind, Role, Scope

_MOST_QUOTES = 3
_LONGEST_QUOTE = 200
NOTED = "Noted."
_NOTHING_FOUND = "Nothing you wrote before was found for it."
NOT_KEPT = "Not kept: this talk is private."
_WHO = {Role.USER: "you", Role.ASSISTANT: "the companion"}


def bearing_on(
    db: sqlite3.Connection,
    words: str,
    config: MemoryConfig,
    conversation_id: int | None,
    *but: int,
) -> list[Message]:
    """Return the messages that bear on these words, best first, three at most.

    A question is searched for as a whole; where nothing answers all of it, what has a
    part of its words comes back. Of anything else only what is clearly about the same
    comes back, as it would by itself in a turn with a model. `but` are messages that
    are not looked for: where the words are stored, these themselves. Nothing comes back
    in a new conversation that is shown only its own.
    """
    if conversation_id is None and config.scope != Scope.USER:
        return []
    filters = Filters(
        talk=None if conversation_id is None else reach(db, config.scope, conversation_id),
        kind=ItemKind.MESSAGE,
        without=but,
        zone=config.clock.zone,
        for_model=True,
    )
    today = config.clock.today()
    hits: Sequence[Hit]
    if is_question(words):
        found = searched(db, words, filters, 2 * _MOST_QUOTES, today=today, meaning=config.meaning)
        said = [hit for hit in found.hits if not is_question(hit.text)]  # a question is no answer
        hits = [hit for hit in said if hit.match != "loose"] or _with_a_word_of(words, said)
    else:
        hits = passages(db, words, today=today, filters=filters, meaning=config.meaning)
    return [get_message(db, hit.id) for hit in hits[:_MOST_QUOTES]]


def _with_a_word_of(question: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that hold a word of the question themselves."""
    asked = set(analyse(question).words)
    return [hit for hit in hits if not asked.isdisjoint(index_words(hit.text))]


def is_question(text: str) -> bool:
    """Return whether a message asks something, in any script."""
    return text.rstrip(" \t\n\"'”’)").endswith(("?", "？", "؟", ";"))


def dump(quoted: Sequence[Message]) -> str:
    """Return the `blocks` that are stored for a reply."""
    return json.dumps({"type": "notebook", "quotes": [message.uid for message in quoted]})


def with_words(db: sqlite3.Connection, messages: Iterable[Message], clock: Clock) -> list[Message]:
    """Return messages to be shown: the notebook's replies with their words."""
    return [m if m.quotes is None else m._replace(content=rendered(db, m, clock)) for m in messages]


def quoted(db: sqlite3.Connection, reply: Message) -> list[Message]:
    """Return what still stands of the messages that a reply quotes."""
    found = messages_with_uids(db, reply.quotes or ())
    return [m for m in found if not (m.withheld or m.left_out)]


def rendered(db: sqlite3.Connection, reply: Message, clock: Clock) -> str:
    """Return the words of a stored reply."""
    question = question_of(db, reply)
    return worded(NOTED, quoted(db, reply), question.content if question else "", clock)


def worded(opening: str, quotes: Sequence[Message], question: str, clock: Clock) -> str:
    """Return a reply that quotes what bears on the question of each message."""
    if not quotes:
        return f"{opening} {_NOTHING_FOUND}" if is_question(question) else opening
    sought = analyse(question) if question.strip() else None
    words, pieces = (sought.words, sought.pieces) if sought else ((), ())
    lines = [
        f"- {clock.day(m.created_at)}, {_WHO[Role(m.role)]}:"
        f" “{excerpt(m.text, words, _LONGEST_QUOTE, pieces)}” (message:{m.id})"
        for m in quotes
    ]
    is_answer = opening == NOTED and is_question(question)
    return "\n".join(["From before:" if is_answer else f"{opening} From before:", "", *lines])
