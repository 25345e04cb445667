"""The chat in a terminal: the prompt first, everything else after it is drawn."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output
from prompt_toolkit.utils import is_dumb_terminal

from construct.errors import ConstructError, ExitStatus
from construct.repl.completer import CommandCompleter
from construct.repl.history import TalkHistory
from construct.repl.keys import wants_vi
from construct.repl.line_breaks import wrapped
from construct.repl.screen import Screen
from construct.repl.start import Opening
from construct.repl.themes import choose_theme
from construct.repl.toolbar import NEW, ToolbarState
from construct.repl.views.greeting import greeting, pause_line
from construct.repl.views.words import counted, title_of
from construct.tasks import stop
from construct.text import printable, shorten

if TYPE_CHECKING:
    from construct.llm.providers import Models
    from construct.memory.cycles.running import Progress
    from construct.memory.cycles.situation import Terms
    from construct.repl.chat import Chat
    from construct.repl.commands.registry import Registry
    from construct.repl.dialogue import Dialogue
    from construct.repl.terminal import TerminalOutput

WARM_AFTER_SECONDS = 0.05
LEAVING_SECONDS = 20.0
_PATIENCE_SECONDS = 0.3
_LEAVING = "finishing memory… Ctrl-C leaves it for the next start"


def run_chat(opening: Opening) -> int:
    """Chat in the terminal until the user leaves; return the exit status."""
    if is_dumb_terminal():
        from construct.repl.dumb import run_dumb

        return run_dumb(opening)
    return asyncio.run(_chat(opening))


async def _chat(opening: Opening) -> int:
    return await Session(opening).run()


@dataclass(frozen=True, slots=True)
class _Parts:
    """What is there once the prompt is drawn."""

    chat: "Chat"
    out: "TerminalOutput"
    dialogue: "Dialogue"


class Session:
    """One run of the chat in a terminal, the one on standard input and output unless told otherwise."""

    def __init__(self, opening: Opening, terminal: tuple[Input, Output] | None = None) -> None:
        self._opening = opening
        self._ready: asyncio.Future[_Parts] = asyncio.get_running_loop().create_future()
        self._starting: asyncio.Task[None] | None = None
        self._answering: asyncio.Task[None] | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._finishing: asyncio.Task[bool] | None = None
        self._parts: _Parts | None = None
        self._leaving = self._killed = False
        self._spoken_at = opening.settings.clock.local(opening.settings.clock.now())
        self.screen = Screen(
            history=TalkHistory(self._history),
            completer=CommandCompleter(self._source),
            on_interrupt=self._interrupt,
            on_leave=self._leave,
            theme=choose_theme(opening.settings.theme, os.environ),
            vi=wants_vi(opening.settings.editing_mode, os.environ),
            terminal=terminal,
        )

    async def run(self) -> int:
        """Chat until the user leaves; return the exit status."""
        self._greet()
        # To the end: `uv run` and a shell pass on what the terminal has told us already.
        with _on_signals(self._kill, "SIGTERM", "SIGHUP"):
            try:
                await self.screen.run(self._drawn)
            finally:
                await self._end()
        return ExitStatus.INTERRUPTED if self._killed else ExitStatus.OK

    def _greet(self) -> None:
        o, width = self._opening, self.screen.width
        title = title_of(o.conversation) if o.conversation else NEW
        self.screen.toolbar = ToolbarState(title, o.models.main.name, private=o.private)
        self.screen.print(wrapped(printable(greeting(o, width)), width) + "\n")

    def _drawn(self) -> None:
        self._starting = asyncio.create_task(self._start(), name="start")

    async def _start(self) -> None:
        """Load and begin what the prompt did not wait for."""
        await asyncio.sleep(WARM_AFTER_SECONDS)
        try:
            await asyncio.to_thread(_load)
            parts = await self._begin()
        except Exception as error:  # noqa: BLE001 - given on to whoever waits, and raised at the end
            self._ready.set_exception(error)
            self.screen.leave()
            return
        self._parts = parts
        self._ready.set_result(parts)
        self._answering = asyncio.create_task(self._answer_all(parts), name="dialogue")
        with suppress(ConstructError):
            await self._show_due(parts)
        await self._refresh(parts)
        await asyncio.to_thread(_warm, self._opening.models, parts.chat.companion.terms)

    async def _begin(self) -> _Parts:
        parts = self._build()
        try:
            await parts.chat.start()
        except BaseException:  # cancelled too: nothing may stay open; it is raised again
            await parts.chat.close()
            raise
        return parts

    def _build(self) -> _Parts:
        from construct.repl.chat import Chat
        from construct.repl.dialogue import Dialogue
        from construct.repl.terminal import TerminalOutput

        out = TerminalOutput(self.screen)
        chat = Chat(self._opening, report=self._progress, complain=out.notice)
        return _Parts(chat, out, Dialogue(chat, out))

    async def _show_due(self, parts: _Parts) -> None:
        from construct.repl.views.due import due_line

        line = due_line(await parts.chat.due(), parts.chat.clock.today(), self.screen.width - 2)
        if line:
            parts.out.notice(line)

    async def _answer_all(self, parts: _Parts) -> None:
        """Deal with what is typed, one line after the other."""
        await parts.dialogue.before_prompt()
        while not self._leaving:
            text = await self.screen.next_line()
            await parts.out.settle()
            self._say_time(parts)
            if not await parts.dialogue.line(text):
                self._leave()
            await self._refresh(parts)

    def _say_time(self, parts: _Parts) -> None:
        """Say what time it has become when somebody comes back to an open chat."""
        clock = self._opening.settings.clock
        before, self._spoken_at = self._spoken_at, clock.local(clock.now())
        line = pause_line(before, self._spoken_at)
        if line:
            parts.out.notice(line)

    def _interrupt(self) -> bool:
        """Stop what is being done; False when nothing is."""
        if self._parts is None or not self._parts.dialogue.busy:
            return False
        self._parts.dialogue.stop()
        return True

    def _leave(self) -> None:
        self._leaving = True
        self.screen.leave()

    def _kill(self) -> None:
        self._killed = True
        self._leave()
        if self._finishing is not None:
            self._finishing.cancel()

    def _progress(self, progress: "Progress") -> None:
        """Take note of what the memory worker began or finished."""
        parts = self._parts
        if parts is None:
            return
        match progress.kind:
            case "observing" | "reflecting" | "drawing":
                self.screen.toolbar = replace(self.screen.toolbar, running=progress.kind)
                self.screen.redraw()
                return
            case "remembered" if progress.count:
                parts.out.notice(counted(progress.count, "new observation"))
            case "condensed" | "let go" if progress.count:
                parts.out.notice(f"{counted(progress.count, 'observation')} superseded")
        self.screen.toolbar = replace(self.screen.toolbar, running="")
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh(parts), name="refresh")

    async def _refresh(self, parts: _Parts) -> None:
        """Bring the toolbar up to date, if that can be read now."""
        chat = parts.chat
        try:
            here, meters = await chat.conversation(), await chat.meters()
        except ConstructError:
            return
        learns = chat.companion.learns
        self.screen.toolbar = replace(
            self.screen.toolbar,
            title=title_of(here) if here else NEW,
            model=chat.model_name,
            observe=meters.observe if learns else None,
            compact=meters.compact if learns else None,
            held=meters.held,
            private=chat.aside is not None,
        )
        self.screen.redraw()

    async def _history(self) -> list[str]:
        from construct.store.talk import prompt_history

        parts = await asyncio.shield(self._ready)  # whoever waits may be cancelled
        return await parts.chat.store.call(prompt_history)

    async def _source(self) -> "tuple[Registry, Chat]":
        parts = await asyncio.shield(self._ready)  # whoever waits may be cancelled
        return parts.dialogue.registry, parts.chat

    async def _end(self) -> None:
        """Stop the reply, finish the memory work that is due, let go of everything."""
        self._leaving = True
        await stop(self._starting)
        parts = self._parts
        if parts is None:
            self._ready.cancel()
            await self._opening.models.close()
            if self._ready.done() and not self._ready.cancelled():
                self._ready.result()
            return
        try:
            parts.dialogue.stop()
            await parts.out.settle()
            if not parts.dialogue.busy:
                await stop(self._answering)
            elif self._answering is not None:
                await self._answering
            for text in self.screen.sent.lines:
                parts.out.notice(f"not sent: {shorten(text, 60)}")
            if not self._killed:
                await self._finish_memory(parts)
        finally:
            await stop(self._refreshing)
            await parts.chat.close()

    async def _finish_memory(self, parts: _Parts) -> None:
        """Do what is due on leaving, visibly when it takes longer than a moment; Ctrl-C leaves it."""
        if not await parts.chat.has_work_left():
            return
        work = self._finishing = asyncio.create_task(parts.chat.finish(LEAVING_SECONDS), name="leaving")
        with _on_signals(work.cancel, "SIGINT"):
            try:
                await asyncio.wait({work}, timeout=_PATIENCE_SECONDS)
                if not work.done():
                    parts.out.notice(_LEAVING)
                if not await work:
                    parts.out.notice("it takes longer: the rest is done at the next start")
            except asyncio.CancelledError:
                parts.out.notice("left for the next start")


@contextmanager
def _on_signals(act: Callable[[], object], *names: str) -> Iterator[None]:
    """Act when one of these signals comes, those that the system has."""
    loop = asyncio.get_running_loop()
    heeded = [getattr(signal, name) for name in names if hasattr(signal, name)]
    with suppress(NotImplementedError):  # Windows
        for number in heeded:
            loop.add_signal_handler(number, act)
    try:
        yield
    finally:
        with suppress(NotImplementedError):  # Windows
            for number in heeded:
                loop.remove_signal_handler(number)


def _load() -> None:
    """Import what the chat is made of; in a thread, while the user types."""
    import construct.repl.dialogue
    import construct.repl.terminal  # noqa: F401


def _warm(models: "Models", terms: "Terms") -> None:
    """Import and build what the first reply needs; what fails here fails again where it is reported."""
    from construct import tokens
    from construct.repl import markdown

    with suppress(Exception):
        markdown.warm()
        tokens.count("warm")
        models.warm()
        if terms.meaning is not None:
            terms.meaning.ready()
