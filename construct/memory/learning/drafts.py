"""Read an observer's answer, and work out what code can prove of its lines. No I/O."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from construct.language.names import HeardWords, heard_words, unfound_names
from construct.language.numbers import numbers, unfound_numbers, values_in, values_of_day
from construct.memory.learning.proposals import ProposedObservation
from construct.memory.learning.reading import Known, Reading
from construct.memory.learning.whose_words import strongest_stance, weaker
from construct.memory.shown.lines import (
    ReadNote,
    anchors_in,
    note_columns,
    phrase,
    read_notes,
    section,
    section_lines,
)
from construct.memory.shown.value_lines import ReadValue, read_values
from construct.store.records import Message, Observation
from construct.vocabulary import Role

_MAX_PHRASE = 400
"""Characters of a task or a suggested response."""
_MAX_REMARK = 300
"""Characters of an answer in prose that there is nothing to note."""
# "(No new observations.)", "There is nothing new to note here.", "None"
_NOTHING_NEW = re.compile(
    r"(?i)^\W*(?:none|nothing|empty|n/?a)\W*$"
    r"|^(?![!~-] ?\[?\d)(?=.*\b(?:no|none|nothing|not|n't)\b)"
    r".*\b(?:new|notes?|noted|noting|noteworthy|notable|observations?|facts?|information|"
    r"remember|record|worth)\b"
)
_MAX_TITLE = 80
"""Characters of a title."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An observer's answer as it was read, before it is checked.

    `task`, `next_step` and `title`: None where the answer has no such section.
    """

    notes: tuple[ReadNote, ...] = ()
    unread: tuple[str, ...] = ()
    """Lines that could not be read."""
    task: str | None = None
    next_step: str | None = None
    title: str | None = None
    values: tuple[ReadValue, ...] = ()
    """Amounts of what the user's rules follow."""
    unread_values: tuple[str, ...] = ()
    forget: tuple[str, ...] = ()
    """Anchors of the notes and messages that the user asked to forget."""
    is_whole: bool = True
    """False when the answer broke off."""

    @property
    def says_something(self) -> bool:
        """Whether it has a line, a value, or anything to forget."""
        return bool(self.notes or self.unread or self.values or self.forget)

    @property
    def is_empty(self) -> bool:
        """Whether it has nothing at all."""
        texts = (self.task, self.next_step, self.title)
        return not self.says_something and all(text is None for text in texts)


def read_draft(answer: str, reading: Reading, problems: list[str]) -> Draft | None:
    """Parse an answer. None if it has no <observations>, or none of its lines can be read.

    One that only says in prose that nothing is new counts as empty.
    """
    main = section(answer, "observations")
    if main is None and _says_nothing_is_new(answer.split("\n")):
        return Draft()
    if main is None:
        problems.append("the answer has no <observations>")
        return None
    known = reading.notes
    sent = reading.by_anchor
    notes, unread = read_notes(main.lines, "M", sent, known)
    if not notes and _says_nothing_is_new(unread):
        unread = []
    if unread:
        problems.append(f"lines of the answer that could not be read: {len(unread)}")
    if unread and not notes:
        return None
    if not main.is_closed:
        problems.append("the answer broke off")
    values, unread_values = _read_values(answer, reading)
    return Draft(
        values=tuple(values),
        unread_values=tuple(unread_values),
        notes=tuple(notes),
        unread=tuple(unread),
        task=phrase(answer, "task", _MAX_PHRASE),
        next_step=phrase(answer, "next", _MAX_PHRASE),
        title=phrase(answer, "title", _MAX_TITLE),
        forget=tuple(anchors_in(section_lines(answer, "forget"), {*sent, *known})),
        is_whole=main.is_closed,
    )


def _read_values(answer: str, reading: Reading) -> tuple[list[ReadValue], list[str]]:
    """Return an answer's values, and the lines that are none. Empty if nothing is followed."""
    lines = section_lines(answer, "values") if reading.tracked else ()
    return read_values(lines, reading.by_anchor, reading.values)


def _says_nothing_is_new(lines: Sequence[str]) -> bool:
    """Return whether lines say in a sentence or two that there is nothing to note."""
    said = [line for line in map(str.strip, lines) if line]
    return 0 < len(" ".join(said)) <= _MAX_REMARK and all(map(_NOTHING_NEW.search, said))


@dataclass(frozen=True, slots=True)
class CheckedNote:
    """A line with what code knows about it."""

    note: ReadNote
    """As the observer wrote it, with the messages added that it turned out to rest on."""
    replaced: tuple[Known, ...]
    """The notes that it is to replace."""
    look: tuple[str, ...]
    """Its names and numbers that code could not find where they should stand."""
    observation: ProposedObservation
    """What would be stored: with the stance and the day that its messages support."""


@dataclass(slots=True)
class NoteChecker:
    """Checks the lines of one part of a batch against its messages."""

    reading: Reading
    _known: dict[str, Known] = field(init=False)
    _messages: dict[str, Message] = field(init=False)
    _heard: dict[str, tuple[HeardWords, frozenset[str]]] = field(default_factory=dict)
    """The words and number values of messages, by anchor."""
    _around: dict[tuple[str, ...], tuple[HeardWords, frozenset[str]]] = field(default_factory=dict)
    """The same of messages and those before them: a large one is read once for all lines."""

    def __post_init__(self) -> None:
        self._known = self.reading.notes
        self._messages = self.reading.by_anchor

    def check(self, note: ReadNote) -> CheckedNote:
        """Return a line with its hints, its sources, and the stance and day they support.

        A hint that stands in exactly one other message of the batch is none: the line
        rests on that message too. Of several, one of the user's counts: a reply often
        repeats its words.
        """
        replaced = tuple(self._known[anchor] for anchor in note.replaces)
        anchors = list(note.anchors)
        look = self._unfound(note, anchors, replaced)
        if missing := self._only_places(look, anchors):
            anchors += missing
            look = self._unfound(note, anchors, replaced)
        context = self.reading.context(anchors)
        sources = [self._messages[anchor] for anchor in anchors]
        supported = strongest_stance(note.content, sources, context, self.reading.pictures)
        unstored = [o for o in replaced if not isinstance(o, Observation)]
        source_ids = [*(m.id for m in sources), *(i for o in unstored for i in o.sources)]
        last_day = max(map(self.reading.day, sources))
        columns = {
            "stance": weaker(note.stance, supported),
            "observation_date": min(note.observation_date, last_day),
        }
        stored = tuple(o.id for o in replaced if isinstance(o, Observation))
        return CheckedNote(
            note=_with_anchors(note, anchors),
            replaced=replaced,
            look=tuple(look),
            observation=ProposedObservation(
                **note_columns(note) | columns,
                sources=tuple(dict.fromkeys(source_ids)),
                borrowed=stored,
            ),
        )

    def _only_places(self, hints: Sequence[str], named: Sequence[str]) -> list[str]:
        """Return the messages that a line does not name, each the only one that has a hint."""
        found: list[str] = []
        for hint in hints:
            others = [a for a in self._messages if a not in named and self._stands_in(hint, a)]
            of_user = [a for a in others if self._messages[a].role == Role.USER]
            if len(of_user or others) == 1:
                found += of_user or others
        return list(dict.fromkeys(found))

    def unfound_anywhere(self, phrase: str) -> tuple[str, ...]:
        """Return the names and numbers of a task that no message, and no task before, has."""
        words, values = self._heard_around(tuple(self._messages))
        current = heard_words(self.reading.current.lines)
        values |= values_in(self.reading.current.lines)
        missing = [name for name in unfound_names(phrase, words) if not current.has(name)]
        return (*unfound_numbers(phrase, values), *missing)

    def _unfound(
        self, note: ReadNote, anchors: Sequence[str], replaced: Sequence[Known]
    ) -> list[str]:
        """Return the names and numbers of a line that are not where they should stand.

        None if a model saw a picture or PDF there: code cannot tell what it read.
        """
        if any(self._messages[a].id in self.reading.pictures for a in anchors):
            return []
        words, values = self._heard_around(tuple(sorted(anchors)))
        for dated in (note, *replaced):
            values |= values_of_day(dated.observation_date) | values_of_day(dated.referenced_date)
        missing = unfound_names(note.content, words)
        if replaced:
            old = [o.content for o in replaced]
            values |= values_in(old)
            old_words = heard_words(old)
            missing = [name for name in missing if not old_words.has(name)]
        return [*unfound_numbers(note.content, values), *missing]

    def _heard_around(self, anchors: tuple[str, ...]) -> tuple[HeardWords, frozenset[str]]:
        """Return the words and number values of messages and of the two before each."""
        if anchors not in self._around:
            context = self.reading.context(anchors)
            texts = [m.content for m in context]
            days = [values_of_day(self.reading.day(m)) for m in context]
            self._around[anchors] = heard_words(texts), values_in(texts).union(*days)
        return self._around[anchors]

    def _stands_in(self, hint: str, anchor: str) -> bool:
        if anchor not in self._heard:
            text = self._messages[anchor].content
            self._heard[anchor] = heard_words([text]), values_in([text])
        words, values = self._heard[anchor]
        as_numbers = numbers(hint)
        if as_numbers:
            return all(not v.isdisjoint(values) for v in as_numbers.values())
        return words.has(hint)


def _with_anchors(note: ReadNote, anchors: Sequence[str]) -> ReadNote:
    in_order = tuple(sorted(anchors, key=lambda anchor: int(anchor[1:])))
    return ReadNote(
        **note_columns(note), anchors=in_order, replaces=note.replaces, faults=note.faults
    )
