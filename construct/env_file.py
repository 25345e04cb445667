"""Files of NAME=VALUE lines, and whether the user has trusted one of them.

What the user answered is kept in `trusted-env.jsonl` in the configuration directory: a
line for each answer, with the file's path and the digest of what was in it. A file that
has changed since is a file nobody has been asked about.
"""

import json
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from io import StringIO
from pathlib import Path

from construct.errors import UsageError

_PLAIN = re.compile(r"[A-Za-z0-9_./:@+,-]+")
_OURS = re.compile(r"\b(?:CONSTRUCT_|ANTHROPIC_|MEMORY_WORKER_)")


class Trust(StrEnum):
    """What the user has said of a `.env` in its present state."""

    TRUSTED = "trusted"
    REFUSED = "refused"
    UNASKED = "unasked"


@dataclass(frozen=True, slots=True)
class EnvFile:
    """A file of settings as it was read; `digest` is of those very bytes."""

    path: Path
    digest: str
    values: Mapping[str, str] = field(repr=False, hash=False)


def read_env_file(path: Path) -> EnvFile:
    """Return what a file sets, nothing when there is none.

    Raises UsageError when it cannot be read.
    """
    try:
        if not path.is_file():
            return EnvFile(path, "", {})
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read ({type(error).__name__}). Correct or remove it."
        ) from error
    from hashlib import sha256

    from dotenv.parser import parse_stream

    found = list(parse_stream(StringIO(text, newline=None)))
    for line in (one.original for one in found if one.error):
        if _OURS.search(line.string):  # what other programs keep in `.env` is none of our business
            raise UsageError(f"{path}, line {line.line}: that is not NAME=VALUE. Correct it.")
    values = {one.key: one.value for one in found if one.key is not None and one.value is not None}
    return EnvFile(path, sha256(content).hexdigest(), values)


def write_settings(path: Path, values: Mapping[str, str | None]) -> None:
    """Set names in a file of settings, and remove those whose value is None.

    All other lines stay as they are. The file is replaced in one step and is 0600; the
    folder must be there. Raises OSError, UsageError when the file is no text.
    """
    kept = ""
    if path.exists():
        kept = _without(_text(path.read_bytes(), path), values)
    if kept and not kept.endswith("\n"):
        kept += "\n"
    given = ((name, value) for name, value in values.items() if value is not None)
    import tempfile

    lines = [f"{name}={_quoted(value)}\n" for name, value in given]
    place = path.resolve()  # keeps a link, to another disk too
    descriptor, new = tempfile.mkstemp(dir=place.parent, prefix=".config-")  # 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
            stream.write(kept + "".join(lines))
            stream.flush()
            os.fsync(stream.fileno())
        Path(new).replace(place)
    except BaseException:
        Path(new).unlink(missing_ok=True)
        raise


def _without(text: str, names: Collection[str]) -> str:
    from dotenv.parser import parse_stream

    found = parse_stream(StringIO(text, newline=""))
    return "".join(one.original.string for one in found if one.key not in names)


def _quoted(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _text(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path} cannot be read: it is not UTF-8. Correct or remove it."
        ) from error


def answers_file(config_dir: Path) -> Path:
    """Return the file in which the answers are kept."""
    return config_dir / "trusted-env.jsonl"


def trust_in(file: EnvFile, config_dir: Path) -> Trust:
    """Return what the user has said of this file in this state.

    A later answer replaces an earlier one.
    """
    if not file.digest:
        return Trust.UNASKED
    try:
        lines = answers_file(config_dir).read_text("utf-8", "replace").splitlines()
    except OSError:
        return Trust.UNASKED
    trust = Trust.UNASKED
    for line in lines:
        try:
            answer = json.loads(line)
            if (answer["path"], answer["sha256"]) == (_place(file), file.digest):
                trust = Trust.TRUSTED if answer["trusted"] is True else Trust.REFUSED
        except (ValueError, TypeError, KeyError, RecursionError):  # not a line of ours
            continue
    return trust


def keep_answer(file: EnvFile, config_dir: Path, *, trusted: bool) -> None:
    """Keep what the user said of this file in this state, in a folder that exists.

    Raises OSError.
    """
    line = json.dumps({"path": _place(file), "sha256": file.digest, "trusted": trusted})
    descriptor = os.open(answers_file(config_dir), os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        answers_file(config_dir).chmod(0o600)
        stream.write(f"{line}\n")


def _place(file: EnvFile) -> str:
    """Return the file's path, links resolved.

    JSON escapes what could otherwise begin a line of its own.
    """
    return os.path.realpath(file.path)
