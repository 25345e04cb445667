"""Encrypted database files: which are, with what key, and how one is opened.

An encrypted file has no header that SQLite knows, not even its name. Its key is random,
and lies beside it, wrapped by a passphrase (`construct.db.key`); or it is what a command
or a file of the user's gives, and that file says so. This process asks for it once, when
the file is first opened.
"""

import hashlib
import hmac
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from construct.errors import DatabaseUnusableError
from construct.store.connection import (
    OPEN_CONNECTIONS,
    PlainFileConnection,
    encrypted_file_connection,
)
from construct.store.driver import (
    Connection,
    connect,
    connect_with_sqlcipher,
    database_errors,
    error_name,
)
from construct.store.version import MAGIC, side_file

NEW = ".new"
"""The suffix of a key file while the database changes its key."""
OUTSIDE = b"The key comes from CONSTRUCT_KEY_COMMAND or CONSTRUCT_KEY_FILE.\n"
"""What a key file says that holds none."""
_KEY_BYTES = 32
_TRIES = 3
_HEX_KEY = re.compile(r"[0-9a-fA-F]{64}")
# The copy that a migration makes, and a database on its way, have the key of the database.
_COPY = re.compile(r"(?:\.before-[0-9]+|\.converting)(?:\.partial)?$")


@dataclass(frozen=True, slots=True)
class KeySource:
    """Where the keys of encrypted files come from."""

    secret: Callable[[], str | None] = lambda: None
    """Gives what the user's command or file gives; None if neither is set."""
    ask: Callable[[str], str] | None = None
    """Asks for a passphrase; None if nobody can be asked."""


_source = KeySource()
_keys: dict[str, str] = {}
"""The keys that this process knows, by the path of the database."""


def use_keys_from(source: KeySource) -> None:
    """Say where this process gets keys from, and forget those that it knows."""
    global _source
    _source = source
    _keys.clear()


def key_file(path: Path) -> Path:
    """Return the file with the wrapped key of a database, which need not exist."""
    return side_file(Path(_COPY.sub("", os.path.realpath(path))), ".key")


def converting_file(path: Path) -> Path:
    """Return the file in which a database is written anew with another key."""
    return side_file(path, ".converting")


def is_interrupted(path: Path) -> bool:
    """Return whether a conversion has left a new file beside a database."""
    main = Path(os.path.realpath(path))
    beginning, end = main.name, converting_file(main).name.removeprefix(main.name)
    try:
        names = os.listdir(main.parent)  # noqa: PTH208 - names are all that is needed
    except OSError:
        return False
    return any(name.startswith(beginning) and name.endswith(end) for name in names)


def key_files(path: Path) -> list[Path]:
    """Return the key files of a database that exist: two while its key changes."""
    files = (key_file(path), side_file(key_file(path), NEW))
    return [file for file in files if file.exists()]


def is_encrypted(path: Path) -> bool:
    """Return whether a file is an encrypted database, as far as can be told without a key.

    A file without SQLite's header is taken for one if it has a key file, or a key is set.
    """
    has_key = str(_main(path)) in _keys
    try:
        status = path.stat()
        if OPEN_CONNECTIONS[status.st_dev, status.st_ino]:
            return has_key  # the file must not be opened directly now
        with path.open("rb") as file:
            header = file.read(len(MAGIC))
    except OSError:
        return False
    if not header or header == MAGIC:
        return False
    return has_key or bool(key_files(path)) or _source.secret() is not None


def open_file(path: Path, query: str = "", **options: Any) -> Connection:
    """Open a database file with the driver it needs, and its key.

    `query` is that of a URI, such as `mode=ro`. Raises DatabaseUnusableError if the file is
    encrypted and there is no key that opens it.
    """
    key = key_of(path) if is_encrypted(path) else None
    return open_with_key(path, key, query, **options)


def open_with_key(path: Path, key: str | None, query: str = "", **options: Any) -> Connection:
    """Open a database file; with a key as an encrypted one."""
    name = f"{path.absolute().as_uri()}?{query}" if query else str(path.absolute())
    if key is None:
        return connect(name, uri=bool(query), **options)
    return connect_with_sqlcipher(name, key, uri=bool(query), **options)


def connect_file(path: Path, **options: Any) -> Connection:
    """Open the database to be used in this process; its connection is a FileConnection."""
    encrypted = is_encrypted(path)
    factory = encrypted_file_connection() if encrypted else PlainFileConnection
    return open_file(path, factory=factory, **options)


def key_of(path: Path) -> str:
    """Return the key of an encrypted database, asking for it if need be.

    Raises DatabaseUnusableError if there is none, or none that opens it.
    """
    main = _main(path)
    if str(main) not in _keys:
        _keys[str(main)] = _find_key(main)
    return _keys[str(main)]


def remember_key(path: Path, key: str | None) -> None:
    """Use this key for a database in this process; None if it is plain now."""
    _keys.pop(str(_main(path)), None)
    if key is not None:
        _keys[str(_main(path))] = key


def knows_key(path: Path) -> bool:
    """Return whether an encrypted file can be opened without asking anybody."""
    return str(_main(path)) in _keys or _source.secret() is not None


def opens(path: Path, key: str) -> bool:
    """Return whether a key opens an encrypted file. Raises an SQLite error for other faults."""
    with closing(open_with_key(path, key, "mode=ro")) as db:
        try:
            db.execute("SELECT count(*) FROM sqlite_master")
        except database_errors() as error:
            if error_name(error).startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
                return False
            raise
    return True


def new_key() -> str:
    """Return a random key."""
    return os.urandom(_KEY_BYTES).hex()


def raw_key(secret: str) -> str | None:
    """Return the key if a command or file gives one: 64 hexadecimal digits.

    Any other text is taken for a passphrase.
    """
    return secret.lower() if _HEX_KEY.fullmatch(secret) else None


def wrap(key: str, passphrase: str) -> bytes:
    """Return the content of a key file: the key, hidden by what scrypt makes of a passphrase.

    The key is masked with 32 bytes that are derived for it alone; a digest made with 32 more
    tells whether a passphrase is the right one.
    """
    salt = os.urandom(16)
    derived = _scrypt(passphrase, salt, 2 * _KEY_BYTES)
    masked = _masked(bytes.fromhex(key), derived)
    parts = {"salt": salt, "key": masked, "check": _digest(masked, derived)}
    return json.dumps({name: part.hex() for name, part in parts.items()}).encode()


def unwrap(content: bytes, passphrase: str) -> str | None:
    """Return the key in a key file; None if the passphrase is not the right one."""
    try:
        parts = {name: bytes.fromhex(part) for name, part in json.loads(content).items()}
        salt, masked, check = parts["salt"], parts["key"], parts["check"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DatabaseUnusableError(
            "The key file of the database is damaged.\nRestore it from a backup."
        ) from None
    derived = _scrypt(passphrase, salt, 2 * _KEY_BYTES)
    if not hmac.compare_digest(check, _digest(masked, derived)):
        return None
    return _masked(masked, derived).hex()


def _scrypt(secret: str, salt: bytes, size: int) -> bytes:
    """Derive bytes from a secret, at the cost that OWASP advises: 128 MB, about 0.3 s."""
    return hashlib.scrypt(
        secret.encode(), salt=salt, n=1 << 17, r=8, p=1, maxmem=1 << 28, dklen=size
    )


def _masked(key: bytes, derived: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(key, derived[:_KEY_BYTES], strict=True))


def _digest(masked: bytes, derived: bytes) -> bytes:
    return hmac.digest(derived[_KEY_BYTES:], masked, "sha256")


def _main(path: Path) -> Path:
    return Path(_COPY.sub("", os.path.realpath(path)))


def _find_key(main: Path) -> str:
    """Return the key that opens a database. Raises DatabaseUnusableError."""
    files = key_files(main)
    secret = _source.secret()
    is_outside = all(file.read_bytes() == OUTSIDE for file in files)
    if secret is None and is_outside:
        raise DatabaseUnusableError(
            f"{main} is encrypted, and its key comes from a command or a file.\n"
            "Set CONSTRUCT_KEY_COMMAND or CONSTRUCT_KEY_FILE."
        )
    if is_outside and (key := raw_key(secret or "")) and opens(main, key):
        return key
    for passphrase in () if is_outside else _passphrases(main, secret):
        if found := _unwrapped(main, files, passphrase):
            return found
    what = "passphrase" if secret is None else "key that you set"
    raise DatabaseUnusableError(
        f"The {what} does not open {main}, or its beginning is damaged.\nThe file was not touched."
    )


def _passphrases(main: Path, secret: str | None) -> Iterator[str]:
    """Yield the passphrases to try: what a command or file gives, or what the user types."""
    if secret is not None:
        yield secret
    elif _source.ask is None:
        raise DatabaseUnusableError(
            f"{main} is encrypted, and there is no terminal to ask for its passphrase on.\n"
            "Set CONSTRUCT_KEY_COMMAND or CONSTRUCT_KEY_FILE."
        )
    else:
        yield _source.ask(f"Passphrase of {main.name}: ")
        for _ in range(_TRIES - 1):
            yield _source.ask("That is not it. Passphrase: ")


def _unwrapped(main: Path, files: Sequence[Path], passphrase: str) -> str | None:
    """Return the key that a passphrase opens, if it opens the database too.

    A change of key that was interrupted has left two; the one that is in force stays.
    """
    for file in files:
        content = file.read_bytes()
        key = raw_key(passphrase) if content == OUTSIDE else unwrap(content, passphrase)
        if key is not None and opens(main, key):
            file.replace(key_file(main))
            side_file(key_file(main), NEW).unlink(missing_ok=True)
            return key
    return None
