"""Forks: conversations that continue from another one, with nothing copied.

A fork is shown the observations its parent was shown and, until its own first
compaction, the messages its parent was shown. After that the two go separate ways. Of
the parent's observations, those made from messages before the fork belong to the fork
too (`observations.scope_filter`).
"""

import sqlite3
from collections.abc import Iterator, Sequence

from construct.clock import Clock, to_text
from construct.store import observations as rows
from construct.store.conversations import (
    create_conversation,
    fork_points,
    get_conversation,
    get_watermarks,
    note_request,
    set_fork,
)
from construct.store.database import transaction
from construct.store.messages import (
    LAST,
    is_shown,
    last_message_id,
    live_messages,
    messages_of,
    newest_messages,
)
from construct.store.records import Conversation, Descent, Message, Observation, Watermarks
from construct.store.shown import copy_shown


def fork(
    db: sqlite3.Connection, conversation_id: int, clock: Clock, title: str | None = None
) -> int:
    """Create a conversation that continues from this one, and return its id.

    Its prompt begins as the parent's does, so the lifetime of the cache is the same.
    Raises NotFoundError if there is no such conversation.
    """
    with transaction(db):
        parent = get_conversation(db, conversation_id)
        new_id = create_conversation(db, to_text(clock.now()), title)
        set_fork(db, new_id, *_beginning(db, parent), _window_of(db, parent) or None)
        if parent.last_request_at:
            note_request(db, new_id, parent.last_request_at, parent.cache_life)
        copy_shown(db, parent.id, new_id)
        return new_id


def inherited_window(db: sqlite3.Connection, here: Conversation) -> list[Message]:
    """Return the messages from before the fork that a fork is shown, oldest first.

    None once the fork has been compacted.
    """
    if not _inherits(db, here):
        return []
    found: list[Message] = []
    for parent_id, begin, end in _stretches(db, here):
        found[:0] = [m for m in live_messages(db, parent_id, begin, end) if is_shown(m)]
    return found


def descent(db: sqlite3.Connection, conversation_id: int) -> Iterator[tuple[int, int]]:
    """Yield (conversation, last message) of a conversation and those it continues.

    The conversation itself comes first, then its parent and so on. Later messages of a
    parent do not count.
    """
    yield conversation_id, LAST
    for parent, end in _ancestors(db, get_conversation(db, conversation_id)):
        yield parent.id, end


def reach(db: sqlite3.Connection, scope: str, conversation_id: int) -> Descent | None:
    """Return the `descent` whose observations a conversation is shown and may search.

    None if it may see those of all conversations.
    """
    return None if scope == "user" else tuple(descent(db, conversation_id))


def last_messages(
    db: sqlite3.Connection, conversation_id: int, limit: int, until: int = LAST
) -> list[Message]:
    """Return the newest `limit` messages that may be shown, oldest first.

    They have ids up to `until`, and include messages from before a fork.
    """
    found: list[Message] = []
    for here, end in descent(db, conversation_id):
        found[:0] = newest_messages(db, here, limit - len(found), min(end, until))
        if len(found) == limit:
            break
    return found


def last_said(db: sqlite3.Connection, conversation_id: int, limit: int) -> list[Message]:
    """Return the newest messages that the user sees in a conversation, oldest first.

    Imported messages and those inherited by a fork are included.
    """
    messages: list[Message] = []
    for member_id, end in descent(db, conversation_id):
        messages[:0] = [m for m in messages_of(db, member_id) if m.id <= end and not m.retried]
        if len(messages) >= limit:
            break
    return messages[-limit:]


def marks(db: sqlite3.Connection, conversation_id: int) -> tuple[Watermarks, Watermarks]:
    """Return a conversation's watermarks, and the number of messages above each.

    The messages that a fork inherits from its parent are counted.
    """
    here, members = get_conversation(db, conversation_id), list(descent(db, conversation_id))
    own = get_watermarks(db, conversation_id)
    watermarks = Watermarks(
        _passed(db, members, "observed"), _passed(db, members, "compacted"), _window_of(db, here)
    )
    raw = len(inherited_window(db, here)) + len(live_messages(db, conversation_id, own.window))
    return watermarks, Watermarks(
        _above(db, members, watermarks.observed), _above(db, members, watermarks.compacted), raw
    )


def _passed(db: sqlite3.Connection, members: Sequence[tuple[int, int]], name: str) -> int:
    """Return the conversation's own watermark, or else the inherited one."""
    watermarks = (min(getattr(get_watermarks(db, id_), name), end) for id_, end in members)
    return next(filter(None, watermarks), 0)


def _above(db: sqlite3.Connection, members: Sequence[tuple[int, int]], mark: int) -> int:
    return sum(len(live_messages(db, id_, mark, end)) for id_, end in members)


def step_back(db: sqlite3.Connection, conversation_id: int) -> Message | None:
    """Move the start of a fork to before the user's last message, and return that message.

    The user can then say it again in the fork, and the parent keeps its own reply. None
    if the fork inherits no message of the user.
    """
    for parent_id, end in list(descent(db, conversation_id))[1:]:
        inherited = newest_messages(db, parent_id, 50, end)
        last = next((m for m in reversed(inherited) if m.role == "user"), None)
        if last is not None:
            home = get_conversation(db, last.conversation_id)
            window = get_conversation(db, conversation_id).forked_window_message_id
            set_fork(db, conversation_id, *_beginning(db, home, last.id - 1), window)
            return last
    return None


def _beginning(
    db: sqlite3.Connection, parent: Conversation, until: int = LAST
) -> tuple[int, int | None]:
    """Return the (conversation id, message id) at which a fork begins.

    If the parent has no messages of its own, a fork begins where the parent began.
    """
    last = last_message_id(db, parent.id, until)
    if last or parent.parent_id is None:
        return parent.id, last or None
    return parent.parent_id, parent.forked_at_message_id


def uncommitted_below(db: sqlite3.Connection, conversation_id: int) -> list[int]:
    """Return the ancestors with uncommitted messages in a fork's window.

    They should be observed and compacted before the fork's own compaction lets those
    messages go: no committed observation stands for them yet.
    """
    here = get_conversation(db, conversation_id)
    if not _inherits(db, here):
        return []
    return [
        parent_id
        for parent_id, begin, end in _stretches(db, here)
        if any(
            is_shown(m)
            for m in live_messages(
                db, parent_id, max(begin, get_watermarks(db, parent_id).compacted), end
            )
        )
    ]


def condensable(
    db: sqlite3.Connection, conversation_id: int, active: Sequence[Observation]
) -> list[Observation]:
    """Return the observations a reflector of one conversation may read.

    Only its own, and never lines from before and after a fork together: the fork would
    lose the earlier ones. Returns the stretch between forks that has the most tokens.
    """
    own = [o for o in active if o.conversation_id == conversation_id]
    cuts = fork_points(db, conversation_id)
    newest = rows.newest_message_under(db, [o.id for o in own])
    stretches: dict[int, list[Observation]] = {}
    for o in own:
        stretches.setdefault(sum(cut < newest[o.id] for cut in cuts), []).append(o)
    return max(stretches.values(), key=lambda lines: sum(o.token_count for o in lines), default=[])


def replaceable(
    db: sqlite3.Connection, scope: str, conversation_id: int, notes: Sequence[Observation]
) -> frozenset[int]:
    """Return the ids of the notes that a conversation may replace.

    Never a note of its parents. With memory limited to one conversation, only its own
    notes, and none that a fork of it still needs.
    """
    parents = [parent for parent, _ in descent(db, conversation_id)][1:]
    ids = [o.id for o in notes if o.conversation_id not in parents]
    inherited = rows.resting_in(db, [o.id for o in notes if o.conversation_id is None], parents)
    if scope == "user":
        return frozenset(ids) - inherited
    own = [o for o in notes if o.conversation_id == conversation_id]
    last_cut = max(fork_points(db, conversation_id), default=0)
    newest = rows.newest_message_under(db, [o.id for o in own])
    return frozenset(o.id for o in own if newest[o.id] > last_cut)


def _window_of(db: sqlite3.Connection, c: Conversation) -> int:
    """Return the id of the message after which the window begins, inherited or not."""
    if _inherits(db, c):
        return c.forked_window_message_id or 0
    # A conversation that has compacted shows nothing from before its own beginning.
    return max(get_watermarks(db, c.id).window, c.forked_at_message_id or 0)


def _inherits(db: sqlite3.Connection, c: Conversation) -> bool:
    return c.parent_id is not None and get_watermarks(db, c.id).compacted == 0


def _stretches(db: sqlite3.Connection, here: Conversation) -> Iterator[tuple[int, int, int]]:
    """Yield the stretches a fork inherits as (conversation id, after, until), parent first.

    If an undo has moved the parent's window back since, the stretch begins there.
    """
    begin = here.forked_window_message_id or 0
    for parent, end in _ancestors(db, here):
        if parent.parent_id is None or begin >= (parent.forked_at_message_id or 0):
            yield parent.id, min(begin, get_watermarks(db, parent.id).window), end
            break
        yield parent.id, begin, end


def _ancestors(db: sqlite3.Connection, here: Conversation) -> Iterator[tuple[Conversation, int]]:
    """Yield the ancestors as (conversation, last inherited message id), parent first."""
    end = LAST
    seen = {here.id}
    while here.parent_id is not None and here.parent_id not in seen:
        seen.add(here.parent_id)
        end = min(end, here.forked_at_message_id or 0)
        here = get_conversation(db, here.parent_id)
        yield here, end
