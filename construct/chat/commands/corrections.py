"""Commands that correct the memory, and what the main model asks about it."""

from construct.chat.chat import Chat
from construct.chat.commands.arguments import named, observation_choices
from construct.chat.commands.registry import CommandGroup
from construct.chat.output import Output
from construct.errors import ConstructError, UsageError
from construct.memory.forgetting import Forgotten
from construct.operations import forgetting, memory, search
from construct.operations.rules import forbidden_word
from construct.references import Reference, written
from construct.store.records import Observation
from construct.text import one_line
from construct.views import forgetting as views
from construct.views.memory import lost_words, observation_table
from construct.views.rules import forbidden_view
from construct.views.search import unsearched_view

group = CommandGroup("Corrections")

_EDIT, _PIN, _FORGET = "/edit [ID [TEXT]]", "/pin [ID] [off]", "/forget [ID] [--words] [--yes]"


@group.command(
    _EDIT,
    "correct a memory",
    example="/edit 12 Rosa is my cousin.",
    choices=observation_choices,
)
async def edit(chat: Chat, out: Output, argument: str) -> None:
    """Your text replaces the memory, and no later memory work changes it.

    Without TEXT you edit it at the prompt. Without an ID it takes the memory listed last,
    or the best match of /recall.
    """
    chat.refuse_in_private()
    name, _, text = argument.partition(" ")
    reference = named(chat, name, _EDIT)
    if not text.strip():
        old = await chat.run(memory.correctable, reference)
        out.prefill(f"/edit {old.id} {old.content}")
        return
    word = await chat.run(forbidden_word, text)
    edited = await chat.run(memory.edit, reference, text)
    _show(chat, out, edited.observation)
    if edited.lost:
        out.say(lost_words(edited.lost, "/undo"))
    if word:
        out.say(forbidden_view(word))


@group.command(_PIN, "keep a memory as it is", example="/pin 12", choices=observation_choices)
async def pin(chat: Chat, out: Output, argument: str) -> None:
    """A pinned memory is kept word for word.

    If the model cannot be shown all memories, pinned ones come first.

    /pin ID off removes the pin. Without an ID it takes the memory listed last, or the best
    match of /recall.
    """
    name, _, how = argument.partition(" ") if argument != "off" else ("", "", argument)
    if how.strip() not in {"", "off"}:
        raise UsageError(f"Usage: {_PIN}")
    reference = named(chat, name, _PIN)
    _show(chat, out, await chat.run(memory.pin, reference, off=bool(how.strip())))


def _show(chat: Chat, out: Output, observation: Observation) -> None:
    chat.shown = ("observation", observation.id)
    out.show(observation_table([observation], chat.clock.today()))


@group.command(
    _FORGET,
    "delete a memory for good",
    example="/forget 12 --words",
    choices=observation_choices,
)
async def forget(chat: Chat, out: Output, argument: str) -> None:
    """Deletes a memory and everything made from it.

    You see what goes and are asked first. For a reflection it also deletes the observations
    that it was made from; for memory:N, the observations that say the same.

    The messages it came from are kept, without their attached files, but no longer
    recalled or sent to the model; --words empties them too. For message:N it deletes all
    that was learned from that message.

    With --yes you are not asked. Without an ID it takes the memory listed last, or the best
    match of /recall.
    """
    words = argument.split()
    name, options = ("", words) if not words or words[0].startswith("--") else (words[0], words[1:])
    if unknown := set(options) - {"--words", "--yes"}:
        raise UsageError(f"Not an option: {sorted(unknown)[0]}. Usage: {_FORGET}")
    ask = "--yes" not in options
    if not ask and not name:
        raise UsageError("--yes needs an ID: /forget ID --yes")
    reference = named(chat, name, _FORGET)
    if ask and not out.interactive:
        command = " ".join(["/forget", written(reference), *options, "--yes"])
        raise UsageError(f"No terminal to confirm on. Add --yes: {command}")
    gone = await _forget(chat, out, reference, words="--words" in options, ask=ask)
    if gone is not None:
        out.say(views.forgotten_view(gone))


async def forget_for_model(chat: Chat, out: Output, observation_id: int) -> str:
    """Ask the user about the model's `forget` call, and return the tool's answer."""
    reference = ("observation", observation_id)
    try:
        gone = await _forget(chat, out, reference, words=False, ask=True)
    except ConstructError as error:
        return str(error)
    return "The person declined. Nothing was deleted." if gone is None else "Deleted."


async def accept_for_model(out: Output, note: str) -> bool:
    """Ask whether what the model wants to keep is the user's own word."""
    out.say(f"A text that is not yours is in sight. The model wants to keep: “{one_line(note)}”")
    return await out.ask("Keep it as your own?")


async def _forget(
    chat: Chat, out: Output, reference: Reference, *, words: bool, ask: bool
) -> Forgotten | None:
    """Show what would go, delete it, and return it; None if `ask` and the user says no."""
    plan = await chat.run(forgetting.plan_forget, reference, words=words)
    out.show(views.forget_plan_view(plan, chat.clock.today()))
    if left := await chat.run(search.count_unsearched):
        out.say(unsearched_view(left))
    if ask and not await out.ask(views.forget_question(plan)):
        out.say("Nothing was deleted.")
        return None
    shown = plan if ask else None
    gone = await chat.run(forgetting.forget, reference, words=words, shown=shown)
    chat.shown = None
    out.reload_history()
    return gone


@group.command("/undo [--yes]", "take back what was learned", example="/undo")
async def undo(chat: Chat, out: Output, argument: str) -> None:
    """Takes back the newest memory cycle that changed something.

    A cycle is one run of the observer or the reflector, or one edit of yours, in any
    conversation. Its part of the graph goes with it. /remember and /pin are not cycles:
    /forget ID and /pin ID off take them back. In a terminal you see what would
    change and are asked first, unless you add --yes. Type /undo again to take back the
    cycle before that.
    """
    if argument not in {"", "--yes"}:
        raise UsageError("Usage: /undo [--yes]")
    plan = await chat.run(forgetting.plan_undo)
    if out.interactive and not argument:
        out.show(views.undo_plan_view(plan, chat.clock.today()))
        if not await out.ask(views.UNDO_QUESTION):
            out.say("Nothing was taken back.")
            return
    done = await chat.run(forgetting.undo, plan)
    out.show(views.undone_view(done, chat.clock.today()))
