"""What takes long can be left off (Ctrl-C, SIGTERM, a terminal that is closed), and says then where it stands."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from construct.cli.environment import complain
from construct.errors import StoppedError

_TOLD_TO_STOP = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def left_off(words: Callable[[], str]) -> Iterator[None]:
    """Run the block; when it is interrupted let it end in order, say one line, and go on interrupting."""
    heeded = [number for number in _TOLD_TO_STOP if signal.getsignal(number) is signal.SIG_DFL]
    for number in heeded:
        signal.signal(number, _stop)
    try:
        yield
    except (KeyboardInterrupt, StoppedError):
        complain(words())
        raise
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_DFL)


def _stop(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)  # who says it twice means it
    raise StoppedError(number)
