"""What the keys do at the prompt, beyond what emacs and vi users know anyway."""

from collections.abc import Callable
from dataclasses import dataclass

from prompt_toolkit.application import get_app
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition, Filter, buffer_has_focus, is_searching
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys


@dataclass(frozen=True, slots=True)
class Actions:
    """What keys can ask for."""

    send: Callable[[], None]
    interrupt: Callable[[], None]
    leave: Callable[[], None]
    edit: Callable[[], None]
    paste: Callable[[str], None]
    suspend: Callable[[], None]
    typed_at_once: Callable[[], bool]
    """Whether the key came together with those before it."""


def bindings(actions: Actions) -> KeyBindings:
    """Return the keys of the chat."""
    keys = KeyBindings()
    at_prompt = buffer_has_focus & ~is_searching
    empty = Condition(lambda: not get_app().current_buffer.text)
    _add_sending(keys, actions, at_prompt)

    @keys.add("c-c", filter=~is_searching)
    @keys.add(Keys.SIGINT)
    def interrupt(event: KeyPressEvent) -> None:
        actions.interrupt()

    @keys.add("c-d", filter=at_prompt & empty)
    def leave(event: KeyPressEvent) -> None:
        actions.leave()

    @keys.add("c-x", "c-e", filter=at_prompt)
    def edit(event: KeyPressEvent) -> None:
        actions.edit()

    @keys.add("f4")
    def other_keys(event: KeyPressEvent) -> None:
        is_vi = event.app.editing_mode == EditingMode.VI
        event.app.editing_mode = EditingMode.EMACS if is_vi else EditingMode.VI

    @keys.add("c-z")
    def suspend(event: KeyPressEvent) -> None:
        actions.suspend()

    return keys


def _add_sending(keys: KeyBindings, actions: Actions, at_prompt: Filter) -> None:
    @keys.add("enter", filter=at_prompt)
    def send(event: KeyPressEvent) -> None:
        actions.send()

    @keys.add("escape", "enter", filter=at_prompt)
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    @keys.add("c-j", filter=at_prompt)
    def new_line_or_send(event: KeyPressEvent) -> None:
        # A program that types "hello\n" at once means Enter; fingers press Ctrl-J by itself.
        if actions.typed_at_once():
            actions.send()
        else:
            new_line(event)

    @keys.add(Keys.BracketedPaste, filter=at_prompt)
    def paste(event: KeyPressEvent) -> None:
        actions.paste(event.data.replace("\r\n", "\n").replace("\r", "\n"))
