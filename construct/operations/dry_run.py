"""Read messages again, and compare what an observer learns now with what one learned before.

`observe --dry-run` does no more: nothing is stored, not even the cost. `observe --again`
(read_again.py) takes over what the user accepts.
"""

import asyncio
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product

from construct.clock import to_text
from construct.errors import ConstructError, UsageError
from construct.language.fact_match import fact_key, likeness
from construct.language.moments import parse_moment
from construct.llm.types import Model
from construct.memory.cycles import archive
from construct.memory.cycles.archive import WorkEstimate
from construct.memory.cycles.known_notes import KnownSearch, known_notes
from construct.memory.cycles.observing import current_thread, material
from construct.memory.cycles.situation import reached_limit
from construct.memory.learning.asking import Account
from construct.memory.learning.observer import joined, observe
from construct.memory.learning.observer_call import batch_tokens, known_tokens
from construct.memory.learning.proposals import Extraction, ProposedObservation
from construct.memory.learning.reading import Reading
from construct.memory.shown.forks import reach
from construct.memory.shown.transcript import batches
from construct.operations.context import Context
from construct.store import note_links
from construct.store.backlog import Backlog
from construct.store.messages import is_readable, latest_messages, messages_since, newest_messages
from construct.store.note_history import without_reverted
from construct.store.records import Message, Observation
from construct.store.usage import Call
from construct.user_rules import Rules, read_rules
from construct.vocabulary import CycleKind, Origin, Scope

USUAL_LAST = 40
"""How many of the last messages are read again unless the user says otherwise."""
_MIN_LIKENESS = 1 / 3
"""Two notes of one message that are at least this alike count as one changed note."""


@dataclass(frozen=True, slots=True)
class DryRunPlan:
    """What would be read again, what that may cost, and what was learned from it before."""

    readings: Sequence[Reading]
    learned: Sequence[Observation]
    """What was learned from the same messages before."""
    sources: Mapping[int, set[int]]
    """Ids of the messages behind what was learned, by the observation's id."""
    scope: str
    rules: Rules
    model: Model | None
    """None if observations are extracted by fixed rules."""
    estimate: WorkEstimate

    @property
    def messages(self) -> list[Message]:
        """All messages that would be read."""
        return [message for reading in self.readings for message in reading.messages]


@dataclass(frozen=True, slots=True)
class Changed:
    """An observation, and the note that would be made in its place now."""

    before: Observation
    now: ProposedObservation


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A note that the user's rules would keep out, and the `never:` word in it."""

    note: ProposedObservation
    word: str


@dataclass(frozen=True, slots=True)
class DryRun:
    """What would be learned now, compared with what was learned before."""

    same: Sequence[Observation]
    """Learned both times, in nearly the same words."""
    changed: Sequence[Changed]
    """Learned both times, but worded or marked differently."""
    added: Sequence[ProposedObservation]
    """Learned only now."""
    missing: Sequence[Observation]
    """Learned only before."""
    left_out: Sequence[LeftOut]
    """Notes that the `never:` words keep out."""
    problems: Sequence[str]
    messages: int
    """How many messages were read."""
    cost_usd: float | None
    """None if the model's prices are unknown."""
    calls: Sequence[Call] = ()
    """The calls of the worker model."""
    is_by_rule: bool = False
    """Whether fixed rules read some of it, because the worker model failed."""


def messages_to_read(ctx: Context, last: int | None, since: str | None) -> list[Message]:
    """Return the last messages, or those since a moment such as "yesterday".

    Raises UsageError.
    """
    if last is not None and since is not None:
        raise UsageError("Pass --last or --since, not both.")
    if since is None:
        return latest_messages(ctx.db, last or USUAL_LAST)
    return messages_since(ctx.db, to_text(parse_moment(since, ctx.clock)))


def plan_reading(ctx: Context, model: Model | None, messages: Sequence[Message]) -> DryRunPlan:
    """Plan to read messages again, which are grouped by conversation.

    Raises ConstructError if the daily limit for memory work is reached.
    """
    if model is not None and (limit := reached_limit(ctx.db, ctx.memory, model.name)):
        raise ConstructError(
            f"The daily limit for memory work is reached.\nRaise {limit} to go on today."
        )
    readable = [message for message in messages if is_readable(message)]
    direct = [o.id for o in note_links.observations_from(ctx.db, [m.id for m in readable])]
    derived = note_links.with_dependents(ctx.db, direct)
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
        for o in without_reverted(ctx.db, direct)
        if o.generation == 0 and o.origin != Origin.USER and not o.withheld
    ]
    sources: dict[int, set[int]] = {}
    for observation_id, message_id in note_links.message_links(ctx.db, [o.id for o in learned]):
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
    """Return what an observer is given for a batch, without notes derived from the messages."""
    conversation_id = batch[0].conversation_id
    known: list[Observation] = []
    if model is not None:
        scope = reach(ctx.db, ctx.memory.scope, conversation_id)
        wanted = KnownSearch(scope, ctx.clock, ctx.memory.meaning, known_tokens(model))
        known = [o for o in known_notes(ctx.db, batch, wanted) if o.id not in derived]
    two_before = newest_messages(ctx.db, conversation_id, 2, batch[0].id - 1)
    given = material(ctx.db, batch, model)
    return Reading(
        given.messages,
        material(ctx.db, two_before, model).messages,
        known,
        ctx.clock,
        wishes=rules.prose,
        pictures=given.pictures,
        current=current_thread(ctx.db, conversation_id),
    )


async def dry_run(plan: DryRunPlan) -> DryRun:
    """Read the messages again and compare what is found with what was learned before."""
    account = Account(CycleKind.OBSERVER)
    found: list[Extraction] = []
    found_in: defaultdict[int, list[Extraction]] = defaultdict(list)
    for reading in plan.readings:  # each is told what the ones before it found
        conversation_id = reading.messages[0].conversation_id
        earlier = found_in[conversation_id] if plan.scope == Scope.CONVERSATION else found
        reading = replace(reading, earlier=joined(earlier).observations)
        extraction = await observe(plan.model, reading, account)
        found.append(extraction)
        found_in[conversation_id].append(extraction)
    done = await asyncio.to_thread(_compared, plan, joined(found).observations, account)
    return replace(done, is_by_rule=plan.model is not None and any(e.by_rule for e in found))


def _compared(plan: DryRunPlan, notes: Sequence[ProposedObservation], account: Account) -> DryRun:
    allowed: list[ProposedObservation] = []
    left_out: list[LeftOut] = []
    for note in notes:
        word = plan.rules.forbidden_in(note.content)
        if word is None:
            allowed.append(note)
        else:
            left_out.append(LeftOut(note, word))
    facts_before, facts_now = {_fact(o) for o in plan.learned}, {_fact(o) for o in allowed}
    missing = [o for o in plan.learned if _fact(o) not in facts_now]
    added = [o for o in allowed if _fact(o) not in facts_before]
    changed = _changed(missing, added, plan.sources)
    costs = [call.cost_usd for call in account.calls]
    return DryRun(
        same=[o for o in plan.learned if _fact(o) in facts_now],
        changed=changed,
        added=[o for o in added if all(o is not pair.now for pair in changed)],
        missing=[o for o in missing if all(o is not pair.before for pair in changed)],
        left_out=left_out,
        problems=account.problems,
        messages=len(plan.messages),
        cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
        calls=account.calls,
    )


def _changed(
    missing: Sequence[Observation],
    added: Sequence[ProposedObservation],
    sources: Mapping[int, set[int]],
) -> list[Changed]:
    """Pair notes of the same messages that are alike, choosing the most alike first.

    A model hardly ever words a note the same way twice.
    """
    pairs: list[tuple[float, Changed]] = []
    for before, now in product(missing, added):
        if not sources[before.id].isdisjoint(now.sources):
            pairs.append((likeness(before.content, now.content), Changed(before, now)))
    chosen: list[Changed] = []
    for score, pair in sorted(pairs, key=lambda scored: -scored[0]):
        is_free = all(pair.before is not c.before and pair.now is not c.now for c in chosen)
        if is_free and score >= _MIN_LIKENESS:
            chosen.append(pair)
    return sorted(chosen, key=lambda pair: pair.before.id)


def _fact(o: Observation | ProposedObservation) -> Hashable:
    """Return a key that is equal for notes of the same fact, priority and stance."""
    return fact_key(o.content, o.observation_date, o.referenced_date), o.priority, o.stance
