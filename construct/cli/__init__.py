"""The command line: its commands, in modules by group, and what runs them.

Nothing here knows SQL or prompts.
"""

import gc
import os
import sys

COLLECT_AFTER = 100_000
"""New objects after which the garbage collector runs.

With Python's default, a tenth of the time to the prompt is spent looking for garbage
among the modules just imported.
"""


def main() -> None:
    """Run `construct` and exit with its status."""
    gc.set_threshold(COLLECT_AFTER)

    from construct.cli.run import run
    from construct.errors import ExitStatus

    status = run(sys.argv[1:])
    if status == ExitStatus.INTERRUPTED:
        # A normal exit would wait for threads, and one may need another minute: it may
        # be waiting for the database, or running a local model.
        os._exit(status)
    gc.freeze()  # skips the last garbage collection, an eighth of the time a search takes
    sys.exit(status)
