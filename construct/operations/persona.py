"""Create the file in which the user says how the companion talks."""

import os
from pathlib import Path

from construct.config import Settings
from construct.errors import ConstructError
from construct.prompts import prompt
from construct.store.database import make_folder

_NOTE = """\
<!-- This is how your companion talks: its name, its tone, its language. What you save counts
from the next message. To go back to the one that comes with Construct, delete this file:
{path}
This comment is not sent to the model. -->

"""


def make_persona(settings: Settings) -> Path:
    """Return the path of the persona file, created from the shipped one if it is missing.

    Raises ConstructError if it cannot be written.
    """
    path = settings.persona_file
    try:
        make_folder(path.parent)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(_initial_text(path))
    except FileExistsError:
        pass
    except OSError as error:
        raise ConstructError(
            f"{path} cannot be written: {error.strerror or error}.\n"
            "Check the folder and the disk, or name another file with CONSTRUCT_PERSONA."
        ) from error
    return path


def drop_unchanged_persona(path: Path) -> bool:
    """Delete a persona file that the user has not changed. Return whether there is none now.

    The shipped persona is used again then, and gets better with new versions.
    """
    try:
        if path.read_text("utf-8", "replace") != _initial_text(path):
            return False
        path.unlink()
    except FileNotFoundError:  # the user deleted it
        pass
    return True


def _initial_text(path: Path) -> str:
    return _NOTE.format(path=path) + prompt("companion") + "\n"
