"""The one form of a note: `! 2026-01-15 M3 User sees a dentist | for 2026-03-05`.

Workers are shown notes and answer with notes in this form, and the main model is shown
observations in it. Only the head of the line differs. Here notes are rendered for every
prompt and read from every answer, whether it is finished or still arriving. No I/O.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from construct import tokens
from construct.language.periods import is_when
from construct.memory.shown.escaping import TAGS, inline, unescape
from construct.store.records import Observation
from construct.store.shown import Line
from construct.text import one_line, storable
from construct.vocabulary import Priority, Stance

PRIORITIES = tuple(Priority)
STANCES = tuple(Stance)
"""Where a line names several, the last of these counts."""
SIGNS: Mapping[str, str] = {Priority.HIGH: "!", Priority.MEDIUM: "-", Priority.LOW: "~"}
MOST_REPLACED = 3
"""Limit of notes that one line can make outdated."""

_PRIORITY_OF = {sign: priority for priority, sign in SIGNS.items()}
_HEAD = re.compile(
    r"(?:[-*•–+] |\d+[.)] )?([!~-]) ?\[?(\d{4}-\d\d-\d\d)(?: to (\d{4}-\d\d-\d\d))?\]? (.*)"
)
_SEPARATOR = re.compile(r" \|(?= )")
_SENTENCE_PAIR = re.compile(
    r"[-*•–+]? ?\[?([A-Z]\d+)\]? ?(=|by) ?\[?([A-Z]\d+)\]?\.?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class NoteFields:
    """The content of a note: each field is a column of `observations`."""

    content: str
    priority: str
    stance: str
    observation_date: str
    referenced_date: str | None
    first_date: str | None = field(default=None, kw_only=True)
    """The first day of a reflection's sources, if it differs from `observation_date`."""


Note = NoteFields | Observation | Line
"""An observation that can be written as a line: proposed, stored or parsed."""
N = TypeVar("N", bound=Note)


def shown_line(note: Note) -> str:
    """Return the line the main model is shown: `! [2026-01-15] User sees a dentist`.

    Nothing in it depends on the present: the prompt cache lives on lines that stay the
    same.
    """
    return f"{SIGNS[note.priority]} [{_days(note)}] {_fact_and_marks(note)}"


def plain_line(note: Note) -> str:
    """Return the line the verifier is shown: without an anchor."""
    return f"{SIGNS[note.priority]} {_days(note)} {_fact_and_marks(note)}"


def anchored_lines(letter: str, notes: Iterable[Note]) -> list[str]:
    """Return lines with anchors, as workers see them: `K1 ! 2026-01-15 User …`."""
    return [f"{letter}{number} {plain_line(note)}" for number, note in enumerate(notes, 1)]


def fitting(notes: Sequence[N], limit: int) -> list[N]:
    """Return the notes that fit `limit` tokens with their anchors, in order.

    A note that does not fit is skipped.
    """
    chosen = []
    for note in notes:
        size = tokens.count(plain_line(note)) + 2
        if size <= limit:
            chosen.append(note)
            limit -= size
    return chosen


def line_tokens(note: Note) -> int:
    """Return the observation tokens of a line, its line end included."""
    return tokens.count(shown_line(note) + "\n")


def _days(note: Note) -> str:
    first = note.first_date
    return (
        f"{first} to {note.observation_date}"
        if first and first < note.observation_date
        else note.observation_date
    )


def _fact_and_marks(note: Note) -> str:
    parts = [inline(note.content).replace(" | ", " / ")]
    if note.stance != Stance.STATED:
        parts.append(note.stance)
    if note.referenced_date:
        parts.append(f"for {note.referenced_date}")
    return " | ".join(parts)


@dataclass(frozen=True, slots=True)
class Section:
    """The lines between `<name>` and `</name>` in an answer, without blank ones."""

    lines: tuple[str, ...]
    is_closed: bool
    """False if the closing tag is missing: the answer broke off, and only whole lines count."""


def section(answer: str, name: str) -> Section | None:
    """Return the last section of that name in an answer, or None if there is none."""
    opened = list(_tag(name).finditer(answer))
    if not opened:
        return None
    rest = answer[opened[-1].end() :]
    if closing := _tag("/ *" + name).search(rest):
        return Section(_lines(rest[: closing.start()]), is_closed=True)
    if another := _tag(f"(?:{'|'.join(TAGS)})").search(rest):
        return Section(_lines(rest[: another.start()]), is_closed=False)
    whole = rest.splitlines(keepends=True)
    if whole and whole[-1].splitlines()[0] == whole[-1]:  # no line end: it may be half a line
        whole.pop()
    return Section(_lines("".join(whole)), is_closed=False)


def section_lines(answer: str, name: str) -> Sequence[str]:
    """Return the lines of a section, none when the answer does not have it."""
    found = section(answer, name)
    return found.lines if found else ()


def phrase(answer: str, name: str, most: int) -> str | None:
    """Return a one-line section, cut to a number of characters.

    "" when it is empty, None when it is missing.
    """
    found = section(answer, name)
    if found is None or not found.is_closed:
        return None
    return one_line(storable(unescape(" ".join(found.lines))))[:most]


def _tag(name: str) -> re.Pattern[str]:
    return re.compile(f"< *{name} *>", re.IGNORECASE)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for part in text.splitlines() if (line := " ".join(part.split())))


def note_columns(note: NoteFields) -> dict[str, Any]:
    """Return a note's content by column."""
    return {column.name: getattr(note, column.name) for column in fields(NoteFields)}


@dataclass(frozen=True, slots=True)
class ReadNote(NoteFields):
    """A line of an answer, with only the anchors that were sent."""

    anchors: tuple[str, ...]
    replaces: tuple[str, ...]


def read_notes(
    lines: Sequence[str], letter: str, sent: Collection[str], known: Collection[str] = ()
) -> list[ReadNote]:
    """Return the notes in an answer's lines.

    Lines that cannot be read, or name no anchor that was sent, are left out. `letter` begins
    the anchors of this call, such as M. `known` are the K anchors that `replaces` may
    name.
    """
    return [note for line in lines if (note := _read_note(line, letter, sent, known)) is not None]


def anchors_in(lines: Iterable[str], sent: Collection[str]) -> list[str]:
    """Return the anchors that were sent among the words of some lines, in order."""
    words = re.split(r"[\s,;\[\]()]+", " ".join(lines).upper())
    return [word for word in dict.fromkeys(words) if word in sent]


def pairs_in(lines: Iterable[str], sign: str, sent: Collection[str]) -> list[tuple[str, str]]:
    """Return pairs of anchors that were sent, such as `O12 = O5` or `O5 by O12`."""
    matches = (_SENTENCE_PAIR.fullmatch(line) for line in lines)
    pairs = [(m[1].upper(), m[3].upper()) for m in matches if m and m[2].lower() == sign]
    return [pair for pair in pairs if pair[0] in sent and pair[1] in sent and pair[0] != pair[1]]


def _read_note(
    line: str, letter: str, sent: Collection[str], known: Collection[str]
) -> ReadNote | None:
    head = _HEAD.fullmatch(one_line(line))
    if head is None or not all(is_when(day) for day in head.group(2, 3) if day):
        return None
    named, rest = _leading_anchors(head[4], letter)
    anchors = tuple(dict.fromkeys(anchor for anchor in named if anchor in sent))
    first, *pieces = (piece.strip() for piece in _SEPARATOR.split(f" {rest} "))
    fact, stances, whens, replaces = [first], ["stated"], [], []
    for piece in pieces:
        mark = piece.lower()
        if mark in STANCES:
            stances.append(mark)
        elif mark.split(" ")[0] == "replaces":
            replaces += anchors_in([piece], known)
        elif mark.startswith("for ") and any(c.isdigit() for c in mark):
            whens += [when] if is_when(when := mark.removeprefix("for ")) else []
        elif piece:
            fact.append(piece)
    content = one_line(storable(unescape(" / ".join(fact))))
    if not content or not anchors:
        return None
    return ReadNote(
        content=content,
        priority=_PRIORITY_OF[head[1]],
        stance=max(stances, key=STANCES.index),
        observation_date=head[3] or head[2],
        referenced_date=whens[0] if whens else None,
        anchors=anchors,
        replaces=tuple(dict.fromkeys(replaces))[:MOST_REPLACED],
    )


def _leading_anchors(text: str, letter: str) -> tuple[list[str], str]:
    """Return the anchors a text begins with, in capitals, and what follows them."""
    anchor = re.compile(rf"[\[(]?({letter}\d+)(?=[\s,;:\])]|$)[\s,;:\])]*", re.IGNORECASE)
    found = []
    at = 0
    while match := anchor.match(text, at):
        found.append(match[1].upper())
        at = match.end()
    return found, text[at:].strip()
