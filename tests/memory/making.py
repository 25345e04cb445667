"""Observations, messages and drafts for tests of pure functions.

A test only says what matters to it.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from construct.clock import Clock, to_text
from construct.memory.learning.proposals import ProposedObservation
from construct.memory.learning.reading import Reading
from construct.memory.shown.lines import line_tokens
from construct.store.records import Message, Observation

START = datetime(2026, 3, 1, 14, 30, tzinfo=UTC)


def observation(
    number: int,
    content: str,
    *,
    priority: str = "medium",
    stance: str = "stated",
    day: str = "2026-03-01",
    ahead: str | None = None,
    pinned: int = 0,
    origin: str = "observer",
    tokens: int | None = None,
    generation: int = 0,
) -> Observation:
    """Return an active observation."""
    found = Observation(
        number, f"o{number}", 1, content, priority, stance, day, ahead, generation, 1, tokens or 0,
        pinned, "2026-03-01T14:30:00+00:00", "2026-03-01T14:30:00+00:00", None, None, origin, None,
    )  # fmt: skip
    return found._replace(token_count=line_tokens(found)) if tokens is None else found


def proposed(
    content: str,
    sources: Sequence[int],
    *,
    priority: str = "medium",
    stance: str = "stated",
    day: str = "2026-03-01",
    ahead: str | None = None,
) -> ProposedObservation:
    """Return a proposed observation."""
    return ProposedObservation(content, priority, stance, day, ahead, tuple(sources))


def message(
    number: int,
    role: str,
    content: str,
    *,
    minutes: float | None = None,
    status: str = "complete",
    blocks: str | None = None,
    tokens: int | None = None,
    retried: int = 0,
) -> Message:
    """Return a stored message; by itself each comes a minute after the one before."""
    when = to_text(START + timedelta(minutes=number if minutes is None else minutes))
    size = len(content) // 4 + 5 if tokens is None else tokens
    return Message(
        number, f"m{number}", 1, role, content, blocks, status, 0, size, when, None, None, retried,
        0
    )  # fmt: skip


def transcript(messages: Sequence[Message], clock: Clock) -> tuple[str, dict[str, int]]:
    """Return the `<transcript>` of messages, and the id of the message that each anchor means."""
    reading = Reading(messages, (), (), clock)
    anchors = {anchor: m.id for anchor, m in reading.by_anchor.items()}
    return reading.transcript("transcript"), anchors
