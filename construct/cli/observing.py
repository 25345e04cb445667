"""`observe`: learn from imported talk, after an estimate of what it costs."""

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from construct.cli.environment import Environment, complain, confirmed, print_json, say
from construct.cli.progress import Advance, progress_bar
from construct.cli.stopping import left_off
from construct.clock import to_text
from construct.companion import Companion
from construct.errors import ExitStatus
from construct.llm.types import Model
from construct.memory.cycles import archive
from construct.memory.cycles.archive import Backlog, Revived
from construct.memory.cycles.situation import Terms
from construct.memory.cycles.spending import is_over_limit, spent_ever, spent_today
from construct.memory.cycles.trouble import trouble
from construct.memory.inspection.history import parse_moment
from construct.memory.learning.observer import batch_tokens
from construct.repl.views.words import counted, money
from construct.store import cycles
from construct.store.database import transaction


@dataclass(frozen=True, slots=True)
class Wish:
    """One `observe`."""

    since: str | None
    budget: float | None
    yes: bool
    as_json: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was observed, of how much, and why it stopped before the end."""

    messages: int = 0
    observations: int = 0
    messages_left: int = 0
    cost_usd: float = 0.0
    stopped: str | None = None


_LEFT_OFF = "Left off. What was observed is kept; the same command goes on from there."


def observe(env: Environment, wish: Wish) -> int:
    """Say what there is to observe and what it may cost, ask, and do it."""
    from construct.llm.providers import choose_models

    env.settings.must_learn()
    since = "" if wish.since is None else to_text(parse_moment(wish.since, env.settings.clock))
    models = choose_models(env.settings)
    with env.database() as db:
        waiting = archive.backlogs(db, since)
    if waiting:
        complain(_plan_words(waiting, models.worker))
        if not wish.yes and not confirmed("Observe them?"):
            complain("Nothing was observed.")
            return ExitStatus.OK
    with left_off(lambda: _LEFT_OFF), progress_bar() as advance:
        outcome = asyncio.run(_run(Companion(env.settings, models), waiting, wish.budget, advance))
    print_json(asdict(outcome)) if wish.as_json else say(_words(outcome))
    return ExitStatus.OK


async def _run(companion: Companion, waiting: Sequence[Backlog], budget: float | None, advance: Advance) -> Outcome:
    """Observe batch by batch, the oldest conversation first, until nothing is left or the money is spent."""
    terms = companion.terms
    total = sum(b.messages for b in waiting)
    done = Outcome(messages_left=total)
    try:
        before = await companion.store.call(spent_ever)
        if budget is not None:
            limit = await companion.store.call(spent_today, terms) + budget
            companion.worker.terms = replace(terms, daily_usd=limit)
        advance("Observing", 0, total)
        for backlog in waiting:
            while done.stopped is None and (step := await _step(companion, backlog.conversation_id)):
                done = _sum(done, step)
                advance("Observing", done.messages, total)
        return replace(done, cost_usd=await companion.store.call(spent_ever) - before)
    finally:
        await companion.close()


async def _step(companion: Companion, conversation_id: int) -> Outcome | None:
    """Observe one batch of a conversation; None when nothing of it is left."""
    store, worker, model = companion.store, companion.worker, companion.models.worker
    if model is not None and await store.call(is_over_limit, worker.terms):
        return Outcome(stopped="the money for it is spent. Set --budget for more, or go on tomorrow")
    if await store.call(_is_observed_now, conversation_id, worker.terms):
        return Outcome(stopped=f"conversation {conversation_id} is being observed by another process")
    before = await store.call(archive.unread, conversation_id)
    if not before:
        return None
    made = await worker.catch_up_passed(conversation_id)
    if made is None:
        revived = await store.call(_revive, conversation_id, batch_tokens(model))
        made = 0 if revived is None else await worker.catch_up(conversation_id, revived.until)
    read = before - await store.call(archive.unread, conversation_id)
    if not read:
        return Outcome(stopped=f"conversation {conversation_id} could not be observed")
    why = None if model is None else await store.call(trouble, conversation_id, worker.terms)
    return Outcome(read, made, stopped=why)


def _is_observed_now(db: sqlite3.Connection, conversation_id: int, terms: Terms) -> bool:
    with transaction(db):
        cycles.abandon_dead(db, to_text(terms.clock.now()))
        return any(c.kind == "observer" and c.conversation_id == conversation_id for c in cycles.running(db))


def _revive(db: sqlite3.Connection, conversation_id: int, most: int) -> Revived | None:
    with transaction(db):
        return archive.revive(db, conversation_id, most)


def _sum(done: Outcome, step: Outcome) -> Outcome:
    return Outcome(
        done.messages + step.messages,
        done.observations + step.observations,
        done.messages_left - step.messages,
        stopped=step.stopped,
    )


def _plan_words(waiting: Sequence[Backlog], model: Model | None) -> str:
    found = archive.estimate(waiting, model)
    messages, tokens = sum(b.messages for b in waiting), sum(b.tokens for b in waiting)
    how = "by rule, for nothing" if model is None else f"with {model.name}, in about {counted(found.calls, 'call')}"
    cost = "" if not found.usd else f" and for about {money(found.usd)}"
    return (
        f"Not observed yet: {counted(messages, 'imported message')} in {counted(len(waiting), 'conversation')}, "
        f"about {counted(tokens, 'token')}.\nThey would be read {how}{cost}."
    )


def _words(outcome: Outcome) -> str:
    if not outcome.messages and outcome.stopped is None:
        return "Nothing imported is left to observe."
    learned = f"{counted(outcome.messages, 'message')}: {counted(outcome.observations, 'observation')}"
    lines = [f"Observed {learned}, {money(outcome.cost_usd)}."]
    if outcome.stopped:
        lines.append(f"Stopped: {outcome.stopped}.")
    if outcome.messages_left:
        lines.append(f"Left: {counted(outcome.messages_left, 'message')}; the same command goes on from there.")
    return "\n".join(lines)
