"""Check what a reflector proposes, as far as code can. No I/O.

A proposal is checked for numbers, stance, days, owners and pins, and for whether it is
shorter (docs/memory.md, "What keeps it correct"). A change that fails a check is not
made. Whether a line still means the same is for the verifier.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from enum import StrEnum

from construct.clock import from_text
from construct.language.names import shares_a_word
from construct.language.numbers import unfound_numbers, values_in, values_of_day
from construct.language.periods import parse_when
from construct.memory.agenda import when_on
from construct.memory.learning.proposals import ProposedObservation, ReflectionProposal
from construct.memory.shown.lines import MAX_REPLACED, PRIORITIES, Note, line_tokens
from construct.store.records import Observation
from construct.vocabulary import Priority, Stance

_NO_DAY = "9999-12-31"
Said = Mapping[int, tuple[str, int]]
"""Per observation, when it was last said, and the id of its newest message."""

_NOT_MIXED = {Stance.QUOTED, Stance.HYPOTHETICAL, Stance.INFERRED, Stance.ASSISTANT}
"""If one source of a line has one of these stances, all its sources must have it."""
_PROTECTED = "it is pinned or the user's own"
_QUOTE_LENGTH = 80
"""Characters of a note that a reason quotes."""


class ChangeKind(StrEnum):
    """How a reflection takes notes out of sight."""

    LINE = "line"
    """A new line replaces them."""
    SAME = "same"
    """Another note says the same."""
    OUTDATED = "outdated"
    """A newer note makes them untrue."""
    SHELVE = "shelve"
    """They stay true and leave the sight; nothing supersedes them."""
    DROP = "drop"
    """They are no longer worth anything."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change that a reflection makes."""

    kind: ChangeKind
    retired: tuple[int, ...]
    """The notes it supersedes, or shelves."""
    line: ProposedObservation | None = None
    """The new line that replaces them, if there is one."""
    stays: int | None = None
    """The note that says the same or is newer, if there is one."""
    new_tokens: int = 0
    old_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused proposal, why it was refused, and the notes that it would have superseded."""

    proposal: str
    """The new line, or words such as "dropped"."""
    reason: str
    kept: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reflection:
    """The changes of a reflection, and the proposals that were refused."""

    changes: tuple[Change, ...] = ()
    refused: tuple[Refusal, ...] = ()

    @property
    def lines(self) -> tuple[ProposedObservation, ...]:
        """The new lines."""
        return tuple(change.line for change in self.changes if change.line)

    @property
    def superseded(self) -> frozenset[int]:
        """All notes it supersedes."""
        return frozenset(i for c in self.changes if c.kind != ChangeKind.SHELVE for i in c.retired)

    @property
    def shelved(self) -> frozenset[int]:
        """All notes that it takes out of sight without superseding them."""
        return self.taken_by(ChangeKind.SHELVE)

    @property
    def shrinks(self) -> bool:
        """Whether its lines are shorter than what they replace, or it only retires notes."""
        if not self.lines:
            return bool(self.changes)
        return sum(c.new_tokens for c in self.changes) < sum(c.old_tokens for c in self.changes)

    def taken_by(self, kind: ChangeKind) -> frozenset[int]:
        """Return the notes that changes of a kind supersede or shelve."""
        return frozenset(
            i for change in self.changes if change.kind == kind for i in change.retired
        )


def check_reflection(
    proposal: ReflectionProposal,
    given: Sequence[Observation],
    said: Said,
    today: date,
    settled: Sequence[Change] = (),
) -> Reflection:
    """Return the part of a proposal that passes the checks.

    `settled` are the changes of an earlier answer, which stay. Where a note is named
    twice, the first use that passes counts, in the order new lines, same, outdated, shelve,
    drop.
    """
    checks = _Checks({o.id: o for o in given}, said, list(settled), today)
    for line in proposal.observations:
        checks.add_line(line)
    for one, other in proposal.same:
        checks.add_same(one, other)
    for stale, newer in proposal.outdated:
        checks.add_outdated(stale, newer)
    for note_id in proposal.shelve:
        checks.add_shelve(note_id)
    for note_id in proposal.drop:
        checks.add_drop(note_id)
    return Reflection(tuple(checks.changes[len(settled) :]), tuple(checks.refused))


def why_not_outdated(
    old: Observation, new: Note, old_said: tuple[str, int], new_said: tuple[str, int]
) -> str | None:
    """Return why a note cannot make another outdated, or None if it can."""
    return why_protected(old, new) or why_not_newer(old, new, old_said, new_said)


def why_protected(old: Observation, new: Note) -> str | None:
    """Return why a worker may not replace a note, whatever a newer one says, or None."""
    if old.is_protected:
        return _PROTECTED
    if old.priority == Priority.HIGH and not shares_a_word(old.content, new.content):
        return "it is important, and shares no word with what would replace it"
    return None


def why_not_newer(
    old: Observation, new: Note, old_said: tuple[str, int], new_said: tuple[str, int]
) -> str | None:
    """Return why a note does not come after another as its successor, or None if it does."""
    if new_said <= old_said:
        return "the note that would replace it was not said later"
    if new.observation_date < old.observation_date <= _last_day(old_said[0]):
        return "the note that would replace it has an earlier date"
    if new.stance not in {Stance.STATED, old.stance}:
        return "only a stated note, or one of the same stance, can replace it"
    return None


def _last_day(said_at: str) -> str:
    """Return the last day on which something said at a stored time can have happened.

    Somewhere it was a day later than in UTC. A note with a later date was dated by a clock
    that was wrong.
    """
    if not said_at:
        return _NO_DAY
    return (from_text(said_at).date() + timedelta(days=1)).isoformat()


def precedence(o: Observation, said: Said) -> tuple[bool, int, tuple[str, int], int]:
    """Return a sort key: of notes that say the same, the one with the greatest stays.

    The user's own and pinned notes come before others, then those of higher priority,
    then those said later.
    """
    return o.is_protected, -PRIORITIES.index(o.priority), said[o.id], o.id


@dataclass(slots=True)
class _Checks:
    """The changes accepted and refused so far."""

    notes: Mapping[int, Observation]
    said: Said
    changes: list[Change]
    today: date
    refused: list[Refusal] = field(default_factory=list)

    def add_line(self, proposed: ProposedObservation) -> None:
        """Accept or refuse a new line; its sources are those not retired before."""
        sources = [self.notes[i] for i in proposed.sources if not self._is_retired(i)]
        if not sources:
            return
        line = _derived(proposed, sources)
        retired = tuple(o.id for o in sources)
        reason = _why_not_line(line, sources)
        if any(self._is_needed(i) for i in retired):
            reason = "one of its notes already replaces another"
        if reason:
            self.refused.append(Refusal(proposed.content, reason, retired))
            return
        new_tokens, old_tokens = line_tokens(line), sum(o.token_count for o in sources)
        if len(sources) == 1 and new_tokens >= old_tokens:
            return  # it repeats one note and is no shorter, so the note may as well stay
        self.changes.append(
            Change(
                ChangeKind.LINE, retired, line=line, new_tokens=new_tokens, old_tokens=old_tokens
            )
        )

    def add_same(self, one: int, other: int) -> None:
        """Accept or refuse the claim that two notes say the same."""
        retired, stays = sorted(
            (self.notes[one], self.notes[other]), key=lambda o: precedence(o, self.said)
        )
        if self._is_retired(retired.id):
            return
        reason = self._why_not_retired(retired, stays) or _why_not_same(retired, stays)
        change = Change(ChangeKind.SAME, (retired.id,), stays=stays.id)
        self._settle(change, f"the same as “{_quote(stays)}”", reason)

    def add_outdated(self, stale: int, newer: int) -> None:
        """Accept or refuse the claim that a newer note makes another outdated."""
        old, new = self.notes[stale], self.notes[newer]
        if self._is_retired(stale):
            return
        reason = self._why_not_retired(old, new)
        outdated_by_it = [
            c for c in self.changes if c.kind == ChangeKind.OUTDATED and c.stays == newer
        ]
        if reason is None and len(outdated_by_it) >= MAX_REPLACED:
            reason = f"one line can make at most {MAX_REPLACED} others outdated"
        reason = reason or why_not_outdated(old, new, self.said[stale], self.said[newer])
        change = Change(ChangeKind.OUTDATED, (stale,), stays=newer)
        self._settle(change, f"outdated by “{_quote(new)}”", reason)

    def add_shelve(self, note_id: int) -> None:
        """Accept or refuse the proposal to take a note out of sight."""
        if self._is_retired(note_id) or self._is_needed(note_id):
            return
        change = Change(ChangeKind.SHELVE, (note_id,))
        self._settle(change, "shelved", _why_not_shelved(self.notes[note_id], self.today))

    def add_drop(self, note_id: int) -> None:
        """Accept or refuse the proposal to drop a note."""
        note = self.notes[note_id]
        if self._is_retired(note_id) or self._is_needed(note_id):
            return
        reason = None
        if note.priority != Priority.LOW:
            reason = "only a low-priority note can be dropped"
        elif note.is_protected:
            reason = _PROTECTED
        self._settle(Change(ChangeKind.DROP, (note_id,)), "dropped", reason)

    def _is_retired(self, note_id: int) -> bool:
        return any(note_id in change.retired for change in self.changes)

    def _is_needed(self, note_id: int) -> bool:
        """Return whether a note stays because another was retired for it."""
        return any(change.stays == note_id for change in self.changes)

    def _why_not_retired(self, retired: Observation, stays: Observation) -> str | None:
        if retired.is_protected:
            return _PROTECTED
        if self._is_retired(stays.id) or self._is_needed(retired.id):
            return "the note to keep was itself replaced, or this one already replaces another"
        return None

    def _settle(self, change: Change, proposal: str, reason: str | None) -> None:
        if reason is None:
            self.changes.append(change)
        else:
            self.refused.append(Refusal(proposal, reason, change.retired))


def _why_not_shelved(note: Observation, today: date) -> str | None:
    """Return why a note must stay in sight, or None if it need not."""
    if note.is_protected:
        return _PROTECTED
    if note.priority == Priority.HIGH:
        return "a high-priority note stays in sight"
    when = when_on(today, note)
    if when is not None and parse_when(when).last >= today:
        return "its day is ahead"
    return None


def _derived(proposed: ProposedObservation, sources: Sequence[Observation]) -> ProposedObservation:
    """Return a line with the priority, days and stance that follow from its sources.

    The stance follows only if all sources have the same one.
    """
    stances = {o.stance for o in sources}
    last = max(o.observation_date for o in sources)
    first = min(o.first_date or o.observation_date for o in sources)
    dated = next((o for o in sources if o.referenced_date), sources[0])
    return replace(
        proposed,
        sources=tuple(o.id for o in sources),
        stance=stances.pop() if len(stances) == 1 else proposed.stance,
        priority=min((o.priority for o in sources), key=PRIORITIES.index),
        observation_date=last,
        first_date=first if first < last else None,
        referenced_date=dated.referenced_date,
        referenced_time=dated.referenced_time,
        label=dated.label,
        recurs=None,  # what comes again, or has a reminder ahead, is in no reflection
        remind_at=None,
    )


def _why_not_line(line: ProposedObservation, sources: Sequence[Observation]) -> str | None:
    """Return why a line may not replace its sources, or None if it passes."""
    if any(o.is_protected for o in sources):
        return "it would replace a note that is pinned or the user's own"
    stances = {o.stance for o in sources}
    if line.stance not in stances or (len(stances) > 1 and stances & _NOT_MIXED):
        return "its sources have different stances"
    if len({o.when for o in sources if o.when}) > 1:
        return "its sources refer to different days"
    said = frozenset[str]().union(*map(_values_of, sources))
    if unsaid := unfound_numbers(line.content, said):
        return f"its sources do not say {_listed(unsaid)}"
    return _why_numbers_lost(line, sources)


def _why_numbers_lost(line: ProposedObservation, sources: Sequence[Observation]) -> str | None:
    kept = _values_of(line)
    for o in sources:
        if o.priority == Priority.HIGH and (missing := unfound_numbers(o.content, kept)):
            return f"{_listed(missing)} of “{_quote(o)}” would be gone"
    return None


def _why_not_same(retired: Observation, stays: Observation) -> str | None:
    """Return why one note does not say all that another says, or None if it does."""
    if (retired.stance, retired.when) != (stays.stance, stays.when):
        return "they differ in stance or in the day they refer to"
    if missing := unfound_numbers(retired.content, _values_of(stays)):
        return f"{_listed(missing)} would be gone"
    return None


def _values_of(note: ProposedObservation | Observation) -> frozenset[str]:
    """Return the values of the numbers of a note and of its days."""
    days = (note.first_date, note.observation_date, note.referenced_date)
    return values_in([note.content]).union(*map(values_of_day, days))


def _listed(numbers: Sequence[str]) -> str:
    return ", ".join(f"“{number}”" for number in numbers)


def _quote(o: Observation) -> str:
    return o.content[:_QUOTE_LENGTH]
