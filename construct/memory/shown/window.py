"""Where the window of raw messages begins. Pure."""

from collections.abc import Sequence

from construct.memory.shown.transcript import turns
from construct.store.messages import is_shown
from construct.store.records import Message, Watermarks


def window_start(messages: Sequence[Message], marks: Watermarks, retained: int) -> int:
    """Return the `window` watermark that compacting would set.

    `messages` are those above the present one.

    The cut is between two turns, such that as few whole turns as reach `retained`
    tokens stay raw, or all that is not observed, whichever is more.
    """
    kept = 0
    for turn in reversed(turns(messages)):
        if turn[-1].id <= marks.observed and kept >= retained:
            return turn[-1].id
        kept += sum(m.token_count for m in turn if is_shown(m))
    return marks.window
