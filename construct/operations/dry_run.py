"""`observe --dry-run`: what an observer would learn now, beside what one has learned.

It reads the last messages again by the rules as they are now. Nothing is stored, not
even what it cost.
"""

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from construct.clock import to_text
from construct.errors import ConstructError, UsageError
from construct.language.fact_match import fact_key, likeness
from construct.llm.types import Model
from construct.memory.cycles import archive
from construct.memory.cycles.archive import Estimate
from construct.memory.cycles.observing import known_notes, material
from construct.memory.cycles.situation import is_over_limit
from construct.memory.learning.asking import Account
from construct.memory.learning.observer import (
    Reading,
    batch_tokens,
    joined,
    known_tokens,
    observe,
)
from construct.memory.learning.proposals import Extraction, ProposedObservation
from construct.memory.shown.forks import reach
from construct.memory.shown.transcript import batches
from construct.operations.context import Context
from construct.operations.moments import parse_moment
from construct.store import provenance
from construct.store.backlog import Backlog
from construct.store.messages import is_readable, latest_messages, messages_since, newest_messages
from construct.store.records import Message, Observation
from construct.user_rules import Rules, read_rules
from construct.vocabulary import CycleKind, MemoryOrigin, Scope

USUAL_LAST = 40
"""Messages that are read again unless the user says how many."""
_LEAST_LIKE = 1 / 3
"""From this likeness on, two notes of one message are shown as one, before and now."""


@dataclass(frozen=True, slots=True)
class DryRunPlan:
    """What would be read again, what that may cost, and what was learned of it."""

    readings: Sequence[Reading]
    learned: Sequence[Observation]
    sources: Mapping[int, set[int]]
    """By what was learned, the messages it names."""
    scope: str
    rules: Rules
    model: Model | None
    """None: by rule."""
    estimate: Estimate

    @property
    def messages(self) -> list[Message]:
        """All that would be read."""
        return [message for reading in self.readings for message in reading.messages]


@dataclass(frozen=True, slots=True)
class Changed:
    """What was learned, and what the same words would be noted as now."""

    before: Observation
    now: ProposedObservation


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A note that the user's rules keep out, and the word for which they do."""

    note: ProposedObservation
    word: str


@dataclass(frozen=True, slots=True)
class DryRun:
    """What would be learned now beside what was learned."""

    same: Sequence[Observation]
    """Learned then, and now again."""
    changed: Sequence[Changed]
    """Learned both times, in other words or with other marks."""
    added: Sequence[ProposedObservation]
    """Learned only now."""
    missing: Sequence[Observation]
    """Learned only then."""
    left_out: Sequence[LeftOut]
    """What the `never:` words kept out."""
    problems: Sequence[str]
    messages: int
    cost_usd: float | None
    """None where the model's prices are not known."""


def plan_dry_run(
    ctx: Context, model: Model | None, last: int | None, since: str | None
) -> DryRunPlan:
    """Return what would be read again: the last messages, or those since a moment.

    Raises UsageError, and ConstructError where the day's money for memory is spent.
    """
    if last is not None and since is not None:
        raise UsageError("Pass --last or --since, not both.")
    if model is not None and is_over_limit(ctx.db, ctx.memory):
        raise ConstructError(
            "The daily limit for memory work is spent.\n"
            "Raise CONSTRUCT_WORKER_DAILY_USD, or try again tomorrow."
        )
    if since is None:
        found = latest_messages(ctx.db, last or USUAL_LAST)
    else:
        found = messages_since(ctx.db, to_text(parse_moment(since, ctx.clock)))
    readable = [message for message in found if is_readable(message)]
    from_them = [o.id for o in provenance.observations_from(ctx.db, [m.id for m in readable])]
    derived = provenance.with_dependents(ctx.db, from_them)
    rules = read_rules(ctx.settings.memory_rules)
    readings: list[Reading] = []
    waiting: list[Backlog] = []
    for conversation_id, group in groupby(readable, key=lambda m: m.conversation_id):
        talk = list(group)
        waiting.append(Backlog(conversation_id, len(talk), sum(m.token_count for m in talk)))
        parts = batches(talk, batch_tokens(model))
        readings += [_reading(ctx, model, batch, derived, rules) for batch in parts]
    learned = [
        o
        for o in provenance.without_reverted(ctx.db, from_them)
        if o.generation == 0 and o.origin != MemoryOrigin.USER and not o.withheld
    ]
    sources: dict[int, set[int]] = {}
    for observation_id, message_id in provenance.message_links(ctx.db, [o.id for o in learned]):
        sources.setdefault(observation_id, set()).add(message_id)
    return DryRunPlan(
        readings=readings,
        learned=learned,
        sources=sources,
        scope=ctx.memory.scope,
        rules=rules,
        model=model,
        estimate=archive.estimate(waiting, model),
    )


def _reading(
    ctx: Context, model: Model | None, batch: Sequence[Message], derived: set[int], rules: Rules
) -> Reading:
    here = batch[0].conversation_id
    known: list[Observation] = []
    if model is not None:
        scope = reach(ctx.db, ctx.memory.scope, here)
        notes = known_notes(ctx.db, scope, batch, known_tokens(model))
        known = [o for o in notes if o.id not in derived]
    before = material(ctx.db, newest_messages(ctx.db, here, 2, batch[0].id - 1), model)
    read = material(ctx.db, batch, model)
    return Reading(
        read.messages,
        before.messages,
        known,
        ctx.clock,
        wishes=rules.prose,
        pictures=read.pictures,
    )


async def dry_run(plan: DryRunPlan) -> DryRun:
    """Read it again, and set what is found beside what was learned."""
    account = Account(CycleKind.OBSERVER)
    found: dict[int, list[Extraction]] = {}
    """By conversation. What is noted first is known to what is read after it."""
    for reading in plan.readings:
        here = found.setdefault(reading.messages[0].conversation_id, [])
        seen = here if plan.scope == Scope.CONVERSATION else _all(found)
        reading = replace(reading, earlier=joined(seen).observations)
        here.append(await observe(plan.model, reading, account))
    return await asyncio.to_thread(_beside, plan, joined(_all(found)).observations, account)


def _all(found: Mapping[int, Sequence[Extraction]]) -> list[Extraction]:
    return [extraction for part in found.values() for extraction in part]


def _beside(plan: DryRunPlan, found: Sequence[ProposedObservation], account: Account) -> DryRun:
    words = [plan.rules.forbidden_in(o.content) for o in found]
    allowed = [o for o, word in zip(found, words, strict=True) if word is None]
    then, now = {_note(o) for o in plan.learned}, {_note(o) for o in allowed}
    missing = [o for o in plan.learned if _note(o) not in now]
    added = [o for o in allowed if _note(o) not in then]
    changed = _changed(missing, added, plan.sources)
    costs = [call.cost_usd for call in account.calls]
    return DryRun(
        same=[o for o in plan.learned if _note(o) in now],
        changed=changed,
        added=[o for o in added if all(o is not pair.now for pair in changed)],
        missing=[o for o in missing if all(o is not pair.before for pair in changed)],
        left_out=[LeftOut(o, word) for o, word in zip(found, words, strict=True) if word],
        problems=account.problems,
        messages=len(plan.messages),
        cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
    )


def _changed(
    missing: Sequence[Observation],
    added: Sequence[ProposedObservation],
    sources: Mapping[int, set[int]],
) -> list[Changed]:
    """Return which notes of the same messages are likely the same: the most alike first.

    A model that reads again hardly ever takes the same words.
    """
    pairs = [
        (likeness(before.content, now.content), Changed(before, now))
        for before in missing
        for now in added
        if not sources[before.id].isdisjoint(now.sources)
    ]
    chosen: list[Changed] = []
    for like, pair in sorted(pairs, key=lambda scored: -scored[0]):
        is_free = all(pair.before is not c.before and pair.now is not c.now for c in chosen)
        if is_free and like >= _LEAST_LIKE:
            chosen.append(pair)
    return sorted(chosen, key=lambda pair: pair.before.id)


def _note(o: Observation | ProposedObservation) -> Hashable:
    """Return what is equal only for notes that state the same fact in the same way."""
    fact = fact_key(o.content, o.observation_date, o.referenced_date)
    return fact, o.priority, o.stance
