"""`construct brief`: what is due, for a shell's start.

It may run in every new shell, so it imports little and never asks.
"""

import shutil
import sys
from pathlib import Path

from construct.cli.keys import use_keys_silently
from construct.load_settings import load_settings
from construct.operations.brief import brief as operation
from construct.views.brief import brief_lines


def brief(db: Path | None = None) -> int:
    """Print what is due; print nothing if nothing is."""
    settings = load_settings(db=db)
    use_keys_silently(settings)
    today = settings.clock.today()
    lines = brief_lines(operation(settings.db, settings.clock), today)
    if sys.stdout.isatty():
        from construct.views.wrapping import ellipsized

        lines = [ellipsized(line, shutil.get_terminal_size().columns) for line in lines]
    for line in lines:
        print(line)
    return 0
