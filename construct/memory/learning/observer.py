"""The observer: from a batch of messages to observations, whatever the worker model does.

An attempt that fails is made once more, then on both halves in turn; what still fails is
taken by the extractive worker, so that no batch is ever passed over.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from construct.clock import Clock, from_text
from construct.llm.types import JsonRequest, Model
from construct.memory.language.stance import checked_stance, is_borrowed, quoted_stems
from construct.memory.learning import schemas
from construct.memory.learning.anchoring import anchored, said_by
from construct.memory.learning.answers import copies_talk, drafts_so_far, extraction
from construct.memory.learning.asking import Account, ask
from construct.memory.learning.examples import observer_example, without_example
from construct.memory.learning.extractive import extract
from construct.memory.learning.proposals import Draft, Extraction
from construct.memory.shown.transcript import halves, slices, transcript
from construct.prompts import prompt
from construct.store.records import Message

BATCH_TOKENS = 16_000
_REPLY_TOKENS = 8_192


async def observe(model: Model | None, messages: Sequence[Message], clock: Clock, account: Account) -> Extraction:
    """Return what the messages say; with no model, what the extractive worker finds in them."""
    if model is None:
        return await asyncio.to_thread(extract, messages, clock)
    parts = [await _observe_part(model, part, clock, account) for part in _sized(messages, batch_tokens(model))]
    return joined(parts)


def batch_tokens(model: Model | None) -> int:
    """Return the most tokens of talk that one call is given: a small window leaves room for prompt and answer."""
    if model is None:
        return BATCH_TOKENS
    return max(200, min(BATCH_TOKENS, model.attention, model.context_window // 3))


async def _observe_part(model: Model, messages: Sequence[Message], clock: Clock, account: Account) -> Extraction:
    for _ in range(2):
        found = await _attempt(model, messages, clock, account)
        if found:
            return found
    parts = halves(messages)
    if len(parts) == 1:
        return await asyncio.to_thread(extract, messages, clock)
    halved: list[Extraction] = []
    for part in parts:
        found = await _attempt(model, part, clock, account)
        halved.append(await asyncio.to_thread(extract, part, clock) if found is None else found)
    return joined(halved)


async def _attempt(model: Model, messages: Sequence[Message], clock: Clock, account: Account) -> Extraction | None:
    """Ask once; None when it failed or found nothing."""
    text, anchors = transcript(messages, clock)
    days = {m.id: clock.local(from_text(m.created_at)).date() for m in messages}
    request = JsonRequest(
        system=prompt("observer"),
        user=f"{text}\n\n{_closing(list(anchors))}",
        example=observer_example(_closing(["M1", "M8"])),
        schema=schemas.OBSERVER,
        max_tokens=min(_REPLY_TOKENS, model.context_window // 3, 1_000 + 2 * sum(m.token_count for m in messages)),
        hopeless=lambda begun: _copied(drafts_so_far(begun, anchors, days), messages),
    )
    data = await ask(model, request, account)
    if data is None:
        return None
    found = await asyncio.to_thread(_believed, data, anchors, messages, days)  # a large paste takes a moment to weigh
    if not found.drafts:
        account.problems.append("the worker found nothing")
        return None
    if why := _copied(found.drafts, messages):
        account.problems.append(why)
        return None
    return found


def _copied(drafts: Sequence[Draft], messages: Sequence[Message]) -> str | None:
    return "the worker copied the talk" if copies_talk(drafts, messages) else None


def _believed(
    data: Mapping[str, Any], anchors: Mapping[str, int], messages: Sequence[Message], days: Mapping[int, date]
) -> Extraction:
    found = without_example(extraction(data, anchors, days), messages)
    quoted, said = quoted_stems(messages), said_by(messages)
    drafts = [anchored(draft, said, days) for draft in found.drafts]
    return replace(found, drafts=tuple(_checked(draft, messages, quoted) for draft in drafts))


def _closing(anchors: Sequence[str]) -> str:
    """Return what stands behind the transcript: small models forget by then what they were asked."""
    return prompt("observer-closing").format(first=anchors[0], last=anchors[-1])


def _checked(draft: Draft, messages: Sequence[Message], quoted: Sequence[frozenset[str]]) -> Draft:
    """Return the draft with no stronger a stance than its sources bear; what others' words bear better is quoted."""
    sources = [m for m in messages if m.id in draft.sources]
    stance = checked_stance(draft.stance, draft.content, sources)
    if stance in {"stated", "planned"} and is_borrowed(draft.content, sources, quoted):
        stance = "quoted"
    return replace(draft, stance=stance)


def joined(parts: Sequence[Extraction]) -> Extraction:
    """Return several extractions as one: the task from the last that names one, the title from the first.

    A model's title comes before a rule's.
    """

    def last(values: list[str | None]) -> str | None:
        return next((v for v in reversed(values) if v), None)

    titled = [p for p in parts if p.title and not p.by_rule] or [p for p in parts if p.title]
    return Extraction(
        tuple(draft for part in parts for draft in part.drafts),
        current_task=last([p.current_task for p in parts]),
        suggested_response=last([p.suggested_response for p in parts]),
        title=titled[0].title if titled else None,
        by_rule=all(p.by_rule for p in titled),
    )


def _sized(messages: Sequence[Message], most: int) -> list[list[Message]]:
    """Return the messages in parts that fit one call; a message larger than that is cut inside."""
    parts: list[list[Message]] = [[]]
    size = 0
    for message in messages:
        for piece in slices(message.content, most):
            cost = message.token_count if piece == message.content else most
            if parts[-1] and size + cost > most:
                parts.append([])
                size = 0
            parts[-1].append(message if piece == message.content else message._replace(content=piece))
            size += cost
    return [part for part in parts if part]
