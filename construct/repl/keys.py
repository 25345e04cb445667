"""What the keys do at the prompt, beyond what emacs and vi users know anyway."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import (
    Condition,
    Filter,
    buffer_has_focus,
    has_selection,
    is_searching,
    vi_mode,
    vi_navigation_mode,
)
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.keys import Keys

if TYPE_CHECKING:
    from construct.repl.screen import Screen


def bindings(screen: "Screen") -> KeyBindings:
    """Return the keys of the chat on a screen."""
    keys = KeyBindings()
    at_prompt = buffer_has_focus & ~is_searching
    empty = Condition(lambda: not get_app().current_buffer.text)
    _add_sending(keys, screen, at_prompt)

    @keys.add("c-c", filter=~is_searching)
    @keys.add(Keys.SIGINT)
    def interrupt(event: KeyPressEvent) -> None:
        screen.interrupt()

    @keys.add("c-d", filter=at_prompt & empty)
    def leave(event: KeyPressEvent) -> None:
        screen.end_of_input()

    @keys.add("up", filter=at_prompt & empty & Condition(screen.can_take_back))
    @keys.add("c-p", filter=at_prompt & empty & Condition(screen.can_take_back))
    def take_back(event: KeyPressEvent) -> None:
        screen.take_back()

    @keys.add("c-x", "c-e", filter=at_prompt)
    @keys.add("v", filter=at_prompt & vi_navigation_mode & ~has_selection)
    def edit(event: KeyPressEvent) -> None:
        screen.edit_now()

    @keys.add("f4")
    def other_keys(event: KeyPressEvent) -> None:
        is_vi = event.app.editing_mode == EditingMode.VI
        event.app.editing_mode = EditingMode.EMACS if is_vi else EditingMode.VI

    @keys.add("c-z")
    def suspend(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()

    return keys


def _add_sending(keys: KeyBindings, screen: "Screen", at_prompt: Filter) -> None:
    @keys.add("enter", filter=at_prompt)
    def send(event: KeyPressEvent) -> None:
        screen.send()

    @keys.add("escape", "enter", filter=at_prompt & ~vi_mode)  # with vi keys Escape, then Enter, sends
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    @keys.add("c-j", filter=at_prompt)
    def new_line_or_send(event: KeyPressEvent) -> None:
        # A program that types "hello\n" at once means Enter; fingers press Ctrl-J by itself.
        if screen.typed_at_once:
            screen.send()
        else:
            new_line(event)

    @keys.add(Keys.BracketedPaste, filter=at_prompt)
    def paste(event: KeyPressEvent) -> None:
        screen.paste(event.data.replace("\r\n", "\n").replace("\r", "\n"))


def wants_vi(setting: str, environ: Mapping[str, str]) -> bool:
    """Tell whether a setting (`auto`, `emacs`, `vi`) asks for vi keys; `auto` is what readline's settings say."""
    return setting == "vi" or (setting == "auto" and _readline_says_vi(environ))


def keys_in_force(app: "Application[None]") -> str:
    """Return what to say of the keys in force; nothing of emacs's."""
    if app.editing_mode != EditingMode.VI:
        return ""
    return "vi" if app.vi_state.input_mode == InputMode.INSERT else "vi normal"


def _readline_says_vi(environ: Mapping[str, str]) -> bool:
    try:
        text = Path(environ.get("INPUTRC") or "~/.inputrc").expanduser().read_text("utf-8", "replace")
    except (OSError, RuntimeError):
        return False
    return any(line.split() == ["set", "editing-mode", "vi"] for line in text.splitlines())
