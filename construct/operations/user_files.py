"""Create a file that the user edits, such as the persona or the rules."""

import os
from pathlib import Path

from construct.errors import ConstructError
from construct.store.database import make_folder


def ensure_user_file(path: Path, content: str, setting: str) -> None:
    """Create a file with this content if it is missing; only its owner can read it.

    `setting` is the environment variable that names another file. Raises ConstructError,
    and leaves no half-written file, if the file cannot be written.
    """
    try:
        make_folder(path.parent)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(content)
        except OSError:
            path.unlink(missing_ok=True)
            raise
    except FileExistsError:
        pass
    except OSError as error:
        raise ConstructError(
            f"Cannot write to {path}: {error.strerror or error}.\n"
            f"Check the folder and the disk, or set {setting} to a file that exists."
        ) from error
