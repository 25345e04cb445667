"""Fork conversations: continue from another one, without copying its messages.

A fork is shown the observations its parent was shown and, until its own first
compaction, the messages its parent was shown. After that the two go separate ways. Of
the parent's observations, those made from messages before the fork belong to the fork
too (`observations.scope_filter`).
"""

from collections.abc import Iterator, Sequence

from construct.clock import Clock, to_text
from construct.store.acceptance import unaccepted
from construct.store.conversations import (
    create_conversation,
    fork_points,
    get_conversation,
    get_watermarks,
    is_fork_by_sync,
    note_request,
    set_fork,
)
from construct.store.database import transaction
from construct.store.driver import Connection
from construct.store.messages import (
    LAST,
    is_shown,
    last_message_id,
    live_messages,
    messages_of,
    newest_messages,
)
from construct.store.note_links import newest_message_under, resting_in
from construct.store.records import Conversation, Descent, Message, Observation, Watermarks
from construct.store.shown import copy_shown
from construct.store.sync.machines import is_written_elsewhere

_MESSAGES_READ = 50
"""Newest messages of each ancestor among which `step_back` looks for the user's last."""


def fork(db: Connection, conversation_id: int, clock: Clock, title: str | None = None) -> int:
    """Create a conversation that continues from this one, and return its id.

    Its requests begin as the parent's do, so they find the parent's prompt cache.
    Raises NotFoundError if there is no such conversation.
    """
    with transaction(db):
        parent = get_conversation(db, conversation_id)
        new_id = create_conversation(db, to_text(clock.now()), title)
        set_fork(db, new_id, *_fork_point(db, parent), _window_start(db, parent) or None)
        if parent.last_request_at:
            note_request(db, new_id, parent.last_request_at, parent.cache_life)
        copy_shown(db, parent.id, new_id)
        return new_id


def inherited_window(db: Connection, conversation: Conversation) -> list[Message]:
    """Return the messages from before the fork that a fork is shown, oldest first.

    Empty once the fork has been compacted.
    """
    if not _inherits(db, conversation):
        return []
    messages: list[Message] = []
    for parent_id, after, until in _inherited_stretches(db, conversation):
        messages[:0] = [m for m in live_messages(db, parent_id, after, until) if is_shown(m)]
    return messages


def descent(db: Connection, conversation_id: int) -> Iterator[tuple[int, int]]:
    """Yield (conversation id, last message id) of a conversation and those it continues.

    The conversation itself comes first, then its parent and so on. Later messages of a
    parent do not count.
    """
    yield conversation_id, LAST
    for ancestor, last_id in _ancestors(db, get_conversation(db, conversation_id)):
        yield ancestor.id, last_id


def reach(db: Connection, scope: str, conversation_id: int) -> Descent | None:
    """Return the `descent` whose observations a conversation is shown and may search.

    None if it may see those of all conversations.
    """
    return None if scope == "user" else tuple(descent(db, conversation_id))


def hidden_from(db: Connection, conversation_id: int) -> frozenset[int]:
    """Return the ids of new notes of other conversations that the user has not accepted yet."""
    if not unaccepted(db):
        return frozenset()
    return unaccepted(db, (ancestor for ancestor, _ in descent(db, conversation_id)))


def last_messages(
    db: Connection, conversation_id: int, limit: int, until: int = LAST
) -> list[Message]:
    """Return the newest `limit` messages that may be shown, oldest first.

    They have ids up to `until`, and include messages from before a fork.
    """
    messages: list[Message] = []
    for member_id, last_id in descent(db, conversation_id):
        missing = limit - len(messages)
        messages[:0] = newest_messages(db, member_id, missing, min(last_id, until))
        if len(messages) == limit:
            break
    return messages


def last_said(db: Connection, conversation_id: int, limit: int) -> list[Message]:
    """Return the newest messages that the user sees in a conversation, oldest first.

    Imported messages and those inherited by a fork are included.
    """
    messages: list[Message] = []
    for member_id, last_id in descent(db, conversation_id):
        own = messages_of(db, member_id)
        messages[:0] = [m for m in own if m.id <= last_id and not m.retried]
        if len(messages) >= limit:
            break
    return messages[-limit:]


def watermarks_and_counts(db: Connection, conversation_id: int) -> tuple[Watermarks, Watermarks]:
    """Return a conversation's watermarks, and the number of messages above each.

    The messages that a fork inherits from its parent are counted.
    """
    conversation = get_conversation(db, conversation_id)
    members = list(descent(db, conversation_id))
    own_window = get_watermarks(db, conversation_id).window
    watermarks = Watermarks(
        observed=_own_or_inherited(db, members, "observed"),
        compacted=_own_or_inherited(db, members, "compacted"),
        window=_window_start(db, conversation),
    )
    inherited = inherited_window(db, conversation)
    counts = Watermarks(
        observed=_count_above(db, members, watermarks.observed),
        compacted=_count_above(db, members, watermarks.compacted),
        window=len(inherited) + sum(map(is_shown, live_messages(db, conversation_id, own_window))),
    )
    return watermarks, counts


def _own_or_inherited(db: Connection, members: Sequence[tuple[int, int]], name: str) -> int:
    """Return the conversation's own watermark of this name, or else the inherited one."""
    for member_id, last_id in members:
        watermark: int = min(getattr(get_watermarks(db, member_id), name), last_id)
        if watermark:
            return watermark
    return 0


def _count_above(db: Connection, members: Sequence[tuple[int, int]], mark: int) -> int:
    return sum(len(live_messages(db, member_id, mark, last_id)) for member_id, last_id in members)


def step_back(db: Connection, conversation_id: int) -> Message | None:
    """Move the start of a fork to before the user's last message, and return that message.

    The user can then say it again in the fork, and the parent keeps its own reply. None
    if the fork inherits no message of the user.
    """
    conversation = get_conversation(db, conversation_id)
    for ancestor, last_id in _ancestors(db, conversation):
        inherited = newest_messages(db, ancestor.id, _MESSAGES_READ, last_id)
        message = next((m for m in reversed(inherited) if m.role == "user"), None)
        if message is not None:
            fork_point = _fork_point(db, ancestor, message.id - 1)
            set_fork(db, conversation_id, *fork_point, conversation.forked_window_message_id)
            return message
    return None


def _fork_point(db: Connection, parent: Conversation, until: int = LAST) -> tuple[int, int | None]:
    """Return the (conversation id, message id) after which a fork begins.

    If the parent has no messages of its own, a fork begins where the parent began.
    """
    last_id = last_message_id(db, parent.id, until)
    if last_id or parent.parent_id is None:
        return parent.id, last_id or None
    return parent.parent_id, parent.forked_at_message_id


def uncommitted_below(db: Connection, conversation_id: int) -> list[int]:
    """Return the ids of the ancestors with uncommitted messages in a fork's window.

    They should be observed and compacted before the fork's own compaction removes those
    messages from its window, since no committed observation stands for them yet.
    """
    conversation = get_conversation(db, conversation_id)
    if not _inherits(db, conversation):
        return []
    ancestor_ids = []
    for ancestor_id, after, until in _inherited_stretches(db, conversation):
        marks = get_watermarks(db, ancestor_id)
        if is_written_elsewhere(db, ancestor_id):
            until = min(until, marks.observed)  # the machine that writes it observes the rest
        uncommitted = live_messages(db, ancestor_id, max(after, marks.compacted), until)
        if any(map(is_shown, uncommitted)):
            ancestor_ids.append(ancestor_id)
    return ancestor_ids


def condensable(
    db: Connection, conversation_id: int, active: Sequence[Observation]
) -> list[Observation]:
    """Return the observations that a reflector limited to one conversation may read.

    These are its own, from between two forks: if a reflection joined observations from
    before and after a fork, the fork would lose the earlier ones. Of several such
    stretches, returns the one with the most tokens. What was kept on request is left alone,
    since other conversations are shown it too.
    """
    own = [o for o in active if o.conversation_id == conversation_id and not o.kept]
    points = fork_points(db, conversation_id)
    newest = newest_message_under(db, [o.id for o in own])
    by_stretch: dict[int, list[Observation]] = {}
    for o in own:
        forks_before = sum(point < newest[o.id] for point in points)
        by_stretch.setdefault(forks_before, []).append(o)
    return max(by_stretch.values(), key=lambda notes: sum(o.token_count for o in notes), default=[])


def replaceable(
    db: Connection, scope: str, conversation_id: int, notes: Sequence[Observation]
) -> frozenset[int]:
    """Return the ids of the notes that a conversation may replace.

    With the scope `user`, all but those that come from the conversations that the user forked.
    Otherwise its own, except those that a fork of it still needs.
    """
    if scope == "user":
        ancestors = _continued_by_user(db, conversation_id)
        ids = [o.id for o in notes if o.conversation_id not in ancestors]
        shared_ids = [o.id for o in notes if o.conversation_id is None]
        return frozenset(ids) - resting_in(db, shared_ids, ancestors)
    own = [o for o in notes if o.conversation_id == conversation_id]
    last_fork_point = max(fork_points(db, conversation_id), default=0)
    newest = newest_message_under(db, [o.id for o in own])
    return frozenset(o.id for o in own if newest[o.id] > last_fork_point)


def _continued_by_user(db: Connection, conversation_id: int) -> list[int]:
    """Return the ids of the ancestors, up to where sync and not the user made the fork."""
    ancestors: list[int] = []
    previous = conversation_id
    for member, _ in descent(db, conversation_id):
        if member != conversation_id:
            if is_fork_by_sync(db, previous):
                break
            ancestors.append(member)
        previous = member
    return ancestors


def _window_start(db: Connection, conversation: Conversation) -> int:
    """Return the id of the message after which the window begins, inherited or not."""
    if _inherits(db, conversation):
        return conversation.forked_window_message_id or 0
    # A conversation that has been compacted shows nothing from before its own beginning.
    own_window = get_watermarks(db, conversation.id).window
    return max(own_window, conversation.forked_at_message_id or 0)


def _inherits(db: Connection, conversation: Conversation) -> bool:
    """Return whether a conversation is a fork that is shown its parent's messages."""
    is_fork = conversation.parent_id is not None
    return is_fork and get_watermarks(db, conversation.id).compacted == 0


def _inherited_stretches(
    db: Connection, conversation: Conversation
) -> Iterator[tuple[int, int, int]]:
    """Yield the messages a fork inherits as (conversation id, after, until), parent first.

    `after` and `until` are message ids. If an undo has moved the parent's window back
    since the fork, the stretch begins there.
    """
    after = conversation.forked_window_message_id or 0
    for ancestor, until in _ancestors(db, conversation):
        if ancestor.parent_id is None or after >= (ancestor.forked_at_message_id or 0):
            yield ancestor.id, min(after, get_watermarks(db, ancestor.id).window), until
            break
        yield ancestor.id, after, until


def _ancestors(db: Connection, conversation: Conversation) -> Iterator[tuple[Conversation, int]]:
    """Yield the ancestors as (conversation, last inherited message id), parent first."""
    last_id = LAST
    seen = {conversation.id}
    while conversation.parent_id is not None and conversation.parent_id not in seen:
        seen.add(conversation.parent_id)
        last_id = min(last_id, conversation.forked_at_message_id or 0)
        conversation = get_conversation(db, conversation.parent_id)
        yield conversation, last_id
