"""What an observer is given to read: messages, and the notes and texts that go with them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from construct.clock import Clock
from construct.llm.types import File
from construct.memory.learning.proposals import Extraction, ProposedObservation
from construct.memory.learning.reflection_checks import Said
from construct.memory.shown.escaping import inline
from construct.memory.shown.lines import fitting
from construct.memory.shown.transcript import anchored, headed
from construct.store.records import Message, Observation
from construct.store.tracked import TrackedValue

KNOWN_TOKENS = 2_500
"""Maximum tokens of known notes in one call."""

Pictures = Mapping[int, Sequence[File]]
Known = Observation | ProposedObservation
"""A note shown to the observer: stored, or from an earlier part of its batch."""


@dataclass(frozen=True, slots=True)
class Current:
    """A conversation's title, task and next step, as they are now."""

    title: str = ""
    task: str = ""
    next_step: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines of `<current>`."""
        named = {"title": self.title, "task": self.task, "next": self.next_step}
        return [f"{name}: {inline(text)}" for name, text in named.items() if text]


class KeptNote(NamedTuple):
    """A note that the main model kept, and the id of the message that it rests on."""

    note: Observation
    message_id: int


@dataclass(frozen=True, slots=True)
class Reading:
    """The messages an observer reads, and the context given with them."""

    messages: Sequence[Message]
    before: Sequence[Message]
    """The two messages before these: a line may take its names from them."""
    known: Sequence[Observation]
    """Existing notes, the most relevant first."""
    clock: Clock
    wishes: str = ""
    """The user's rules for what is worth a note."""
    forbidden: Callable[[str], str | None] = lambda _text: None
    """Returns the word of a text that the user's rules keep out, if there is one."""
    earlier: tuple[ProposedObservation, ...] = ()
    """Notes not stored: from earlier parts of this batch, or earlier in a dry run."""
    known_limit: int = KNOWN_TOKENS
    """Maximum tokens of notes in the prompt."""
    pictures: Pictures = field(default_factory=dict)
    """Attachments that the model sees, by message id."""
    current: Current = Current()
    said: Said = field(default_factory=dict)
    """When each known note was last said."""
    tracked: tuple[str, ...] = ()
    """The names of the values that the user's rules follow."""
    known_values: Sequence[TrackedValue] = ()
    """Their stored values of the last days."""
    value_names: Sequence[str] = ()
    """All names that values are stored under."""
    replaceable: frozenset[int] = frozenset()
    """The known notes that this conversation's lines may replace."""
    doubtful: frozenset[int] = frozenset()
    """The known notes that a later change may have made untrue."""
    kept: Sequence[KeptNote] = ()
    """Notes that the main model kept of these messages: they are checked too."""

    @property
    def notes(self) -> dict[str, Known]:
        """The notes in the prompt by anchor; those from earlier in the batch come first."""
        notes: list[Known] = [*reversed(self.earlier), *self.known]
        fits = fitting(notes, self.known_limit)
        return {f"K{number}": note for number, note in enumerate(fits, 1)}

    @property
    def values(self) -> dict[str, TrackedValue]:
        """The known values by anchor."""
        return {f"V{number}": value for number, value in enumerate(self.known_values, 1)}

    @property
    def by_anchor(self) -> dict[str, Message]:
        """The messages by anchor. The pieces of a large one have an anchor each."""
        return anchored(self.messages)

    def context(self, anchors: Iterable[str]) -> list[Message]:
        """Return the messages with these anchors, each with the two before it."""
        everything = [*self.before, *self.messages]
        wanted: set[int] = set()
        for anchor in anchors:
            index = int(anchor[1:]) - 1 + len(self.before)
            wanted.update(range(max(0, index - 2), index + 1))
        return [m for index, m in enumerate(everything) if index in wanted]

    def day(self, message: Message) -> str:
        """Return the day on which a message was written."""
        return message.written(self.clock).date().isoformat()

    def transcript(self, tag: str, wanted: Iterable[str] | None = None) -> str:
        """Return the messages between tags, those before them first.

        `wanted`: only these anchors and the two messages before each.
        """
        shown = self.messages if wanted is None else self.context(wanted)
        before = [
            headed("before", m, self.clock) for m in self.before if wanted is None or m in shown
        ]
        own = [headed(anchor, m, self.clock) for anchor, m in self.by_anchor.items() if m in shown]
        return "\n".join([f"<{tag}>", *before, *own, f"</{tag}>"])

    def files(self, wanted: Iterable[str] | None = None) -> tuple[File, ...]:
        """Return the pictures and PDFs of the messages, in order."""
        shown = self.messages if wanted is None else self.context(wanted)
        return tuple(
            file
            for message in self.messages
            if message in shown and message.attached
            for file in self.pictures.get(message.id, ())
        )

    def part(self, messages: Sequence[Message], earlier: Sequence[Extraction]) -> "Reading":
        """Return the reading of a part of the messages, given what was found before it."""
        index = [m.id for m in self.messages].index(messages[0].id)
        return replace(
            self,
            messages=messages,
            before=[*self.before, *self.messages[:index]][-2:],
            earlier=(*self.earlier, *(o for part in earlier for o in part.observations)),
            current=_after(self.current, earlier),
        )


def _after(current: Current, parts: Sequence[Extraction]) -> Current:
    """Return title, task and next step as the parts read so far have left them."""
    for part in parts:
        current = Current(
            part.title or current.title,
            current.task if part.current_task is None else part.current_task,
            current.next_step if part.suggested_response is None else part.suggested_response,
        )
    return current
