"""Commands about the conversation: which one, with which model, and its replies."""

import asyncio
from collections.abc import Sequence
from itertools import chain

from construct.chat.chat import Chat
from construct.chat.commands.arguments import number_in
from construct.chat.commands.registry import AfterCommand, Choice, CommandGroup, choose
from construct.chat.output import Output
from construct.errors import NotFoundError, UsageError
from construct.llm.providers import Models
from construct.operations import conversations as operations
from construct.operations.context import window_of
from construct.operations.persona import drop_unchanged_persona, make_persona
from construct.operations.setup import all_models
from construct.text import shorten
from construct.views.conversations import conversations_view, deleted_text, deletion_text
from construct.views.setup import models_text, price_words
from construct.views.status import window_words
from construct.views.words import ago, counted, model_words

group = CommandGroup("Talk")

_MAX_LISTED = 30
_CONVERSATIONS = "/conversations [all|delete ID]"


async def conversation_choices(chat: Chat) -> Sequence[Choice]:
    """Return the latest conversations as choices, most recent first."""
    found = await chat.run(operations.conversations, _MAX_LISTED)
    return [
        Choice(str(c.conversation.id), f"{c.name}, {ago(c.last_at, chat.clock)}") for c in found
    ]


async def model_choices(chat: Chat) -> Sequence[Choice]:
    """Return the available models as choices, with their prices."""
    found = await asyncio.to_thread(all_models, chat.settings)
    return [
        Choice(m.name, "in use" if m.name == chat.model_name else price_words(m)) for m in found
    ]


@group.command("/new [TITLE]", "begin a conversation", example="/new Garden")
async def new(chat: Chat, out: Output, argument: str) -> None:
    """The conversation you leave is observed in the background if enough in it is new.

    The new conversation is stored when you say something, or at once with a title.
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
    example="/conversations delete 3",
    choices=choose(("all", "every conversation"), ("delete", "delete one for good")),
)
async def conversations(chat: Chat, out: Output, argument: str) -> None:
    """Lists the latest conversations, most recently used first; /conversations all lists every one.

    /conversations delete ID deletes one for good, with what was learned from it. It shows
    what will be deleted, then asks, unless you add --yes.
    """
    verb, _, which = argument.partition(" ")
    if verb == "delete":
        await _delete(chat, out, which.strip())
        return
    if argument not in {"", "all"}:
        raise UsageError(f"Usage: {_CONVERSATIONS}")
    found = await chat.run(operations.conversations, None if argument else _MAX_LISTED)
    out.show(conversations_view(found, chat.clock, chat.conversation_id))


@group.command(
    "/switch ID|WORDS",
    "switch conversations",
    example="/switch garden",
    choices=conversation_choices,
)
async def switch(chat: Chat, out: Output, argument: str) -> None:
    """Give a conversation's ID, or words of its title.

    You see its last exchange; /history shows more.
    """
    if not argument:
        raise UsageError("Usage: /switch ID|WORDS. /conversations lists them.")
    wanted = await chat.run(operations.find_conversation, argument)
    wanted_id = wanted.conversation.id
    if wanted_id == chat.conversation_id:
        out.say("You are already in it.")
        return
    await chat.move(wanted_id)
    said = await chat.run(operations.last_exchange)
    if not said:
        out.say(f"{wanted.name} · nothing said yet")
        return
    out.say(f"{wanted.name} · last talked {ago(wanted.last_at, chat.clock)}")
    out.replay(said, chat.clock)


@group.command("/rename TITLE", "name this conversation", example="/rename Trip to Porto")
async def rename(chat: Chat, out: Output, argument: str) -> None:
    """The observer never changes a title that you gave."""
    if not argument:
        raise UsageError("Usage: /rename TITLE")
    chat.refuse_in_private()
    await chat.run(operations.rename, await chat.ensure_conversation(), argument)
    out.say(f"This conversation is now called {shorten(argument, 60)}.")


@group.command("/fork [TITLE]", "branch off from here", example="/fork What if we moved")
async def fork(chat: Chat, out: Output, argument: str) -> None:
    """Both conversations show what was said so far. If you delete the first, the fork loses it.

    Messages that follow are not shared. What is learned in one is known in the other
    too, unless CONSTRUCT_SCOPE is conversation.
    """
    chat.refuse_in_private()
    here = chat.conversation_id
    if here is None:
        raise UsageError("Nothing to fork: nothing has been said in this conversation yet.")
    new = await chat.run(operations.fork, here, argument)
    await chat.move(new.id)
    out.say(f"Forked conversation {here} into {new.id}. /switch {here} to go back.")


@group.command(
    "/model [NAME]", "change the model", example="/model claude-haiku-5-5", choices=model_choices
)
async def model(chat: Chat, out: Output, argument: str) -> None:
    """Changes who replies, for this chat only. Without a NAME it lists the available models.

    Memory work stays with the model that was set up, which is sent the new messages.
    """
    if argument:
        await chat.use_model(argument)
        out.say(_who_answers(chat.companion.models, " from now on"))
        if advice := chat.companion.models.advice:
            out.say(advice)
        return
    out.say(_who_answers(chat.companion.models))
    if window := window_of(chat.companion.models):
        out.say(f"{window_words(window)}.")
    out.say(models_text(await asyncio.to_thread(all_models, chat.settings)))


def _who_answers(models: Models, since: str = "") -> str:
    """Return who answers and who does the memory work; `since` is put after "answers"."""
    main = model_words(models.main.name)
    if models.worker is models.main:
        return f"{main} answers{since} and does the memory work."
    if models.worker is not None:
        return f"{main} answers{since}; {model_words(models.worker_name)} does the memory work."
    if models.is_notebook:
        return "No model is set up: the notebook replies, and observations are made by fixed rules."
    return f"{main} answers{since}; observations are made by fixed rules."


@group.command("/persona", "how it talks to you")
async def persona(chat: Chat, out: Output, argument: str) -> None:
    """Opens the persona file in your editor: choose the companion's name, tone and language.

    What you save takes effect with your next message to a model. To go back to the
    original, delete the file, or unset CONSTRUCT_PERSONA if that names it.
    """
    takes_effect = "It takes effect with your next message."
    if chat.companion.models.is_notebook:
        takes_effect = "The notebook does not read it: it takes effect once a model replies."
    path = make_persona(chat.settings)
    await out.edit_file(path)
    if chat.settings.persona is not None:
        out.say(f"{takes_effect} To go back, unset CONSTRUCT_PERSONA.")
    elif drop_unchanged_persona(path):
        out.say("The original persona is in use.")
    else:
        out.say(f"{takes_effect} To go back, delete {path}")


@group.command(
    "/private [on|off]",
    "talk without storing",
    example="/private on",
    choices=choose(
        ("on", "nothing you say is stored from now on"), ("off", "what follows is stored again")
    ),
)
async def private(chat: Chat, out: Output, argument: str) -> None:
    """While it is on, messages are answered, but neither stored nor observed."""
    state = argument.lower()
    if state not in {"", "on", "off"}:
        raise UsageError("Usage: /private [on|off]")
    wanted = state == "on" if state else not chat.is_private
    if wanted == chat.is_private:
        out.say(f"Private talk is already {'on' if wanted else 'off'}.")
        return
    chat.set_private(wanted)
    if wanted:
        out.say("From here on nothing you say is stored. /private off ends it.")
    else:
        # What was typed in private must not come back by Ctrl-R, Ctrl-Y or the arrow keys.
        out.forget_input()
        out.say("Nothing you said in private was kept. From here on messages are stored again.")


@group.command(
    "/retry [TEXT]",
    "ask again, or reword",
    example="/retry I meant the city of Porto, not the wine",
)
async def retry(chat: Chat, out: Output, argument: str) -> AfterCommand:
    """The new reply replaces the last one.

    That one stays stored, but search and /history no longer show it; `construct
    conversations show ID` does.

    With TEXT your last message is sent in these words instead, with its attachments. The
    first version and its reply are no longer sent to the model. They stay stored and
    searchable, as after /drop.
    """
    return AfterCommand.RETRY


@group.command("/drop", "drop a failed message")
async def drop(chat: Chat, out: Output, argument: str) -> None:
    """Use it for a message whose reply failed, for example after a network error.

    The message is not sent to the model again. It stays stored and searchable, and so does
    what was already learned from it: /forget ID --words deletes both. Type /drop again for
    the message before it, if that has no reply either.
    """
    dropped = await chat.drop()
    if dropped is None:
        raise NotFoundError("Nothing to drop: no message said here waits for its reply.")
    kept = "" if chat.is_private else " It stays stored and searchable."
    out.say(f"Left out of requests: “{shorten(dropped, 60)}”.{kept}")


@group.command(
    "/detach [MESSAGE]",
    "remove an attached file",
    example="Compare @cat.png with @dog.png /detach",
)
async def detach(chat: Chat, out: Output, argument: str) -> None:
    """Type it at the end of a message that names files with @path.

    You can also put it before a message whose files are listed above the prompt. Enter
    then detaches the file you attached last; its path stays as text. Press Enter again to
    send the message.

    To attach a picture (PNG, JPEG, GIF, WebP), a PDF or a UTF-8 text file, type @ and its
    path, in quotes if it has spaces: @"my cat.png". The files that will be sent are
    listed above the prompt.
    """
    raise UsageError("No file is attached. In a full terminal, @ and a path attach one.")


@group.command("/editor [TEXT]", "write in your editor")
async def editor(chat: Chat, out: Output, argument: str) -> None:
    """Opens the editor in $VISUAL or $EDITOR. What you save is put at the prompt."""
    await out.edit(argument)


@group.command(
    "/copy [code]",
    "copy the last reply",
    example="/copy code",
    choices=choose(("code", "the last code block only")),
)
async def copy(chat: Chat, out: Output, argument: str) -> None:
    """/copy code copies only the last code block of the reply.

    Your terminal must allow programs to write to the clipboard (OSC 52).
    """
    if argument not in {"", "code"}:
        raise UsageError("Usage: /copy [code]")
    reply = await chat.last_reply()
    if reply is None:
        raise NotFoundError("There is no reply to copy yet.")
    if argument == "code":
        blocks = _code_blocks(reply)
        if not blocks:
            raise NotFoundError("There is no code in the last reply.")
        reply = blocks[-1]
    out.copy(reply)
    out.say(
        f"Copied {counted(len(reply), 'character')}, if your terminal lets programs write to its "
        "clipboard."
    )


def _code_blocks(reply: str) -> list[str]:
    from construct.views.markdown_blocks import parse  # not needed when a chat starts

    lines = reply.replace("\r\n", "\n").rstrip("\n").split("\n")
    tokens = chain.from_iterable(unit.tokens for unit in parse(lines))
    return [token.content for token in tokens if token.type == "fence"]


@group.command("/quit", "leave")
async def leave(chat: Chat, out: Output, argument: str) -> AfterCommand:
    """First finishes the memory work that is due, for at most 20 seconds.

    Ctrl-D does the same.
    """
    return AfterCommand.LEAVE


async def _delete(chat: Chat, out: Output, argument: str) -> None:
    """Show what deleting a conversation would delete, ask, and delete it."""
    wanted, ask = _to_delete(argument, out)
    preview = await chat.run(operations.preview_deletion, wanted)
    out.say(deletion_text(preview))
    if ask and not await out.ask("Delete this for good?"):
        out.say("Nothing was deleted.")
        return
    gone = await chat.run(operations.delete, wanted, preview if ask else None)
    chat.shown = None
    if wanted == chat.conversation_id:
        chat.begin_anew()
    out.reload_history()
    out.say(deleted_text(gone))


def _to_delete(argument: str, out: Output) -> tuple[int, bool]:
    """Return the id of the conversation to delete, and whether to ask first."""
    name, _, option = argument.partition(" ")
    number = number_in(name)
    if number is None or option.strip() not in {"", "--yes"}:
        raise UsageError("Usage: /conversations delete ID [--yes]")
    if not option and not out.interactive:
        raise UsageError(
            f"No terminal to confirm on. Add --yes: /conversations delete {number} --yes"
        )
    return number, not option
