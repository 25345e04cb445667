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
from construct.store.records import Conversation, Descent, Message, Observation, Watermarks


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
                *_beginning(db, parent), _window_of(db, parent) or None, parent.last_request_at, parent.cache_life,
                new_id,
            ),
        )  # fmt: skip
        rows.replace_shown(db, new_id, rows.shown_blocks(db, parent.id))
        return new_id


def inherited_window(db: sqlite3.Connection, here: Conversation) -> list[Message]:
    """Return the raw messages a fork is shown from before the fork, oldest first: none once it has compacted."""
    if not _inherits(db, here):
        return []
    found: list[Message] = []
    for parent_id, begin, end in _stretches(db, here):
        found[:0] = [m for m in talk.live_messages(db, parent_id, begin, end) if talk.is_shown(m)]
    return found


def descent(db: sqlite3.Connection, conversation_id: int) -> Iterator[tuple[int, int]]:
    """Yield (conversation, up to which message) of a talk: itself, then those it goes on from, its parent first."""
    yield conversation_id, talk.LAST
    for parent, end in _ancestors(db, talk.conversation(db, conversation_id)):
        yield parent.id, end


def reach(db: sqlite3.Connection, scope: str, conversation_id: int) -> Descent | None:
    """Return the talk that a conversation's model is shown observations of, and may search; None: all talks."""
    return None if scope == "user" else tuple(descent(db, conversation_id))


def last_messages(db: sqlite3.Connection, conversation_id: int, limit: int, until: int = talk.LAST) -> list[Message]:
    """Return the newest `limit` messages of a talk that may be shown, with id <= until, oldest first.

    Those from before the fork are among them.
    """
    found: list[Message] = []
    for here, end in descent(db, conversation_id):
        found[:0] = talk.last_messages(db, here, limit - len(found), min(end, until))
        if len(found) == limit:
            break
    return found


def last_said(db: sqlite3.Connection, conversation_id: int, limit: int) -> list[Message]:
    """Return the newest `limit` messages of a talk as its owner may read it, oldest first: imported ones too."""
    found: list[Message] = []
    for here, end in descent(db, conversation_id):
        found[:0] = [m for m in talk.messages_of(db, here) if m.id <= end and not m.retried]
        if len(found) >= limit:
            break
    return found[-limit:]


def marks(db: sqlite3.Connection, conversation_id: int) -> tuple[Watermarks, Watermarks]:
    """Return how far memory has come with a talk, a fork's parent counted, and how many messages stand above each."""
    here, members = talk.conversation(db, conversation_id), list(descent(db, conversation_id))
    own = talk.watermarks(db, conversation_id)
    at = Watermarks(_passed(db, members, "observed"), _passed(db, members, "compacted"), _window_of(db, here))
    raw = len(inherited_window(db, here)) + len(talk.live_messages(db, conversation_id, own.window))
    return at, Watermarks(_above(db, members, at.observed), _above(db, members, at.compacted), raw)


def _passed(db: sqlite3.Connection, members: Sequence[tuple[int, int]], name: str) -> int:
    """Return a watermark: its own, else the one it inherits, which goes no further than the fork."""
    found = (min(getattr(talk.watermarks(db, one), name), end) for one, end in members)
    return next(filter(None, found), 0)


def _above(db: sqlite3.Connection, members: Sequence[tuple[int, int]], mark: int) -> int:
    return sum(len(talk.live_messages(db, one, mark, end)) for one, end in members)


def step_back(db: sqlite3.Connection, conversation_id: int) -> str | None:
    """Let a fork begin before the last words of the user that it inherits, and return these; None where there are none.

    So they can be said in it anew, and the conversation they were said in keeps its own reply to them.
    """
    for parent_id, end in list(descent(db, conversation_id))[1:]:
        before = talk.last_messages(db, parent_id, 50, end)
        words = next((m for m in reversed(before) if m.role == "user"), None)
        if words is not None:
            _fork_before(db, conversation_id, words)
            return words.content
    return None


def _fork_before(db: sqlite3.Connection, conversation_id: int, words: Message) -> None:
    begin = _beginning(db, talk.conversation(db, words.conversation_id), words.id - 1)
    db.execute(
        "UPDATE conversations SET parent_id = ?, forked_at_message_id = ? WHERE id = ?", (*begin, conversation_id)
    )


def _beginning(db: sqlite3.Connection, parent: Conversation, until: int = talk.LAST) -> tuple[int, int | None]:
    """Return (conversation, message) that a fork goes on from: where nothing was said in the parent, its own parent."""
    last = talk.last_message_id(db, parent.id, until)
    if last or parent.parent_id is None:
        return parent.id, last or None
    return parent.parent_id, parent.forked_at_message_id


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


def replaceable(
    db: sqlite3.Connection, scope: str, conversation_id: int, notes: Sequence[Observation]
) -> frozenset[int]:
    """Return which notes lines of a conversation may replace: none that it has from its parent.

    Bound to one conversation they may replace its own only, and none that a fork of it still needs.
    """
    parents = [parent for parent, _ in descent(db, conversation_id)][1:]
    ids = [o.id for o in notes if o.conversation_id not in parents]
    inherited = rows.resting_in(db, [o.id for o in notes if o.conversation_id is None], parents)
    if scope == "user":
        return frozenset(ids) - inherited
    own = [o for o in notes if o.conversation_id == conversation_id]
    cuts = db.execute("SELECT max(forked_at_message_id) FROM conversations WHERE parent_id = ?", (conversation_id,))
    last_cut = cuts.fetchone()[0] or 0
    newest = rows.newest_message_under(db, [o.id for o in own])
    return frozenset(o.id for o in own if newest[o.id] > last_cut)


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
    for parent, end in _ancestors(db, here):
        if parent.parent_id is None or begin >= (parent.forked_at_message_id or 0):
            yield parent.id, min(begin, talk.watermarks(db, parent.id).window), end
            break
        yield parent.id, begin, end


def _ancestors(db: sqlite3.Connection, here: Conversation) -> Iterator[tuple[Conversation, int]]:
    """Yield the conversations that a fork goes on from, its parent first, each with its last message that counts."""
    end = talk.LAST
    seen = {here.id}
    while here.parent_id is not None and here.parent_id not in seen:
        seen.add(here.parent_id)
        end = min(end, here.forked_at_message_id or 0)
        here = talk.conversation(db, here.parent_id)
        yield here, end
