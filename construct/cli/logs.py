"""The log file: what happened, never what was said, nor any secret."""

import logging
import os
from pathlib import Path

from construct.errors import ConstructError, UsageError
from construct.store.database import make_folder


def start_log(path: Path, db: Path) -> None:
    """Append the program's log to a file of mode 0600; the database and what belongs to it is none."""
    goal, home = os.path.realpath(path), os.path.realpath(db)
    same = path.exists() and db.exists() and path.samefile(db)
    if same or goal in {home, f"{home}-wal", f"{home}-shm", f"{home}-journal"}:
        raise UsageError(f"{path} is the database itself.\nName another file with --log-file.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder.\nName a file with --log-file.")
    try:
        make_folder(path.parent)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        if path.is_file():
            path.chmod(0o600)
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise ConstructError(
            f"{path} cannot be written: {error.strerror or error}.\nName another file with --log-file."
        ) from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("construct")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
