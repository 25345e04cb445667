"""The program's log. It goes nowhere unless `--log-file` names a file.

It holds no secrets and nothing of what was said.
"""

import logging

logging.getLogger("construct").addHandler(logging.NullHandler())


def logger(part: str) -> logging.Logger:
    """Return the logger for a part of the program, such as `memory`."""
    return logging.getLogger(f"construct.{part}")
