"""Render notes as lines and read them: `! 2026-01-15 M3 User sees a dentist | for 2026-03-05`.

Workers are shown notes and answer with notes in this form, and the main model is shown
observations in it; only the head of the line differs. An answer can be read while it is
still arriving. No I/O.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from construct import tokens
from construct.language.periods import is_when
from construct.language.written_days import contradicts
from construct.memory.shown.date_marks import (
    When,
    read_label,
    read_moment,
    read_when,
    says_no_more,
)
from construct.memory.shown.escaping import TAGS, inline, unescape
from construct.store.records import Observation, written_when
from construct.store.shown import ShownLine
from construct.text import one_line, storable
from construct.vocabulary import Priority, Stance

PRIORITIES = tuple(Priority)
STANCES = tuple(Stance)
"""In order of precedence: if a line has several, the one latest in this tuple counts."""
SIGNS: Mapping[str, str] = {Priority.HIGH: "!", Priority.MEDIUM: "-", Priority.LOW: "~"}
UNSURE = "unsure"
"""The mark of a doubtful note. Only code writes it; in an answer it means nothing."""
MAX_REPLACED = 3
"""The most notes that one line can make outdated."""
ANCHOR_TOKENS = 2
"""Tokens of an anchor such as K12."""

_PRIORITY_OF = {sign: priority for priority, sign in SIGNS.items()}
# "! 2026-01-15 ", also as "- ! [2026-01-15 to 2026-01-20] ", and the rest of the line
_HEAD = re.compile(
    r"(?:[-*•–+] |\d+[.)] )?([!~-]) ?\[?(\d{4}-\d\d-\d\d)(?: to (\d{4}-\d\d-\d\d))?\]? (.*)"
)
_SEPARATOR = re.compile(r" \|(?= )")
# "…", "N/A", "User: none"
_NO_WORDS = re.compile(
    r"(?:\W|_)*(?:user\b\W*)?(?:n/?a|none|nothing|null)?(?:\W|_)*", re.IGNORECASE
)
# "O12 = O5" or "O5 by O12"
_PAIR = re.compile(r"[-*•–+]? ?\[?([A-Z]\d+)\]? ?(=|by) ?\[?([A-Z]\d+)\]?\.?", re.IGNORECASE)


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
    referenced_time: str | None = field(default=None, kw_only=True)
    """`HH:MM`, by the clock on the wall."""
    recurs: str | None = field(default=None, kw_only=True)
    """How often it comes again, from `referenced_date` on: a value of `Recurrence`."""
    label: str | None = field(default=None, kw_only=True)
    """A few words for a calendar."""
    remind_at: str | None = field(default=None, kw_only=True)
    """`YYYY-MM-DD HH:MM`, by the clock on the wall."""


Note = NoteFields | Observation | ShownLine
"""An observation that can be written as a line: proposed, stored or parsed."""
N = TypeVar("N", bound=NoteFields | Observation)


def shown_line(note: Note) -> str:
    """Return the line the main model is shown: `! [2026-01-15] User sees a dentist`.

    It must not depend on the current time, or the prompt cache would be lost.
    """
    return f"{SIGNS[note.priority]} [{_days(note)}] {_fact_and_marks(note)}"


def readable_line(note: Note) -> str:
    """Return the line that the main model is shown, for people: without its escapes."""
    return unescape(shown_line(note))


def plain_line(note: NoteFields | Observation) -> str:
    """Return the line without an anchor: `! 2026-01-15 User sees a dentist | as Dentist`."""
    return f"{SIGNS[note.priority]} {_days(note)} {_fact_and_marks(note)}{_label_mark(note)}"


def anchored_lines(letter: str, notes: Iterable[NoteFields | Observation]) -> list[str]:
    """Return lines with anchors, as workers see them: `K1 ! 2026-01-15 User …`."""
    return [f"{letter}{number} {plain_line(note)}" for number, note in enumerate(notes, 1)]


def fitting(notes: Sequence[N], limit: int) -> list[N]:
    """Return the notes that fit into `limit` tokens with their anchors, in order.

    A note that does not fit is skipped.
    """
    chosen = []
    tokens_left = limit
    for note in notes:
        note_tokens = tokens.count(plain_line(note)) + ANCHOR_TOKENS
        if note_tokens <= tokens_left:
            chosen.append(note)
            tokens_left -= note_tokens
    return chosen


def line_tokens(note: Note) -> int:
    """Return the tokens of the line that the main model is shown, with its line end."""
    return tokens.count(shown_line(note) + "\n")


def _days(note: Note) -> str:
    first, last = note.first_date, note.observation_date
    return f"{first} to {last}" if first and first < last else last


def _fact_and_marks(note: Note) -> str:
    # The spaces make a bar at either end a separator too, as in `_read_note`.
    parts = [_SEPARATOR.sub(" /", f" {inline(note.content)} ").strip()]
    if note.stance != Stance.STATED:
        parts.append(note.stance)
    if when := written_when(note.referenced_date, note.referenced_time, note.recurs):
        parts.append(f"for {when}")
    if note.remind_at:
        parts.append(f"remind {note.remind_at}")
    if isinstance(note, ShownLine) and note.doubtful:
        parts.append(UNSURE)
    return " | ".join(parts)


def _label_mark(note: NoteFields | Observation) -> str:
    label = _SEPARATOR.sub(" /", inline(note.label or ""))
    return f" | as {label}" if label else ""


@dataclass(frozen=True, slots=True)
class Section:
    """The lines between `<name>` and `</name>` in an answer, without blank ones."""

    lines: tuple[str, ...]
    is_closed: bool
    """False if the closing tag is missing, as when the answer broke off. Only whole lines count."""


def section(answer: str, name: str) -> Section | None:
    """Return the last section of that name in an answer, or None if there is none."""
    opening_tags = list(_tag(name).finditer(answer))
    if not opening_tags:
        return None
    rest = answer[opening_tags[-1].end() :]
    if closing := _tag("/ *" + name).search(rest):
        return Section(_lines(rest[: closing.start()]), is_closed=True)
    if next_opening := _tag(f"(?:{'|'.join(TAGS)})").search(rest):
        return Section(_lines(rest[: next_opening.start()]), is_closed=False)
    lines = rest.splitlines(keepends=True)
    has_line_end = bool(lines) and lines[-1].splitlines()[0] != lines[-1]
    if not has_line_end:  # the last line may be half a line
        lines = lines[:-1]
    return Section(_lines("".join(lines)), is_closed=False)


def section_lines(answer: str, name: str) -> Sequence[str]:
    """Return the lines of a section; none when the answer does not have it."""
    parsed = section(answer, name)
    return parsed.lines if parsed else ()


def phrase(answer: str, name: str, max_characters: int) -> str | None:
    """Return the text of a closed section as one line, cut to a number of characters.

    "" when it is empty, None when it is missing or its closing tag is.
    """
    parsed = section(answer, name)
    if parsed is None or not parsed.is_closed:
        return None
    return one_line(storable(unescape(" ".join(parsed.lines))))[:max_characters]


def _tag(name: str) -> re.Pattern[str]:
    return re.compile(f"< *{name} *>", re.IGNORECASE)


def _lines(text: str) -> tuple[str, ...]:
    """Return the lines that are not blank, with single spaces."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return tuple(line for line in lines if line)


def note_columns(note: NoteFields | Observation) -> dict[str, Any]:
    """Return a note's content by column."""
    return {column.name: getattr(note, column.name) for column in fields(NoteFields)}


@dataclass(frozen=True, slots=True)
class ReadNote(NoteFields):
    """A note read from an answer, with only those of its anchors that were sent."""

    anchors: tuple[str, ...]
    replaces: tuple[str, ...]
    """Anchors of the notes that it makes outdated."""
    faults: tuple[str, ...] = ()
    """Why it should be asked for once more; the note is what stays if it does not change."""


def read_notes(
    lines: Sequence[str], letter: str, sent: Collection[str], known: Collection[str] = ()
) -> tuple[list[ReadNote], list[str]]:
    """Return the notes in an answer's lines, and the lines that are none.

    A line that names no anchor that was sent is none. A line without a word of its own,
    such as "N/A", is left out of both. `letter`: the letter of the anchors in `sent`, such
    as M. `known`: the K anchors that `replaces` may name.
    """
    notes: list[ReadNote] = []
    unread: list[str] = []
    for line in lines:
        note = _read_note(line, letter, sent, known)
        if note is None:
            unread.append(line)
        elif _NO_WORDS.fullmatch(note.content) is None:
            notes.append(note)
    return notes, unread


def anchored_line(note: ReadNote) -> str:
    """Return a note as it was written, with the anchors it names."""
    head = f"{SIGNS[note.priority]} {_days(note)} {' '.join(note.anchors)}"
    replaces = [f"replaces {' '.join(note.replaces)}"] * bool(note.replaces)
    return " | ".join([f"{head} {_fact_and_marks(note)}{_label_mark(note)}", *replaces])


def anchors_in(lines: Iterable[str], sent: Collection[str]) -> list[str]:
    """Return those words of some lines that are anchors in `sent`, in order."""
    words = re.split(r"[\s,;\[\]()]+", " ".join(lines).upper())
    return [word for word in dict.fromkeys(words) if word in sent]


def pairs_in(lines: Iterable[str], sign: str, sent: Collection[str]) -> list[tuple[str, str]]:
    """Return the pairs of anchors in `sent` from lines such as `O12 = O5` or `O5 by O12`."""
    pairs = []
    for match in filter(None, map(_PAIR.fullmatch, lines)):
        left, right = match[1].upper(), match[3].upper()
        if match[2].lower() == sign and left != right and left in sent and right in sent:
            pairs.append((left, right))
    return pairs


def _read_note(
    line: str, letter: str, sent: Collection[str], known: Collection[str]
) -> ReadNote | None:
    """Return the note on a line, or None if `read_notes` leaves the line out."""
    head = _HEAD.fullmatch(one_line(line))
    if head is None or not all(is_when(day) for day in head.group(2, 3) if day):
        return None
    named_anchors, rest = _leading_anchors(head[4], letter)
    anchors = tuple(dict.fromkeys(anchor for anchor in named_anchors if anchor in sent))
    first, *others = (part.strip() for part in _SEPARATOR.split(f" {rest} "))
    marks = _read_marks(others, known)
    content = one_line(storable(unescape(" / ".join([first, *marks.others]))))
    if not content or not anchors:
        return None
    observation_date, when, label = head[3] or head[2], marks.when, marks.label
    faults = [f"“{part}” is not a mark" for part in marks.others]
    if when and contradicts(content, when.day, observation_date):
        faults.append(f"it names another day than “for {when.day}”")
        when = None
    return ReadNote(
        content=content,
        priority=_PRIORITY_OF[head[1]],
        stance=marks.stance,
        observation_date=observation_date,
        referenced_date=when.day if when else None,
        referenced_time=when.time if when else None,
        recurs=when.recurs if when else None,
        label=label if label and says_no_more(label, content) else None,
        remind_at=marks.remind_at,
        anchors=anchors,
        replaces=tuple(dict.fromkeys(marks.replaces))[:MAX_REPLACED],
        faults=tuple(faults),
    )


@dataclass(slots=True)
class _Marks:
    """What the pieces of a line after its fact say."""

    stance: str = Stance.STATED
    when: When | None = None
    label: str | None = None
    remind_at: str | None = None
    replaces: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    """Pieces that are no marks: they go back into the fact, which is no longer certain."""


def _read_marks(pieces: Iterable[str], known: Collection[str]) -> _Marks:
    marks = _Marks()
    for piece in pieces:
        mark = piece.lower()
        if mark in STANCES:
            marks.stance = max(marks.stance, mark, key=STANCES.index)
        elif mark.split(" ")[0] == "replaces":
            marks.replaces += anchors_in([piece], known)
        elif mark.startswith("for ") and any(c.isdigit() for c in mark):
            marks.when = marks.when or read_when(mark.removeprefix("for "))
        elif mark.startswith("as "):
            marks.label = marks.label or read_label(piece[len("as ") :])
        elif mark.startswith("remind ") and any(c.isdigit() for c in mark):
            marks.remind_at = marks.remind_at or read_moment(mark.removeprefix("remind "))
        elif piece and mark != UNSURE:
            marks.others.append(piece)
    if marks.others:
        marks.stance = max(marks.stance, Stance.INFERRED, key=STANCES.index)
    return marks


def _leading_anchors(text: str, letter: str) -> tuple[list[str], str]:
    """Return the anchors a text begins with, in capitals, and the text after them."""
    pattern = re.compile(rf"[\[(]?({letter}\d+)(?=[\s,;:\])]|$)[\s,;:\])]*", re.IGNORECASE)
    anchors = []
    end = 0
    while match := pattern.match(text, end):
        anchors.append(match[1].upper())
        end = match.end()
    return anchors, text[end:].strip()
