"""Find the days that a text writes out: 2026-11-03, 3.11.2026, 3 November. No I/O."""

import re

from construct.language.wordlists import MONTH_NUMBERS

_ISO = re.compile(r"(?<!\d)(\d{4})[-/.](\d\d?)[-/.](\d\d?)(?!\d)")
_NUMERIC = re.compile(r"(?<![\d.])(\d\d?)([./])(\d\d?)\2(?:(\d{4})(?!\d))?")
EAST_ASIAN_DAY = re.compile(r"(?:(\d{4}) ?[年년] ?)?(?<!\d)(\d\d?) ?[月월] ?(\d\d?) ?[日号號일]")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|º|ª)?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_NEAR = 2
"""How many words a day may stand away from the name of its month: "3 de novembro"."""
_NEAR_YEAR = 3

WrittenDay = tuple[int | None, int, int]
"""Year, month and day; the year is None where none is written."""


def written_days(text: str) -> set[WrittenDay]:
    """Return the days a text writes out; both readings of 3/11/2026."""
    found: set[WrittenDay] = set()
    for year, month, day in _ISO.findall(text):
        found.add((int(year), int(month), int(day)))
    for first, _, second, year in _NUMERIC.findall(_ISO.sub(" ", text)):
        written = int(year) if year else None
        found |= {(written, int(second), int(first)), (written, int(first), int(second))}
    for year, month, day in EAST_ASIAN_DAY.findall(text):
        found.add((int(year) if year else None, int(month), int(day)))
    words = [word.casefold() for word in _WORD.findall(text)]
    for index, word in enumerate(words):
        if month_number := MONTH_NUMBERS.get(word):
            found |= _days_near(words, index, month_number)
    return {day for day in found if 1 <= day[1] <= 12 and 1 <= day[2] <= 31}


def contradicts(text: str, when: str, said_on: str) -> bool:
    """Return whether a text writes out days, and none of them is `when`, a day to come.

    `when` and `said_on` are stored dates; a month or a year is contradicted by nothing.
    Days up to the one on which the text was said are left out: they are another matter.
    """
    if len(when) < len("2026-03-05"):
        return False
    year, month, day = map(int, when.split("-"))
    ahead = {
        written
        for written in written_days(text)
        if written[0] is None or "{:04}-{:02}-{:02}".format(*written) > said_on
    }
    return bool(ahead) and not any(
        (written or year, *month_and_day) == (year, month, day) for written, *month_and_day in ahead
    )


def _days_near(words: list[str], index: int, month: int) -> set[WrittenDay]:
    """Return the days written beside the name of a month, which is the word at `index`."""
    around = words[max(0, index - _NEAR) : index + _NEAR + 1]
    days = [int(number[1]) for number in map(_NUMBER.fullmatch, around) if number]
    years = filter(_YEAR.fullmatch, words[index + 1 : index + 1 + _NEAR_YEAR])
    year = next(map(int, years), None)
    return {(year, month, day) for day in days}
