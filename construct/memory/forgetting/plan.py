"""Plan what to delete when something is forgotten. Nothing is changed here.

Forgetting a fact deletes the observations of generation 0 that state it, all edits of
them, and every reflection that rests on them. Other observations from the same messages
are deleted too if they say nearly the same or were undone. The other observations that the
reflections replaced become active again. Forgetting a message starts from everything
drawn from it; deleting a conversation, from all its messages. Titles, tasks, notes of
cycles and tool results that reveal the fact are cleared too.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from construct.errors import NotFoundError
from construct.language.fact_match import fact_names, search_marks, states_fact
from construct.memory.forgetting.traces import (
    cleared_conversation_notes,
    cleared_cycle_notes,
    replies_quoting,
    replies_revealing,
    states_any,
    union,
)
from construct.memory.shown.value_lines import value_line
from construct.references import Reference
from construct.store import forgotten_text, note_links, succession
from construct.store import observations as stored_observations
from construct.store.conversations import forks_of, get_conversation
from construct.store.driver import Connection
from construct.store.forgotten_text import ConversationNotes, CycleNotes
from construct.store.messages import get_message, messages_of
from construct.store.note_history import without_reverted
from construct.store.records import REMOVED, Conversation, Message, Observation
from construct.store.replies import replies_to
from construct.store.tracked import values_of
from construct.vocabulary import ItemKind, Origin


@dataclass(frozen=True, slots=True)
class Removal:
    """What is deleted when a fact is forgotten or a conversation deleted."""

    observations: tuple[Observation, ...]
    """Observations and reflections to delete, lowest generation first."""
    reactivated: tuple[Observation, ...]
    """Observations superseded by deleted ones: they become active again."""
    conversations: tuple[ConversationNotes, ...]
    """Conversations whose title, task or suggested response reveals it, with that removed."""
    cycles: tuple[CycleNotes, ...]
    """Cycles whose notes or error reveal it, with that removed."""
    lookups: tuple[int, ...]
    """Ids of other replies whose tool rounds reveal it. Only the tool rounds are deleted."""

    @property
    def goes(self) -> tuple[object, ...]:
        """What is equal for plans that delete the same."""
        return tuple(o.id for o in self.observations), self.lookups


@dataclass(frozen=True, slots=True)
class ForgetPlan(Removal):
    """What forgetting an observation or a message deletes."""

    words: bool
    """Whether the messages lose their text too."""
    messages: tuple[Message, ...]
    """The messages it comes from, which are withheld, or emptied with `words`."""
    replies: tuple[Message, ...]
    """The replies to those messages, which are treated the same."""
    marks: tuple[str, ...]
    """The words used to look for other messages that reveal it."""
    elsewhere: int
    """Number of other messages with any of those words, which are kept."""
    alike: int
    """Number of other observations that say nearly the same, which are kept."""
    beside: tuple[int, ...]
    """Ids of other observations from emptied messages, which are kept."""
    values: tuple[str, ...] = ()
    """Amounts that the user follows and says in the messages, as lines. They are deleted."""

    @property
    def goes(self) -> tuple[object, ...]:
        """What is equal for plans that delete the same."""
        return (*super(ForgetPlan, self).goes, tuple(self.message_ids), self.values)

    @property
    def message_ids(self) -> list[int]:
        """Ids of the messages and the replies."""
        return [m.id for m in (*self.messages, *self.replies)]

    @property
    def attachments(self) -> list[str]:
        """The files attached to the messages, one line for each.

        They are deleted even if the messages keep their text.
        """
        return [line for m in self.messages if m.attached for line in m.attached.split("\n")]


@dataclass(frozen=True, slots=True)
class DeletionPlan(Removal):
    """What deleting a conversation deletes."""

    conversation: Conversation
    messages: int
    forks: tuple[Conversation, ...]

    @property
    def goes(self) -> tuple[object, ...]:
        """What is equal for plans that delete the same."""
        return (*super(DeletionPlan, self).goes, self.messages)

    """Conversations forked from it: they lose what they inherited from it."""


def plan_forget(db: Connection, reference: Reference, *, words: bool) -> ForgetPlan:
    """Return what forgetting an observation or a message deletes.

    With a message, everything drawn from it is deleted. Raises NotFoundError.
    """
    named = _named_by(db, reference)
    facts = _facts(db, named.observation_ids)
    deleted = note_links.with_dependents(db, facts | _twins(db, facts))
    observations = _lowest_first(db, deleted)
    messages = list(dict.fromkeys((*note_links.messages_named(db, facts), *named.messages)))
    replies = replies_to(db, [m.id for m in messages])
    message_ids = [m.id for m in (*messages, *replies)]

    fact_texts = [o.content for o in observations if o.id in facts]
    named_texts = [m.content for m in named.messages]

    # Of a message, only the names are searched for: too many messages have its other words.
    marks = sorted(union(map(search_marks, fact_texts)) | union(map(fact_names, named_texts)))
    texts = [o.content for o in observations] + named_texts
    said = [m.content for m in messages]
    held = texts + said if words else texts
    homes = {m.conversation_id for m in messages}
    drawn = note_links.observations_from(db, [m.id for m in messages]) if words else []
    return ForgetPlan(
        observations=tuple(observations),
        reactivated=_reactivated(db, deleted),
        conversations=tuple(
            cleared_conversation_notes(forgotten_text.conversation_notes(db), homes, held)
        ),
        cycles=tuple(cleared_cycle_notes(forgotten_text.cycle_notes(db), held)),
        lookups=tuple(
            replies_revealing(
                forgotten_text.tool_rounds(db, message_ids),
                _items(observations, messages),
                texts,
                said,
            )
        ),
        words=words,
        messages=tuple(messages),
        replies=tuple(replies),
        marks=tuple(marks),
        elsewhere=forgotten_text.count_messages_with(db, marks, message_ids),
        alike=sum(
            observation_id not in deleted and states_any(content, fact_texts)
            for observation_id, content in forgotten_text.observations_with(db, marks)
        ),
        beside=tuple(o.id for o in drawn if o.id not in deleted),
        values=tuple(map(value_line, values_of(db, message_ids))),
    )


def plan_following(db: Connection, observation_ids: Collection[int]) -> ForgetPlan:
    """Return what goes here when these observations were forgotten on another machine.

    That machine named all that it deleted. Here goes what was made of it in the meantime, what
    says the same, and what reveals it.
    """
    named = stored_observations.observations(db, sorted(observation_ids))
    facts = {o.id for o in named if o.generation == 0}
    deleted = note_links.with_dependents(db, set(observation_ids) | _twins(db, facts))
    observations = _lowest_first(db, deleted)
    texts = [o.content for o in observations]
    homes = {o.conversation_id for o in observations if o.conversation_id is not None}
    rounds = forgotten_text.tool_rounds(db, [])
    return ForgetPlan(
        observations=tuple(observations),
        reactivated=_reactivated(db, deleted),
        conversations=tuple(
            cleared_conversation_notes(forgotten_text.conversation_notes(db), homes, texts)
        ),
        cycles=tuple(cleared_cycle_notes(forgotten_text.cycle_notes(db), texts)),
        lookups=tuple(replies_revealing(rounds, _items(observations, ()), texts, ())),
        words=False,
        messages=(),
        replies=(),
        marks=(),
        elsewhere=0,
        alike=0,
        beside=(),
    )


def _items(
    observations: Iterable[Observation], messages: Iterable[Message]
) -> dict[Reference, str]:
    """Return the texts of these by their references."""
    return {
        **{(ItemKind.OBSERVATION, o.id): o.content for o in observations},
        **{(ItemKind.MESSAGE, m.id): m.text for m in messages},
    }


@dataclass(frozen=True, slots=True)
class _Named:
    """What the user named to be forgotten, and the observations to start from."""

    observation_ids: Collection[int]
    messages: Sequence[Message] = ()


def _named_by(db: Connection, reference: Reference) -> _Named:
    """Look up what a reference names; raises NotFoundError."""
    kind, number = reference
    if kind == ItemKind.MESSAGE:
        message = get_message(db, number)
        if message.content == REMOVED:
            raise NotFoundError(f"message:{number} has already been forgotten.")
        drawn = note_links.observations_from(db, [number])
        return _Named({o.id for o in drawn}, messages=[message])
    return _Named({stored_observations.observation(db, number).id})


def plan_deletion(db: Connection, conversation_id: int) -> DeletionPlan:
    """Return what deleting a conversation deletes; raises NotFoundError.

    What rests on none of its messages stays, such as what the user kept on request.
    """
    conversation = get_conversation(db, conversation_id)
    messages = messages_of(db, conversation_id)
    deleted = note_links.observations_in(db, conversation_id)
    while (more := note_links.with_dependents(db, _with_borrowers(db, deleted))) != deleted:
        deleted = more
    observations = _lowest_first(db, deleted)
    texts = [o.content for o in observations]
    rounds = forgotten_text.tool_rounds(db, [m.id for m in messages])
    quoting = replies_quoting(
        rounds,
        _items(observations, messages),
        [*(text for m in messages for text in (m.text, m.content)), *texts],
    )
    return DeletionPlan(
        observations=tuple(observations),
        reactivated=_reactivated(db, deleted),
        conversations=tuple(
            cleared_conversation_notes(forgotten_text.conversation_notes(db), (), texts)
        ),
        cycles=tuple(cleared_cycle_notes(forgotten_text.cycle_notes(db), texts)),
        lookups=tuple(quoting),
        conversation=conversation,
        messages=len(messages),
        forks=tuple(forks_of(db, conversation_id)),
    )


def _facts(db: Connection, starting_ids: Collection[int]) -> set[int]:
    """Return the observations of generation 0 behind these, and those that borrowed from them."""
    ids = set(starting_ids)
    while (more := _with_borrowers(db, note_links.with_origins(db, ids))) != ids:
        ids = more
    return {o.id for o in stored_observations.observations(db, sorted(ids)) if o.generation == 0}


def _with_borrowers(db: Connection, ids: Collection[int]) -> set[int]:
    """Return these observations, and later ones that have a name or number from one of these."""
    return set(ids) | note_links.lent_to(db, ids)


def _twins(db: Connection, facts: Collection[int]) -> set[int]:
    """Return observations from the same messages that were undone or say nearly the same.

    An undone edit belongs to the observation that it had replaced.
    """
    message_ids = [message_id for _, message_id in note_links.message_links(db, facts)]
    candidates = note_links.observations_from(db, message_ids)
    not_undone = {o.id for o in without_reverted(db, [o.id for o in candidates])}
    fact_texts = [o.content for o in candidates if o.id in facts]
    twins = set()
    for candidate in candidates:
        text = candidate.content
        is_same = any(states_fact(text, fact) or states_fact(fact, text) for fact in fact_texts)
        is_undone = candidate.id not in not_undone and candidate.origin != Origin.USER
        if is_same or is_undone:
            twins.add(candidate.id)
    return twins


def _lowest_first(db: Connection, ids: Collection[int]) -> list[Observation]:
    return sorted(
        stored_observations.observations(db, sorted(ids)), key=lambda o: (o.generation, o.id)
    )


def _reactivated(db: Connection, deleted: Collection[int]) -> tuple[Observation, ...]:
    return tuple(
        stored_observations.observations(db, sorted(succession.reactivated_by(db, deleted)))
    )
