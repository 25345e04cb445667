"""`status`, `compact` and `usage`."""

import asyncio
from typing import Any

from construct.cli import shapes
from construct.cli.environment import Environment, print_json, say
from construct.clock import to_text
from construct.companion import Companion
from construct.errors import ExitStatus, NotConfiguredError, UsageError
from construct.memory.situation import Terms, terms_for
from construct.memory.status import status as panel
from construct.store import books, talk

_ROOMY = 1_000_000
_NOTHING = {"conversation": None, "observed": 0, "committed": 0, "left_window": 0, "condensed": 0, "into": 0}


def terms(env: Environment) -> Terms:
    """Return the terms of memory work, fitted to the main model when one is configured."""
    from construct.llm.providers import choose_models

    try:
        return terms_for(env.settings, choose_models(env.settings).main.context_window)
    except NotConfiguredError:
        return terms_for(env.settings, _ROOMY)


def status(env: Environment, as_json: bool) -> None:
    """Print the memory panel."""
    with env.database() as db:
        figures = panel(db, talk.latest_conversation(db), env.settings, terms(env))
    if as_json:
        print_json(figures)
        return
    from construct.repl.views.status import status_lines

    say("\n".join(status_lines(figures)))


def compact(env: Environment, as_json: bool) -> int:
    """Observe, compact and reflect now; print what changed."""
    from construct.llm.providers import choose_models

    if env.settings.memory != "on":
        raise UsageError(f"CONSTRUCT_MEMORY is {env.settings.memory}: nothing is learned. Set it to on to compact.")
    with env.database() as db:
        conversation_id = talk.latest_conversation(db)
    if conversation_id is None:
        choose_models(env.settings)
        print_json(_NOTHING) if as_json else say("Nothing to compact yet.")
        return ExitStatus.OK
    changed = compact_conversation(env, conversation_id)
    print_json(changed) if as_json else say(compact_words(changed))
    return ExitStatus.OK


def compact_conversation(env: Environment, conversation_id: int) -> dict[str, Any]:
    """Observe, compact and reflect one conversation now; return what changed."""
    from construct.llm.providers import choose_models

    return asyncio.run(_compact(Companion(env.settings, choose_models(env.settings)), conversation_id))


async def _compact(companion: Companion, conversation_id: int) -> dict[str, Any]:
    try:
        made, compacted, verdict = await companion.worker.now(conversation_id)
    finally:
        await companion.close()
    shrunk = verdict if verdict is not None and verdict.shrinks else None
    return {
        "conversation": conversation_id,
        "observed": made,
        "committed": compacted.committed,
        "left_window": compacted.left_window,
        "condensed": len(shrunk.gone) if shrunk else 0,
        "into": len(shrunk.drafts) if shrunk else 0,
        "kept_back": list(verdict.notes) if verdict else [],
    }


def compact_words(changed: dict[str, Any]) -> str:
    """Return what compacting changed, in a few lines."""
    lines = [
        f"Observed: {changed['observed']} new observations.",
        f"Compacted: {changed['committed']} committed; {changed['left_window']} messages left the window.",
        f"Reflected: {changed['condensed']} observations became {changed['into']}."
        if changed["condensed"]
        else "Reflected: nothing could be condensed.",
    ]
    return "\n".join(lines)


def undo(env: Environment, as_json: bool) -> None:
    """Take the last memory cycle back, and say what changed."""
    from construct.memory.undo import undo as take_back

    with env.database() as db:
        undone = take_back(db, env.settings.clock)
    if as_json:
        print_json(
            {
                "cycle": shapes.cycle(undone.cycle),
                "deactivated": [shapes.observation(o) for o in undone.deactivated],
                "reactivated": [shapes.observation(o) for o in undone.reactivated],
            }
        )
        return
    say(
        f"Taken back: {undone.cycle.kind} cycle {undone.cycle.id}. "
        f"Gone: {len(undone.deactivated)} observations; active again: {len(undone.reactivated)}.\n"
        "What was undone is learned again only by `construct compact`, or when enough new has been said."
    )


def usage(env: Environment, as_json: bool) -> None:
    """Print tokens and money, by purpose and model."""
    clock = env.settings.clock
    midnight = clock.local(clock.now()).replace(hour=0, minute=0, second=0, microsecond=0)
    with env.database() as db:
        lines, today = books.usage_lines(db), books.usage_lines(db, to_text(midnight))
    if as_json:
        print_json({"total": _total(lines), "today": _total(today), "by": [_usage_line(line) for line in lines]})
        return
    from construct.repl.views.usage import usage_text

    say(usage_text(lines, today))


def _usage_line(line: books.UsageLine) -> dict[str, Any]:
    return {name: getattr(line, name) for name in line.__slots__}


def _total(lines: list[books.UsageLine]) -> dict[str, Any]:
    fields = ("calls", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    known = [line.cost_usd for line in lines if line.cost_usd is not None]
    return {f: sum(getattr(line, f) for line in lines) for f in fields} | {"cost_usd": sum(known) if known else None}
