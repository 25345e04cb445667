"""The keys of the folder, kept beside the database in a file that only the user can read."""

from collections.abc import Sequence
from pathlib import Path

from construct.store.output_file import replacing
from construct.store.version import side_file

_SUFFIX = ".sync-key"


def key_file(db_path: Path) -> Path:
    """Return the path of the file with the keys of a database."""
    return side_file(db_path, _SUFFIX)


def read_keys(db_path: Path) -> tuple[str, ...]:
    """Return the keys: the one in use, then earlier ones. Empty without any. Raises OSError."""
    try:
        return tuple(key_file(db_path).read_text(encoding="ascii").split())
    except FileNotFoundError:
        return ()


def write_keys(db_path: Path, keys: Sequence[str]) -> None:
    """Store the keys, the one in use first. Raises OSError."""
    with replacing(key_file(db_path)) as new:
        new.write_text("".join(f"{key}\n" for key in dict.fromkeys(keys)), encoding="ascii")
