"""Forks: a conversation that begins where another one stands, by reference, with nothing copied.

It is shown the observations its parent was shown, and, until its own first compaction, the raw
messages its parent was shown; from there both go their own ways. Observations of the parent are
the fork's as far as they rest on what was said before the fork (`observations.scope_filter`).
"""

import sqlite3
from collections.abc import Iterator, Sequence

from construct.clock import Clock, to_text
from construct.store import observations as rows
from construct.store import talk
from construct.store.database import transaction
from construct.store.records import Conversation, Message, Observation


def fork(db: sqlite3.Connection, conversation_id: int, clock: Clock, title: str | None = None) -> int:
    """Begin a conversation that goes on from this one's last message, and return its id; raises NotFoundError.

    What its prompt begins with is the parent's, and so is the life of the cache that holds it.
    """
    with transaction(db):
        parent = talk.conversation(db, conversation_id)
        new_id = talk.create_conversation(db, to_text(clock.now()), title)
        db.execute(
            """UPDATE conversations SET parent_id = ?, forked_at_message_id = ?, forked_window_message_id = ?,
               last_request_at = ?, cache_life = ? WHERE id = ?""",
            (
                parent.id, talk.last_message_id(db, parent.id) or None, _window_of(db, parent) or None,
                parent.last_request_at, parent.cache_life, new_id,
            ),
        )  # fmt: skip
        rows.replace_shown(db, new_id, rows.shown_blocks(db, parent.id))
        return new_id


def inherited_window(db: sqlite3.Connection, conversation_id: int) -> list[Message]:
    """Return the raw messages a fork is shown from before the fork, oldest first: none once it has compacted."""
    here = talk.conversation(db, conversation_id)
    if not _inherits(db, here):
        return []
    found: list[Message] = []
    for parent_id, begin, end in _stretches(db, here):
        found[:0] = [m for m in talk.live_messages(db, parent_id, begin, end) if talk.is_shown(m)]
    return found


def uncommitted_below(db: sqlite3.Connection, conversation_id: int) -> list[int]:
    """Return the ancestors of which a fork's window holds messages that no committed observation stands for yet.

    They should be observed and compacted before the fork's own compaction lets those messages go.
    """
    here = talk.conversation(db, conversation_id)
    if not _inherits(db, here):
        return []
    return [
        parent_id
        for parent_id, begin, end in _stretches(db, here)
        if any(
            talk.is_shown(m)
            for m in talk.live_messages(db, parent_id, max(begin, talk.watermarks(db, parent_id).compacted), end)
        )
    ]


def condensable(db: sqlite3.Connection, conversation_id: int, active: Sequence[Observation]) -> list[Observation]:
    """Return what a reflector bound to one conversation may be given of its active observations.

    Only its own, and never lines from before and after a fork together: the fork would lose the
    former. Of the stretches between forks the one with most tokens is taken.
    """
    own = [o for o in active if o.conversation_id == conversation_id]
    cuts = [
        row[0]
        for row in db.execute(
            "SELECT coalesce(forked_at_message_id, 0) FROM conversations WHERE parent_id = ?", (conversation_id,)
        )
    ]
    newest = rows.newest_message_under(db, [o.id for o in own])
    stretches: dict[int, list[Observation]] = {}
    for o in own:
        stretches.setdefault(sum(cut < newest[o.id] for cut in cuts), []).append(o)
    return max(stretches.values(), key=lambda lines: sum(o.token_count for o in lines), default=[])


def _window_of(db: sqlite3.Connection, c: Conversation) -> int:
    """Return the message after which the window begins, its own or the one it inherits."""
    if _inherits(db, c):
        return c.forked_window_message_id or 0
    # A conversation that has compacted shows nothing from before its own beginning.
    return max(talk.watermarks(db, c.id).window, c.forked_at_message_id or 0)


def _inherits(db: sqlite3.Connection, c: Conversation) -> bool:
    return c.parent_id is not None and talk.watermarks(db, c.id).compacted == 0


def _stretches(db: sqlite3.Connection, here: Conversation) -> Iterator[tuple[int, int, int]]:
    """Yield (conversation, after which message, to which message) of what a fork inherits, its parent first.

    Where the parent's window has gone back since (an undo), it begins as early as that.
    """
    begin = here.forked_window_message_id or 0
    end: int | None = None
    seen = {here.id}
    while here.parent_id is not None and here.parent_id not in seen:
        seen.add(here.parent_id)
        forked_at = here.forked_at_message_id or 0
        end = forked_at if end is None else min(end, forked_at)
        here = talk.conversation(db, here.parent_id)
        if here.parent_id is None or begin >= (here.forked_at_message_id or 0):
            yield here.id, min(begin, talk.watermarks(db, here.id).window), end
            break
        yield here.id, begin, end
