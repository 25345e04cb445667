"""Opens the user's own editor."""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from construct.chat.mentions import shell_words
from construct.errors import UsageError

_USUAL_EDITORS = ("editor", "nano", "vi", "emacs", "notepad")


def edit_text(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Open the user's editor on a text and return what was saved.

    If the editor fails, returns the text unchanged. Raises UsageError if no editor
    can be started.
    """
    descriptor, name = tempfile.mkstemp(suffix=".md", prefix="construct-")
    file = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as stream:
            stream.write(text)
        done = edit_file(file, environ)
        return file.read_text("utf-8", "replace").removesuffix("\n") if done else text
    finally:
        file.unlink(missing_ok=True)


def edit_file(file: Path, environ: Mapping[str, str] = os.environ) -> bool:
    """Open the user's editor on a file. Return whether it succeeded.

    The editor is the one in VISUAL or EDITOR, or else a common one. Raises UsageError if
    none can be started.
    """
    for command in _editors(environ):
        try:
            return subprocess.call([*command, str(file)]) == 0  # noqa: S603 - the user's own command
        except OSError:  # there is no such program
            continue
    raise UsageError("No editor was found. Set EDITOR to yours.")


def _editors(environ: Mapping[str, str]) -> Iterator[list[str]]:
    for name in ("VISUAL", "EDITOR"):
        try:
            command = shell_words(environ.get(name, ""))
        except ValueError:
            raise UsageError(
                f"{name} has an unmatched quotation mark or a backslash at its end."
                " Correct it, or unset it."
            ) from None
        if command:
            yield command
    yield from ([name] for name in _USUAL_EDITORS)
