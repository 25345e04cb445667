"""The chat in a terminal. Most of it is loaded after the prompt is drawn."""

import asyncio
import gc
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prompt_toolkit.completion import merge_completers
from prompt_toolkit.input import Input
from prompt_toolkit.output import Output
from prompt_toolkit.utils import is_dumb_terminal

from construct.chat.around_prompt import NEW, ToolbarState
from construct.chat.completion import CommandCompleter, PathCompleter
from construct.chat.leaving import leave, on_signals
from construct.chat.screen import Screen
from construct.chat.vi import wants_vi
from construct.errors import ConstructError, ExitStatus
from construct.operations.opening import Opening
from construct.tasks import stop
from construct.text import printable, shorten
from construct.views.greeting import greeting, pause_line
from construct.views.themes import choose_theme
from construct.views.words import counted, model_words
from construct.views.wrapping import wrapped
from construct.vocabulary import CycleKind

if TYPE_CHECKING:
    from construct.chat.chat import Chat
    from construct.chat.commands.registry import Registry
    from construct.chat.dialogue import Dialogue
    from construct.chat.terminal import TerminalOutput
    from construct.memory.cycles.runner import Progress

_COLLECT_AFTER = 20_000
"""New objects after which the garbage collector runs in a chat.

Fewer than `cli.COLLECT_AFTER`, which suits short commands: in a chat, such rare and large
collections would cost a streaming reply a sixth more CPU time.
"""
REMIND_SECONDS = 20.0
"""How often a chat looks for reminders that are due."""
WARM_AFTER_SECONDS = 0.05
"""Pause between drawing the prompt and importing the rest."""
_UNSENT = "unsent"
_RUNNING = {
    CycleKind.OBSERVER: "observing",
    CycleKind.REFLECTOR: "condensing",
    CycleKind.GRAPH: "linking names",
}
"""The toolbar's words for the kinds of memory work."""


def run_chat(opening: Opening) -> int:
    """Chat in the terminal until the user leaves; return the exit status."""
    if is_dumb_terminal():
        from construct.chat.line_mode import run_on_dumb_terminal

        return run_on_dumb_terminal(opening)

    async def run() -> int:
        gc.set_threshold(_COLLECT_AFTER)
        return await Session(opening).run()

    return asyncio.run(run())


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The parts that are loaded after the prompt is drawn."""

    chat: "Chat"
    out: "TerminalOutput"
    dialogue: "Dialogue"


class Session:
    """One run of the chat in a terminal, by default on standard input and output."""

    def __init__(self, opening: Opening, terminal: tuple[Input, Output] | None = None) -> None:
        self._opening = opening
        self._ready: asyncio.Future[_Loaded] = asyncio.get_running_loop().create_future()
        self._loaded: _Loaded | None = None
        self._starting: asyncio.Task[None] | None = None
        self._answering: asyncio.Task[None] | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._reminding: asyncio.Task[None] | None = None
        self._exchanging: asyncio.Task[None] | None = None
        self._finishing: asyncio.Task[None] | None = None
        self._leaving = self._killed = False
        self.screen = Screen(
            read_history=self._history,
            completer=merge_completers(
                [CommandCompleter(self._completion_source), PathCompleter()]
            ),
            on_interrupt=self._interrupt,
            on_end_of_input=self._end_of_input,
            theme=choose_theme(opening.settings.theme, os.environ),
            vi=wants_vi(opening.settings.editing_mode, os.environ),
            terminal=terminal,
        )

    async def run(self) -> int:
        """Chat until the user leaves; return the exit status."""
        opening, width = self._opening, self.screen.width
        title = opening.conversation.name if opening.conversation else NEW
        self.screen.toolbar = ToolbarState(
            title, model_words(opening.models.main.name), private=opening.private
        )
        self.screen.print(wrapped(printable(greeting(opening, width)), width) + "\n")
        # A closed terminal sends SIGHUP, and then `uv run` or the shell sends it again. An
        # unhandled second one would kill the program while it stores what is left.
        with on_signals(self._kill, "SIGTERM", "SIGHUP"):
            try:
                await self.screen.run(self._begin)
            finally:
                await self._end()
        return ExitStatus.INTERRUPTED if self._killed else ExitStatus.OK

    def _begin(self) -> None:
        self._starting = asyncio.create_task(self._start(), name="start")

    async def _start(self) -> None:
        """Load the rest of the chat, then begin to answer lines."""
        await asyncio.sleep(WARM_AFTER_SECONDS)
        try:
            await asyncio.to_thread(_import_the_rest)
            loaded = await self._open_chat()
        except Exception as error:  # noqa: BLE001 - passed to whoever waits, raised at the end
            self._ready.set_exception(error)
            self.screen.leave()
            return
        self._loaded = loaded
        self._ready.set_result(loaded)
        await loaded.dialogue.show_last_exchange()
        self._answering = asyncio.create_task(self._answer_all(loaded), name="dialogue")
        await self._show_due(loaded)
        self._reminding = asyncio.create_task(self._remind(loaded), name="reminders")
        await self._refresh(loaded)
        await asyncio.to_thread(_warm, loaded.chat)
        self._exchanging = asyncio.create_task(self._exchange(loaded), name="exchange")

    async def _open_chat(self) -> _Loaded:
        from construct.chat.chat import Chat
        from construct.chat.dialogue import Dialogue
        from construct.chat.terminal import TerminalOutput

        out = TerminalOutput(self.screen)
        chat = Chat(self._opening, report=self._show_progress, complain=out.notice)
        loaded = _Loaded(chat, out, Dialogue(chat, out))
        try:
            await chat.start()
        except BaseException:  # cancelled too: nothing may stay open
            await chat.close()
            raise
        return loaded

    async def _show_due(self, loaded: _Loaded) -> None:
        from construct.views.due import due_view

        chat = loaded.chat
        with suppress(ConstructError):
            if items := await chat.due():
                loaded.out.show(due_view(items, chat.clock.today()))

    async def _exchange(self, loaded: _Loaded) -> None:
        """Exchange with the user's other machines, and say what came in."""
        if line := await loaded.chat.exchange():
            loaded.out.notice(line)
            await self._refresh(loaded)

    async def _remind(self, loaded: _Loaded) -> None:
        """Show reminders when they are due, as long as the user is here."""
        from construct.memory.reminders import outgoing_line, reminder_line

        settings = loaded.chat.settings
        outgoing = reminder_line if settings.notify_text == "full" else outgoing_line
        seconds_since_key = 0.0  # whoever opens a chat is there
        while True:
            with suppress(ConstructError):
                reminders = await loaded.chat.take_reminders(seconds_since_key)
                now = settings.clock.wall()
                for reminder in reminders:
                    loaded.out.remind(reminder_line(reminder, now), outgoing(reminder, now))
            await asyncio.sleep(REMIND_SECONDS)
            seconds_since_key = self.screen.prompt.seconds_since_key

    async def _answer_all(self, loaded: _Loaded) -> None:
        """Run the lines that are sent, one at a time."""
        clock = loaded.chat.clock
        spoken_at = clock.local(clock.now())
        await loaded.dialogue.before_prompt()
        while not self._leaving:
            line = await self.screen.prompt.next_line()
            await loaded.out.settle()
            before, spoken_at = spoken_at, clock.local(clock.now())
            pause = pause_line(before, spoken_at)
            if pause:
                loaded.out.notice(pause)
            for path in line.missing:
                loaded.out.notice(f"not attached; there is no such file: {shorten(path, 60)}")
            if not await loaded.dialogue.run_line(line.words, line.attachments, line.pasted):
                self._leave()
            if loaded.dialogue.kept:
                self.screen.prompt.running = None
            else:
                self.screen.prompt.return_line()
            await self._refresh(loaded)

    def _interrupt(self) -> None:
        """Ctrl-C: decline the question, stop what is running, or clear the line."""
        prompt = self.screen.prompt
        if self.screen.is_editing:  # the key was for the editor
            return
        if prompt.question.text:
            prompt.decline()
        elif self._loaded is not None and self._loaded.dialogue.busy:
            self._loaded.dialogue.stop()
        elif prompt.buffer.text:
            prompt.clear()
        else:
            self.screen.hint("Ctrl-D leaves")

    def _end_of_input(self) -> None:
        """Ctrl-D: decline the question, or leave."""
        if self.screen.prompt.question.text:
            self.screen.prompt.decline()
        else:
            self._leave()

    def _leave(self) -> None:
        self._leaving = True
        self.screen.leave()

    def _kill(self) -> None:
        self._killed = True
        self._leave()
        if self._finishing is not None:
            self._finishing.cancel()

    def _show_progress(self, progress: "Progress") -> None:
        """Show that the memory worker has begun or finished something."""
        loaded = self._loaded
        if loaded is None:
            return
        running = _RUNNING[progress.began] if progress.began else ""
        match progress.ended:
            case CycleKind.OBSERVER if progress.count:
                loaded.out.notice(counted(progress.count, "new observation"))
            case CycleKind.REFLECTOR if progress.count:
                loaded.out.notice(f"{counted(progress.count, 'observation')} superseded")
        self.screen.toolbar = replace(self.screen.toolbar, running=running)
        if running:
            self.screen.redraw()
        elif self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh(loaded), name="refresh")

    async def _refresh(self, loaded: _Loaded) -> None:
        """Update the toolbar. Keeps the old one when the database cannot be read now."""
        chat = loaded.chat
        try:
            here, meters = await chat.conversation(), await chat.meters()
        except ConstructError:
            return
        learns = chat.companion.settings.learns
        self.screen.toolbar = replace(
            self.screen.toolbar,
            title=here.name if here else NEW,
            model=model_words(chat.model_name),
            observe=meters.observe if learns else None,
            compact=meters.compact if learns else None,
            held=meters.held,
            private=chat.is_private,
        )
        self.screen.redraw()

    async def _history(self) -> list[str]:
        from construct.store.messages import prompt_history

        loaded = await asyncio.shield(self._ready)  # whoever waits may be cancelled
        return await loaded.chat.store.call(prompt_history)

    async def _completion_source(self) -> "tuple[Registry, Chat]":
        loaded = await asyncio.shield(self._ready)  # whoever waits may be cancelled
        return loaded.dialogue.registry, loaded.chat

    async def _end(self) -> None:
        """Stop the reply, finish the memory work unless killed, and close everything.

        Raises the error that kept the chat from loading, if there was one.
        """
        self._leaving = True
        await stop(self._starting)
        loaded = self._loaded
        if loaded is None:
            self._ready.cancel()
            self._show_unsent()
            await self._opening.models.close()
            if self._ready.done() and not self._ready.cancelled():
                self._ready.result()
            return
        try:
            loaded.dialogue.end()
            await loaded.out.settle()
            if not loaded.dialogue.busy:
                await stop(self._answering)
            elif self._answering is not None:
                await self._answering
            self._show_unsent()
            if not self._killed:
                finishing = leave(loaded.chat, loaded.out.notice)
                self._finishing = asyncio.create_task(finishing, name="finish")
                with suppress(asyncio.CancelledError):
                    await self._finishing
        finally:
            await stop(self._refreshing)
            await stop(self._reminding)
            await stop(self._exchanging)
            await loaded.chat.close()

    def _show_unsent(self) -> None:
        """Print what the user typed and did not send, whole: it is kept nowhere else."""
        for text in self.screen.prompt.unsent:
            words = wrapped(printable(f"· not sent: {text}"), self.screen.width)
            self.screen.print(f"{words}\n", group=_UNSENT)


def _import_the_rest() -> None:
    """Import the rest of the chat. Runs in a thread while the user types."""
    import construct.chat.dialogue
    import construct.chat.terminal  # noqa: F401


def _warm(chat: "Chat") -> None:
    """Import and build what the first reply needs."""
    from construct import tokens
    from construct.views import markdown

    with suppress(Exception):  # whatever fails here will fail again when it is used
        markdown.warm()
        tokens.count("warm")
        chat.companion.models.warm()
        meaning = chat.companion.memory_config.meaning
        if meaning is not None:
            meaning.ready()
