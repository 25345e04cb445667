"""The folder that carries the files between machines: which are there, and writing one's own.

    FOLDER/folder.age             what the folder is, to try a key on
    FOLDER/MACHINE/list.age       a machine's segments, with their checksums
    FOLDER/MACHINE/1f0c….age      a segment, never changed

MACHINE and the names of segments are random. Whatever carries the folder may bring files
late, in any order, twice or cut off: only what a list names, whole and unchanged, counts.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from construct import age
from construct.errors import ConstructError
from construct.store.sync.records import FORMAT
from construct.text import printable, shorten

_FOLDER_FILE = "folder.age"
_LIST_FILE = "list.age"
_PARTIAL = ".partial"


class NewerFormatError(ConstructError):
    """A machine writes a format that this version does not know."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment as its machine's list names it."""

    counter: int
    file: str
    sha256: str
    size: int
    is_full: bool
    """Whether it holds the full state, so that earlier ones are not needed."""
    after: Mapping[str, int]
    """The last segment of each other machine that its machine had taken in before."""


@dataclass(frozen=True, slots=True)
class SegmentList:
    """What a machine says of its segments."""

    machine: str
    name: str
    counter: int
    """The number of its last segment."""
    segments: tuple[Segment, ...]
    forgot: int
    """The number of its last segment that tells of something forgotten; 0 if none does."""
    followed: Mapping[str, int]
    """What it had taken in of each machine when it last rewrote its segments."""
    retired: Mapping[str, int] = field(default_factory=dict)
    """The machines that it took over, each with the number of its own segment that did."""
    has_old_key: bool = False
    """Whether it was encrypted with a key that has been changed since."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A machine whose files could not be read yet, and why."""

    machine: str
    why: str


def is_empty(folder: Path) -> bool:
    """Return whether a folder holds nothing of ours. Raises OSError."""
    return not (folder / _FOLDER_FILE).exists() and not _machines_in(folder)


def is_incomplete(folder: Path) -> bool:
    """Return whether machines are there, but not yet the file that a key is tried on."""
    return not (folder / _FOLDER_FILE).exists() and bool(_machines_in(folder))


def _machines_in(folder: Path) -> list[str]:
    return sorted(
        entry.name for entry in folder.iterdir() if entry.is_dir() and (entry / _LIST_FILE).exists()
    )


def try_keys(folder: Path, keys: Sequence[str]) -> None:
    """Find out whether the first of the keys is that of the folder.

    Raises age.WrongKeyError, age.DamagedFileError, NewerFormatError.
    """
    about = _opened((folder / _FOLDER_FILE).read_bytes(), keys[:1])
    _check_format(about, "The folder")


def write_folder_file(folder: Path, key: str) -> None:
    """Write the file that keys are tried on."""
    data = json.dumps({"format": FORMAT}).encode()
    _write(folder / _FOLDER_FILE, age.encrypt(data, key))


def read_lists(folder: Path, keys: Sequence[str]) -> tuple[list[SegmentList], list[Unread]]:
    """Return the lists of all machines, and the machines that must be waited for.

    Raises OSError, and NewerFormatError.
    """
    lists, unread = [], []
    for machine in _machines_in(folder):
        try:
            lists.append(_read_list(folder / machine / _LIST_FILE, machine, keys))
        except age.WrongKeyError:
            unread.append(Unread(machine, "it has another key"))
        except (age.DamagedFileError, ValueError, KeyError, TypeError):
            unread.append(Unread(machine, "its list is not complete yet"))
    return lists, unread


def _read_list(path: Path, machine: str, keys: Sequence[str]) -> SegmentList:
    data = path.read_bytes()
    has_old_key = False
    try:
        about = _opened(data, keys[:1])
    except age.WrongKeyError:
        about, has_old_key = _opened(data, keys), True
    _check_format(about, f"The machine “{shorten(printable(str(about.get('name'))), 40)}”")
    if about["machine"] != machine:
        raise ValueError("it is the list of another machine")
    return SegmentList(
        machine,
        shorten(printable(str(about["name"])), 60),
        int(about["counter"]),
        tuple(_segment(one) for one in about["segments"]),
        int(about["forgot"]),
        _counters(about["followed"]),
        _counters(about["retired"]),
        has_old_key,
    )


def _segment(one: Mapping[str, Any]) -> Segment:
    name = str(one["file"])
    if Path(name).name != name:
        raise ValueError("a segment must be in its machine's directory")
    return Segment(
        int(one["counter"]),
        name,
        str(one["sha256"]),
        int(one["size"]),
        bool(one["is_full"]),
        _counters(one["after"]),
    )


def _counters(value: Mapping[str, Any]) -> dict[str, int]:
    return {str(machine): int(counter) for machine, counter in value.items()}


def _opened(data: bytes, keys: Sequence[str]) -> dict[str, Any]:
    about = json.loads(age.decrypt(data, keys))
    if not isinstance(about, dict):
        raise ValueError("it must be an object")  # noqa: TRY004 (a file's value)
    return about


def _check_format(about: Mapping[str, Any], who: str) -> None:
    if about.get("format") != FORMAT:
        raise NewerFormatError(
            f"{who} was written by another version of Construct, which this one cannot read.\n"
            "Update Construct on all machines. Nothing was changed."
        )


def are_whole(folder: Path, own: SegmentList) -> bool:
    """Return whether all segments of a list are there, each with its size."""
    files = [(folder / own.machine / segment.file, segment.size) for segment in own.segments]
    return all(file.exists() and file.stat().st_size == size for file, size in files)


def read_segment(folder: Path, machine: str, segment: Segment, keys: Sequence[str]) -> bytes:
    """Return what a segment holds. Raises ValueError if it is not there yet, or not whole."""
    try:
        data = (folder / machine / segment.file).read_bytes()
    except FileNotFoundError:
        raise ValueError("a segment is not there yet") from None
    if len(data) != segment.size or _digest(data) != segment.sha256:
        raise ValueError("a segment is not complete yet")
    try:
        return age.decrypt(data, keys)
    except (age.WrongKeyError, age.DamagedFileError) as error:
        raise ValueError("a segment cannot be decrypted") from error


def write_segment(
    folder: Path, machine: str, counter: int, data: bytes, after: Mapping[str, int], *, full: bool,
    key: str,
) -> Segment:  # fmt: skip
    """Write a segment of this machine's own, which no list names yet, and return it."""
    encrypted = age.encrypt(data, key)
    name = f"{secrets.token_hex(8)}.age"
    (folder / machine).mkdir(mode=0o700, exist_ok=True)
    _write(folder / machine / name, encrypted)
    return Segment(counter, name, _digest(encrypted), len(encrypted), full, dict(after))


def write_list(folder: Path, own: SegmentList, key: str) -> None:
    """Write this machine's list, unless it is there already, and remove what it does not name."""
    home = folder / own.machine
    home.mkdir(mode=0o700, exist_ok=True)
    about = asdict(own)
    del about["has_old_key"]
    _write(home / _LIST_FILE, age.encrypt(json.dumps({"format": FORMAT, **about}).encode(), key))


def remove_unlisted(folder: Path, own: SegmentList) -> None:
    """Remove what is in this machine's directory and its list does not name.

    Those are segments that were rewritten, and copies of them that the carrier made.
    """
    named = {_LIST_FILE, *(segment.file for segment in own.segments)}
    home = folder / own.machine
    for entry in home.iterdir() if home.exists() else ():
        if entry.name not in named and entry.is_file():
            with suppress(OSError):
                entry.unlink()


def remove_machine(folder: Path, machine: str) -> None:
    """Remove the directory of a machine whose segments were taken over."""
    home = folder / machine
    with suppress(OSError):
        # The list goes first: without it, no other machine reads the rest.
        (home / _LIST_FILE).unlink(missing_ok=True)
        for entry in home.iterdir() if home.exists() else ():
            entry.unlink()
        home.rmdir()


def leftovers(folder: Path, machines: Iterable[str]) -> list[Path]:
    """Return the directories of these machines that are there all the same."""
    return [folder / machine for machine in machines if (folder / machine).is_dir()]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, whenever this process ends."""
    new = path.with_name(f"{path.name}{_PARTIAL}")
    try:
        descriptor = os.open(new, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def used(folder: Path) -> tuple[int, int]:
    """Return how many files of ours a folder holds, and their bytes. Raises OSError."""
    files = [folder / _FOLDER_FILE, *(folder / "").glob("*/*.age")]
    sizes = [file.stat().st_size for file in files if file.is_file()]
    return len(sizes), sum(sizes)
