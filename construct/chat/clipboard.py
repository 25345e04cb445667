"""Reads the clipboard with the platform's own tools."""

import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from construct.errors import UsageError

if TYPE_CHECKING:
    from construct.attachments import Attachment

_SECONDS = 3.0
_MAX_BYTES = 20 * 1024 * 1024 + 1
_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_AS_PNG = "get the clipboard as «class PNGf»"
_NO_CLIPBOARD = "No clipboard is available here. To attach a file, type @ and its path."


def read_clipboard(environ: Mapping[str, str]) -> "Attachment | str":
    """Return the picture on the clipboard, else its text. May take a few seconds.

    Raises UsageError where no tool can read it, AttachmentError if a picture cannot be
    attached.
    """
    if sys.platform == "darwin":
        data = _picture_on_macos()
        return _as_attachment(data) if data else _text("pbpaste")
    if environ.get("WAYLAND_DISPLAY"):
        program = _installed("wl-paste", "wl-clipboard")
        paste, listing, kind_option = ["--no-newline"], ["--list-types"], "--type"
    elif environ.get("DISPLAY"):
        program, paste = _installed("xclip", "xclip"), ["-selection", "clipboard", "-o"]
        listing, kind_option = [*paste, "-t", "TARGETS"], "-t"
    else:
        raise UsageError(_NO_CLIPBOARD)
    offered = _output(program, *listing).decode("ascii", "ignore").split()
    kind = next((kind for kind in _TYPES if kind in offered), None)
    if kind is None:
        return _text(program, *paste)
    return _as_attachment(_output(program, *paste, kind_option, kind))


def _installed(program: str, package: str) -> str:
    if shutil.which(program) is None:
        raise UsageError(f"Install {package} to paste from the clipboard here.")
    return program


def _as_attachment(data: bytes) -> "Attachment":
    from construct.attachments import read_pasted_picture

    return read_pasted_picture(data)


def _text(*command: str) -> str:
    return _output(*command).decode("utf-8", "replace")


def _picture_on_macos() -> bytes:
    if shutil.which("pngpaste") is not None:
        return _output("pngpaste", "-")
    return _from_applescript(_output("osascript", "-e", _AS_PNG))


def _output(*command: str) -> bytes:
    """Return a program's output, empty if it fails or takes too long."""
    try:
        with subprocess.Popen(  # noqa: S603 - our own words, found on the user's path
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            timer = threading.Timer(_SECONDS, process.kill)
            timer.start()
            assert process.stdout is not None
            data = process.stdout.read(_MAX_BYTES)
            if len(data) == _MAX_BYTES:
                process.kill()
            process.wait()
            timer.cancel()
    except OSError:
        return b""
    return data if process.returncode == 0 or len(data) == _MAX_BYTES else b""


def _from_applescript(printed: bytes) -> bytes:
    """Return the bytes that AppleScript prints as `«data PNGf89504E47…»`."""
    _, _, digits = printed.partition(b"PNGf")
    try:
        return bytes.fromhex(digits.decode("ascii", "ignore").strip())
    except ValueError:
        return b""
