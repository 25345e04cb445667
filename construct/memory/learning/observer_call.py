"""Ask the observer model once, and read its answer."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from construct import tokens
from construct.llm.types import Model, WorkRequest
from construct.memory.learning.asking import Account, ask, repeats_itself, sound_part
from construct.memory.learning.drafts import Draft, read_draft
from construct.memory.learning.reading import KNOWN_TOKENS, Known, Reading
from construct.memory.shown.escaping import escape, inline
from construct.memory.shown.lines import UNSURE, plain_line
from construct.memory.shown.value_lines import value_line
from construct.prompts import prompt
from construct.store.records import Observation

BATCH_TOKENS = 16_000
"""Maximum tokens of messages in one call."""
_WISHES_TOKENS = 1_500
"""Maximum tokens of the user's rules in one call."""
_PROMPT_TOKENS = 2_300
"""Tokens reserved for the system prompt and what stands between the messages."""
_MIN_ROOM = 200
"""Minimum tokens for the messages, and for the answer, in a small context window."""
_REPLY_TOKENS = 8_192


@dataclass(frozen=True, slots=True)
class Again:
    """What was refused of an answer, for a second try."""

    refused: tuple[tuple[str, str], ...]
    """Each refused part, and why it was refused."""
    anchors: frozenset[str] | None
    """The messages that it concerns; None for all."""


def batch_tokens(model: Model | None) -> int:
    """Return how many tokens of messages one call may read.

    With a small context window it is less, to leave room for the prompt and the answer.
    """
    return BATCH_TOKENS if model is None else min(BATCH_TOKENS, _room(model))


def known_tokens(model: Model) -> int:
    """Return how many tokens of known notes one call may be given."""
    return min(KNOWN_TOKENS, model.context_window // 8)


def _room(model: Model) -> int:
    """Return how many tokens of the window the messages and the answer may each take."""
    return max(_MIN_ROOM, (model.context_window - _PROMPT_TOKENS - known_tokens(model)) // 2)


def system_prompt(wishes: str, tracked: Sequence[str] = ()) -> str:
    """Return the observer's prompt, followed by what the user follows and their own rules."""
    parts = [prompt("observer")]
    if tracked:
        names = [f"- {inline(name)}" for name in tracked]
        parts.append("\n".join([prompt("values"), "", *names]))
    if wishes:
        parts += [prompt("wishes"), f"<wishes>\n{escape(wishes)}\n</wishes>"]
    return "\n\n".join(parts)


def fitting_wishes(wishes: str, model: Model) -> str:
    """Return the first lines of the user's rules, as many as fit into a call."""
    lines = wishes.splitlines()
    limit = min(_WISHES_TOKENS, model.context_window // 16)
    fit = tokens.how_many_fit([tokens.count(line) + 1 for line in lines], limit)
    return "\n".join(lines[:fit])


async def ask_observer(
    model: Model, reading: Reading, account: Account, again: Again | None = None, remark: str = ""
) -> Draft | None:
    """Return the model's answer to one call; None if it cannot be used.

    `again`: ask only for what was refused. `remark`: a sentence after the messages.
    """
    wanted = again.anchors if again else None
    known = reading.notes
    if again:
        named = " ".join(text for text, _ in again.refused).split()
        known = {anchor: note for anchor, note in known.items() if anchor in named}
    shown = [f"{anchor} {_known_line(note, reading)}" for anchor, note in known.items()]
    shown += [f"{anchor} {value_line(value)}" for anchor, value in reading.values.items()]
    size = sum(m.token_count for m in reading.messages)
    parts = [
        _framed("known", shown),
        _framed("current", reading.current.lines),
        reading.transcript("transcript", wanted),
        _remark(again) if again else remark,
    ]
    request = WorkRequest(
        system=system_prompt(reading.wishes, reading.tracked),
        user="\n\n".join(filter(None, parts)),
        max_tokens=min(_REPLY_TOKENS, _room(model), 1_000 + size),
        hopeless=repeats_itself,
        pictures=reading.files(wanted),
    )
    reply = await ask(model, request, account)
    if reply is None:
        return None
    # In a thread: a long answer takes time.
    return await asyncio.to_thread(
        lambda: read_draft(sound_part(reply.text), reading, account.problems)
    )


def _known_line(note: Known, reading: Reading) -> str:
    """Return a known note's line, with the mark of a doubtful one."""
    is_doubtful = isinstance(note, Observation) and note.id in reading.doubtful
    return f"{plain_line(note)} | {UNSURE}" if is_doubtful else plain_line(note)


def _framed(tag: str, lines: list[str]) -> str:
    return "\n".join([f"<{tag}>", *lines, f"</{tag}>"]) if lines else ""


def _remark(again: Again) -> str:
    refused = [f"- refused: {inline(text)} (why: {inline(why)})" for text, why in again.refused]
    return "\n".join(
        [
            "These parts of your last answer were refused. The rest is accepted: do not repeat it.",
            *refused,
            "Give what you can put right again, corrected, in the same form, and leave out what "
            "nobody said. Only the messages concerned are shown.",
        ]
    )
