"""The prompt: the line being typed, its keys and history, and the lines sent."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory, ConditionalAutoSuggest
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import (
    Condition,
    buffer_has_focus,
    emacs_mode,
    has_completions,
    has_selection,
    is_searching,
    vi_mode,
    vi_navigation_mode,
)
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.keys import Keys
from prompt_toolkit.utils import get_cwidth

from construct.chat.attaching import Attaching, Chip, Outgoing
from construct.chat.completion import is_command
from construct.chat.history import MessageHistory
from construct.chat.mentions import (
    mention_of,
    pasted_paths,
    path_being_typed,
    without_detach,
)
from construct.chat.pastes import Pastes
from construct.chat.question import Question
from construct.text import is_blank

if TYPE_CHECKING:
    from construct.attachments import Attachment

_SUGGEST_FROM = 12
"""Characters typed before an earlier message is suggested.

With fewer, sentences that only share their first word would get in the way.
"""
_SUGGEST_COMMAND_FROM = 3
_LONGEST_ANSWER = 8
"""Columns of an answer that may just be mistyped."""
_PAUSE_SECONDS = 0.7
"""A user who has pressed no key for this long has paused in typing."""
_VI_STATES = {
    InputMode.NAVIGATION: "vi normal",
    InputMode.REPLACE: "vi replace",
    InputMode.REPLACE_SINGLE: "vi replace",
}
"""The toolbar's words for vi's modes, if not "vi"."""


@dataclass(eq=False, slots=True)
class SentLine:
    """A line waiting to be run."""

    text: str
    """The line as typed, with long pastes folded."""
    reading: asyncio.Task[Outgoing] | None = None
    """Reads the files that the line names. None if no word of it may name one."""
    plain: frozenset[str] = frozenset()
    """Paths in the line that are plain text and attach nothing."""


class Prompt:
    """The line being typed: a message, a command, or the answer to a question."""

    def __init__(
        self,
        read_history: Callable[[], Awaitable[list[str]]],
        completer: Completer,
        redraw: Callable[[], None],
        question_changed: Callable[[], None],
    ) -> None:
        self.sent: list[SentLine] = []
        """Lines waiting to be run, oldest first."""
        self.running: SentLine | None = None
        """The line that `next_line` returned last, until it can no longer come back."""
        self.attaching = Attaching(redraw)
        self.question = Question(question_changed)
        self._line_at_answer: Document | None = None
        """The line when the running command's last question was answered."""
        self._redraw = redraw
        self._line_sent = asyncio.Event()
        self._is_awaited = False  # whether `next_line` waits, so that a line runs at once
        self._pastes = Pastes()
        self._keys_at_once = 0
        self._last_key_at = 0.0
        self._pressed_at = -math.inf
        self._history = MessageHistory(read_history)
        self.buffer = _Buffer(
            history=self._history,
            completer=completer,
            complete_while_typing=Condition(
                lambda: (
                    is_command(self.buffer.text)
                    or path_being_typed(self.buffer.document.text_before_cursor) is not None
                )
            ),
            auto_suggest=ConditionalAutoSuggest(
                AutoSuggestFromHistory(), Condition(self._may_suggest)
            ),
            multiline=True,
            on_text_changed=lambda _: self.attaching.watch(self.buffer.text),
            # For what is typed. Undo, yank and history do not come here.
            on_text_insert=lambda _: self.attaching.typed(
                self.buffer.text, self.buffer.cursor_position
            ),
        )

    @property
    def text(self) -> str:
        """The line with its pastes unfolded."""
        return self._pastes.unfold(self.buffer.text)

    @property
    def current(self) -> Buffer:
        """The line that keys go to: while a question waits, the answer to it."""
        return self.question.line if self.question.text else self.buffer

    def fill(self, text: str) -> None:
        """Replace the line and put the cursor at its end."""
        self.buffer.document = Document(text, len(text))

    def put_first(self, text: str) -> None:
        """Put a text before the line, on lines of its own."""
        self._leave_history()
        self.fill("\n".join(filter(None, [text, self.buffer.text])))

    def keep(self, text: str) -> None:
        """Keep a text that was typed and not sent, so that ↑ brings it back."""
        if not is_blank(text):
            self._history.append_string(text.strip())
            self._leave_history()
            self.buffer.reset(self.buffer.document)

    def _leave_history(self) -> None:
        """Go back to the line from a message that ↑ brought. If that was changed, append it."""
        shown, last = self.buffer.text, len(self.buffer._working_lines) - 1
        is_changed = shown not in self._history.get_strings()
        if self.buffer.working_index != last:
            self.buffer.go_to_history(last)
            if is_changed:
                self.fill("\n".join(filter(None, [self.buffer.text, shown])))

    def _empty(self) -> None:
        """Empty the line. If ↑ brought it, ↑ now brings back what was being typed before."""
        lines = self.buffer._working_lines
        draft, is_shown = lines[-1], self.buffer.working_index == len(lines) - 1
        if not (is_shown or is_blank(draft)):
            self._history.append_string(draft)
        self.buffer.reset()

    def decline(self) -> None:
        """Decline the question."""
        typed = self.question.line.text
        self.question.answer("")
        self.keep(typed)

    @property
    def unsent(self) -> list[str]:
        """What was typed and is not sent yet, oldest first, with long pastes in full."""
        return list(map(self._pastes.unfold, self._unsent_lines()))

    def _unsent_lines(self) -> list[str]:
        self._leave_history()
        lines = [self.running, *self.sent] if self.running else self.sent
        answer = self.question.line.text
        typed = [self.buffer.text, answer if _may_be_message(answer) else ""]
        return list(filter(str.strip, [*(line.text for line in lines), *typed]))

    def clear(self) -> None:
        """Clear the line and its files."""
        self._empty()
        self.attaching.cleared()

    @property
    def chips(self) -> list[Chip]:
        """The files that would be sent with the line."""
        return [] if self.question.text else self.attaching.chips(self.buffer.text)

    @property
    def offer(self) -> str:
        """What Tab would attach, in words. Empty if nothing is offered."""
        return "" if self.question.text else self.attaching.offer(self.buffer.text)

    def take_offer(self) -> None:
        """Attach the files that are offered."""
        self.fill(self.attaching.take_offer(self.buffer.text))
        self.attaching.watch(self.buffer.text)

    async def next_line(self) -> Outgoing:
        """Wait for the next line that was sent. Return its whole text and its files."""
        self._line_at_answer = None
        while True:
            while not self.sent:
                self._line_sent.clear()
                self._is_awaited = True
                await self._line_sent.wait()
            line = self.sent[0]
            outgoing = Outgoing(line.text)
            if line.reading is not None:
                await asyncio.wait({line.reading})
                if line not in self.sent:  # taken back, or returned by `_files_read`
                    continue
                outgoing = line.reading.result()
            self.sent.remove(line)
            self.running = line
            return replace(outgoing, words=self._pastes.unfold(outgoing.words))

    def send(self) -> bool:
        """Send the line, or answer the question with it. Return whether a line was sent.

        A line with a file that cannot be attached stays at the prompt. So does one with
        files and a `/detach` before or after the message: its newest file is detached.
        """
        text = self.buffer.text
        if self.question.text:
            self.question.answer(self.question.line.text)
            return False
        if is_blank(text):
            return False
        rest = without_detach(text)
        if rest is not None and self.attaching.detach_newest(rest):
            self.fill(rest)
            return False
        if any(chip.is_error for chip in self.chips):
            self.attaching.watch(text)  # the file may have changed by now
            return False
        self._history.append_string(text)
        self._empty()
        if self._is_awaited:
            self._last_key_at = 0.0  # the line runs at once, and may ask at once
            self._is_awaited = False
        reading = self.attaching.read(text)
        line = SentLine(text, reading, self.attaching.sent())
        if reading is not None:
            reading.add_done_callback(lambda _: self._files_read(line))
        self.sent.append(line)
        self._line_sent.set()
        return True

    def _files_read(self, line: SentLine) -> None:
        """Bring a line back to the prompt if its files cannot be attached. Its chip says why."""
        assert line.reading is not None
        if not line.reading.cancelled() and line.reading.exception() and line in self.sent:
            self.sent.remove(line)
            self._give_back(line)
            self._redraw()

    def _give_back(self, line: SentLine) -> None:
        self.attaching.taken_back(line.plain)
        self.put_first(line.text)

    def return_line(self) -> None:
        """Bring the line that was running back to the prompt."""
        if self.running is not None:
            line, self.running = self.running, None
            self._give_back(line)
            self._redraw()

    def take_back(self) -> None:
        """Bring the newest waiting line back to the prompt."""
        line = self.sent.pop()
        if line.reading is not None:
            line.reading.cancel()
        self._give_back(line)

    def paste(self, text: str) -> None:
        """Insert a pasted text, folded if it is long.

        Paths in it are offered, not attached, unless they are all of it and follow an `@`.
        """
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if self.question.text:
            self.question.line.insert_text(self._pastes.fold(text), fire_event=False)
            return
        paths = pasted_paths(text)
        if paths and path_being_typed(self.buffer.document.text_before_cursor) == "":
            first, *others = map(mention_of, paths)
            self.buffer.insert_text(first[1:])
            for mention in others:
                self.buffer.insert_text(f" {mention}")
            return
        self.attaching.pasted(text, self.buffer.text)
        # No event: what is pasted is not typed, and a menu would take the Tab of the offer.
        self.buffer.insert_text(self._pastes.fold(text), fire_event=False)

    def insert_picture(self, picture: "Attachment") -> None:
        """Insert at the cursor the `@` word for a picture from the clipboard."""
        document = self.buffer.document
        gap = " " if document.char_before_cursor.strip() else ""
        self.buffer.insert_text(f"{gap}{self.attaching.add_picture(picture)} ")

    async def ask(self, question: str, keys: str = "") -> str:
        """Ask at the prompt and return the answer, empty when the user declines.

        Pressing one of `keys` answers at once, without Enter. The question waits for a pause
        in typing: a key that was meant for the next message must not answer it.
        """
        now = asyncio.get_running_loop().time
        while now() < (pause_ends := self._last_key_at + _PAUSE_SECONDS):
            left = pause_ends - now()
            await asyncio.sleep(left)
        self.buffer.document = line = self._line_without(keys)
        try:
            return await self.question.ask(question, keys)
        finally:
            self._line_at_answer = line

    def _line_without(self, keys: str) -> Document:
        """Return the line without answer keys pressed after the last question.

        Someone who answers fast may press a key before the next question is there.
        """
        line, now = self._line_at_answer, self.buffer.document
        if line is None:
            return now
        before, after = line.text_before_cursor, line.text_after_cursor
        pressed = now.text_before_cursor.removeprefix(before)
        only_keys = set(pressed.lower()) <= set(keys)
        return line if only_keys and now.text == before + pressed + after else now

    def reload_history(self) -> None:
        """Load the history again, after something in it was deleted. The line stays."""
        self._leave_history()
        self._history.forget()
        self.buffer.reset(self.buffer.document)

    def forget_input(self) -> None:
        """Forget all that was typed or pasted, except what is not sent yet."""
        lines = self._unsent_lines()
        self._pastes.forget_except_in(lines)
        self.attaching.forget_pictures_except_in(lines)
        self.reload_history()

    @property
    def seconds_since_key(self) -> float:
        """How long ago a key was pressed; infinite if none was."""
        return asyncio.get_running_loop().time() - self._pressed_at

    def count_key(self) -> None:
        """Count a key among those that arrive in one read of the terminal."""
        loop = asyncio.get_running_loop()
        self._pressed_at = loop.time()
        if not self.question.text:
            self._last_key_at = loop.time()
        self._keys_at_once += 1
        if self._keys_at_once == 1:
            loop.call_soon(setattr, self, "_keys_at_once", 0)

    @property
    def typed_at_once(self) -> bool:
        """Whether this key arrived together with others, as when a program types."""
        return self._keys_at_once > 1

    def _may_suggest(self) -> bool:
        text = self.buffer.text
        return len(text) >= (_SUGGEST_COMMAND_FROM if text.startswith("/") else _SUGGEST_FROM)


def _may_be_message(answer: str) -> bool:
    """Return whether what was typed as an answer seems to be meant for the next message."""
    is_long = get_cwidth(answer) > _LONGEST_ANSWER or len(answer.split()) > 1
    return is_long or answer.startswith("/")


class _Buffer(Buffer):
    """A buffer that reports a completion chosen from the menu as inserted text too."""

    def go_to_completion(self, index: int | None) -> None:
        """Put a completion at the cursor."""
        super().go_to_completion(index)
        self.on_text_insert.fire()


def key_bindings(
    prompt: Prompt,
    *,
    on_interrupt: Callable[[], None],
    on_end_of_input: Callable[[], None],
    on_edit: Callable[[], Awaitable[None]],
    on_paste: Callable[[], Coroutine[None, None, None]],
) -> KeyBindings:
    """Return the key bindings beyond prompt_toolkit's own for emacs and vi."""
    keys = KeyBindings()
    at_prompt = buffer_has_focus & ~is_searching
    at_empty_prompt = at_prompt & Condition(lambda: not prompt.current.text)
    is_line_sent = Condition(lambda: bool(prompt.sent) and not prompt.question.text)
    can_take_back = at_empty_prompt & is_line_sent

    @keys.add("enter", filter=at_prompt)
    def send(event: KeyPressEvent) -> None:
        if prompt.send():
            event.app.vi_state.reset()

    # Not with vi keys: there Escape leaves insert mode, and Enter then sends.
    @keys.add("escape", "enter", filter=at_prompt & ~vi_mode)
    def new_line(event: KeyPressEvent) -> None:
        prompt.current.newline(copy_margin=False)

    @keys.add("c-j", filter=at_prompt)
    def new_line_or_send(event: KeyPressEvent) -> None:
        # A program that types "hello\n" at once means Enter; Ctrl-J alone does not.
        if prompt.typed_at_once:
            send(event)
        else:
            new_line(event)

    # Some terminals paste an empty text when the clipboard holds a picture.
    keys.add(Keys.BracketedPaste, filter=at_prompt)(
        lambda event: prompt.paste(event.data) if event.data else on_paste()
    )
    # Not with vi keys: there Ctrl-V inserts the next key literally.
    keys.add("c-v", filter=at_prompt & emacs_mode)(lambda _: on_paste())
    keys.add("c-x", "c-v", filter=at_prompt)(lambda _: on_paste())
    is_offered = Condition(lambda: bool(prompt.offer))
    keys.add("tab", filter=at_prompt & is_offered & ~has_completions)(lambda _: prompt.take_offer())
    keys.add("c-c", filter=~is_searching)(lambda _: on_interrupt())
    keys.add(Keys.SIGINT)(lambda _: on_interrupt())
    keys.add("c-d", filter=at_empty_prompt)(lambda _: on_end_of_input())
    keys.add("up", filter=can_take_back)(lambda _: prompt.take_back())
    keys.add("c-p", filter=can_take_back)(lambda _: prompt.take_back())
    # They would take the line away without sending it.
    keys.add("c-o", filter=at_prompt & emacs_mode)(lambda _: None)
    keys.add("escape", "#", filter=at_prompt & emacs_mode)(lambda _: None)
    keys.add("c-z")(lambda event: event.app.suspend_to_background())

    @keys.add("c-x", "c-e", filter=at_prompt)
    @keys.add("v", filter=at_prompt & vi_navigation_mode & ~has_selection)
    async def edit(event: KeyPressEvent) -> None:
        await on_edit()

    at_vi_prompt = at_prompt & vi_navigation_mode & ~has_selection
    keys.add("c", "w", filter=at_vi_prompt)(lambda event: _change_word(event, WORD=False))
    keys.add("c", "W", filter=at_vi_prompt)(lambda event: _change_word(event, WORD=True))

    @keys.add("f4")
    def switch_editing_mode(event: KeyPressEvent) -> None:
        is_vi = event.app.editing_mode == EditingMode.VI
        event.app.editing_mode = EditingMode.EMACS if is_vi else EditingMode.VI
        event.app.vi_state.reset()  # a search with emacs keys left it in normal mode

    return keys


def _change_word(event: KeyPressEvent, *, WORD: bool) -> None:  # noqa: N803 - vi's own name
    """Delete to the end of the word and enter insert mode, keeping the space after it.

    prompt_toolkit's own `cw` deletes that space too, as `dw` does.
    """
    buffer = event.current_buffer
    document = buffer.document
    if document.current_char.isspace():
        end = document.find_next_word_beginning(event.arg, WORD)
    else:
        end = document.find_next_word_ending(
            include_current_position=True, count=event.arg, WORD=WORD
        )
    event.app.clipboard.set_text(buffer.delete(end or len(document.text_after_cursor)))
    event.app.vi_state.input_mode = InputMode.INSERT


def wants_vi(setting: str, environ: Mapping[str, str]) -> bool:
    """Return whether a setting (`auto`, `emacs`, `vi`) asks for vi keys.

    `auto` follows readline's own settings, where the last `set editing-mode` counts.
    """
    if setting != "auto":
        return setting == "vi"
    try:
        inputrc = Path(environ.get("INPUTRC") or "~/.inputrc").expanduser()
        text = inputrc.read_text("utf-8", "replace")
    except (OSError, RuntimeError):
        return False
    lines = [line.split() for line in text.splitlines()]
    modes = [words[2:] for words in lines if words[:2] == ["set", "editing-mode"]]
    return modes[-1:] == [["vi"]]


def vi_state_words(app: "Application[None]") -> str:
    """Return the toolbar's words for the vi mode, empty with emacs keys."""
    if app.editing_mode != EditingMode.VI:
        return ""
    return _VI_STATES.get(app.vi_state.input_mode, "vi")
