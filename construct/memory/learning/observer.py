"""The observer: turn a batch of messages into observations.

A failed attempt is repeated once, then on each half of the batch. The extractive worker
reads a half that fails too, so no batch is ever skipped (docs/memory.md,
"What happens in a turn"). What was read is checked before it counts: `second_look.py`.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from construct import tokens
from construct.language.terms import terms
from construct.llm.types import Model
from construct.memory.learning.asking import Account
from construct.memory.learning.drafts import Draft
from construct.memory.learning.extractive import extract
from construct.memory.learning.observer_call import (
    ask_observer,
    batch_tokens,
    fitting_wishes,
    known_tokens,
    system_prompt,
)
from construct.memory.learning.proposals import Extraction
from construct.memory.learning.reading import Reading
from construct.memory.learning.second_look import second_look
from construct.memory.shown.transcript import halves, slices
from construct.store.records import Message
from construct.vocabulary import Role

_ASK_AGAIN = (
    "A first reading of this noted nothing. Read it once more; "
    "if there really is nothing to note, leave the section empty again."
)


async def observe(model: Model | None, reading: Reading, account: Account) -> Extraction:
    """Return the observations that a model finds in the messages.

    Without a model, the extractive worker reads them.
    """
    if model is None:
        return await asyncio.to_thread(extract, reading.messages, reading.clock)
    wishes = fitting_wishes(reading.wishes, model)
    added = tokens.count(system_prompt(wishes, reading.tracked)) - tokens.count(system_prompt(""))
    reading = replace(reading, wishes=wishes, known_limit=max(0, known_tokens(model) - added))
    extractions: list[Extraction] = []
    for messages in _in_parts(reading.messages, batch_tokens(model)):
        extractions.append(await _observe_part(model, reading.part(messages, extractions), account))
    return joined(extractions)


def joined(parts: Sequence[Extraction]) -> Extraction:
    """Merge several extractions into one.

    The last task and the first title are kept. A model's title is preferred to one made
    by rule.
    """
    tasks = [p.current_task for p in parts if p.current_task is not None]
    responses = [p.suggested_response for p in parts if p.suggested_response is not None]
    titled = [p for p in parts if p.title]
    titled.sort(key=lambda part: part.is_title_by_rule)
    withdrawn = {o for part in parts for o in part.withdrawn}
    return Extraction(
        observations=tuple(o for part in parts for o in part.observations if o not in withdrawn),
        current_task=tasks[-1] if tasks else None,
        suggested_response=responses[-1] if responses else None,
        title=titled[0].title if titled else None,
        forget_observations=tuple(i for part in parts for i in part.forget_observations),
        forget_messages=tuple(i for part in parts for i in part.forget_messages),
        withdrawn=tuple(withdrawn),
        lost=tuple(line for part in parts for line in part.lost),
        values=tuple(value for part in parts for value in part.values),
        unsupported=tuple(i for part in parts for i in part.unsupported),
        by_rule=all(p.by_rule for p in parts),
        is_title_by_rule=bool(titled) and titled[0].is_title_by_rule,
    )


async def _observe_part(model: Model, reading: Reading, account: Account) -> Extraction:
    """Observe the messages of one call; by rule if every attempt fails."""
    draft = await _attempt_twice(model, reading, account)
    if draft is not None and draft.is_whole:
        return await second_look(model, draft, reading, account)
    parts = halves(reading.messages)
    if len(parts) == 1:
        return await _completed_by_rule(model, draft, reading, account)
    extractions: list[Extraction] = []
    for messages in parts:
        half = reading.part(messages, extractions)
        draft = await ask_observer(model, half, account)
        if draft is not None and draft.is_whole:
            extractions.append(await second_look(model, draft, half, account))
        else:
            extractions.append(await _completed_by_rule(model, draft, half, account))
    return joined(extractions)


async def _attempt_twice(model: Model, reading: Reading, account: Account) -> Draft | None:
    """Return the first complete answer of two attempts, or else the last answer.

    If a complete answer is empty although the user names something, the model is asked
    once more. The empty answer does not count as an attempt.
    """
    draft, failures, remark = None, 0, ""
    while failures < 2:
        draft = await ask_observer(model, reading, account, remark=remark)
        if draft is None or not draft.is_whole:
            failures += 1
        elif draft.says_something or remark:
            break
        elif any(terms(m.content) for m in reading.messages if m.role == Role.USER):
            remark = _ASK_AGAIN
        else:
            break
    return draft


async def _completed_by_rule(
    model: Model, broken: Draft | None, reading: Reading, account: Account
) -> Extraction:
    """Complete a broken-off answer with observations made by rule.

    The extractive worker continues at the last message that the answer cites.
    """
    if broken is None or broken.is_empty:
        return await asyncio.to_thread(extract, reading.messages, reading.clock)
    by_anchor = reading.by_anchor
    last_named = max((by_anchor[a].id for note in broken.notes for a in note.anchors), default=0)
    rest = [m for m in reading.messages if m.id >= last_named]
    checked = await second_look(model, broken, reading, account)
    return joined([checked, await asyncio.to_thread(extract, rest, reading.clock)])


def _in_parts(messages: Sequence[Message], limit: int) -> list[list[Message]]:
    """Split messages into parts of at most `limit` tokens.

    A larger message is itself split into pieces, which keep its id.
    """
    parts: list[list[Message]] = []
    size = 0
    for message in messages:
        pieces = slices(message.content, limit)
        cost = message.token_count if len(pieces) == 1 else limit
        for number, piece in enumerate(pieces):
            if not parts or size + cost > limit:
                parts.append([])
                size = 0
            attached = None if number else message.attached  # its pictures are seen once
            parts[-1].append(message._replace(content=piece, attached=attached))
            size += cost
    return parts
