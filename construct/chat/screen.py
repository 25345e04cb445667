"""The terminal during a chat: the prompt at the bottom, output printed above it.

The prompt is one prompt_toolkit application that runs for the whole chat. The terminal
stays in raw mode, so that text typed during a reply is neither lost nor mixed into it.
Printing erases the prompt, writes the output and draws the prompt again, in one call.
"""

import asyncio
import os
from base64 import b64encode
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.clipboard import InMemoryClipboard
from prompt_toolkit.completion import Completer
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition, has_completions, has_focus, is_done
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import merge_key_bindings
from prompt_toolkit.key_binding.bindings.auto_suggest import load_auto_suggest_bindings
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import (
    AppendAutoSuggestion,
    ConditionalProcessor,
    HighlightIncrementalSearchProcessor,
    HighlightSelectionProcessor,
)
from prompt_toolkit.output import Output
from prompt_toolkit.output.defaults import create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth
from prompt_toolkit.widgets import SearchToolbar

from construct.chat.around_prompt import Live, ToolbarState, toolbar
from construct.chat.editor import edit_file, edit_text
from construct.chat.pastes import read_long_pastes
from construct.chat.prompt import Prompt, key_bindings, vi_state_words
from construct.chat.resizing import Reflow, ResizableApplication, reflow_of
from construct.errors import ConstructError, UsageError
from construct.views.themes import Theme, prompt_style

R = TypeVar("R")
_HINT_SECONDS = 3.0
_ANSWER_COLUMNS = 12
_TICK_SECONDS = 0.125
_ESCAPE_SECONDS = 0.05
"""How long Escape waits for the rest of a key sequence. Longer would be felt."""
_KEY_SEQUENCE_SECONDS = 0.5
_TAIL_ROWS = 8
_MENU_ROWS = 8
_FEWEST_INPUT_ROWS = 3
_ROWS_OUTSIDE_TAIL = 6
"""Rows left free by a reply's tail: blank lines, status, queue, prompt, toolbar."""
_NARROW = 40
"""Columns of the narrowest window that people use."""
_ROWS_OUTSIDE_PANEL = 4
"""Rows left free by a panel: a blank line on either side, the prompt, the toolbar."""
_MENU_STYLE = {
    "completion-menu": "bg:default",
    "completion-menu.completion": "bg:default fg:default",
    "completion-menu.completion.current": "noinherit reverse",
    "completion-menu.meta.completion": "bg:default fg:default dim",
    "completion-menu.meta.completion.current": "noinherit reverse",
    "auto-suggestion": "dim",
}


class Screen:
    """The prompt and what is printed above it."""

    def __init__(
        self,
        *,
        read_history: Callable[[], Awaitable[list[str]]],
        completer: Completer,
        on_interrupt: Callable[[], None],
        on_end_of_input: Callable[[], None],
        theme: Theme,
        vi: bool,
        terminal: tuple[Input, Output] | None = None,
    ) -> None:
        self.theme = theme
        self.prompt = Prompt(read_history, completer, self.redraw, self._focus)
        self.live = Live(queued=self.prompt.sent)
        self.toolbar = ToolbarState()
        self.on_resized: Callable[[], None] = lambda: None
        """Called after a resize, before the prompt is drawn again."""
        self._editor = asyncio.Lock()
        self._search = SearchToolbar(ignore_case=True)
        self._vi_mode = InputMode.INSERT
        self._held: list[tuple[str, object]] = []
        self._last_group: object = None
        self._printed_rows = 0
        """How many lines have been printed, at least."""
        self.prompt.buffer.on_text_changed += lambda _: self._end_hint(self.live.hint)
        keys = key_bindings(
            self.prompt,
            on_interrupt=on_interrupt,
            on_end_of_input=on_end_of_input,
            on_edit=self._edit_line,
            on_paste=self._paste_clipboard,
        )
        self.app = ResizableApplication(
            reflow=reflow_of(os.environ),
            on_resized=lambda: self.on_resized(),
            on_settled=self._print_held,
            layout=self._layout(),
            style=Style.from_dict(prompt_style(theme) | _MENU_STYLE),
            include_default_pygments_style=False,
            key_bindings=merge_key_bindings([load_auto_suggest_bindings(), keys]),
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            erase_when_done=True,
            input=terminal[0] if terminal else None,
            output=terminal[1] if terminal else _standard_output(),
        )
        self.app.ttimeoutlen = _ESCAPE_SECONDS
        self.app.timeoutlen = _KEY_SEQUENCE_SECONDS
        self.app.key_processor.before_key_press += lambda _: self.prompt.count_key()
        read_long_pastes(self.app.input)

    @property
    def is_editing(self) -> bool:
        """Whether the user's editor has the terminal."""
        return self._editor.locked()

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        return self.app.output.get_size().columns

    @property
    def tail_rows(self) -> int:
        """Rows for the part of a reply that may still change: a third of a tall terminal.

        Fewer if they would not fit once the window is as narrow as `_NARROW`: what a terminal
        wraps out of its top can no longer be erased.
        """
        size = self.app.output.get_size()
        added = (size.columns - 1) // _NARROW  # rows that each of now will then take besides
        room = (size.rows - _ROWS_OUTSIDE_TAIL - added) // (added + 1)
        if added and self.app.reflow == Reflow.EVER_SHOWN:
            # tmux keeps what is blank below the prompt, so that less room is left above it.
            room = min(room, (self._printed_rows - added) // added)
        return max(1, min(max(_TAIL_ROWS, size.rows // 3), room))

    @property
    def panel_rows(self) -> int:
        """Rows that a panel above the prompt may take."""
        return self.app.output.get_size().rows - _ROWS_OUTSIDE_PANEL

    async def run(self, on_drawn: Callable[[], None]) -> None:
        """Show the prompt until `leave`; call `on_drawn` once it is on the screen."""

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
            self._print_held()

    def leave(self) -> None:
        """End the prompt and the application."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    def print(self, text: str, group: object = None) -> None:
        """Print whole lines above the prompt.

        A blank line separates them from what came before, unless both have the same
        `group`.
        """
        drawn = self.app.is_running and not self.app.is_done
        if self.is_editing or (drawn and self.app.resizing):
            self._held.append((text, group))
            return
        if group is None or group != self._last_group:
            text = f"\n{text}"
        self._last_group = group if group is not None else object()
        self._printed_rows += text.count("\n")
        if drawn:
            self.app.erase()
        self.app.output.write_raw(text.replace("\n", "\r\n"))
        self.app.output.flush()
        if drawn:
            # Not `invalidate`: it draws later, and the prompt would be gone for a moment.
            self.app._redraw()

    def is_last_group(self, group: object) -> bool:
        """Return whether the last lines printed belong to this group."""
        return self._last_group == group

    def redraw(self) -> None:
        """Request that the prompt be drawn again."""
        self.app.invalidate()

    def hint(self, text: str) -> None:
        """Show a few words above the prompt for at most three seconds."""
        self.live.hint = text
        self.redraw()
        asyncio.get_running_loop().call_later(_HINT_SECONDS, self._end_hint, text)

    async def edit(self, text: str) -> None:
        """Open the user's editor on a text and put the result before the line being typed.

        Raises UsageError when there is no editor.
        """
        self.prompt.put_first(await self._in_editor(lambda: edit_text(text)))

    async def edit_file(self, path: Path) -> None:
        """Open the user's editor on a file. Raises UsageError when there is no editor."""
        await self._in_editor(lambda: edit_file(path))

    async def _in_editor(self, edit: Callable[[], R]) -> R:
        """Give the terminal to an editor. Output is held back until it ends."""
        try:
            async with self._editor:
                return await run_in_terminal(edit, in_executor=True)
        finally:
            self.prompt.count_key()  # keys pressed in the editor are not seen here
            self._print_held()

    async def editor_closed(self) -> None:
        """Wait until no editor has the terminal."""
        async with self._editor:
            pass

    def copy(self, text: str) -> None:
        """Copy a text to the clipboard through the terminal (OSC 52)."""
        self.app.output.write_raw(f"\x1b]52;c;{b64encode(text.encode()).decode()}\x07")
        self.app.output.flush()

    def notify(self, text: str) -> None:
        """Ring the bell, and let the terminal show a notification if it can (OSC 9)."""
        self.app.output.write_raw(f"\x1b]9;{text}\x07\x07")
        self.app.output.flush()

    def forget_input(self) -> None:
        """Forget what was typed and what keys could bring back, except what is not sent yet."""
        self.prompt.forget_input()
        self.app.clipboard = InMemoryClipboard()
        self.app.vi_state.named_registers.clear()
        self.app.emacs_state.macro, self.app.emacs_state.current_recording = [], None
        self._search.search_buffer.history = InMemoryHistory()
        self._search.search_buffer.reset()

    async def _edit_line(self) -> None:
        if self.is_editing or self.prompt.question.text:
            return
        line, text = self.prompt.buffer.text, self.prompt.text
        try:
            edited = await self._in_editor(lambda: edit_text(text))
        except UsageError as error:
            self.hint(str(error))
            return
        given_back = self.prompt.buffer.text.removesuffix(line)  # in the meantime
        self.prompt.fill(edited)
        self.prompt.put_first(given_back.removesuffix("\n"))

    async def _paste_clipboard(self) -> None:
        """Insert the clipboard's picture or text."""
        if self.prompt.question.text:
            return
        from construct.chat.clipboard import read_clipboard

        try:
            found = await asyncio.to_thread(read_clipboard, os.environ)
        except ConstructError as error:
            self.hint(str(error))
            return
        if self.prompt.question.text:  # asked in the meantime
            return
        if isinstance(found, str):
            self.prompt.paste(found)
        else:
            self.prompt.insert_picture(found)

    def _focus(self) -> None:
        """Let keys go to the question that has begun, or to the line again."""
        self.app.layout.search_links.clear()  # a search that was open ends
        self._search.search_buffer.reset()
        mode, vi = self._vi_mode, self.app.vi_state
        self._vi_mode = vi.input_mode
        vi.reset()
        if not self.prompt.question.text:
            vi.input_mode = mode  # as it was before the question
        self.app.layout.focus(self.prompt.current)
        self.redraw()

    def _print_held(self) -> None:
        held, self._held = self._held, []
        for text, group in held:
            self.print(text, group)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            if self.live.status:
                self.redraw()

    def _end_hint(self, text: str) -> None:
        if self.live.hint == text:
            self.live.hint = ""
            self.redraw()

    def _layout(self) -> Layout:
        """Return the layout: live output, the line, completions, search, the toolbar."""
        buffer, question = self.prompt.buffer, self.prompt.question
        search = self._search
        line = self._input_window(
            BufferControl(
                buffer,
                search_buffer_control=search.control,
                preview_search=True,
                include_default_input_processors=False,
                input_processors=[
                    HighlightIncrementalSearchProcessor(),
                    HighlightSelectionProcessor(),
                    ConditionalProcessor(AppendAutoSuggestion(), has_focus(buffer) & ~is_done),
                ],
            )
        )
        answer = self._input_window(
            BufferControl(
                question.line,
                include_default_input_processors=False,
                input_processors=[HighlightSelectionProcessor()],
            )
        )
        is_asking = Condition(lambda: bool(question.text))
        wide_question = FormattedTextControl(lambda: [("class:accent", question.text)])
        live = FormattedTextControl(
            lambda: self.live.fragments(
                self.width,
                self.prompt.chips,
                self.prompt.offer,
                is_asking=is_asking(),
            )
        )
        bottom = FormattedTextControl(
            lambda: toolbar(replace(self.toolbar, keys=vi_state_words(self.app)), self.width)
        )
        rows = HSplit(
            [
                Window(live, dont_extend_height=True),
                ConditionalContainer(
                    Window(wide_question, wrap_lines=True, dont_extend_height=True),
                    Condition(lambda: self._is_question_wide),
                ),
                ConditionalContainer(line, ~is_asking),
                ConditionalContainer(answer, is_asking),
                ConditionalContainer(Window(height=lambda: _menu_height(buffer)), has_completions),
                search,
                Window(bottom, height=1, dont_extend_height=True),
                Window(),  # fills the rows that are no longer needed
            ]
        )
        menu = CompletionsMenu(max_height=_MENU_ROWS, scroll_offset=1)
        return Layout(FloatContainer(rows, [Float(menu, xcursor=True, ycursor=True)]), line)

    def _input_window(self, control: BufferControl) -> Window:
        """Return a window for text that is typed, after the prompt sign or the question."""
        return Window(
            control,
            height=lambda: Dimension(
                min=1, max=max(_FEWEST_INPUT_ROWS, self.app.output.get_size().rows // 2)
            ),
            get_line_prefix=self._line_prefix,
            wrap_lines=True,
            dont_extend_height=True,
        )

    @property
    def _is_question_wide(self) -> bool:
        """Whether the question leaves too little room for an answer on its row."""
        return get_cwidth(self.prompt.question.text) + _ANSWER_COLUMNS > self.width

    def _line_prefix(self, line: int, wrapped: int) -> StyleAndTextTuples:
        """Return the prompt sign on the first row, and an indent of its width on the others."""
        style = "class:high" if self.toolbar.private else "class:accent"
        sign = "› "
        question = self.prompt.question.text
        if question and not self._is_question_wide:
            style, sign = "class:accent", f"{question} "
        if line or wrapped:
            return [("", " " * len(sign))]
        return [(style, sign)]


def _menu_height(buffer: Buffer) -> Dimension:
    state = buffer.complete_state
    return Dimension.exact(min(_MENU_ROWS, len(state.completions)) if state else 0)


def _standard_output() -> Output:
    """Return standard output without requests for the cursor's position."""
    output = create_output()
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False
    return output
