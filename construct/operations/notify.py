"""Send a reminder outside the program: to the desktop, or through Apprise.

The text is always an argument or a variable, never part of a script.
"""

import logging
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence

from construct.errors import ConstructError
from construct.installation import this_installation
from construct.program import as_typed

DESKTOP = "desktop"
_TITLE = "Construct"
_SECONDS = 20
"""How long a program that shows a notification may take."""
_MAC_SCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)
_WINDOWS_SCRIPT = """
Add-Type -AssemblyName System.Windows.Forms
$icon = New-Object System.Windows.Forms.NotifyIcon
$icon.Icon = [System.Drawing.SystemIcons]::Information
$icon.Visible = $true
$icon.ShowBalloonTip(10000, $env:CONSTRUCT_TITLE, $env:CONSTRUCT_TEXT, 'Info')
Start-Sleep -Seconds 11
$icon.Dispose()
"""


class NotDeliveredError(ConstructError):
    """A reminder could not be delivered. The message holds nothing secret."""


def send(address: str, text: str) -> None:
    """Send a text to the desktop or to an Apprise URL. Raises NotDeliveredError."""
    if address == DESKTOP:
        _to_desktop(text)
    else:
        _through_apprise(address, text)


def _to_desktop(text: str) -> None:
    command, variables = _desktop_command(text)
    if shutil.which(command[0]) is None:
        raise NotDeliveredError(
            f"Cannot show a reminder: {command[0]} is not installed.\n"
            "Install it, or set CONSTRUCT_NOTIFY."
        )
    try:
        done = subprocess.run(  # noqa: S603 - the text is an argument of its own
            command,
            env={**os.environ, **variables},
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotDeliveredError(
            f"Cannot show a reminder: {command[0]} did not run ({type(error).__name__}).\n"
            f"{as_typed('remind')} tries again."
        ) from error
    if done.returncode:
        raise NotDeliveredError(
            f"Cannot show a reminder: {command[0]} failed with status {done.returncode}.\n"
            f"{as_typed('remind')} tries again."
        )


def _desktop_command(text: str) -> tuple[Sequence[str], Mapping[str, str]]:
    """Return the platform's command that shows a notification, and variables for it."""
    if sys.platform == "darwin":
        script = [part for line in _MAC_SCRIPT for part in ("-e", line)]
        return ["osascript", *script, _TITLE, text], {}
    if sys.platform == "win32":
        command = ["powershell", "-NoProfile", "-NonInteractive", "-Command", _WINDOWS_SCRIPT]
        return command, {"CONSTRUCT_TITLE": _TITLE, "CONSTRUCT_TEXT": text}
    return ["notify-send", "--app-name", _TITLE, "--", _TITLE, text], {}


def _through_apprise(address: str, text: str) -> None:
    try:
        from apprise import Apprise
    except ImportError:
        raise NotDeliveredError(
            "Sending reminders needs the extra `notify`.\n"
            f"Install it: {this_installation().with_extra('notify')}"
        ) from None
    # Neither the address nor what the library says is shown: both may hold a secret.
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sender = Apprise()
        is_known = sender.add(address)
        is_sent = is_known and sender.notify(body=text, title=_TITLE)
    if not is_known:
        raise NotDeliveredError(
            "CONSTRUCT_NOTIFY is no address that Apprise knows.\nCorrect it in config.env."
        )
    if not is_sent:
        raise NotDeliveredError(
            "The reminder could not be sent to CONSTRUCT_NOTIFY.\n"
            f"{as_typed('remind')} tries again."
        )
