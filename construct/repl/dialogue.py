"""What is done with a line: a message is answered, a command is run; whatever shows it."""

import asyncio
import logging
import re
import traceback
from collections.abc import Awaitable, Callable
from functools import partial

from construct.errors import ConstructError, UsageError, with_note
from construct.repl.chat import Chat
from construct.repl.commands import all_commands
from construct.repl.commands.correct import forget_for_model
from construct.repl.commands.registry import Then, split_command
from construct.repl.commands.withheld import ask_about_withheld
from construct.repl.output import Output
from construct.turns import Delta, Event, Listener, TurnResult

log = logging.getLogger("construct.repl")

_COMMAND_LINE = re.compile(r"`construct ((?:memory |conversations )?[a-z]+)`")
_AS_TYPED_HERE = {"memory list": "memory", "memory search": "recall", "memory add": "remember",
                  "conversations list": "conversations"}  # fmt: skip
_NOTHING_TO_RETRY = "There is nothing to ask again yet."
GOES_ALONG = "Your message goes along with the next one; /drop takes it out."
_INTERRUPTED = "interrupted"
_UNANSWERED = "interrupted before a word came; /retry asks again"


class Dialogue:
    """Runs input lines one at a time. `failed` is true once any of them failed.

    Without `runs_commands`, a line that begins with a slash is a message like any other.
    """

    def __init__(self, chat: Chat, out: Output, *, runs_commands: bool = True) -> None:
        self.registry = all_commands()
        self._runs_commands = runs_commands
        self._chat = chat
        self._out = out
        self._task: asyncio.Task[Then | None] | None = None
        self._stopped = False
        self._unanswered = False
        self.failed = False
        if out.interactive:
            chat.companion.forget = partial(forget_for_model, chat, out)

    @property
    def busy(self) -> bool:
        """Whether a line is being dealt with."""
        return self._task is not None

    def stop(self) -> None:
        """Interrupt what is being done; what has arrived of a reply is kept."""
        if self._task is not None and not self._stopped:
            self._stopped = True
            self._task.cancel()

    async def line(self, text: str) -> bool:
        """Deal with a line; False when the chat is to end."""
        then = await self._run(lambda: self._take(text))
        if then is Then.RETRY:
            await self._run(self._again)
        if then is not Then.LEAVE:
            await self.before_prompt()
        return then is not Then.LEAVE

    async def before_prompt(self) -> None:
        """Ask what the user has to decide, before the next prompt."""
        await self._run(lambda: ask_about_withheld(self._chat, self._out))

    async def _take(self, text: str) -> Then | None:
        self._out.echo(text)
        words = text
        if self._runs_commands and text.startswith("/"):
            if not text.startswith("//"):
                return await self._command(text)
            words = text[1:]
        if await self._chat.is_gone():
            self._out.say("This conversation was deleted in another program: a new one begins.")
        await self._answer(lambda listen: self._chat.send(words, listen))
        return None

    async def _command(self, text: str) -> Then | None:
        name, argument = split_command(text)
        command = self.registry.find(name)
        if command is None:
            self._fail(self.registry.unknown(name))
            return None
        if argument and command.usage == f"/{command.name}":
            raise UsageError(f"/{command.name} takes nothing behind it.")
        return await command.run(self._chat, self._out, argument)

    async def _again(self) -> None:
        await self._answer(self._chat.again)

    async def _answer(self, ask: Callable[[Listener], Awaitable[TurnResult | None]]) -> None:
        view = self._out.reply()
        self._unanswered = True

        def listen(event: Event) -> None:
            self._unanswered = self._unanswered and not isinstance(event, Delta)
            view.listen(event)

        try:
            result = await ask(listen)
        except BaseException:  # cancelled too: what is on the screen must be ended; it is raised again
            view.end(None)
            raise
        view.end(result)
        if result is None:
            self._fail(_NOTHING_TO_RETRY)
        elif not result.complete:
            self._fail(why_broken(result))
        elif result.stop_reason == "max_tokens":
            self._out.notice("the reply was cut at its longest; say “go on” for the rest")

    async def _run(self, work: Callable[[], Awaitable[Then | None]]) -> Then | None:
        """Do something that `stop` can interrupt; no error ends the chat."""
        self._stopped = self._unanswered = False
        self._task = asyncio.ensure_future(work())
        try:
            return await self._task
        except asyncio.CancelledError:
            if not self._stopped:
                raise
            self._out.notice(_UNANSWERED if self._unanswered else _INTERRUPTED)
        except ConstructError as error:
            self._fail(str(error))
        except Exception as error:  # a defect in one command must not end a talk
            if isinstance(error, BrokenPipeError) and not self._out.interactive:
                raise  # nobody reads what comes out any more
            where = "".join(traceback.format_tb(error.__traceback__))  # without the message: it may hold words
            log.error("a line failed: %s\n%s", type(error).__name__, where)  # noqa: TRY400
            self._fail(f"Something in Construct went wrong ({type(error).__name__}). Nothing stored is lost.")
        finally:
            self._task = None
        return None

    def _fail(self, text: str) -> None:
        self.failed = True
        self._out.error(_COMMAND_LINE.sub(self._in_the_chat, text))

    def _in_the_chat(self, command: re.Match[str]) -> str:
        """Return the slash command for one of the command line's; that itself when there is none."""
        name = _AS_TYPED_HERE.get(command[1]) or command[1].rpartition(" ")[2]
        return command[0] if self.registry.find(name) is None else f"/{name}"


def why_broken(result: TurnResult) -> str:
    """Return what to say of a reply that did not come to its end."""
    if result.error is not None:
        return with_note(str(result.error), GOES_ALONG)
    if result.stop_reason == "refusal":
        left_out = " Later requests leave your message out." if result.left_out else ""
        return f"The model declined to answer this.{left_out}\nRephrase it, or try another with /model and /retry."
    if result.stop_reason == "model_context_window_exceeded":
        return "The reply did not fit the model's context window; what came is kept. /compact, then /retry."
    return "The reply broke off; what came is kept. /retry asks again."
