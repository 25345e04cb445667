"""Runs the lines the user sends: answers messages, runs slash commands."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial

from construct.attachments import Attachment
from construct.chat.chat import Chat
from construct.chat.commands import all_commands
from construct.chat.commands.corrections import (
    accept_for_model,
    forget_for_model,
)
from construct.chat.commands.registry import AfterCommand, split_command
from construct.chat.commands.review import ask_about_requests
from construct.chat.commands.tools import ask_about_tool
from construct.chat.output import Output
from construct.errors import ConstructError, UsageError
from construct.log import logger
from construct.operations.conversations import last_exchange, small_model_is_news
from construct.pasted import Span
from construct.program import in_shell, write_commands_as
from construct.talk.events import Delta, Event, Kept, Listener, Noticed, TurnResult
from construct.views.reply import cut_off, why_broken

log = logger("chat")

_BARE_WORDS = {
    **dict.fromkeys(("exit", "quit", ":q", ":q!", ":wq"), "/quit or Ctrl-D leaves."),
    "help": "/help lists the commands.",
}
"""On a terminal these words are not sent as messages; the user is shown these hints."""


class Dialogue:
    """Runs input lines one at a time. `failed` is true once any of them failed.

    `kept` is false if the last line was a message that was interrupted, or failed, before
    it could be stored.

    Without `runs_commands`, a line that begins with a slash is a message like any
    other.
    """

    def __init__(self, chat: Chat, out: Output, *, runs_commands: bool = True) -> None:
        self.registry = all_commands()
        write_commands_as(self.registry.as_slash)
        self.failed = False
        self.kept = True
        self._chat = chat
        self._out = out
        self._runs_commands = runs_commands
        self._task: asyncio.Task[AfterCommand | None] | None = None
        self._stopped = self._ended = False
        self._unanswered = False
        if out.interactive:
            chat.companion.forget = partial(forget_for_model, chat, out)
            chat.companion.accept = partial(accept_for_model, out)
            chat.companion.ask_about_tool = partial(ask_about_tool, out)

    @property
    def busy(self) -> bool:
        """Whether a line is being run."""
        return self._task is not None

    def stop(self) -> None:
        """Interrupt what is running. The part of a reply that has arrived is kept."""
        if self._task is not None and not self._stopped:
            self._stopped = True
            self._task.cancel()

    def end(self) -> None:
        """Interrupt what is running, and run nothing more: the user is leaving."""
        self._ended = True
        if self._task is not None:  # also if what runs was stopped, but went on
            self._stopped = True
            self._task.cancel()

    async def run_line(
        self, text: str, attachments: Sequence[Attachment] = (), pasted: Sequence[Span] = ()
    ) -> bool:
        """Run a line, parts of which were pasted. Return False when the chat should end."""
        self.kept = False
        after = await self._run(self._answer_or_command(text, attachments, pasted))
        if after is AfterCommand.RETRY:
            await self._run(self._retry(text, attachments, pasted))
        if after is AfterCommand.LEAVE:
            return False
        await self.before_prompt()
        return True

    async def show_last_exchange(self) -> None:
        """Show the last message and its reply, for a user who comes back."""
        if self._out.interactive:
            await self._run(self._replay_last_exchange())

    async def _replay_last_exchange(self) -> None:
        for line in await asyncio.to_thread(self._chat.companion.tools.notices):
            self._out.notice(line)
        if said := await self._chat.run(last_exchange):
            self._out.replay(said, self._chat.clock)
        if await self._chat.run(small_model_is_news):
            self._out.say(
                "Some earlier replies came from the small built-in model, which is gone."
                f" Run {in_shell('setup')} to choose another."
            )

    async def before_prompt(self) -> None:
        """Ask the questions that the user has to answer before the next prompt."""
        await self._run(ask_about_requests(self._chat, self._out))

    async def _answer_or_command(
        self, text: str, attachments: Sequence[Attachment], pasted: Sequence[Span]
    ) -> AfterCommand | None:
        self._out.echo("\n".join([*(attachment.line for attachment in attachments), text]).strip())
        if self._runs_commands and text.startswith("/"):
            if not text.startswith("//"):
                self.kept = True
                return await self._command(text)
            text = text[1:]
            pasted = [(max(0, start - 1), end - 1) for start, end in pasted]
        if self._out.interactive and (hint := _BARE_WORDS.get(text.strip().lower())):
            self.kept = True
            self._out.say(hint)
            return None
        if await self._chat.is_gone():
            self._chat.begin_anew()
            self._out.say("This conversation was deleted by another program. A new one begins.")
        await self._answer(partial(self._chat.send, text, attachments=attachments, pasted=pasted))
        return None

    async def _command(self, text: str) -> AfterCommand | None:
        name, argument = split_command(text)
        command = self.registry.find(name)
        if command is None:
            raise UsageError(self.registry.unknown(name))
        if argument and command.usage == f"/{command.name}":
            raise UsageError(f"/{command.name} takes no argument.")
        return await command.run(self._chat, self._out, argument)

    async def _retry(
        self, line: str, attachments: Sequence[Attachment], pasted: Sequence[Span]
    ) -> None:
        """Ask for another reply, or send the last message in the words after `/retry`."""
        words = split_command(line)[1]
        if not words:
            await self._answer(self._chat.again)
            return
        self.kept = False
        start = len(line.rstrip()) - len(words)
        shifted = [(max(0, first - start), end - start) for first, end in pasted if end > start]
        ask = partial(self._chat.rephrase, words, attachments=attachments, pasted=shifted)
        await self._answer(ask)

    async def _answer(self, ask: Callable[[Listener], Awaitable[TurnResult | None]]) -> None:
        view = self._out.reply()
        result = None
        self._unanswered = True

        def listen(event: Event) -> None:
            if isinstance(event, Noticed):
                self._out.notice(event.text)
                return
            if isinstance(event, Kept):
                self.kept = True
            if isinstance(event, Delta):
                self._unanswered = False
            view.listen(event)

        try:
            result = await ask(listen)
        finally:  # also after an error: an open view would keep notices back
            view.end(result)
        if result is None:
            raise UsageError("Nothing to retry yet.")
        if not result.complete:
            self.fail(why_broken(result))
        elif note := cut_off(result):
            self._out.notice(note)
        if result.text and result.message_id is None and not self._chat.is_private:
            self._out.notice("the reply was not stored: your message was deleted meanwhile")

    async def _run(self, work: Coroutine[None, None, AfterCommand | None]) -> AfterCommand | None:
        """Run something that `stop` can interrupt. Errors are shown and do not end the chat."""
        if self._ended:
            work.close()
            return None
        self._stopped = self._unanswered = False
        self._task = asyncio.create_task(work)
        try:
            return await self._task
        except asyncio.CancelledError:
            if not self._stopped:
                raise
            self._out.notice(self._interrupted_words())
        except ConstructError as error:
            self.fail(str(error))
        except Exception as error:  # a bug in one command must not end the chat
            if isinstance(error, BrokenPipeError) and not self._out.interactive:
                raise  # nobody reads the output any more
            # Without the message: it may hold the user's words.
            where = "".join(traceback.format_tb(error.__traceback__))
            log.error("a line failed: %s\n%s", type(error).__name__, where)  # noqa: TRY400
            self.fail(
                f"Something in Construct went wrong ({type(error).__name__})."
                " Nothing stored is lost. Please report it."
            )
        finally:
            self._task = None
        return None

    def _interrupted_words(self) -> str:
        if not self.kept:
            return "interrupted; the message was not sent"
        if self._unanswered and not self._chat.companion.models.is_notebook:
            return "interrupted before the reply began; /retry asks again"
        return "interrupted"

    def fail(self, text: str) -> None:
        """Show an error, and take note of it."""
        self.failed = True
        self._out.error(text)
