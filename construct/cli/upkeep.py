"""`status`, `compact`, `undo` and `usage`."""

import asyncio
import sqlite3
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from construct.cli import shapes
from construct.cli.environment import Environment, complain, confirmed, print_json, say, show
from construct.cli.progress import waiting
from construct.clock import to_text
from construct.companion import Companion
from construct.errors import ExitStatus, NotConfiguredError
from construct.llm.providers import EXTRACTIVE
from construct.memory.cycles.archive import unread
from construct.memory.cycles.compaction import Compacted
from construct.memory.cycles.situation import Terms, terms_for
from construct.memory.cycles.trouble import newest_observer, trouble
from construct.memory.inspection.accounts import read_books
from construct.memory.inspection.status import standing
from construct.memory.inspection.status import status as panel
from construct.memory.learning.floor import Reflection
from construct.store import books, talk

if TYPE_CHECKING:
    from rich.console import RenderableType

_ROOMY = 1_000_000
_COMPACT = "construct compact"
_LOOK_SECONDS = 0.5
_NOTHING = {"conversation": None, "observed": 0, "committed": 0, "left_window": 0, "condensed": 0, "into": 0}


def terms(env: Environment) -> Terms:
    """Return the terms of memory work, fitted to the main model when one is configured."""
    return _terms_and_worker(env)[0]


def _terms_and_worker(env: Environment) -> tuple[Terms, str]:
    from construct.llm.providers import choose_models

    try:
        models = choose_models(env.settings)
    except NotConfiguredError:
        return terms_for(env.settings, _ROOMY), EXTRACTIVE
    return terms_for(env.settings, models.main.context_window), models.worker_name


def status(env: Environment, as_json: bool) -> None:
    """Print the memory panel."""
    with env.looking() as db:
        if as_json:
            print_json(panel(db, talk.latest_conversation(db), env.settings, terms(env)))
        else:
            show(_panel_view(env, db, unread(db)))


def watch_status(env: Environment) -> None:
    """Show the memory panel, anew twice a second, until Ctrl-C; where there is no terminal, once."""
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from construct.repl.views.console import to_console

    if not sys.stdout.isatty():
        status(env, as_json=False)
        return
    with env.database() as db:  # which a chat may be the first to write to, meanwhile
        imported = unread(db)  # counting a million takes a second: once will do
        ending = Text()  # the line on which the terminal shows the ^C
        live = Live(Group(_panel_view(env, db, imported), ending), console=to_console(sys.stdout), auto_refresh=False)
        with suppress(KeyboardInterrupt), live:
            while True:
                time.sleep(_LOOK_SECONDS)
                live.update(Group(_panel_view(env, db, imported), ending), refresh=True)


def _panel_view(env: Environment, db: sqlite3.Connection, imported: int) -> "RenderableType":
    from construct.repl.views.status import status_view
    from construct.repl.views.words import title_of

    here = talk.latest_conversation(db)
    memory_terms, worker = _terms_and_worker(env)
    title = None if here is None else title_of(talk.summary(db, here))
    figures = panel(db, here, env.settings, memory_terms)
    stands = standing(db, here, memory_terms, worker)
    return status_view(figures, stands, title, imported=imported, compact=_COMPACT)


def compact(env: Environment, as_json: bool) -> int:
    """Observe, compact and reflect now; print what changed."""
    from construct.llm.providers import choose_models

    env.settings.must_learn()
    with env.database() as db:
        conversation_id = talk.latest_conversation(db)
    if conversation_id is None:
        choose_models(env.settings)
        print_json(_NOTHING) if as_json else say("Nothing to compact yet.")
        return ExitStatus.OK
    from construct.repl.views.compacted import compact_words

    made, compacted, reflection = compact_conversation(env, conversation_id)
    if as_json:
        print_json(_changes(conversation_id, made, compacted, reflection))
    else:
        say(compact_words(made, compacted, reflection))
    return ExitStatus.OK


def compact_conversation(env: Environment, conversation_id: int) -> tuple[int, Compacted, Reflection | None]:
    """Observe, compact and reflect one conversation now; return observations made, and what changed."""
    from construct.llm.providers import choose_models

    return asyncio.run(_compact(Companion(env.settings, choose_models(env.settings)), conversation_id))


async def _compact(companion: Companion, conversation_id: int) -> tuple[int, Compacted, Reflection | None]:
    try:
        before = await companion.store.call(newest_observer, conversation_id)
        async with waiting("working through the conversation"):
            done = await companion.worker.now(conversation_id)
        if companion.models.worker is not None:
            why = await companion.store.call(trouble, conversation_id, companion.worker.terms, before)
            if why:
                complain(f"Note: {why}.")
        return done
    finally:
        await companion.close()


def _changes(conversation_id: int, made: int, compacted: Compacted, reflection: Reflection | None) -> dict[str, Any]:
    shrunk = reflection if reflection is not None and reflection.shrinks else None
    return {
        "conversation": conversation_id,
        "observed": made,
        "committed": compacted.committed,
        "left_window": compacted.left_window,
        "condensed": len(shrunk.gone) if shrunk else 0,
        "into": len(shrunk.lines) if shrunk else 0,
        "kept_back": [f"{r.what}: {r.reason}" for r in reflection.refused] if reflection else [],
    }


def undo(env: Environment, *, yes: bool, as_json: bool) -> None:
    """Show on a terminal what the last memory cycle changed and ask, then take it back and say what changed."""
    from construct.memory.curation.undo import plan_undo
    from construct.memory.curation.undo import undo as take_back
    from construct.repl.views.undone import UNDO_QUESTION, undo_plan_view, undone_view

    clock = env.settings.clock
    with env.database() as db:
        plan = plan_undo(db, clock)
        title = _title(db, plan.cycle.conversation_id)
        if sys.stdin.isatty() and not yes:
            show(undo_plan_view(plan, clock.today(), title), sys.stderr)
            if not confirmed(UNDO_QUESTION):
                complain("Nothing was taken back.")
                return
        undone = take_back(db, clock, plan)
        here = talk.latest_conversation(db)
    if as_json:
        print_json(
            {
                "cycle": shapes.cycle(undone.cycle),
                "along": [shapes.cycle(one) for one in undone.along],
                "deactivated": [shapes.observation(o) for o in undone.deactivated],
                "reactivated": [shapes.observation(o) for o in undone.reactivated],
            }
        )
        return
    show(undone_view(undone, clock.today(), here, compact=_COMPACT, title=title))


def _title(db: sqlite3.Connection, conversation_id: int | None) -> str | None:
    return None if conversation_id is None else talk.conversation(db, conversation_id).title


def usage(env: Environment, as_json: bool) -> None:
    """Print tokens and money by purpose and model, by day, and by estimate without a memory."""
    from construct.repl.views.usage import by_day, usage_view

    clock = env.settings.clock
    with env.looking() as db:
        found = read_books(db, env.settings)
        today = books.usage_lines(db, to_text(clock.midnight()))
    if not as_json:
        show(usage_view(found, clock))
        return
    print_json(
        {
            "total": _total(found.lines),
            "today": _total(today),
            "by": [asdict(line) for line in found.lines],
            "days": [{"date": day, "talk_usd": t, "memory_usd": m} for day, t, m in by_day(found.spending, clock)],
            "stored_talk_usd": found.spent_on_talk,
            "instead": None if found.instead is None else asdict(found.instead),
        }
    )


def _total(lines: list[books.UsageLine]) -> dict[str, Any]:
    fields = ("calls", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    known = [line.cost_usd for line in lines if line.cost_usd is not None]
    return {f: sum(getattr(line, f) for line in lines) for f in fields} | {
        "cost_usd": sum(known) if known or not lines else None
    }
