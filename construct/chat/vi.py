"""Vi keys: whether the user wants them, and the mode they are in."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.enums import EditingMode
from prompt_toolkit.key_binding.vi_state import InputMode

if TYPE_CHECKING:
    from prompt_toolkit.application import Application

_VI_STATES = {
    InputMode.NAVIGATION: "vi normal",
    InputMode.REPLACE: "vi replace",
    InputMode.REPLACE_SINGLE: "vi replace",
}
"""The toolbar's words for vi's modes, if not "vi"."""


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
