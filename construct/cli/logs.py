"""The log file: what happened, never what was said, nor any secret."""

import logging
import os
from pathlib import Path


def start_log(path: Path) -> None:
    """Append the program's log to a file of mode 0600."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    path.chmod(0o600)
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("construct")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
