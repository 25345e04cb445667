"""Read the marks of a note that say when it is: `for`, `remind` and, for a calendar, `as`.

No I/O.
"""

import re
from datetime import datetime
from typing import NamedTuple

from construct.language.periods import is_day, is_when
from construct.memory.shown.escaping import unescape
from construct.text import one_line, storable
from construct.vocabulary import Recurrence

_MAX_LABEL = 60
"""Characters. A longer label is none: the fact is shown instead."""
# "2026-03-05 09:30 weekly", "2026-03-05T09:30", "2026-03"
_WHEN = re.compile(
    rf"(?P<day>[\d-]+)(?:[ t](?P<time>\d{{1,2}}:\d\d)(?::\d\d)?)?"
    rf"(?: (?P<every>{'|'.join(Recurrence)}))?",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")


class When(NamedTuple):
    """When a note is for."""

    day: str
    """A day, a month or a year."""
    time: str | None
    recurs: str | None


def read_when(text: str) -> When | None:
    """Return the date of `2026-03-05 09:30 weekly`, `2026-03` or `2026`; None if it is none.

    A month or a year has no time of day and does not come again.
    """
    match = _WHEN.fullmatch(text.strip())
    if match is None or not is_when(match["day"]):
        return None
    time, every = match["time"], match["every"]
    if not is_day(match["day"]):
        return When(match["day"], None, None)
    if time is not None and read_moment(f"{match['day']} {time}") is None:
        time = None
    return When(match["day"], time and time.zfill(5), every and every.lower())


def read_moment(text: str) -> str | None:
    """Return `2026-03-05 09:30` in that form; None if there is no such moment."""
    day, _, time = text.strip().upper().replace("T", " ").partition(" ")
    try:
        moment = datetime.strptime(f"{day} {time}", "%Y-%m-%d %H:%M")  # noqa: DTZ007 (a wall clock)
    except ValueError:
        return None
    return moment.isoformat(" ", "minutes") if is_when(day) else None


def read_label(text: str) -> str | None:
    """Return a label for a calendar; None if it has no word, or is too long for one."""
    label = one_line(storable(unescape(text)))
    has_word = any(character.isalnum() for character in label)
    return label if has_word and len(label) <= _MAX_LABEL else None


def says_no_more(label: str, fact: str) -> bool:
    """Return whether all names and numbers of a label are in the fact that it stands for.

    Those are the words with a digit, or with a capital after the first word.
    """
    known = set(_WORD.findall(fact.casefold()))
    named = (
        word
        for number, word in enumerate(_WORD.findall(label))
        if any(map(str.isdigit, word)) or (number and word != word.lower())
    )
    return all(word.casefold() in known for word in named)
