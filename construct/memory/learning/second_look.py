"""The second look at what an observer wrote, before it is stored.

Code checks what it can prove, and the verifier the rest. What is refused goes back to the
observer once, with the reasons. For a line that is refused again, the user's own sentence
is stored (docs/memory.md, "What keeps it correct").
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from construct.language.names import letter_pairs
from construct.llm.capable import is_capable
from construct.llm.types import Model
from construct.memory.learning.asking import Account
from construct.memory.learning.drafts import CheckedNote, Draft, NoteChecker
from construct.memory.learning.observer_call import Again, ask_observer
from construct.memory.learning.proposals import (
    Extraction,
    LostLine,
    ProposedObservation,
    ProposedValue,
    fact_of,
)
from construct.memory.learning.reading import Known, Reading
from construct.memory.learning.reflection_checks import why_not_newer, why_protected
from construct.memory.learning.stand_ins import stand_in
from construct.memory.learning.values import CheckedValue, check_value, without_replacing
from construct.memory.learning.verifier import Group, GroupKind, verify
from construct.memory.learning.whose_words import own_words
from construct.memory.shown.escaping import inline
from construct.memory.shown.lines import (
    ReadNote,
    anchored_line,
    anchors_in,
    note_columns,
    plain_line,
)
from construct.memory.shown.value_lines import anchored_value_line
from construct.store.note_history import STAND_IN
from construct.store.records import Observation
from construct.vocabulary import Priority, Stance

_VALUES = "values"
_QUOTE_LENGTH = 120
"""Characters of a line that are quoted in a cycle's problems."""
_UNREADABLE = "it could not be read"
_NOT_CHECKED = "the verifier did not check it"
_KEPT = "kept"
_SIGN = re.compile(r"\W*?([!~-])(?:\s|$)")
_HEAD = re.compile(r"^[^\w]*(?:[\d:.-]+\s+)*(?:\[?[MK]\d+\]?[\s,:]*)*", re.IGNORECASE)
_PRIORITY_OF = {"!": Priority.HIGH, "-": Priority.MEDIUM, "~": Priority.LOW}


_About = str | CheckedNote | CheckedValue
_Answers = Mapping[tuple[_About, int | None], str | None]
"""What the verifier says of each question: None for a yes."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A part of an answer that was refused, and why."""

    text: str
    """As the observer is shown it."""
    reason: str
    note: ReadNote | None = None
    """The line that it is, if it is one."""
    tag: str = ""
    """The section that it is of, if it is no line: task, next, forget or values."""


@dataclass(slots=True)
class _Round:
    """What became of one answer."""

    accepted: list[ProposedObservation] = field(default_factory=list)
    values: list[ProposedValue] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    task: str | None = None
    next_step: str | None = None
    forget: tuple[str, ...] = ()
    unsupported: tuple[int, ...] = ()
    """Notes that the main model kept, and that the verifier does not find in the messages."""
    is_checked: bool = True
    """False if the verifier did not answer, or could not be asked."""


async def second_look(model: Model, draft: Draft, reading: Reading, account: Account) -> Extraction:
    """Return what is to be stored of an observer's answer."""
    first = await _checked(model, draft, reading, account)
    second: _Round | None = None
    if first.refused and first.is_checked:
        try:
            second = await _second_try(model, first, reading, account)
        except asyncio.CancelledError:
            # What is done is kept: the cycle commits, and is cancelled after that.
            account.is_cancelled = True
    return await asyncio.to_thread(_extraction, draft, first, second, reading, account)


async def _checked(
    model: Model,
    draft: Draft,
    reading: Reading,
    account: Account,
    settled: Sequence[ProposedObservation] = (),
    is_last: bool = False,
) -> _Round:
    """Return what code and the verifier accept of an answer.

    `settled`: lines accepted before, which are not stored twice. Lines with a fault are
    refused unless this is the last try: then they stand as they were mended.
    """
    found = _Round()
    checker = NoteChecker(reading)
    checked = await asyncio.to_thread(lambda: [checker.check(note) for note in draft.notes])
    known_facts = {fact_of(line) for line in settled}
    asked: list[CheckedNote] = []
    for one in checked:
        if fact_of(one.observation) in known_facts:
            continue
        known_facts.add(fact_of(one.observation))
        if reading.forbidden(one.note.content):
            # Not checked: the store keeps it out, and counts it.
            found.accepted.append(one.observation)
            continue
        if one.note.faults and not is_last:
            faults = "; ".join(one.note.faults)
            found.refused.append(Refused(anchored_line(one.note), faults, one.note))
        else:
            asked.append(one)
    found.refused += [
        Refused(line, _UNREADABLE, _unread_note(line, reading)) for line in draft.unread
    ]
    values = _check_values(found, draft, reading)
    forget = draft.forget if _has_own_words(reading) else ()
    questions = [q for one in asked for q in _questions_about(one, reading)]
    questions += [_Question(value.group, value) for value in values]
    questions += _phrases(draft, reading, checker)
    if forget:
        questions.append(_Question(_forget_group(forget, reading), "forget"))
    questions += _questions_about_kept(reading, checker)
    verdicts: Sequence[str | None] | None = None
    if is_capable(model):
        groups = [question.group for question in questions]
        messages = reading.transcript("messages") if groups else ""
        verdicts = await verify(model, groups, account, messages, reading.files())
    if verdicts is None:
        _accept_unchecked(found, asked, reading, account)
        found.values = [without_replacing(v.value) for v in values if not v.look]
        found.forget = forget
        return found
    answers = dict(zip(((q.about, q.subject) for q in questions), verdicts, strict=True))
    _accept(found, asked, answers, reading, account)
    _accept_values(found, values, answers)
    found.task = _phrase(found, draft.task, "task", answers)
    found.next_step = _phrase(found, draft.next_step, "next", answers)
    if forget and (reason := answers["forget", None]):
        found.refused.append(_refused_section("forget", " ".join(forget), reason))
    elif forget:
        found.forget = forget
    found.unsupported = tuple(o.id for o, _ in reading.kept if answers.get((_KEPT, o.id)))
    return found


@dataclass(frozen=True, slots=True)
class _Question:
    """A group for the verifier, and what it is about."""

    group: Group
    about: _About
    """A checked line or value, or "task", "next", "forget" or "kept"."""
    subject: int | None = None
    """The id of the note that the line would replace, or that the main model kept."""


def _questions_about(one: CheckedNote, reading: Reading) -> list[_Question]:
    """Return what the verifier is asked about a line and the notes it would replace."""
    questions = []
    if one.observation.priority != Priority.LOW or one.look:
        above = tuple(map(plain_line, one.replaced))
        group = Group(GroupKind.NOTE, above, anchored_line(one.note), one.look)
        questions.append(_Question(group, one))
    result = plain_line(one.observation)
    for stale in _replaceable(one, reading):
        group = Group(GroupKind.OUTDATED, (plain_line(stale),), result)
        questions.append(_Question(group, one, stale.id))
    return questions


def _questions_about_kept(reading: Reading, checker: NoteChecker) -> list[_Question]:
    """Return the questions whether the messages say what the main model kept of them."""
    anchor_of = {m.id: anchor for anchor, m in reversed(reading.by_anchor.items())}
    questions = []
    for note, message_id in reading.kept:
        if message_id in anchor_of:
            line = ReadNote(**note_columns(note), anchors=(anchor_of[message_id],), replaces=())
            look = checker.unfound_anywhere(note.content)
            group = Group(GroupKind.NOTE, (), anchored_line(line), look)
            questions.append(_Question(group, _KEPT, note.id))
    return questions


def _replaceable(one: CheckedNote, reading: Reading) -> list[Observation]:
    """Return the stored notes that a line may outdate, if the verifier agrees."""
    return [
        o
        for o in one.replaced
        if isinstance(o, Observation) and _why_not_replaced(o, one.observation, reading) is None
    ]


def _why_not_replaced(
    stale: Observation, newer: ProposedObservation, reading: Reading
) -> str | None:
    if stale.id not in reading.replaceable:
        return "it belongs to another conversation, or another conversation shares it"
    said = max((m.created_at, m.id) for m in reading.messages if m.id in newer.sources)
    return why_not_newer(stale, newer, reading.said[stale.id], said)


def _phrases(draft: Draft, reading: Reading, checker: NoteChecker) -> list[_Question]:
    """Return the questions about a task and a next step that are new."""
    current = reading.current
    named = {"task": (draft.task, current.task), "next": (draft.next_step, current.next_step)}
    return [
        _Question(Group(GroupKind.TASK, (), inline(text), checker.unfound_anywhere(text)), name)
        for name, (text, now) in named.items()
        if text and text != now
    ]


def _phrase(
    found: _Round,
    text: str | None,
    name: str,
    answers: _Answers,
) -> str | None:
    """Return an accepted task or next step; None, which leaves what is stored, if refused."""
    reason = answers.get((name, None))
    if reason is None:
        return text
    found.refused.append(_refused_section(name, inline(text or ""), reason))
    return None


def _refused_section(tag: str, text: str, reason: str) -> Refused:
    return Refused(f"<{tag}>{text}</{tag}>", reason, tag=tag)


def _check_values(found: _Round, draft: Draft, reading: Reading) -> list[CheckedValue]:
    """Return the values to ask the verifier about; the others are refused."""
    checked: list[CheckedValue] = []
    found.refused += [Refused(line, _UNREADABLE, tag=_VALUES) for line in draft.unread_values]
    for read in draft.values:
        value = check_value(read, reading)
        if isinstance(value, CheckedValue):
            checked.append(value)
        else:
            found.refused.append(Refused(anchored_value_line(read), value, tag=_VALUES))
    return checked


def _accept_values(found: _Round, values: Iterable[CheckedValue], answers: _Answers) -> None:
    for one in values:
        if reason := answers.get((one, None)):
            found.refused.append(Refused(anchored_value_line(one.read), reason, tag=_VALUES))
        else:
            found.values.append(one.value)


def _forget_group(anchors: Iterable[str], reading: Reading) -> Group:
    known = reading.notes
    notes = tuple(plain_line(known[a]) for a in anchors if a in known)
    messages = [a for a in anchors if a not in known]
    return Group(GroupKind.FORGET, notes, f"forget {' '.join(messages) or 'the notes above'}")


def _has_own_words(reading: Reading) -> bool:
    return any(own_words(m).strip() for m in reading.messages)


def _accept(
    found: _Round,
    asked: Sequence[CheckedNote],
    answers: _Answers,
    reading: Reading,
    account: Account,
) -> None:
    """Sort lines into accepted and refused, and say what they replace and unsettle."""
    taken: set[int] = set()
    for one in asked:
        if reason := answers.get((one, None)):
            found.refused.append(Refused(anchored_line(one.note), reason, one.note))
            continue
        replaces: list[int] = []
        unsettles: list[int] = []
        for stale in one.replaced:
            if not isinstance(stale, Observation):
                account.problems.append(f"kept {_quoted(stale)}: it was noted in the same cycle")
                continue
            obstacle = _why_not_replaced(stale, one.observation, reading)
            protection = why_protected(stale, one.observation)
            wrong = answers.get((one, stale.id))
            if obstacle or wrong:
                reason = obstacle or f"not outdated: {wrong}"
                account.problems.append(f"kept {_quoted(stale)}: {reason}")
            elif stale.id not in taken:
                taken.add(stale.id)
                (unsettles if protection else replaces).append(stale.id)
                if protection:
                    account.problems.append(f"doubtful: {_quoted(stale)}; kept, as {protection}")
        found.accepted.append(
            replace(one.observation, replaces=tuple(replaces), unsettles=tuple(unsettles))
        )


def _accept_unchecked(
    found: _Round, asked: Sequence[CheckedNote], reading: Reading, account: Account
) -> None:
    """Accept what code found nothing to ask about; nothing is replaced."""
    found.is_checked = False
    for one in asked:
        if one.look:
            found.refused.append(Refused(anchored_line(one.note), _NOT_CHECKED, one.note))
            continue
        found.accepted.append(one.observation)
        account.problems += [f"kept {_quoted(stale)}: {_NOT_CHECKED}" for stale in one.replaced]


async def _second_try(
    model: Model, first: _Round, reading: Reading, account: Account
) -> _Round | None:
    """Ask for what was refused once more, and check the answer. None if there is none."""
    for refused in first.refused:
        account.problems.append(f"asked again: “{refused.text[:_QUOTE_LENGTH]}”: {refused.reason}")
    again = Again(
        refused=tuple((r.text, r.reason) for r in first.refused),
        anchors=_concerned(first.refused, reading),
    )
    draft = await ask_observer(model, reading, account, again)
    if draft is None:
        return None
    unchecked = replace(reading, kept=())
    second = await _checked(model, draft, unchecked, account, first.accepted, is_last=True)
    return second if second.is_checked else None


def _concerned(refused: Sequence[Refused], reading: Reading) -> frozenset[str] | None:
    """Return the anchors of the messages that refused parts name; None for all messages."""
    if any(r.note is None or not r.note.anchors for r in refused):
        return None
    return frozenset(anchor for r in refused if r.note for anchor in r.note.anchors)


def _extraction(
    draft: Draft, first: _Round, second: _Round | None, reading: Reading, account: Account
) -> Extraction:
    """Put the accepted lines together, with stand-ins for what was refused for good."""
    again = second or _Round()
    refused = {r.tag for r in first.refused}
    task = again.task if "task" in refused else first.task
    next_step = again.next_step if "next" in refused else first.next_step
    forget = again.forget if "forget" in refused else first.forget
    known = reading.notes
    stored, unstored = _stored_and_unstored([known[a] for a in forget if a in known])
    by_anchor = reading.by_anchor
    messages = [by_anchor[a].id for a in forget if a in by_anchor]
    messages += [i for o in unstored for i in o.sources]
    private = {by_anchor[a].id for a in draft.forget if a in by_anchor}
    accepted = [*first.accepted, *again.accepted]
    for value in (second or first).refused:
        if value.tag == _VALUES:
            account.problems.append(f"left out “{value.text[:_QUOTE_LENGTH]}”: {value.reason}")
    lost: list[LostLine] = []
    for line in _unsettled(first.refused, again.accepted, reading):
        quote = line.note.content[:_QUOTE_LENGTH]
        substitute = stand_in(line.note, reading, frozenset(private)) if line.note.anchors else None
        if isinstance(substitute, LostLine):
            lost.append(substitute)
            account.problems.append(f"left out “{quote}”: {line.reason}")
        elif substitute is None or fact_of(substitute) in map(fact_of, accepted):
            account.problems.append(f"left out “{quote}”: {line.reason}")
        else:
            accepted.append(substitute)
            account.problems.append(
                f"{STAND_IN}“{quote}” ({line.reason}): “{substitute.content[:_QUOTE_LENGTH]}”"
            )
    return Extraction(
        observations=tuple(accepted),
        current_task=task,
        suggested_response=next_step,
        title=draft.title or None,
        forget_observations=tuple(o.id for o in stored),
        forget_messages=tuple(dict.fromkeys(messages)),
        withdrawn=tuple(unstored),
        lost=tuple(lost),
        values=(*first.values, *again.values),
        unsupported=first.unsupported,
        is_whole=draft.is_whole,
    )


@dataclass(frozen=True, slots=True)
class _RefusedLine:
    note: ReadNote
    reason: str


def _unsettled(
    refused: Sequence[Refused], mended: Sequence[ProposedObservation], reading: Reading
) -> list[_RefusedLine]:
    """Return the refused lines that no line of the second answer stands for.

    A mended line stands for the refused one it is most like, of those that name one of
    its messages.
    """
    by_anchor = reading.by_anchor
    waiting = [_RefusedLine(r.note, r.reason) for r in refused if r.note is not None]
    for line in mended:
        pairs = letter_pairs(line.content)
        fitting = [
            one
            for one in waiting
            if not one.note.anchors
            or any(by_anchor[anchor].id in line.sources for anchor in one.note.anchors)
        ]
        if fitting:
            waiting.remove(
                max(fitting, key=lambda one: len(pairs & letter_pairs(one.note.content)))
            )
    return waiting


def _unread_note(line: str, reading: Reading) -> ReadNote:
    """Return what can be made out of a line that could not be read."""
    sign = _SIGN.match(line)
    return ReadNote(
        content=_HEAD.sub("", line) or line,
        priority=_PRIORITY_OF[sign[1]] if sign else Priority.MEDIUM,
        stance=Stance.STATED,
        observation_date="",
        referenced_date=None,
        anchors=tuple(anchors_in([line], reading.by_anchor)),
        replaces=(),
    )


def _stored_and_unstored(
    notes: Sequence[Known],
) -> tuple[list[Observation], list[ProposedObservation]]:
    """Separate stored notes from notes made earlier in the batch."""
    stored = [o for o in notes if isinstance(o, Observation)]
    return stored, [o for o in notes if isinstance(o, ProposedObservation)]


def _quoted(note: Known) -> str:
    return f"“{note.content[:_QUOTE_LENGTH]}”"
