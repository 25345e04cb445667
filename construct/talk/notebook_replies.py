"""The notebook: replies by fixed rules, used when no model is configured.

A reply quotes up to three relevant earlier messages. If there are none, it says whether
the message is kept, and after a question also that there is nothing to quote. When asked to
forget something, it explains how, after the reply to whatever else was said. Only the
uids of the quoted messages are stored. So the reply's text is never observed, indexed,
exported or sent to a model, and a forgotten message disappears from it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from construct.clock import Clock
from construct.language.index_words import index_words
from construct.language.sentences import (
    asks_to_forget,
    is_informative,
    is_question,
    own_text,
    sentences_to_keep,
    split_sentences,
)
from construct.memory.config import MemoryConfig
from construct.memory.recall.passages import passages
from construct.memory.recall.query import analyse, excerpt
from construct.memory.recall.search import Hit, search_memory
from construct.memory.shown.forks import reach
from construct.store.driver import Connection
from construct.store.messages import get_message, messages_with_uids
from construct.store.note_links import message_links, messages_behind
from construct.store.records import Message
from construct.store.replies import question_of
from construct.store.search import Filters, entries
from construct.store.succession import corrections_of
from construct.vocabulary import ItemKind, Match, Role, Scope

_MAX_QUOTES = 3
_MAX_QUOTE_CHARACTERS = 200
NOTED = "Noted."
NOT_KEPT = "Not kept: private talk is on."
_HOW_TO_FORGET = (
    "The notebook deletes nothing by itself. In a chat, `/recall WORDS` shows the ID of what you "
    "mean, and `/forget ID --words` deletes it. After `/private on`, nothing you say is kept."
)
# An observation may match that rests on no message: it cannot be quoted, since only uids of
# messages are stored.
_NOTHING_FOUND = (
    "No message to quote. In a chat, `/recall WORDS` searches all messages and observations."
)
_SPEAKERS = {Role.USER: "you", Role.ASSISTANT: "the assistant"}


def relevant_messages(
    db: Connection,
    text: str,
    config: MemoryConfig,
    conversation_id: int | None,
    *excluded: int,
) -> list[Message]:
    """Return up to three earlier messages that are relevant to `text`, best first.

    Requests to forget something, and what they are about, are not searched for: the
    quotes would only repeat what is to be forgotten.

    For a question these are its matches; loose ones only if there are no others and they
    share a word with it. Other questions are left out. A matching observation counts as
    a match of the message that it was drawn from. For anything else they are the
    messages that are relevant enough to be given to a model in the same turn.
    `excluded` are ids of messages to leave out, such as the new message itself. In a new
    conversation with the scope "conversation" there are none.
    """
    text = _without_requests(text)
    if not text.strip() or (conversation_id is None and config.scope != Scope.USER):
        return []
    filters = Filters(
        descent=None if conversation_id is None else reach(db, config.scope, conversation_id),
        exclude=excluded,
        zone=config.clock.zone,
        for_model=True,
    )
    if _asks(text):
        return _answers(db, text, config, filters)
    hits = passages(
        db,
        text,
        today=config.clock.today(),
        filters=replace(filters, kind=ItemKind.MESSAGE),
        meaning=config.meaning,
    )
    return [get_message(db, hit.id) for hit in hits[:_MAX_QUOTES]]


def _answers(
    db: Connection, question: str, config: MemoryConfig, filters: Filters
) -> list[Message]:
    """Return up to three messages that may answer a question, best first."""
    result = search_memory(
        db,
        question,
        filters,
        4 * _MAX_QUOTES,
        today=config.clock.today(),
        meaning=config.meaning,
    )
    statements = [hit for hit in result.hits if _can_answer(hit.text)]
    exact = [hit for hit in statements if hit.match != Match.LOOSE]
    for hits in (exact, _sharing_a_word(question, statements)):
        quotable = [_message_id(db, hit, question, filters) for hit in hits]
        ids = [i for i in dict.fromkeys(quotable) if i is not None]
        if ids:
            return [get_message(db, i) for i in ids[:_MAX_QUOTES]]
    return []


def _message_id(db: Connection, hit: Hit, question: str, filters: Filters) -> int | None:
    """Return the id of the message to quote for a hit.

    For an observation, it is the message behind it that shares the most words with it and
    the question; one that it does not name itself counts only if it names none. None if no
    message behind it can be quoted.
    """
    if hit.kind == ItemKind.MESSAGE:
        return hit.id
    named = [message_id for _, message_id in message_links(db, [hit.id])]
    ids = named or [message.id for message in messages_behind(db, [hit.id])]
    behind = entries(db, ItemKind.MESSAGE, ids, filters)
    found = [e for e in behind if e.is_searchable and _can_answer(e.text)]
    words = {*index_words(hit.text), *analyse(question).words}
    shared = {e.id: len(words.intersection(index_words(e.text))) for e in found}
    return max(shared, key=lambda i: (shared[i], i), default=None)


def _asks(text: str) -> bool:
    """Return whether a new message asks something: the last entry of `_questions` decides."""
    return _questions(own_text(text))[-1:] == [True]


def _can_answer(text: str) -> bool:
    """Return whether a text says anything but questions and requests to forget.

    Quoted material counts too: it may hold the answer.
    """
    questions = _questions(text)
    return not (questions and all(questions)) and is_informative(_without_requests(text))


def _questions(text: str) -> list[bool]:
    """Return whether each sentence of a text is a question, without those like "Thanks!"."""
    questions = ((is_question(sentence), sentence) for sentence in split_sentences(text))
    return [asks for asks, sentence in questions if asks or is_informative(sentence)]


def _without_requests(text: str) -> str:
    """Return a message without requests to forget something and what they are about."""
    own = own_text(text)
    if any(map(asks_to_forget, split_sentences(own))):
        return "\n".join(sentences_to_keep(own))
    return text


def _sharing_a_word(question: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits whose own text contains a word of the question."""
    words = set(analyse(question).words)
    return [hit for hit in hits if not words.isdisjoint(index_words(hit.text))]


def dump_quotes(quoted: Sequence[Message]) -> str:
    """Return the JSON that is stored as the `blocks` of a reply with these quotes."""
    return json.dumps({"type": "notebook", "quotes": [message.uid for message in quoted]})


def with_text(db: Connection, messages: Iterable[Message], clock: Clock) -> list[Message]:
    """Return the messages, with the text of the notebook's replies filled in."""
    return [
        m if m.quotes is None else m._replace(content=stored_reply_text(db, m, clock))
        for m in messages
    ]


def quoted_messages(db: Connection, reply: Message) -> list[Message]:
    """Return the messages that a reply quotes, without those withheld or left out since."""
    messages = messages_with_uids(db, reply.quotes or ())
    return [m for m in messages if not (m.withheld or m.left_out)]


def stored_reply_text(db: Connection, reply: Message, clock: Clock) -> str:
    """Return the text of a stored reply."""
    question = question_of(db, reply)
    return reply_text(
        db, NOTED, quoted_messages(db, reply), question.content if question else "", clock
    )


def reply_text(
    db: Connection, opening: str, quotes: Sequence[Message], question: str, clock: Clock
) -> str:
    """Return the text of a reply: an opening, then each quoted message with its corrections.

    If the message asks for something to be forgotten, an explanation of how to do that
    follows. It stands alone if the message says nothing else and `opening` is `NOTED`.
    """
    if not any(map(asks_to_forget, split_sentences(own_text(question)))):
        return _reply(db, opening, quotes, question, clock)
    question = _without_requests(question)
    if not is_informative(question) and opening == NOTED:
        return _HOW_TO_FORGET
    reply = _reply(db, opening, quotes, question, clock)
    return f"{reply}\n\n{_HOW_TO_FORGET}" if quotes else f"{reply} {_HOW_TO_FORGET}"


def _reply(
    db: Connection, opening: str, quotes: Sequence[Message], question: str, clock: Clock
) -> str:
    """Return the text of a reply to a message without requests to forget something."""
    if not quotes:
        return f"{opening} {_NOTHING_FOUND}" if _asks(question) else opening
    words: tuple[str, ...] = ()
    pieces: tuple[str, ...] = ()
    if question.strip():  # it may be blank: the message can be missing
        query = analyse(question)
        words, pieces = query.words, query.pieces
    is_answer = opening == NOTED and _asks(question)
    lines = ["From before:" if is_answer else f"{opening} From before:", ""]
    corrections = corrections_of(db, [message.id for message in quotes])
    for message in quotes:
        quote = excerpt(message.text, words, _MAX_QUOTE_CHARACTERS, pieces)
        day, speaker = message.written(clock).date(), _SPEAKERS[Role(message.role)]
        lines.append(f"- {day}, {speaker}: “{quote}” (message:{message.id})")
        for message_id, o in corrections:
            if message_id == message.id:
                correction = excerpt(o.content, words, _MAX_QUOTE_CHARACTERS, pieces)
                lines.append(f"  - now: “{correction}” ({o.id})")
    return "\n".join(lines)
