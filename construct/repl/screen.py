"""The terminal while a chat is open: a prompt at the bottom, all else printed above it.

The prompt is one application that runs from beginning to end, so that the terminal stays in
raw mode: what is typed while a reply comes in is neither echoed into it nor lost. Printing
erases the prompt, writes, and draws the prompt again, within one call.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory, ConditionalAutoSuggest
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import merge_key_bindings
from prompt_toolkit.key_binding.bindings.auto_suggest import load_auto_suggest_bindings
from prompt_toolkit.output import Output
from prompt_toolkit.output.defaults import create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from construct.errors import UsageError
from construct.repl.completer import is_command
from construct.repl.editor import edit_text
from construct.repl.history import TalkHistory
from construct.repl.keys import bindings, keys_in_force
from construct.repl.layout import build_layout
from construct.repl.live import Live
from construct.repl.pastes import Pastes
from construct.repl.pasting import read_long_pastes
from construct.repl.resizing import ResizableApplication, reflow_of
from construct.repl.themes import Theme, prompt_style
from construct.repl.toolbar import ToolbarState, toolbar
from construct.repl.waiting import WaitingLines
from construct.text import is_blank

_HINT_SECONDS = 3.0
_TICK_SECONDS = 0.125
_TAIL_ROWS = 8
_SUGGEST_FROM, _SUGGEST_COMMAND_FROM = 12, 3
_BESIDE_TAIL = 6
"""Rows: blank lines, what is waited for, what is queued, the prompt, the toolbar."""
_BESIDE_PANEL = 4
"""Rows: a blank line on either side, the prompt, the toolbar."""
_MENU_STYLE = {
    "completion-menu": "bg:default",
    "completion-menu.completion": "bg:default fg:default",
    "completion-menu.completion.current": "noinherit reverse",
    "completion-menu.meta.completion": "bg:default fg:default dim",
    "completion-menu.meta.completion.current": "noinherit reverse",
    "auto-suggestion": "dim",
}


@dataclass(slots=True)
class _Question:
    text: str
    answer: "asyncio.Future[str]"
    before: Document


class Screen:
    """The prompt and what is above it; `on_interrupt` and `on_leave` are told what the user wants."""

    def __init__(
        self,
        *,
        history: TalkHistory,
        completer: Completer,
        on_interrupt: Callable[[], bool],
        on_leave: Callable[[], None],
        theme: Theme,
        vi: bool,
        terminal: tuple[Input, Output] | None = None,
    ) -> None:
        self.sent = WaitingLines()
        self.live = Live(queued=self.sent.lines)
        self.toolbar = ToolbarState()
        self.on_resized: Callable[[], None] = lambda: None
        """Called when the width may have changed, before the prompt is drawn again."""
        self.theme = theme
        self._on_interrupt, self._on_leave = on_interrupt, on_leave
        self._question: _Question | None = None
        self._pastes = Pastes()
        self._suspended = False
        self._held: list[tuple[str, object]] = []
        self._last_group: object = None
        self._keys_at_once = 0
        self._history = history
        self.buffer = Buffer(
            history=history,
            completer=completer,
            complete_while_typing=Condition(lambda: is_command(self.buffer.text) and self._question is None),
            auto_suggest=ConditionalAutoSuggest(AutoSuggestFromHistory(), Condition(self._may_suggest)),
            multiline=True,
        )
        self.buffer.on_text_changed += lambda _: self._end_hint(self.live.hint)
        self.app = self._application(terminal)
        self.app.editing_mode = EditingMode.VI if vi else EditingMode.EMACS

    def _application(self, terminal: tuple[Input, Output] | None) -> ResizableApplication:
        layout = build_layout(
            self.buffer,
            live=lambda: self.live.fragments(self.width),
            prompt=self._prompt,
            toolbar=lambda: toolbar(self._toolbar_now(), self.width),
        )
        app = ResizableApplication(
            reflow=reflow_of(os.environ),
            on_resized=lambda: self.on_resized(),
            on_settled=self._print_held,
            layout=layout,
            style=Style.from_dict(prompt_style(self.theme) | _MENU_STYLE),
            include_default_pygments_style=False,
            key_bindings=merge_key_bindings([load_auto_suggest_bindings(), bindings(self)]),
            erase_when_done=True,
            input=terminal[0] if terminal else None,
            output=terminal[1] if terminal else terminal_output(),
        )
        read_long_pastes(app.input)
        # The time in which a key after Escape makes one key of both: long ones are felt.
        app.ttimeoutlen = 0.05
        app.timeoutlen = 0.5
        app.key_processor.before_key_press += lambda _: self._count_key()
        return app

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        return self.app.output.get_size().columns

    @property
    def tail_rows(self) -> int:
        """Rows that the unfinished end of a reply may take: a third of a tall terminal."""
        rows = self.app.output.get_size().rows
        return max(1, min(max(_TAIL_ROWS, rows // 3), rows - _BESIDE_TAIL))

    @property
    def panel_rows(self) -> int:
        """Rows that a panel may take above the prompt."""
        return self.app.output.get_size().rows - _BESIDE_PANEL

    async def run(self, on_drawn: Callable[[], None]) -> None:
        """Show the prompt until `leave`; `on_drawn` is called once it is on the screen."""

        def drawn(_: object) -> None:
            self.app.after_render.remove_handler(drawn)
            on_drawn()

        self.app.after_render.add_handler(drawn)
        ticking = asyncio.create_task(self._tick(), name="tick")
        try:
            await self.app.run_async()
        except EOFError:  # the terminal is gone
            return
        finally:
            ticking.cancel()
            self.live = Live()

    async def next_line(self) -> str:
        """Wait for a line that was sent, and return it whole."""
        return self._pastes.unfold(await self.sent.next())

    def dim(self, line: str) -> str:
        """Return a line as it is printed quietly, with its end."""
        from rich.text import Text

        from construct.repl.views.console import to_ansi

        return to_ansi(Text(line, style="dim"), self.width, self.theme)

    def leave(self) -> None:
        """Take the prompt away for good."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    def print(self, text: str, group: object = None) -> None:
        """Print whole lines above the prompt; a blank line goes before them unless they go on with a group."""
        if self._suspended or self.app.resizing:
            self._held.append((text, group))
            return
        if group is None or group != self._last_group:
            text = f"\n{text}"
        self._last_group = group if group is not None else object()
        self._write(text)

    def began(self, group: object) -> bool:
        """Tell whether what was printed last belongs to this group."""
        return self._last_group == group

    def redraw(self) -> None:
        """Draw the prompt again soon."""
        self.app.invalidate()

    def hint(self, text: str) -> None:
        """Show a few words above the prompt for a moment."""
        self.live.hint = text
        self.redraw()
        asyncio.get_running_loop().call_later(_HINT_SECONDS, self._end_hint, text)

    async def ask(self, question: str) -> str:
        """Return what the user answers at the prompt; empty when they would not."""
        self._question = _Question(question, asyncio.get_running_loop().create_future(), self.buffer.document)
        self.buffer.reset()
        self.redraw()
        try:
            return await self._question.answer
        finally:
            self.buffer.reset(self._question.before)
            self._question = None
            self.redraw()

    async def edit(self, text: str | None = None) -> None:
        """Open the user's editor on a text, by default on what stands at the prompt; it comes back to the prompt.

        Raises UsageError when there is no editor.
        """
        whole = self._pastes.unfold(self.buffer.text) if text is None else text
        self._suspended = True
        try:
            written = await run_in_terminal(lambda: edit_text(whole), in_executor=True)
            self.buffer.document = Document(written, len(written))
        finally:
            self._suspended = False
            self._print_held()

    def prefill(self, text: str) -> None:
        """Put a text at the prompt, unless something stands there."""
        if not self.buffer.text:
            self.buffer.document = Document(text, len(text))

    def copy(self, text: str) -> None:
        """Put a text on the clipboard by way of the terminal (OSC 52)."""
        import base64

        self.app.output.write_raw(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07")
        self.app.output.flush()

    def forget_history(self) -> None:
        """Read the history anew."""
        self._history.forget()
        self.buffer.reset(self.buffer.document)

    def send(self) -> None:
        """Send what stands at the prompt, or answer the question with it."""
        text = self.buffer.text
        if self._question is not None:
            self.buffer.reset()
            self._reply(self._question, text)
            return
        if is_blank(text):
            return
        self._history.append_string(text)
        self.buffer.reset()
        self.app.vi_state.reset()
        self.sent.add(text)

    def can_take_back(self) -> bool:
        """Tell whether a line that was sent waits still."""
        return bool(self.sent.lines) and self._question is None

    def take_back(self) -> None:
        """Bring the newest line that waits back to the prompt."""
        text = self.sent.take_back()
        self.buffer.document = Document(text, len(text))

    def end_of_input(self) -> None:
        """Decline the question; when there is none, ask to leave."""
        if self._question is not None:
            self._reply(self._question, "")
        else:
            self._on_leave()

    def interrupt(self) -> None:
        """Stop what can be stopped: the question, what is being done, the line."""
        if self._question is not None:
            self._reply(self._question, "")
        elif self._on_interrupt():
            return
        elif self.buffer.text:
            self.buffer.reset()
        else:
            self.hint("Ctrl-D leaves")

    def edit_now(self) -> None:
        """Open the editor on what stands at the prompt."""

        async def edit() -> None:
            try:
                await self.edit()
            except UsageError as error:
                self.hint(str(error))

        if not self._suspended and self._question is None:
            self.app.create_background_task(edit())

    def paste(self, text: str) -> None:
        """Put a pasted text at the prompt, a long one folded."""
        self.buffer.insert_text(self._pastes.fold(text))

    @property
    def typed_at_once(self) -> bool:
        """Whether the key came together with those before it."""
        return self._keys_at_once > 1

    def _print_held(self) -> None:
        held, self._held = self._held, []
        for one in held:
            self.print(*one)

    def _write(self, text: str) -> None:
        app = self.app
        drawn = app.is_running and not app.is_done
        if drawn:
            app.erase()
        app.output.write_raw(text.replace("\n", "\r\n"))
        app.output.flush()
        if drawn:
            app._redraw()  # at once: `invalidate` would leave the screen without a prompt for a moment

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            if self.live.status:
                self.redraw()

    def _may_suggest(self) -> bool:
        """Whether an earlier line is offered: a sentence that merely begins with the same word would be in the way."""
        return len(self.buffer.text) >= (_SUGGEST_COMMAND_FROM if self.buffer.text.startswith("/") else _SUGGEST_FROM)

    def _reply(self, question: _Question, text: str) -> None:
        if not question.answer.done():
            question.answer.set_result(text)

    def _count_key(self) -> None:
        """Count the keys that are dealt with in one go."""
        self._keys_at_once += 1
        if self._keys_at_once == 1:
            asyncio.get_running_loop().call_soon(self._forget_keys)

    def _forget_keys(self) -> None:
        self._keys_at_once = 0

    def _end_hint(self, text: str) -> None:
        if self.live.hint == text:
            self.live.hint = ""
            self.redraw()

    def _prompt(self) -> StyleAndTextTuples:
        if self._question is not None:
            return [("class:accent", f"{self._question.text} ")]
        return [("class:high" if self.toolbar.private else "class:accent", "› ")]

    def _toolbar_now(self) -> ToolbarState:
        return replace(self.toolbar, keys=keys_in_force(self.app))


def terminal_output() -> Output:
    """Return the terminal on standard output; it is not asked where the cursor is, since we never need to know."""
    if sys.platform == "win32":
        return create_output()
    usual = create_output()
    if isinstance(usual, Vt100_Output):
        usual.enable_cpr = False
    return usual
