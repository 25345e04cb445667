"""Create the file in which the user says how the companion talks."""

from pathlib import Path

from construct.config import Settings
from construct.operations.user_files import ensure_user_file
from construct.prompts import prompt

_NOTE = """\
<!-- This is how your companion talks: its name, its tone, its language. Your changes take
effect with the next message. To go back to the persona that comes with Construct, delete this file:
{path}
This comment is not sent to the model. -->

"""


def make_persona(settings: Settings) -> Path:
    """Return the path of the persona file, created from the shipped one if it is missing.

    Raises ConstructError if it cannot be written.
    """
    path = settings.persona_file
    ensure_user_file(path, _initial_text(path), "CONSTRUCT_PERSONA")
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
