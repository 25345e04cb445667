"""Where the window of raw messages begins. Pure."""

from collections.abc import Sequence

from construct.memory.shown.transcript import turns
from construct.store.records import Message
from construct.store.talk import is_shown


def window_start(messages: Sequence[Message], compacted: int, retained: int) -> int:
    """Return the `window` watermark after compacting: the last message that is no longer raw, 0 for none.

    `messages` are those above the present watermark. The cut is between two turns, such that
    as few whole turns as reach `retained` tokens stay raw, or all that is not compacted,
    whichever is more.
    """
    kept = 0
    cut = 0
    whole = turns(messages)
    for i in range(len(whole) - 1, -1, -1):
        turn = whole[i]
        if turn[-1].id <= compacted and kept >= retained:
            cut = turn[-1].id
            break
        kept += sum(m.token_count for m in turn if is_shown(m))
    return cut
