"""The floor: checks on a worker's lines that code can make, in any language. No I/O.

An observer's line is checked for terms that its messages do not contain, and for whose
words it rests on. A reflector's proposal is checked for anchors, terms, negation, stance,
days, owners and pins, and for whether it is shorter (docs/memory.md, "What keeps it
correct"). Notes whose change fails a check stay as they are. The verifier, not the
floor, checks that a line still means the same.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from construct.language.terms import (
    content_words,
    date_terms,
    is_german,
    negates,
    opening_names,
    provable_terms,
    terms,
    words,
)
from construct.language.wordlists import MONTHS, MONTHS_ABROAD
from construct.memory.learning.proposals import ProposedObservation, ReflectionProposal
from construct.memory.shown.lines import MOST_REPLACED, PRIORITIES, STANCES, Note, line_tokens
from construct.store.records import Message, Observation
from construct.vocabulary import Priority, Role, Stance

_QUOTED_LINE = re.compile(r"^[^\S\n]*>.*$", re.MULTILINE)
_YEAR = re.compile(r"(?:19|20)\d\d")
_ISO = re.compile(r"(\d{4})-\d\d(?:-\d\d)?")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_LAST_DAY = 31
_MONTH_WORDS = MONTHS_ABROAD | frozenset(MONTHS)
_LEAST_STEM, _LONGEST_ENDING = 3, 2
_CALENDAR = frozenset(
    name
    for month in range(1, 13)
    for name in date_terms(f"2024-{month:02}-{month:02}")
    if name.isalpha()
) | frozenset(
    name for day in range(1, 8) for name in date_terms(f"2024-01-{day:02}") if name.isalpha()
)
"""Names of months and weekdays, which a line may always contain.

An observer works dates out: it may write "in June" for "last month".
"""


def ungrounded_terms(content: str, heard: Iterable[str], days: Iterable[str]) -> frozenset[str]:
    """Return the terms of a fact that its source texts do not support.

    A term is supported if the texts contain it, with or without an ending ("Annas"), or
    if it follows from `days`: the days of the texts and of the line itself, each a date,
    month or year. A number beside the name of a month is a day, and is supported. In
    German every noun has a capital, so a capital letter does not make a word a name.
    """
    texts = list(heard)
    said = frozenset(word for text in texts for word in words(text))
    dates = [day for day in days if day]
    allowed = (
        said
        | _CALENDAR
        | _days_of_months(content)
        | frozenset[str]().union(*(date_terms(day) for day in dates))
    )
    years = _years(said, dates)
    wanted = provable_terms(content)
    return frozenset(
        term
        for term in wanted - allowed
        if not _is_of_a_year(term, years) and not any(_is_inflected(term, word) for word in said)
    )


def least_stance(content: str, sources: Sequence[Message], heard: Sequence[Message]) -> str:
    """Return the strongest stance that the sources of a fact support.

    `assistant` if no source is a message of the user. `quoted` if one of its terms, or
    all its words if it has no terms, occur only in lines that begin with `>`, and the
    user did not take them up in words of their own. Else `stated`. `heard`: all the
    messages in which the terms are looked for.
    """
    if all(m.role == Role.ASSISTANT for m in sources):
        return Stance.ASSISTANT
    quoted = frozenset(
        w for m in heard for line in _QUOTED_LINE.findall(m.content) for w in words(line)
    )
    if not quoted or _is_taken_up(content, sources):
        return Stance.STATED
    own = frozenset(w for m in heard for w in words(_QUOTED_LINE.sub("", m.content)))
    if telling := terms(content) & (own | quoted):
        return Stance.QUOTED if telling - own else Stance.STATED
    telling = content_words(content) & (own | quoted)
    return Stance.QUOTED if telling and telling.isdisjoint(own) else Stance.STATED


def rests_on_files(
    content: str, sources: Sequence[Message], heard: Sequence[Message], days: Iterable[str]
) -> bool:
    """Return whether a fact comes from a picture or PDF and not from the user's words.

    That is so if one of its sources came with such a file, and the user neither wrote its
    terms (or any of its words, if it has no terms) nor took it up in another message.
    """
    if not any(m.has_unreadable_attachment for m in sources) or _is_taken_up(content, sources):
        return False
    own = [_QUOTED_LINE.sub("", m.content) for m in heard if m.role == Role.USER]
    if ungrounded_terms(content, own, days):
        return True
    said = frozenset(word for text in own for word in words(text))
    return bool(provable_terms(content) - said) or content_words(content).isdisjoint(said)


def _is_taken_up(content: str, sources: Sequence[Message]) -> bool:
    """Return whether a source has only the user's own words and shares one with the fact.

    "I'll pay that on Friday", said of a bill that was pasted before, is the user's plan.
    """
    return any(
        m.role == Role.USER
        and not m.has_unreadable_attachment
        and not _QUOTED_LINE.search(m.content)
        and not content_words(content).isdisjoint(words(m.content))
        for m in sources
    )


def listed(names: Iterable[str]) -> str:
    """Return names for a sentence: quoted, sorted and separated by commas."""
    return ", ".join(f"“{name}”" for name in sorted(names))


def at_least(stance: str, limit: str) -> str:
    """Return the stance that comes later in the order of `STANCES`."""
    return max(stance, limit, key=STANCES.index)


def _years(said: Iterable[str], dates: Iterable[str]) -> frozenset[int]:
    """Return the years a line may name.

    They are the years of its days, the years beside them, and those as many years away
    as the text says.
    """
    near = {
        0,
        1,
        *(int(word) for word in said if word.isascii() and word.isdigit() and len(word) < 3),
    }
    return frozenset(int(day[:4]) + sign * off for day in dates for off in near for sign in (-1, 1))


def _days_of_months(text: str) -> frozenset[str]:
    """Return day numbers within two words of a month: "23 de março", "March 23rd"."""
    said = words(text)
    return frozenset(
        word
        for at, word in enumerate(said)
        if (day := _DAY.fullmatch(word)) and 1 <= int(day[1]) <= _LAST_DAY
        if not _MONTH_WORDS.isdisjoint(said[max(0, at - 2) : at + 3])
    )


def _is_of_a_year(term: str, years: frozenset[int]) -> bool:
    if found := _ISO.fullmatch(term):
        return int(found[1]) in years
    return bool(_YEAR.fullmatch(term)) and int(term) in years


def _is_inflected(term: str, word: str) -> bool:
    """Return whether two words differ by a short ending: "annas" and "anna"."""
    short, long = sorted((re.split("['’]", term)[0], re.split("['’]", word)[0]), key=len)
    return (
        len(short) >= _LEAST_STEM
        and short.isalpha()
        and long.startswith(short)
        and len(long) - len(short) <= _LONGEST_ENDING
    )


Said = Mapping[int, tuple[str, int]]
"""Per observation, when the newest message under it was said, and that message's id."""

_ALIKE_ONLY = {Stance.QUOTED, Stance.HYPOTHETICAL, Stance.INFERRED, Stance.ASSISTANT}


@dataclass(frozen=True, slots=True)
class Change:
    """One change that a reflection makes."""

    kind: Literal["line", "same", "outdated", "drop"]
    retired: tuple[int, ...]
    """The notes it supersedes."""
    line: ProposedObservation | None = None
    """The new line that replaces them, if there is one."""
    stays: int | None = None
    """The note that says the same or is newer, if there is one."""
    new_tokens: int = 0
    old_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused proposal: what it was, why it was refused, and the notes that stay."""

    what: str
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
    def gone(self) -> frozenset[int]:
        """All notes it supersedes."""
        return frozenset(i for change in self.changes for i in change.retired)

    @property
    def shrinks(self) -> bool:
        """Whether its lines are shorter than what they replace, or it only retires."""
        if not self.lines:
            return bool(self.changes)
        return sum(c.new_tokens for c in self.changes) < sum(c.old_tokens for c in self.changes)

    def retired(self, kind: str) -> frozenset[int]:
        """Return the notes superseded by changes of a kind."""
        return frozenset(
            i for change in self.changes if change.kind == kind for i in change.retired
        )


def checked(
    proposal: ReflectionProposal,
    given: Sequence[Observation],
    said: Said,
    settled: Sequence[Change] = (),
) -> Reflection:
    """Return the part of a proposal that passes the floor's checks.

    `settled` are the changes of an earlier answer, which stay. Where a note is named
    twice the first use counts, in the order new lines, same, outdated, drop.
    """
    floor = _Floor({o.id: o for o in given}, said, list(settled), [])
    for proposed in proposal.observations:
        floor.take_line(proposed)
    for one, other in proposal.same:
        floor.take_same(one, other)
    for stale, newer in proposal.outdated:
        floor.take_outdated(stale, newer)
    for i in proposal.drop:
        floor.take_drop(i)
    return Reflection(tuple(floor.changes[len(settled) :]), tuple(floor.refused))


def why_not_outdated(
    old: Observation, new: Note, old_said: tuple[str, int], new_said: tuple[str, int]
) -> str | None:
    """Return why a note cannot make another outdated, or None if it may."""
    if old.is_protected:
        return "it is pinned or the user's own"
    if new_said <= old_said:
        return "what would make it outdated was not said later"
    if new.observation_date < old.observation_date:
        return "what would make it outdated has an earlier date"
    if new.stance not in {Stance.STATED, old.stance}:
        return "only what is stated, or of the same stance, makes a note outdated"
    return None


@dataclass(slots=True)
class _Floor:
    """The state of one check: the changes accepted so far."""

    notes: Mapping[int, Observation]
    said: Said
    changes: list[Change]
    refused: list[Refusal]

    def take_line(self, proposed: ProposedObservation) -> None:
        sources = [self.notes[i] for i in proposed.sources if i not in self._used()]
        if not sources:
            return
        line = _derived(proposed, sources)
        kept = tuple(o.id for o in sources)
        reason = _why_not_line(line, sources)
        if not self._needed().isdisjoint(kept):
            reason = "one of its notes stands for another"
        if reason:
            self.refused.append(Refusal(proposed.content, reason, kept))
            return
        new_tokens, old_tokens = line_tokens(line), sum(o.token_count for o in sources)
        if len(sources) == 1 and new_tokens >= old_tokens:
            return  # says one note again, no shorter: that can as well stay as it is
        self.changes.append(Change("line", kept, line, None, new_tokens, old_tokens))

    def take_same(self, one: int, other: int) -> None:
        retired, stays = sorted((self.notes[one], self.notes[other]), key=self._rank)
        reason = self._why_not_retired(retired, stays)
        if reason is None and (retired.stance, retired.referenced_date) != (
            stays.stance,
            stays.referenced_date,
        ):
            reason = "they differ in stance or in the day they refer to"
        if reason is None and (missing := _kept_terms(retired) - _words_of(stays)):
            reason = f"{listed(missing)} would be gone"
        if reason is None and negates(retired.content) != negates(stays.content):
            reason = "only one of them denies something"
        self._settle(
            Change("same", (retired.id,), stays=stays.id), f"the same as “{_cut(stays)}”", reason
        )

    def take_outdated(self, stale: int, newer: int) -> None:
        old, new = self.notes[stale], self.notes[newer]
        reason = self._why_not_retired(old, new)
        if (
            reason is None
            and sum(c.stays == newer for c in self.changes if c.kind == "outdated") >= MOST_REPLACED
        ):
            reason = "one line makes three outdated at most"
        reason = reason or why_not_outdated(old, new, self.said[stale], self.said[newer])
        self._settle(
            Change("outdated", (stale,), stays=newer), f"outdated by “{_cut(new)}”", reason
        )

    def take_drop(self, i: int) -> None:
        note = self.notes[i]
        if i in self._used() or i in self._needed():
            return
        reason = None
        if note.priority != Priority.LOW:
            reason = "only a low note can be dropped"
        elif note.is_protected:
            reason = "it is pinned or the user's own"
        self._settle(Change("drop", (i,)), "dropped", reason)

    def _used(self) -> set[int]:
        return {i for change in self.changes for i in change.retired}

    def _needed(self) -> set[int]:
        return {change.stays for change in self.changes if change.stays is not None}

    def _why_not_retired(self, retired: Observation, stays: Observation) -> str | None:
        if retired.is_protected:
            return "it is pinned or the user's own"
        if retired.id in self._used():
            return "it was named before"
        if stays.id in self._used() or retired.id in self._needed():
            return "what would stand for it does not stay, or it stands for another itself"
        return None

    def _settle(self, change: Change, what: str, reason: str | None) -> None:
        if reason is None:
            self.changes.append(change)
        elif reason != "it was named before":
            self.refused.append(Refusal(what, reason, change.retired))

    def _rank(self, o: Observation) -> tuple[bool, int, tuple[str, int], int]:
        """Return the sort key of a note: of two, the greater one stays."""
        return o.is_protected, -PRIORITIES.index(o.priority), self.said[o.id], o.id


def _derived(proposed: ProposedObservation, sources: Sequence[Observation]) -> ProposedObservation:
    """Return a line with the priority, days and stance that follow from its sources.

    The stance follows only if all sources have the same one.
    """
    stances = {o.stance for o in sources}
    last = max(o.observation_date for o in sources)
    first = min(o.first_date or o.observation_date for o in sources)
    return replace(
        proposed,
        sources=tuple(o.id for o in sources),
        stance=stances.pop() if len(stances) == 1 else proposed.stance,
        priority=min((o.priority for o in sources), key=PRIORITIES.index),
        observation_date=last,
        first_date=first if first < last else None,
        referenced_date=next((o.referenced_date for o in sources if o.referenced_date), None),
    )


def _why_not_line(line: ProposedObservation, sources: Sequence[Observation]) -> str | None:
    """Return why a line may not replace its sources, or None if it passes."""
    if any(o.is_protected for o in sources):
        return "it would replace a note that is pinned or the user's own"
    stances = {o.stance for o in sources}
    if line.stance not in stances or (len(stances) > 1 and stances & _ALIKE_ONLY):
        return "its sources have different stances"
    if len({o.referenced_date for o in sources if o.referenced_date}) > 1:
        return "its sources refer to different days"
    said = words(line.content)
    kept = {*said, *_dates_of(line.referenced_date)}
    if strange := provable_terms(line.content).difference(*map(_words_of, sources)):
        return f"its sources do not say {listed(strange)}"
    for o in sources:
        wanted = _kept_terms(o)
        if o.priority == Priority.HIGH and (missing := wanted - kept):
            return f"{listed(missing)} of “{_cut(o)}” would be gone"
        if o.priority == Priority.MEDIUM and wanted and wanted.isdisjoint(kept):
            return f"every name and number of “{_cut(o)}” would be gone"
    if negates(line.content) and not any(negates(o.content) for o in sources):
        return "it denies what its sources do not deny"
    if not negates(line.content) and (denial := next((o for o in sources if _must_deny(o)), None)):
        return f"the denial in “{_cut(denial)}” would be gone"
    return None


def _kept_terms(o: Observation) -> frozenset[str]:
    found = provable_terms(o.content)
    if o.priority == Priority.HIGH and not is_german(o.content):
        found |= opening_names(o.content)
    return found


def _must_deny(o: Observation) -> bool:
    return o.priority != Priority.LOW and negates(o.content)


def _words_of(o: Observation) -> frozenset[str]:
    return frozenset(words(o.content)).union(
        _dates_of(o.first_date), _dates_of(o.observation_date), _dates_of(o.referenced_date)
    )


def _dates_of(when: str | None) -> frozenset[str]:
    return date_terms(when) if when else frozenset()


def _cut(o: Observation) -> str:
    return o.content[:80]
