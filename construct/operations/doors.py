"""What other programs can read over MCP and HTTP, and a record of their calls.

They can read nothing that was withheld, forgotten, undone, left out of requests or said
in private, nor what the user asked to forget and the next compaction will withhold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from construct.clock import to_text
from construct.language.moments import parse_moment
from construct.llm.types import Tool
from construct.memory import reading_tools
from construct.memory.lookup import Rights, readable
from construct.memory.reading_tools import Found
from construct.memory.shown.forks import descent
from construct.memory.shown.view import packed
from construct.operations.context import Context
from construct.operations.memory import observations_in_scope
from construct.store import doors, observations, questions
from construct.store.acceptance import unaccepted
from construct.store.conversations import get_conversation
from construct.store.doors import DoorCalls
from construct.store.note_links import source_links
from construct.store.records import Observation
from construct.text import shorten
from construct.vocabulary import ItemKind

TOOLS = reading_tools.NAMES
"""The names of the tools."""
_MAX_CLIENT_CHARACTERS = 60
"""A longer client name is shortened before it is stored."""


@dataclass(frozen=True, slots=True)
class Access:
    """What clients may read: everything, unless limited by conversation, by day, or by both."""

    conversation: int | None = None
    since: date | None = None
    """The first day they may read."""


def access(ctx: Context, conversation: int | None, since: str | None) -> Access:
    """Return what clients may read, with `since` as typed. Raises NotFoundError, UsageError."""
    if conversation is not None:
        get_conversation(ctx.db, conversation)  # raises if there is none
    day = None if since is None else ctx.clock.local(parse_moment(since, ctx.clock)).date()
    return Access(conversation, day)


def tools(allowed: Access) -> tuple[Tool, ...]:
    """Return the tools that a client is offered."""
    narrowed = ", as far as you may read them" if allowed != Access() else ""
    return reading_tools.reading_tools(
        f"in the user's conversations with their companion{narrowed}"
    )


def use(ctx: Context, allowed: Access, tool: str, arguments: Mapping[str, Any]) -> Found:
    """Run a tool for a client. Raises UsageError, and NotFoundError."""
    return reading_tools.use(ctx.db, ctx.memory, rights(ctx, allowed), tool, arguments)


def rights(ctx: Context, allowed: Access) -> Rights:
    """Return what a client may read now."""
    talk = allowed.conversation
    return Rights(
        descent=None if talk is None else tuple(descent(ctx.db, talk)),
        since=allowed.since,
        is_narrowed=allowed != Access(),
        hidden_messages=tuple(questions.messages_not_yet_withheld(ctx.db)),
        hidden_observations=_hidden(ctx),
    )


def _hidden(ctx: Context) -> frozenset[int]:
    """Return the notes that no client may read: to be forgotten, or not accepted yet."""
    return questions.not_yet_withheld(ctx.db) | unaccepted(ctx.db)


def current(ctx: Context, allowed: Access) -> list[Observation]:
    """Return the most urgent observations in sight that a client may read, oldest first.

    As many as fit into three quarters of the observation budget.
    """
    may = rights(ctx, allowed)
    by_urgency = list(observations.by_urgency(ctx.db, may.descent, ctx.memory.plans_from))
    references = [(ItemKind.OBSERVATION, observation_id) for observation_id, _ in by_urgency]
    found = readable(ctx.db, may, ctx.clock.zone, references)
    of_client = [(i, tokens) for i, tokens in by_urgency if (ItemKind.OBSERVATION, i) in found]
    ids = packed(of_client, ctx.memory.thresholds.budget)
    shown = observations.observations(ctx.db, ids)
    return sorted(shown, key=lambda o: (o.observation_date, o.id))


@dataclass(frozen=True, slots=True)
class Details:
    """Observations, with the sources of the reflections among them."""

    observations: Sequence[Observation]
    sources: Mapping[int, Sequence[int]]
    """Ids of the observations that a reflection condenses, by the reflection's id."""


def details(ctx: Context) -> Details:
    """Return the active and pending observations in the scope of the user's conversation."""
    hidden = _hidden(ctx)
    in_scope = observations_in_scope(ctx)
    shown = [o for o in in_scope if not (o.withheld or o.id in hidden)]
    sources: dict[int, list[int]] = {}
    for observation_id, source_id in source_links(ctx.db, [o.id for o in shown]):
        sources.setdefault(observation_id, []).append(source_id)
    return Details(shown, sources)


def record_call(ctx: Context, client: str, tool: str, result_count: int) -> None:
    """Store that a client used a tool, and how many results it got."""
    name = shorten(client, _MAX_CLIENT_CHARACTERS) or "unknown"
    doors.record_call(ctx.db, name, tool, result_count, to_text(ctx.clock.now()))


def door_calls(ctx: Context) -> list[DoorCalls]:
    """Return how often and when each client asked, the most recent client first."""
    return doors.calls_by_client(ctx.db)
