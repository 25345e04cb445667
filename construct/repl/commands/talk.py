"""Commands about the talk: which one, with whom, and its replies."""

import re
from collections.abc import Sequence
from pathlib import Path

from construct.errors import NotFoundError, UsageError
from construct.llm.catalog import is_known, known_models
from construct.memory.curation import deletion
from construct.memory.shown import forks
from construct.repl.chat import Chat
from construct.repl.commands.references import number_in
from construct.repl.commands.registry import Choice, Group, Then, choose
from construct.repl.output import Output
from construct.repl.views.conversations import conversations_view
from construct.repl.views.deletion import deleted_words, deletion_words
from construct.repl.views.words import ago, title_of
from construct.store import talk as talks
from construct.store.transfer.exporting import FORMATS, write_export
from construct.text import shorten

group = Group("Talk")

_CODE_BLOCK = re.compile(r"^(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<code>.*?)^(?P=fence)[`~]*\s*$", re.MULTILINE | re.DOTALL)
_MOST_LISTED = 30
_SHOWN_AGAIN = 2
"""Messages: so that one knows where the talk stands."""
_FORMAT_OF = {".md": "markdown", ".markdown": "markdown", ".db": "sqlite", ".sqlite": "sqlite", ".sqlite3": "sqlite"}
_CONVERSATIONS = "/conversations [all|delete ID]"
_NOT_KNOWN = " The server may know it; what it costs is not known here."
_PRIVATE_ON = "From here on nothing is stored. /private off ends it."
_PRIVATE_OFF = "What was private is gone. From here on it is stored again."


async def conversation_choices(chat: Chat) -> Sequence[Choice]:
    """Return the conversations, the one last talked in first."""
    found = await chat.store.call(talks.conversations, _MOST_LISTED)
    return [Choice(str(c.conversation.id), f"{title_of(c)}, {ago(c.last_at, chat.clock)}") for c in found]


async def model_choices(chat: Chat) -> Sequence[Choice]:
    """Return the models that are known by name."""
    return [Choice(name, "in use" if name == chat.model_name else "") for name in known_models()]


@group.command("/new [TITLE]", "begin a conversation", like="/new Garden")
async def new(chat: Chat, out: Output, argument: str) -> None:
    """The one you leave is observed in the background, so that what was said there is known here.

    The new one is stored once something is said, or at once with a title.
    """
    if argument:
        chat.refuse_in_private()
    await chat.move(None)
    if argument:
        await _rename(chat, argument)
    out.say(f"A new conversation{': ' + shorten(argument, 60) if argument else ''}.")


@group.command(
    _CONVERSATIONS,
    "list conversations",
    like="/conversations delete 3",
    choices=choose(("all", "however many there are"), ("delete", "take one out for good")),
)
async def conversations(chat: Chat, out: Output, argument: str) -> None:
    """The ones last talked in, the newest first; all shows however many there are.

    delete takes one out for good, with what was learned from it; it says first what goes, and asks; --yes does not ask.
    """
    verb, _, which = argument.partition(" ")
    if verb == "delete":
        await _delete(chat, out, which.strip())
        return
    if argument not in {"", "all"}:
        raise UsageError(f"It is {_CONVERSATIONS}.")
    found = await chat.store.call(talks.conversations, None if argument == "all" else _MOST_LISTED)
    out.show(conversations_view(found, chat.clock, chat.conversation_id))


@group.command("/switch ID|WORDS", "go on in another one", like="/switch garden", choices=conversation_choices)
async def switch(chat: Chat, out: Output, argument: str) -> None:
    """By its number, or by words of its title. /history shows more of it."""
    wanted = await _find(chat, argument)
    if wanted.conversation.id == chat.conversation_id:
        out.say("You are in it already.")
        return
    await chat.move(wanted.conversation.id)
    out.say(f"{title_of(wanted)} · last talked {ago(wanted.last_at, chat.clock)}")
    out.replay(await chat.store.call(forks.last_said, wanted.conversation.id, _SHOWN_AGAIN), chat.clock)


@group.command("/rename TITLE", "give this one a title", like="/rename Trip to Porto")
async def rename(chat: Chat, out: Output, argument: str) -> None:
    """The title stays: no observer changes it."""
    if not argument:
        raise UsageError("Say the title too: /rename TITLE")
    chat.refuse_in_private()
    await _rename(chat, argument)
    out.say(f"This conversation is called {shorten(argument, 60)}.")


@group.command("/fork [TITLE]", "branch off from here", like="/fork What if we moved")
async def fork(chat: Chat, out: Output, argument: str) -> None:
    """What was said so far is known in both; what is said from here on in one of them only."""
    chat.refuse_in_private()
    if chat.conversation_id is None:
        raise UsageError("Nothing has been said in this conversation yet: there is nothing to go on from.")
    new_id = await chat.store.call(forks.fork, chat.conversation_id, chat.clock, shorten(argument, 120) or None)
    old_id = chat.conversation_id
    await chat.move(new_id)
    out.say(f"This is conversation {new_id} now, which goes on from {old_id}. /switch {old_id} leads back.")


@group.command("/export FILE [FORMAT]", "write it all to a file", like="/export ~/construct.jsonl")
async def export(chat: Chat, out: Output, argument: str) -> None:
    """FORMAT is jsonl, sqlite or markdown; without it the file's ending says: .md, .db or anything else."""
    path, form = _export_target(argument)
    if path.is_file() and path.stat().st_size and not await out.ask(f"{path} is there already: replace it?"):
        out.say("Nothing was written.")
        return
    with out.busy("writing"):
        await chat.store.call(write_export, chat.settings.db, form, path, None, chat.clock)
    out.say(f"Written: {path} ({form})")


@group.command("/model [NAME]", "change the model", like="/model claude-haiku-5-5", choices=model_choices)
async def model(chat: Chat, out: Output, argument: str) -> None:
    """For this chat. Without a name: which one answers, and which are known."""
    if argument:
        await chat.use_model(argument)
        out.say(f"From now on {chat.model_name} answers.{'' if is_known(chat.model_name) else _NOT_KNOWN}")
        return
    out.say(f"{chat.model_name} answers; {chat.companion.models.worker_name} does the memory work.")
    out.say("Known: " + ", ".join(known_models()) + ". Any other name is passed on to the server.")


@group.command(
    "/private [on|off]",
    "talk without storing",
    like="/private on",
    choices=choose(("on", "nothing is stored from now on"), ("off", "what follows is stored again")),
)
async def private(chat: Chat, out: Output, argument: str) -> None:
    """What is said in between is answered and forgotten; it is neither stored nor observed."""
    if argument not in {"", "on", "off"}:
        raise UsageError("It is /private on, or /private off.")
    wanted = argument == "on" if argument else chat.aside is None
    if wanted == (chat.aside is not None):
        out.say(f"Private talk is {'on' if wanted else 'off'} already.")
        return
    chat.set_private(wanted)
    if not wanted:
        out.forgotten()  # what was typed in private is not to come back by Ctrl-R or the arrow keys
    out.say(_PRIVATE_ON if wanted else _PRIVATE_OFF)


@group.command("/retry", "ask for another reply")
async def retry(chat: Chat, out: Output, argument: str) -> Then:
    """The new reply takes the place of the last one, which stays in the file."""
    return Then.RETRY


@group.command("/drop", "leave out what failed")
async def drop(chat: Chat, out: Output, argument: str) -> None:
    """The last message that got no whole reply, such as one that failed because of the network or the key.

    The model is not sent it again; it stays stored and searchable.
    """
    dropped = await chat.drop()
    if dropped is None:
        raise NotFoundError("Every message here has its reply: there is nothing to drop.")
    kept = "" if chat.aside is not None else " It stays stored and searchable."
    out.say(f"Left out of requests: “{shorten(dropped, 60)}”.{kept}")


@group.command("/editor [TEXT]", "write in your editor")
async def editor(chat: Chat, out: Output, argument: str) -> None:
    """The one that $VISUAL or $EDITOR names; what you save stands at the prompt, to be sent."""
    await out.edit(argument)


@group.command(
    "/copy [code]", "copy the last reply", like="/copy code", choices=choose(("code", "the last code block only"))
)
async def copy(chat: Chat, out: Output, argument: str) -> None:
    """With code: its last code block alone. Your terminal must let programs write its clipboard (OSC 52)."""
    reply = await chat.last_reply()
    if reply is None:
        raise NotFoundError("There is no reply to copy yet.")
    text = reply
    if argument == "code":
        blocks = list(_CODE_BLOCK.finditer(reply))
        if not blocks:
            raise NotFoundError("There is no code in the last reply.")
        text = blocks[-1]["code"]
    out.copy(text)
    out.say(f"Copied {len(text):,} characters, if your terminal lets programs write its clipboard (OSC 52).")


@group.command("/quit", "leave")
async def leave(chat: Chat, out: Output, argument: str) -> Then:
    """Memory work that is due is finished first, for 20 seconds at most. Ctrl-D does the same."""
    return Then.LEAVE


def _export_target(argument: str) -> tuple[Path, str]:
    name, _, last = argument.rpartition(" ")
    if last in FORMATS and name.strip():
        return Path(name.strip()).expanduser(), last
    if not argument or argument in FORMATS:
        raise UsageError("Say which file to write: /export FILE [FORMAT]")
    path = Path(argument).expanduser()
    return path, _FORMAT_OF.get(path.suffix.lower(), "jsonl")


async def _rename(chat: Chat, title: str) -> None:
    conversation_id = await chat.ensure_conversation()
    await chat.store.call(talks.rename_conversation, conversation_id, shorten(title, 120))


async def _delete(chat: Chat, out: Output, argument: str) -> None:
    """Say what deleting a conversation takes along, ask, and do it."""
    wanted, ask = _to_delete(argument, out)
    here, plan = await chat.store.call(lambda db: (talks.summary(db, wanted), deletion.plan_deletion(db, wanted)))
    out.say(deletion_words(here, plan))
    if ask and not await out.ask("Delete this for good?"):
        out.say("Nothing was deleted.")
        return
    gone = await chat.store.call(deletion.delete_conversation, wanted, chat.clock)
    chat.shown = None
    if wanted == chat.conversation_id:
        chat.begin_anew()
    out.forgotten()
    out.say(deleted_words(gone))


def _to_delete(argument: str, out: Output) -> tuple[int, bool]:
    """Return which conversation is meant, and whether to ask first."""
    name, _, option = argument.partition(" ")
    number = number_in(name)
    if number is None or option.strip() not in {"", "--yes"}:
        raise UsageError("Say which one by its number: /conversations delete ID [--yes]")
    if not option and not out.interactive:
        raise UsageError(f"Nobody can be asked here: /conversations delete {number} --yes deletes it.")
    return number, not option


async def _find(chat: Chat, argument: str) -> talks.ConversationSummary:
    if not argument:
        raise UsageError("Say which one: /switch ID, or /switch WORDS of its title. /conversations lists them.")
    found = await chat.store.call(talks.conversations)
    number = number_in(argument)
    for one in found:
        if one.conversation.id == number:
            return one
    words = argument.casefold().split()
    for one in sorted(found, key=lambda one: one.conversation.id == chat.conversation_id):  # a fork may be called alike
        title = title_of(one).casefold()
        if all(word in title for word in words):
            return one
    raise NotFoundError(f"No conversation is called {shorten(argument, 40)!r}. /conversations lists them.")
