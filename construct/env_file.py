"""Read and write files of NAME=VALUE lines, and record whether the user trusts a `.env`.

The user's answers are in `trusted-env.jsonl` in the configuration directory, one per
line, with the file's path and the digest of its content. A file that has changed since
needs a new answer.
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

_NEEDS_NO_QUOTES = re.compile(r"[A-Za-z0-9_./:@+,-]+")
_OUR_NAME = re.compile(r"\b(?:CONSTRUCT_|ANTHROPIC_|OPENAI_|MEMORY_WORKER_)")


class Trust(StrEnum):
    """The user's answer about a `.env` with its present content."""

    TRUSTED = "trusted"
    REFUSED = "refused"
    UNASKED = "unasked"


@dataclass(frozen=True, slots=True)
class EnvFile:
    """A file of settings as it was read, with the digest of its content."""

    path: Path
    digest: str
    values: Mapping[str, str] = field(repr=False, hash=False)


def read_env_file(path: Path) -> EnvFile:
    """Return the settings in a file, empty if there is no file.

    Raises UsageError if it cannot be read, or if a line with a name of ours is malformed.
    """
    try:
        if not path.is_file():
            return EnvFile(path, "", {})
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror or error}. Correct or remove it."
        ) from error
    try:
        text = _text(content, path)
    except UsageError:
        text = content.decode("utf-8", "replace")
        if path.name != ".env" or _OUR_NAME.search(text.replace("\0", "")):
            raise  # else it is another program's, in another encoding
    from hashlib import sha256

    from dotenv.parser import parse_stream

    values: dict[str, str] = {}
    for binding in parse_stream(StringIO(text, newline=None)):
        line = binding.original
        if binding.error and _OUR_NAME.search(line.string):  # lines of other programs may be odd
            raise UsageError(f"{path}, line {line.line}: that is not NAME=VALUE. Correct it.")
        if binding.key is not None and binding.value is not None:
            values[binding.key] = binding.value
    return EnvFile(path, sha256(content).hexdigest(), values)


def write_settings(path: Path, values: Mapping[str, str | None]) -> None:
    """Set names in a file of settings, and remove those whose value is None.

    All other lines stay, but for blank ones just above a line that goes. The file is
    replaced in one step, with the mode 0600; its folder must exist. Raises OSError, and
    UsageError if the file is not UTF-8.
    """
    import tempfile

    content = ""
    if path.exists():
        content = _without(_text(path.read_bytes(), path), values)
    if content and not content.endswith("\n"):
        content += "\n"
    for name, value in values.items():
        if value is not None:
            content += f"{name}={_quoted(value)}\n"
    target = path.resolve()  # if it is a link, what it points to is replaced
    descriptor, new = tempfile.mkstemp(dir=target.parent, prefix=".config-")  # 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(new).replace(target)
    except BaseException:  # such as Ctrl-C, which must leave no new file either
        Path(new).unlink(missing_ok=True)
        raise


def _without(text: str, names: Collection[str]) -> str:
    from dotenv.parser import parse_stream

    bindings = parse_stream(StringIO(text, newline=""))
    return "".join(b.original.string for b in bindings if b.key not in names)


def _quoted(value: str) -> str:
    if _NEEDS_NO_QUOTES.fullmatch(value):
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
    """Return the path of the file with the user's answers."""
    return config_dir / "trusted-env.jsonl"


def trust_in(file: EnvFile, config_dir: Path) -> Trust:
    """Return the user's latest answer about this file with this content."""
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
            if (answer["path"], answer["sha256"]) == (_resolved_path(file), file.digest):
                trust = Trust.TRUSTED if answer["trusted"] is True else Trust.REFUSED
        except (ValueError, TypeError, KeyError, RecursionError):  # not a line of ours
            continue
    return trust


def record_answer(file: EnvFile, config_dir: Path, *, trusted: bool) -> None:
    """Record the user's answer about this file with this content.

    The configuration directory must exist. Raises OSError.
    """
    line = json.dumps({"path": _resolved_path(file), "sha256": file.digest, "trusted": trusted})
    descriptor = os.open(answers_file(config_dir), os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        answers_file(config_dir).chmod(0o600)
        stream.write(f"{line}\n")


def _resolved_path(file: EnvFile) -> str:
    """Return the file's absolute path, with links resolved."""
    return os.path.realpath(file.path)
