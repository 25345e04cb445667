"""A connection to the database file, with what the program knows of it."""

import threading
from collections import Counter
from functools import cache
from pathlib import Path
from typing import cast

from construct.store.driver import Connection, sqlcipher
from construct.user_rules import RulesFile

OPEN_CONNECTIONS: Counter[tuple[int, int]] = Counter()
"""Number of open connections of this process, by device and inode of the file.

While there are any, the file must not be opened directly: closing it would drop their
POSIX locks, and another process could then delete the log they write to
(https://www.sqlite.org/howtocorrupt.html, 2.2).
"""
OPENING_LOCK = threading.RLock()
SOUND: set[tuple[int, int]] = set()
"""The open files, by device and inode, whose pages this process has checked."""


class FileConnection:
    """What a connection to the file has, besides what its driver gives it.

    `OPEN_CONNECTIONS` counts it while it is open.
    """

    identity: tuple[int, int] | None = None
    path = Path()
    rules_file: RulesFile | None = None
    """The user's rules for what is written through it."""

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        super().close()  # type: ignore[misc]  # the driver's
        with OPENING_LOCK:
            if self.identity is not None:
                OPEN_CONNECTIONS[self.identity] -= 1
                if not OPEN_CONNECTIONS[self.identity]:
                    SOUND.discard(self.identity)
                self.identity = None


class PlainFileConnection(FileConnection, Connection):
    """A connection to a file that is not encrypted."""


@cache
def encrypted_file_connection() -> type[Connection]:
    """Return the class of connections to an encrypted file."""

    class EncryptedFileConnection(FileConnection, sqlcipher().Connection):  # type: ignore[misc]
        """A connection to an encrypted file."""

    return cast("type[Connection]", EncryptedFileConnection)
