"""Encryption of files with age (https://age-encryption.org); extras `sync` and `encrypted`.

A key is the text of an age identity, `AGE-SECRET-KEY-1…`. Who does not have it can neither
read what was encrypted with it nor make something that looks as if it had been.
"""

from collections.abc import Sequence

from construct.errors import ConstructError, NotConfiguredError, UsageError
from construct.installation import this_installation

MAGIC = b"age-encryption.org/v1"
"""The first bytes of every age file."""
_NO_KEY_FITS = "No matching keys found"
"""How pyrage says that something was encrypted with another key."""


class WrongKeyError(ConstructError):
    """None of the keys is the one that a file was encrypted with."""


class DamagedFileError(ConstructError):
    """An encrypted file is cut off, changed, or none at all."""


def require(extra: str) -> None:
    """Raise NotConfiguredError, which says what to install, if pyrage is missing."""
    try:
        import pyrage  # noqa: F401
    except ImportError:
        command = this_installation().with_extra(extra)
        raise NotConfiguredError(
            f"This needs the extra “{extra}”, which is not installed.\nInstall it: {command}"
        ) from None


def new_key() -> str:
    """Return a new random key."""
    from pyrage import x25519

    return str(x25519.Identity.generate())


def read_key(text: str) -> str:
    """Return a key as the user gave it, without white space. Raises UsageError for any other."""
    from pyrage import IdentityError, x25519

    key = "".join(text.split())
    try:
        x25519.Identity.from_str(key)
    except IdentityError:
        raise UsageError(
            "That is not a key. A key begins with AGE-SECRET-KEY-1.\n"
            "Copy all of it from where it was printed or saved."
        ) from None
    return key


def encrypt(data: bytes, key: str) -> bytes:
    """Return data encrypted so that only this key opens it."""
    from pyrage import encrypt as age_encrypt
    from pyrage import x25519

    return bytes(age_encrypt(data, [x25519.Identity.from_str(key).to_public()]))


def decrypt(data: bytes, keys: Sequence[str]) -> bytes:
    """Return what was encrypted with one of the keys.

    Raises WrongKeyError if it was none of them, and DamagedFileError if the data is damaged.
    """
    from pyrage import DecryptError, x25519
    from pyrage import decrypt as age_decrypt

    try:
        return bytes(age_decrypt(data, [x25519.Identity.from_str(key) for key in keys]))
    except DecryptError as error:
        if str(error) == _NO_KEY_FITS:
            raise WrongKeyError("It was encrypted with another key.") from None
        raise DamagedFileError("It is damaged or not complete.") from None


def lock(data: bytes, passphrase: str) -> bytes:
    """Return data encrypted so that a passphrase opens it (scrypt; a second or more)."""
    from pyrage import passphrase as age

    return bytes(age.encrypt(data, passphrase))


def unlock(data: bytes, passphrase: str) -> bytes | None:
    """Return what was encrypted with a passphrase; None if this one does not open it."""
    from pyrage import DecryptError
    from pyrage import passphrase as age

    try:
        return bytes(age.decrypt(data, passphrase))
    except DecryptError:
        return None
