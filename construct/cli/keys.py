"""Where the keys of an encrypted database come from in this run of the program."""

import sys
from functools import cache

from construct.cli.streams import complain
from construct.config import Settings
from construct.errors import UsageError
from construct.store.encryption import KeySource, use_keys_from


def use_keys(settings: Settings) -> None:
    """Get keys as the settings say; else ask for the passphrase, if there is a terminal."""

    def secret() -> str | None:
        from construct.operations.encryption import secret_of

        return secret_of(settings)

    has_terminal = sys.stdin.isatty() or sys.stderr.isatty()
    use_keys_from(KeySource(cache(secret), hidden_line if has_terminal else None))


def use_keys_silently(settings: Settings) -> None:
    """Get keys as the settings say; without one, an encrypted database is left alone."""

    def secret() -> str | None:
        from construct.operations.encryption import secret_if_any

        return secret_if_any(settings)

    use_keys_from(KeySource(cache(secret)))


def hidden_line(question: str) -> str:
    """Ask for a line on the terminal without showing it."""
    import getpass

    return getpass.getpass(question)


def asked_passphrase() -> str:
    """Ask for a new passphrase until it is typed twice alike. Raises UsageError."""
    if not sys.stdin.isatty():
        raise UsageError(
            "No terminal to ask for a passphrase on.\n"
            "Run it on a terminal; a database can have CONSTRUCT_KEY_COMMAND or CONSTRUCT_KEY_FILE."
        )
    while True:
        first = hidden_line("New passphrase (not shown): ")
        if not first.strip():
            complain("A passphrase needs at least one character.")
        elif hidden_line("Once more: ") == first:
            return first
        else:
            complain("These differ.")
