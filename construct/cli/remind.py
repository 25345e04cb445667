"""`construct remind`: deliver what is due. Runs every five minutes, so it imports little."""

import sys
from collections.abc import Callable
from pathlib import Path

from construct.cli.keys import use_keys_silently
from construct.cli.streams import complain
from construct.config import Settings
from construct.errors import ConstructError, ExitStatus
from construct.load_settings import load_settings
from construct.memory.reminders import Reminder, outgoing_line, reminder_line
from construct.operations.reminders import deliver, due, without_those_for_a_chat
from construct.text import one_line, printable


def remind(db: Path | None = None) -> int:
    """Deliver what is due; print and do nothing if nothing is."""
    settings = load_settings(db=db)
    use_keys_silently(settings)
    return deliver_due(settings, _shown_on_screen(settings))


def deliver_due(settings: Settings, show: Callable[[Reminder], None]) -> int:
    """Deliver what is due, to `show` unless the system runs this. Return the exit status.

    Then what is due goes to the chat at which the user is, else to CONSTRUCT_NOTIFY.
    """
    wanted = due(settings)
    if not wanted:
        return ExitStatus.OK
    address = _address(settings)
    if address is None:
        errors = deliver(settings, wanted, show)
    else:
        wanted = without_those_for_a_chat(settings, wanted)
        errors = deliver(settings, wanted, _sent_to(address, settings))
    return _status(errors)


def _status(errors: list[ConstructError]) -> int:
    if not errors:
        return ExitStatus.OK
    complain(str(errors[0]))
    return ExitStatus.FAILED


def _address(settings: Settings) -> str | None:
    """Return where reminders go; None if the user typed the command in a shell."""
    from construct.operations.notify import DESKTOP
    from construct.operations.schedule import is_installed

    if sys.stdout.isatty():
        return None
    if settings.notify is not None:
        return settings.notify
    return DESKTOP if is_installed(settings.config_dir) else None


def _shown_on_screen(settings: Settings) -> Callable[[Reminder], None]:
    def show(reminder: Reminder) -> None:
        print(one_line(printable(reminder_line(reminder, settings.clock.wall()))))

    return show


def _sent_to(address: str, settings: Settings) -> Callable[[Reminder], None]:
    from construct.operations.notify import send

    line = reminder_line if settings.notify_text == "full" else outgoing_line

    def send_line(reminder: Reminder) -> None:
        send(address, one_line(printable(line(reminder, settings.clock.wall()))))

    return send_line
