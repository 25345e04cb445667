"""Search messages and observations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from construct.errors import UsageError
from construct.language.moments import parse_moment
from construct.memory.recall.search import Hit, search_memory
from construct.memory.recall.spelling import Respelt
from construct.operations.context import Context
from construct.store import messages, observations, search_index
from construct.store.records import Message, Observation
from construct.store.search import Filters
from construct.vocabulary import ItemKind, Role


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The results of a search, best first."""

    query: str
    hits: Sequence[Hit]
    respelt: Sequence[Respelt] = ()
    """Words that occur nowhere, each with the word that was searched for instead."""
    nowhere: Sequence[str] = ()
    """Words that nothing holds."""
    items: Mapping[tuple[str, int], Observation | Message] = field(default_factory=dict)
    """What was found, by kind and id."""


def search(
    ctx: Context,
    query: str,
    *,
    limit: int,
    as_of: str | None = None,
    include_all: bool = False,
    by: str | None = None,
) -> SearchResult:
    """Search messages and observations.

    `as_of`, such as "yesterday", searches the memory as it was then. `by` limits the
    search to what the user or the assistant said; `include_all` adds what is superseded.
    Raises UsageError.
    """
    if by not in {None, Role.USER, Role.ASSISTANT}:
        raise UsageError(f"--by {by}: unknown. Use --by user or --by assistant.")
    if not query.strip():
        raise UsageError("Nothing to search for. Give some words.")
    moment = None if as_of is None else parse_moment(as_of, ctx.clock, end_of_day=True)
    filters = Filters(as_of=moment, all=include_all, role=by, zone=ctx.clock.zone)
    result = search_memory(
        ctx.db, query, filters, limit, today=ctx.clock.today(), meaning=ctx.memory.meaning
    )
    items = _items(ctx, result.hits)
    return SearchResult(query, result.hits, result.respelt, result.nowhere, items)


def _items(ctx: Context, hits: Sequence[Hit]) -> dict[tuple[str, int], Observation | Message]:
    notes = [hit.id for hit in hits if hit.kind == ItemKind.OBSERVATION]
    said = [hit.id for hit in hits if hit.kind == ItemKind.MESSAGE]
    return {
        **{(ItemKind.OBSERVATION, o.id): o for o in observations.observations(ctx.db, notes)},
        **{(ItemKind.MESSAGE, m.id): m for m in messages.messages_with_ids(ctx.db, said)},
    }


def count_unsearched(ctx: Context) -> int:
    """Return how many imported messages are not in the search index yet."""
    return search_index.count_missing(ctx.db)
