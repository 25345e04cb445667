"""Encrypt the database, decrypt it, and change its key."""

import os
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from construct.config import Settings
from construct.errors import ConstructError, NotFoundError, UsageError
from construct.program import as_typed
from construct.store import converting, encryption, purge
from construct.store.converting import KeyChange
from construct.store.database import open_database
from construct.store.driver import sqlcipher

_COMMAND_SECONDS = 60
_PURGE_SECONDS = 10.0

NewPassphrase = Callable[[], str]
"""Asks for a new passphrase, twice."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """What was encrypted or decrypted."""

    files: tuple[Path, ...]
    is_encrypted: bool
    has_key_file: bool
    """Whether the key lies beside the database, wrapped by a passphrase."""


def secret_of(settings: Settings) -> str | None:
    """Return what the user's command or file gives; None if neither is set.

    Raises ConstructError if it gives nothing.
    """
    if settings.key_command is not None:
        return _not_blank(_output_of(settings.key_command), "CONSTRUCT_KEY_COMMAND")
    if settings.key_file is None:
        return None
    try:
        content = settings.key_file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(settings.key_file, error) from None
    return _not_blank(content, "CONSTRUCT_KEY_FILE")


def secret_if_any(settings: Settings) -> str | None:
    """Return the same, or None if it cannot be had."""
    try:
        return secret_of(settings)
    except ConstructError:
        return None


def after_interruption(settings: Settings) -> str | None:
    """Tidy up after a conversion that was interrupted; return what to tell the user.

    Opening the database waits for one that is still going on.
    """
    open_database(settings.db).close()
    if not converting.settle(settings.db):
        return None
    state = "encrypted" if encryption.is_encrypted(settings.db) else "not encrypted"
    return (
        f"Encrypting or decrypting was interrupted. {settings.db} is whole and {state}."
        " Run the same command again."
    )


def encrypt(settings: Settings, new_passphrase: NewPassphrase) -> Conversion:
    """Turn the database, and the copy that a migration made, into encrypted files.

    Raises ConstructError if there is none, it is in use, or it is encrypted already.
    """
    path = _database(settings)
    if encryption.is_encrypted(path):
        raise ConstructError(
            f"{path} is encrypted already.\n{as_typed('encrypt --rekey')} changes its key."
        )
    _settle(settings)
    _make_key_file(settings)
    secret = secret_of(settings)
    key = None if secret is None else encryption.raw_key(secret)
    if key is None:
        return _wrapped_by(path, None, new_passphrase() if secret is None else secret)
    files = converting.convert(path, None, key, KeyChange(encryption.OUTSIDE))
    return Conversion(tuple(files), is_encrypted=True, has_key_file=False)


def rekey(settings: Settings, new_passphrase: NewPassphrase) -> Conversion:
    """Encrypt the database with a new random key. Raises ConstructError if it is plain."""
    path = _encrypted_database(settings)
    old = encryption.key_of(path)
    _settle(settings)
    secret = secret_of(settings)
    passphrase = new_passphrase() if secret is None else secret
    return _wrapped_by(path, old, passphrase)


def decrypt(settings: Settings) -> Conversion:
    """Turn the database, and the copy that a migration made, into plain files."""
    path = _encrypted_database(settings)
    old = encryption.key_of(path)
    _settle(settings)
    files = converting.convert(path, old, None, KeyChange(None))
    return Conversion(tuple(files), is_encrypted=False, has_key_file=False)


def _wrapped_by(path: Path, old: str | None, passphrase: str) -> Conversion:
    key = encryption.new_key()
    change = KeyChange(encryption.wrap(key, passphrase))
    files = converting.convert(path, old, key, change)
    return Conversion(tuple(files), is_encrypted=True, has_key_file=True)


def _database(settings: Settings) -> Path:
    sqlcipher()  # before anybody is asked for a passphrase
    if not settings.db.exists():
        raise NotFoundError(f"There is no database {settings.db} yet.\nName another one with --db.")
    return settings.db


def _encrypted_database(settings: Settings) -> Path:
    path = _database(settings)
    if not encryption.is_encrypted(path):
        raise ConstructError(f"{path} is not encrypted.\n{as_typed('encrypt')} does that.")
    return path


def _settle(settings: Settings) -> None:
    """Bring the database up to date, and clear what was forgotten, before it is copied."""
    with closing(open_database(settings.db, settings.memory_rules)) as db:
        purge.finish_erasure(db, _PURGE_SECONDS)


def _unusable(file: Path, error: OSError | UnicodeDecodeError) -> UsageError:
    reason = error.strerror if isinstance(error, OSError) else "it is not text"
    return UsageError(f"CONSTRUCT_KEY_FILE: {file} cannot be read: {reason}.\nCheck the path.")


def _make_key_file(settings: Settings) -> None:
    """Write a new key into the key file that the settings name, if it is not there."""
    file = settings.key_file
    if settings.key_command is not None or file is None or file.exists():
        return
    try:
        with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as out:
            out.write(encryption.new_key() + "\n")
    except OSError as error:
        raise _unusable(file, error) from None


def _output_of(command: str) -> str:
    try:
        done = subprocess.run(  # noqa: S602 - the user's own command, as they would type it
            command,
            shell=True,
            stdout=subprocess.PIPE,
            timeout=_COMMAND_SECONDS,
            check=True,
            text=True,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
        raise ConstructError(
            f"CONSTRUCT_KEY_COMMAND gave no key ({type(error).__name__}).\n"
            "Run the command by itself to see why."
        ) from None
    return done.stdout


def _not_blank(text: str, name: str) -> str:
    if not text.strip():
        raise UsageError(f"{name} gives an empty key.\nIt must give the key of the database.")
    return text.strip()
