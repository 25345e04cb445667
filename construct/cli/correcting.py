"""Correcting memory: `memory edit|pin|forget|add`."""

import sys
from dataclasses import asdict

from construct.cli import shapes
from construct.cli.environment import Environment, complain, confirmed, print_json, say, show
from construct.cli.looking import print_observation
from construct.cli.progress import searchable
from construct.clock import to_text
from construct.memory.curation import edits
from construct.memory.curation import forget as forgetting
from construct.memory.curation.memories import remember
from construct.memory.shown.lines import shown_line
from construct.references import Reference
from construct.store import curated
from construct.store import observations as rows
from construct.store.database import transaction


def edit(env: Environment, reference: Reference, text: str, as_json: bool) -> None:
    """Replace an observation's words by the user's own, and say which names and numbers are not in these."""
    from construct.repl.views.words import lost_words

    with env.database() as db:
        number = curated.observation_behind(db, reference)
        old = rows.observation(db, number)
        found = rows.observation(db, edits.edit(db, number, text, env.settings.clock))
    if not as_json and (lost := lost_words(edits.lost_terms(old.content, text))):
        complain(f"{lost} `construct undo` takes the edit back.")
    print_observation(found, env.settings.clock, f"{found.id}  {shown_line(found)}", as_json)


def pin(env: Environment, reference: Reference, *, off: bool, as_json: bool) -> None:
    """Keep an observation out of the reflector's hands, or let it go."""
    with env.database() as db:
        number = curated.observation_behind(db, reference)
        found = edits.unpin(db, number) if off else edits.pin(db, number)
    plainly = f"{'Unpinned' if off else 'Pinned'}: {found.id}  {shown_line(found)}"
    print_observation(found, env.settings.clock, plainly, as_json)


def add(env: Environment, text: str, category: str | None, as_json: bool) -> None:
    """Keep something by itself."""
    env.settings.must_learn()
    with env.database() as db, transaction(db):
        kept = remember(db, text, category, "user", to_text(env.settings.clock.now()))
    print_json(shapes.memory(kept, env.settings.clock)) if as_json else say(f"memory:{kept.id}  {kept.content}")


def forget(env: Environment, reference: Reference, *, words: bool, yes: bool, as_json: bool) -> None:
    """Say what goes, ask, delete it for good, and say what went."""
    from construct.repl.views.forgetting import forgotten_words, plan_view, question

    clock = env.settings.clock
    with env.database() as db:
        searchable(db)
        plan = forgetting.plan_forget(db, reference, words=words)
        if not yes:
            show(plan_view(plan, clock.today()), sys.stderr)
            if not confirmed(question(plan)):
                complain("Nothing was deleted.")
                return
        gone = forgetting.forget(db, reference, clock, words=words)
    print_json({"forgotten": asdict(gone)}) if as_json else say(forgotten_words(gone))
