"""The user's own persona: a file that says how the companion talks."""

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
    """Return the persona file; if there is none, make it from the shipped one.

    Raises ConstructError where it cannot be written.
    """
    path = settings.persona_file
    try:
        make_folder(path.parent)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(_made(path))
    except FileExistsError:
        pass
    except OSError as error:
        raise ConstructError(
            f"{path} cannot be written: {error.strerror or error}.\n"
            "Make room, or name another file with CONSTRUCT_PERSONA."
        ) from error
    return path


def drop_unchanged_persona(path: Path) -> bool:
    """Delete a persona file that is still as it was made; true if it was.

    The shipped one, which a new version may improve, counts again.
    """
    if path.read_text("utf-8", "replace") != _made(path):
        return False
    path.unlink()
    return True


def _made(path: Path) -> str:
    return _NOTE.format(path=path) + prompt("companion") + "\n"
