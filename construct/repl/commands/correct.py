"""Commands that correct what is remembered."""

import sqlite3

from construct.errors import ConstructError, UsageError
from construct.memory.curation import edits, undo
from construct.memory.curation import forget as forgetting
from construct.memory.curation.forget import Forgotten
from construct.references import Reference, written
from construct.repl.chat import Chat
from construct.repl.commands.choices import observation_choices
from construct.repl.commands.references import named
from construct.repl.commands.registry import Group
from construct.repl.commands.unsearched import say_unsearched
from construct.repl.output import Output
from construct.repl.views.forgetting import forgotten_words, plan_view, question
from construct.repl.views.observations import observation_table
from construct.repl.views.undone import UNDO_QUESTION, undo_plan_view, undone_view
from construct.repl.views.words import lost_words
from construct.store import curated, talk
from construct.store import observations as rows

group = Group("Correcting it")

_EDIT, _PIN, _FORGET = "/edit [ID] [TEXT]", "/pin [ID] [off]", "/forget [ID] [--words]"


@group.command(_EDIT, "say it in your words", like="/edit 12 Rosa is my cousin.", choices=observation_choices)
async def edit(chat: Chat, out: Output, argument: str) -> None:
    """Your words stand in its place, and no later cycle overrules them.

    Without TEXT it comes to the prompt. Without an ID: what was shown last.
    """
    chat.refuse_in_private()
    name, _, text = argument.partition(" ")
    number = await chat.store.call(curated.observation_behind, named(chat, name, _EDIT))
    if not text.strip():
        old = await chat.store.call(rows.observation, number)
        out.prefill(f"/edit {number} {old.content}")
        return
    old = await chat.store.call(rows.observation, number)
    new = await chat.store.call(edits.edit, number, text, chat.clock)
    await _show(chat, out, new)
    if lost := lost_words(edits.lost_terms(old.content, text)):
        out.say(f"{lost} /undo takes the edit back.")


@group.command(_PIN, "keep it as it is", like="/pin 12", choices=observation_choices)
async def pin(chat: Chat, out: Output, argument: str) -> None:
    """No reflection touches it, and it comes first where there is little room.

    off takes the pin away. Without an ID: what was shown last.
    """
    name, _, how = argument.partition(" ") if argument != "off" else ("", "", argument)
    if how.strip() not in {"", "off"}:
        raise UsageError(f"It is {_PIN}.")
    number = await chat.store.call(curated.observation_behind, named(chat, name, _PIN))
    change = edits.unpin if how.strip() else edits.pin
    found = await chat.store.call(change, number)
    await _show(chat, out, found.id)


@group.command(_FORGET, "delete it for good", like="/forget 12 --words", choices=observation_choices)
async def forget_it(chat: Chat, out: Output, argument: str) -> None:
    """With all that rests on it. It says first what goes, and asks; --yes does not ask.

    --words also empties the messages it came from. message:N forgets a message and all drawn from it. Without an ID:
    what was shown last.
    """
    words = argument.split()
    name, options = ("", words) if not words or words[0].startswith("--") else (words[0], words[1:])
    if unknown := set(options) - {"--words", "--yes"}:
        raise UsageError(f"{sorted(unknown)[0]} is not known here. It is {_FORGET}.")
    asked = "--yes" not in options
    if not asked and not name:
        raise UsageError("Say which one is to be deleted without a question: /forget ID --yes")
    reference = named(chat, name, _FORGET)
    if asked and not out.interactive:
        raise UsageError(f"Nobody can be asked here: /forget {written(reference)} --yes deletes it.")
    gone = await forget_asking(chat, out, reference, words="--words" in options, ask=asked)
    if gone is not None:
        out.say(forgotten_words(gone))


async def forget_asking(
    chat: Chat, out: Output, reference: Reference, *, words: bool, ask: bool = True
) -> Forgotten | None:
    """Show what would go, ask if wanted, and delete it; None when the user would not."""
    plan = await chat.store.call(forgetting.plan_forget, reference, words=words)
    out.show(plan_view(plan, chat.clock.today()))
    await say_unsearched(chat, out)
    if ask and not await out.ask(question(plan)):
        out.say("Nothing was deleted.")
        return None
    gone = await chat.store.call(forgetting.forget, reference, chat.clock, words=words)
    chat.shown = None
    out.forgotten()
    return gone


@group.command("/undo [--yes]", "take a cycle back", like="/undo")
async def undo_last(chat: Chat, out: Output, argument: str) -> None:
    """The newest memory cycle that changed something (an observation run, a reflection, an edit) counts as never run.

    Of whatever conversation it is: you see first what would change, and are asked; --yes does not ask. The graph runs
    behind it go with it. Again for the one before it.
    """
    if argument not in {"", "--yes"}:
        raise UsageError("It is /undo [--yes].")
    plan = await chat.store.call(undo.plan_undo, chat.clock)
    title = await chat.store.call(_title, plan.cycle.conversation_id)
    if out.interactive and not argument:
        out.show(undo_plan_view(plan, chat.clock.today(), title))
        if not await out.ask(UNDO_QUESTION):
            out.say("Nothing was taken back.")
            return
    undone = await chat.store.call(undo.undo, chat.clock, plan)
    out.show(undone_view(undone, chat.clock.today(), chat.conversation_id, title=title))


async def forget_for_model(chat: Chat, out: Output, observation_id: int) -> str:
    """Do what the model's `forget` tool asks for, the user willing; return what it is told."""
    try:
        gone = await forget_asking(chat, out, ("observation", observation_id), words=False)
    except ConstructError as error:
        return str(error)
    return "The person would not have it deleted." if gone is None else "Deleted."


def _title(db: sqlite3.Connection, conversation_id: int | None) -> str | None:
    return None if conversation_id is None else talk.conversation(db, conversation_id).title


async def _show(chat: Chat, out: Output, observation_id: int) -> None:
    chat.shown = ("observation", observation_id)
    out.show(observation_table([await chat.store.call(rows.observation, observation_id)], chat.clock.today()))
