"""Commands about the conversation: which one, with which model, and its replies."""

import asyncio
import re
from collections.abc import Sequence

from construct.chat.chat import Chat
from construct.chat.commands.arguments import number_in
from construct.chat.commands.registry import AfterCommand, Choice, Group, choose
from construct.chat.output import Output
from construct.errors import NotFoundError, UsageError
from construct.operations import conversations as operations
from construct.operations.persona import drop_unchanged_persona, make_persona
from construct.operations.setup import all_models
from construct.text import shorten
from construct.views.conversations import conversations_view, deleted_text, deletion_text
from construct.views.setup import models_text, price_words
from construct.views.words import ago, model_words

group = Group("Talk")

_CODE_BLOCK = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<code>.*?)^(?P=fence)[`~]*\s*$", re.MULTILINE | re.DOTALL
)
_MOST_LISTED = 30
_CONVERSATIONS = "/conversations [all|delete ID]"


async def conversation_choices(chat: Chat) -> Sequence[Choice]:
    """Return the conversations, the one last talked in first."""
    found = await chat.run(operations.conversations, _MOST_LISTED)
    return [
        Choice(str(c.conversation.id), f"{c.name}, {ago(c.last_at, chat.clock)}") for c in found
    ]


async def model_choices(chat: Chat) -> Sequence[Choice]:
    """Return the models within reach, with what they cost."""
    found = await asyncio.to_thread(all_models, chat.settings)
    return [
        Choice(m.name, "in use" if m.name == chat.model_name else price_words(m)) for m in found
    ]


@group.command("/new [TITLE]", "begin a conversation", like="/new Garden")
async def new(chat: Chat, out: Output, argument: str) -> None:
    """What was said in the one you leave is observed in the background, and known here.

    The new one is stored once something is said, or at once with a title.
    """
    if not argument:
        await chat.move(None)
        out.say("A new conversation.")
        return
    chat.refuse_in_private()
    await chat.move(None)
    await chat.run(operations.rename, await chat.ensure_conversation(), argument)
    out.say(f"A new conversation: {shorten(argument, 60)}.")


@group.command(
    _CONVERSATIONS,
    "list conversations",
    like="/conversations delete 3",
    choices=choose(("all", "however many there are"), ("delete", "take one out for good")),
)
async def conversations(chat: Chat, out: Output, argument: str) -> None:
    """The latest ones, newest first; with all, every one.

    delete takes one out for good, with what was learned from it. It shows what goes,
    and asks; --yes does not ask.
    """
    verb, _, which = argument.partition(" ")
    if verb == "delete":
        await _delete(chat, out, which.strip())
        return
    if argument not in {"", "all"}:
        raise UsageError(f"Usage: {_CONVERSATIONS}")
    found = await chat.run(operations.conversations, None if argument else _MOST_LISTED)
    out.show(conversations_view(found, chat.clock, chat.conversation_id))


@group.command(
    "/switch ID|WORDS", "continue another one", like="/switch garden", choices=conversation_choices
)
async def switch(chat: Chat, out: Output, argument: str) -> None:
    """By its number, or by words of its title. /history shows more of it."""
    if not argument:
        raise UsageError("Usage: /switch ID, or /switch WORDS. /conversations lists them.")
    wanted = await chat.run(operations.find_conversation, argument)
    wanted_id = wanted.conversation.id
    if wanted_id == chat.conversation_id:
        out.say("You are in it already.")
        return
    await chat.move(wanted_id)
    out.say(f"{wanted.name} · last talked {ago(wanted.last_at, chat.clock)}")
    out.replay(await chat.run(operations.last_exchange), chat.clock)


@group.command("/rename TITLE", "give this one a title", like="/rename Trip to Porto")
async def rename(chat: Chat, out: Output, argument: str) -> None:
    """The observer does not change a title of yours."""
    if not argument:
        raise UsageError("Usage: /rename TITLE")
    chat.refuse_in_private()
    await chat.run(operations.rename, await chat.ensure_conversation(), argument)
    out.say(f"This conversation is called {shorten(argument, 60)}.")


@group.command("/fork [TITLE]", "branch off from here", like="/fork What if we moved")
async def fork(chat: Chat, out: Output, argument: str) -> None:
    """Both know what was said so far.

    What is said from now on is known only in the one it is said in.
    """
    chat.refuse_in_private()
    here = chat.conversation_id
    if here is None:
        raise UsageError("Nothing to fork: nothing has been said in this conversation yet.")
    new = await chat.run(operations.fork, here, argument)
    await chat.move(new.id)
    out.say(f"Forked conversation {here} into {new.id}. /switch {here} to go back.")


@group.command(
    "/model [NAME]", "change the model", like="/model claude-haiku-5-5", choices=model_choices
)
async def model(chat: Chat, out: Output, argument: str) -> None:
    """In this chat only. Without a name: which one answers, and which are within reach."""
    if argument:
        await chat.use_model(argument)
        out.say(f"{model_words(chat.model_name)} answers from now on.")
        if advice := chat.companion.models.advice:
            out.say(advice)
        return
    worker = model_words(chat.companion.models.worker_name)
    out.say(f"{model_words(chat.model_name)} answers; {worker} does the memory work.")
    out.say(models_text(await asyncio.to_thread(all_models, chat.settings)))


@group.command("/persona", "how it talks to you")
async def persona(chat: Chat, out: Output, argument: str) -> None:
    """It opens the file that says so in your editor: name, tone and language are yours.

    What you save takes effect with the next message. Delete the file to go back to the shipped
    one.
    """
    path = make_persona(chat.settings)
    await out.edit_file(path)
    if drop_unchanged_persona(path):
        out.say("Nothing was changed.")
    else:
        out.say(f"It takes effect with your next message. To go back, delete {path}")


@group.command(
    "/private [on|off]",
    "talk without storing",
    like="/private on",
    choices=choose(
        ("on", "nothing is stored from now on"), ("off", "what follows is stored again")
    ),
)
async def private(chat: Chat, out: Output, argument: str) -> None:
    """While it is on, what is said is answered, and neither stored nor observed."""
    if argument not in {"", "on", "off"}:
        raise UsageError("Usage: /private on, or /private off.")
    wanted = argument == "on" if argument else not chat.is_private
    if wanted == chat.is_private:
        out.say(f"Private talk is {'on' if wanted else 'off'} already.")
        return
    chat.set_private(wanted)
    if wanted:
        out.say("From here on nothing is stored. /private off ends it.")
    else:
        out.forgotten()  # what was typed in private must not come back by Ctrl-R or the arrow keys
        out.say("What was private is gone. From here on messages are stored again.")


@group.command("/retry", "ask for another reply")
async def retry(chat: Chat, out: Output, argument: str) -> AfterCommand:
    """The new reply replaces the last one, which stays in the file."""
    return AfterCommand.RETRY


@group.command("/drop", "leave out what failed")
async def drop(chat: Chat, out: Output, argument: str) -> None:
    """This is for the last message without a whole reply, as after a network error.

    The model is not sent it again. It stays stored and searchable.
    """
    dropped = await chat.drop()
    if dropped is None:
        raise NotFoundError("Nothing to drop: every message here has its reply.")
    kept = "" if chat.is_private else " It stays stored and searchable."
    out.say(f"Left out of requests: “{shorten(dropped, 60)}”.{kept}")


@group.command("/detach", "take a file off the line", like="/detach What is @property?")
async def detach(chat: Chat, out: Output, argument: str) -> None:
    """Type it before or behind a message that names files with @path.

    The newest of them is not sent, and its path stays as text.

    A path to a PNG, JPEG, GIF or WebP picture, a PDF or a UTF-8 text is attached when
    you type @ before it, in quotes if it has spaces: @"my cat.png". What goes with the
    message stands above the prompt.
    """
    raise UsageError("No file is attached. Type @ and a path to attach one.")


@group.command("/editor [TEXT]", "write in your editor")
async def editor(chat: Chat, out: Output, argument: str) -> None:
    """It opens what $VISUAL or $EDITOR names. What you save comes to the prompt."""
    await out.edit(argument)


@group.command(
    "/copy [code]",
    "copy the last reply",
    like="/copy code",
    choices=choose(("code", "the last code block only")),
)
async def copy(chat: Chat, out: Output, argument: str) -> None:
    """With code: only its last code block.

    Your terminal must let programs write its clipboard (OSC 52).
    """
    reply = await chat.last_reply()
    if reply is None:
        raise NotFoundError("There is no reply to copy yet.")
    if argument == "code":
        blocks = list(_CODE_BLOCK.finditer(reply))
        if not blocks:
            raise NotFoundError("There is no code in the last reply.")
        reply = blocks[-1]["code"]
    out.copy(reply)
    out.say(
        f"Copied {len(reply):,} characters, if your terminal lets programs write its clipboard."
    )


@group.command("/quit", "leave")
async def leave(chat: Chat, out: Output, argument: str) -> AfterCommand:
    """Memory work that is due is finished first, for 20 seconds at most.

    Ctrl-D does the same.
    """
    return AfterCommand.LEAVE


async def _delete(chat: Chat, out: Output, argument: str) -> None:
    """Show what deleting a conversation takes along, ask, and do it."""
    wanted, ask = _to_delete(argument, out)
    out.say(deletion_text(await chat.run(operations.preview_deletion, wanted)))
    if ask and not await out.ask("Delete this for good?"):
        out.say("Nothing was deleted.")
        return
    gone = await chat.run(operations.delete, wanted)
    chat.shown = None
    if wanted == chat.conversation_id:
        chat.begin_anew()
    out.forgotten()
    out.say(deleted_text(gone))


def _to_delete(argument: str, out: Output) -> tuple[int, bool]:
    """Return which conversation is meant, and whether to ask first."""
    name, _, option = argument.partition(" ")
    number = number_in(name)
    if number is None or option.strip() not in {"", "--yes"}:
        raise UsageError("Usage: /conversations delete ID [--yes]")
    if not option and not out.interactive:
        raise UsageError(
            f"No terminal to confirm on. Add --yes: /conversations delete {number} --yes"
        )
    return number, not option
