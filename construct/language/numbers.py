"""Find the numbers of a text and compare them by value, however they are written. No I/O.

"€950" and "950 euros" have the same number, and so have "9:30", "9.30" and "21:30",
"1,300.50" and "1.300,50", "٧" and "7". A number in words counts where the word is known.
"""

import re
import unicodedata
from collections.abc import Iterable

from construct.language.wordlists import SPELLED_NUMBERS

# A date such as 2026-11-03, a time such as 9:30 or 9h30, or digits with separators
# between them: a point, a comma, an apostrophe, or a space between groups of three.
_NUMBER = re.compile(
    r"(?P<date>(?<!\d)\d{4}-\d\d(?:-\d\d)?(?!\d))"
    r"|(?P<hour>(?<!\d)\d{1,2})[:h](?P<minute>[0-5]\d)(?!\d)"
    r"|(?P<plain>(?:(?<![\w)\].,])[-−])?\d+(?:[.,'’]\d+|[  ]\d{3}(?!\d))*)"
)
_LETTERS = re.compile(r"[^\W\d_]+")
_THREE_DIGITS = 3
_NOON = 12


def numbers(text: str) -> dict[str, frozenset[str]]:
    """Return each number of a text as it is written, with the values that it may have."""
    found: dict[str, frozenset[str]] = {}
    for match in _NUMBER.finditer(_with_plain_digits(text)):
        found[match.group().strip()] = _values(match)
    return found


def values_in(texts: Iterable[str]) -> frozenset[str]:
    """Return the values of all numbers of some texts, those in words included."""
    values: set[str] = set()
    for text in texts:
        values.update(*numbers(text).values())
        spelled = (SPELLED_NUMBERS.get(word.casefold()) for word in _LETTERS.findall(text))
        values.update(value for value in spelled if value)
    return frozenset(values)


def unfound_numbers(text: str, said: frozenset[str]) -> list[str]:
    """Return the numbers of a text that have none of the values `said`, as they are written."""
    return [written for written, values in numbers(text).items() if not _is_in(values, said)]


def values_of_day(when: str | None) -> frozenset[str]:
    """Return the values that a day, month or year (`2026-03-05`, `2026-03`) gives a line."""
    if not when:
        return frozenset()
    return frozenset({when, *(str(int(part)) for part in when.split("-"))})


def _is_in(values: frozenset[str], said: frozenset[str]) -> bool:
    if not values.isdisjoint(said):
        return True
    # A date is said where its year, month and day are.
    return any(
        "-" in value[1:] and all(str(int(part)) in said for part in value.split("-"))
        for value in values
    )


def _with_plain_digits(text: str) -> str:
    """Return a text with every digit as one of 0 to 9."""
    if text.isascii():
        return text
    folded = unicodedata.normalize("NFKC", text)
    return "".join(str(unicodedata.decimal(c, c)) for c in folded)


def _values(match: re.Match[str]) -> frozenset[str]:
    if match["date"]:
        return frozenset({match["date"]})
    if match["hour"]:
        return _times(int(match["hour"]), int(match["minute"]))
    written = match["plain"].replace("−", "-")
    sign = "-" if written.startswith("-") else ""
    pieces = re.split(r"[.,'’  ]", written.removeprefix("-"))
    if len(pieces) == 1:
        return frozenset({sign + _whole(pieces[0])})
    values = set()
    if all(len(piece) == _THREE_DIGITS for piece in pieces[1:]):
        values.add(sign + _whole("".join(pieces)))
    whole, part = _whole("".join(pieces[:-1])), pieces[-1].rstrip("0")
    values.add(f"{sign}{whole}.{part}" if part else sign + whole)
    if len(pieces) == 2 and int(whole) <= 24 and len(pieces[1]) == 2 and int(pieces[1]) < 60:
        values |= _times(int(whole), int(pieces[1]))  # 9.30 may be a time
    return frozenset(values)


def _times(hour: int, minute: int) -> frozenset[str]:
    """Return the values of a time of day, with the other half of the day: 21:30 and 9:30."""
    hours = {hour, hour % _NOON or _NOON}
    on_the_hour = {str(h) for h in hours} if minute == 0 else set()
    return frozenset({f"{h}:{minute:02}" for h in hours} | on_the_hour)


def _whole(digits: str) -> str:
    return digits.lstrip("0") or "0"
