"""`construct brief`: a few lines for a shell's start.

It comes in every new shell, so it imports neither typer nor rich, and asks nothing.
"""

import shutil
import sys
from pathlib import Path

from construct.config import load_settings
from construct.operations.brief import brief as operation
from construct.views.brief import brief_lines


def brief(db: Path | None = None) -> int:
    """Print what is due, nothing when nothing is."""
    settings = load_settings(db=db)
    today = settings.clock.today()
    for line in brief_lines(operation(settings.db, today), today):
        print(_fitted(line) if sys.stdout.isatty() else line)
    return 0


def _fitted(line: str) -> str:
    from construct.views.wrapping import fitted

    return fitted(line, shutil.get_terminal_size().columns)
