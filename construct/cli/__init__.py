"""The command line: typer commands, one small module each group.

Nothing here knows SQL or prompts.
"""

import gc
import logging
import os
import sys

COLLECT_AFTER = 20_000
"""Objects made and not yet let go.

With Python's 700 a tenth of the time to the prompt goes into looking for garbage among
modules just imported.
"""

logging.getLogger("construct").addHandler(
    logging.NullHandler()
)  # without --log-file nothing is logged anywhere


def main() -> None:
    """Run `construct` and exit with its status."""
    gc.set_threshold(COLLECT_AFTER)

    from construct.cli.run import run
    from construct.errors import ExitStatus

    status = run(sys.argv[1:])
    if (
        status == ExitStatus.INTERRUPTED
    ):  # for no thread: one may wait for the file, or generate, for a minute more
        os._exit(status)
    sys.exit(status)
