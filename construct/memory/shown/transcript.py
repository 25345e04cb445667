"""Render messages for an observer, with anchors and escaped markup, and group them.

No I/O.
"""

from collections.abc import Sequence
from datetime import timedelta
from itertools import chain
from math import inf

from construct import tokens
from construct.clock import Clock, from_text, gap_words
from construct.memory.shown.escaping import escape
from construct.store.messages import is_shown
from construct.store.records import Message, Watermarks
from construct.vocabulary import MessageStatus, Role

LONG_PAUSE = timedelta(hours=6)
"""Pauses of at least this length are mentioned between messages."""


def anchored(messages: Sequence[Message]) -> dict[str, Message]:
    """Return messages by their anchors, M1 and so on."""
    return {f"M{number}": message for number, message in enumerate(messages, 1)}


def headed(head: str, message: Message, clock: Clock) -> str:
    """Return a message as a worker sees it: its anchor, time and role, then the words."""
    when = message.written(clock).strftime("%Y-%m-%d %H:%M")
    return f"[{head}] {when} {message.role}:\n{escape(message.content)}"


def pause_words(before: Message, after: Message) -> str | None:
    """Return "3 days later" if there was a long pause between two messages, else None."""
    pause = from_text(after.created_at) - from_text(before.created_at)
    return f"{gap_words(pause)} later" if pause >= LONG_PAUSE else None


def turns(messages: Sequence[Message]) -> list[list[Message]]:
    """Group messages into turns. Each message of the user begins a turn."""
    grouped: list[list[Message]] = []
    for message in messages:
        if message.role == "user" or not grouped:
            grouped.append([])
        grouped[-1].append(message)
    return grouped


def last_asked(messages: Sequence[Message]) -> list[Message]:
    """Return the user's last message and the replies to it; empty if there is none."""
    grouped = turns(messages)
    return grouped[-1] if grouped and grouped[-1][0].role == Role.USER else []


def last_unanswered(messages: Sequence[Message]) -> list[Message]:
    """Return the user's last message without a complete reply, and its partial replies.

    Empty if every message has a complete reply.
    """
    for turn in reversed(turns(messages)):
        first, *replies = turn
        has_reply = any(m.status == MessageStatus.COMPLETE for m in replies)
        if first.role == Role.USER and not has_reply:
            return turn
    return []


def batches(messages: Sequence[Message], limit: int) -> list[list[Message]]:
    """Split messages into batches of at most `limit` tokens, cut between turns.

    A larger turn is a batch by itself.
    """
    all_batches: list[list[Message]] = []
    batch_tokens = 0
    for turn in turns(messages):
        turn_tokens = sum(m.token_count for m in turn)
        if not all_batches or batch_tokens + turn_tokens > limit:
            all_batches.append([])
            batch_tokens = 0
        all_batches[-1].extend(turn)
        batch_tokens += turn_tokens
    return all_batches


def halves(messages: Sequence[Message]) -> list[list[Message]]:
    """Split messages in two, between turns if there are several.

    A single message is returned as one half.
    """
    units = turns(messages)
    if len(units) == 1:
        units = [[m] for m in messages]
    if len(units) == 1:
        return units
    middle = len(units) // 2
    return [[*chain.from_iterable(units[:middle])], [*chain.from_iterable(units[middle:])]]


def slices(text: str, limit: int) -> list[str]:
    """Split a text into pieces of at most `limit` tokens, between lines or words if possible."""
    pieces = []
    start = 0
    max_bytes = 4 * limit
    while tokens.by_bytes(ahead := text[start : start + max_bytes + 1]) > limit:
        fitting = len(ahead.encode()[:max_bytes].decode(errors="ignore"))
        line_end = ahead.rfind("\n", fitting // 2, fitting)
        word_end = ahead.rfind(" ", fitting // 2, fitting)
        last_gap = max(line_end, word_end)
        length = last_gap + 1 if last_gap > 0 else max(1, fitting)
        pieces.append(ahead[:length])
        start += length
    return [*pieces, text[start:]]


def window_start(
    messages: Sequence[Message], marks: Watermarks, retained: int, largest: float = inf
) -> int:
    """Return the `window` watermark that compacting would set.

    `messages`: those above the current watermark. The newest turns stay in the window:
    enough to reach `retained` tokens, and every turn that is not observed yet. A turn with a
    message of more than `largest` tokens leaves as soon as it is observed.
    """
    kept_tokens = 0
    for turn in reversed(turns(messages)):
        is_enough = kept_tokens >= retained or any(m.token_count > largest for m in turn)
        if turn[-1].id <= marks.observed and is_enough:
            return turn[-1].id
        kept_tokens += sum(m.token_count for m in turn if is_shown(m))
    return marks.window
