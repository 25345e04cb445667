"""The command line: typer commands, one small module each group; nothing here knows SQL or prompts."""

import logging
import sys

logging.getLogger("construct").addHandler(logging.NullHandler())  # without --log-file nothing is logged anywhere


def main() -> None:
    """Run `construct` and exit with its status."""
    from construct.cli.run import run

    sys.exit(run(sys.argv[1:]))
