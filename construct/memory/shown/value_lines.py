"""Render the user's values as lines and read them: `weight | 71.2 kg | 2026-06-03 | M12`.

No I/O.
"""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from construct.language.periods import is_day, is_when
from construct.memory.shown.escaping import inline, unescape
from construct.memory.shown.lines import MAX_REPLACED, anchors_in
from construct.store.tracked import TrackedValue
from construct.text import one_line, storable

_LEAST_PIECES = 4
"""A name, an amount with its unit, a day, and messages."""
_MOST = 1e12
_UNIT_LENGTH = 20
_BULLET = re.compile(r"^(?:[-*•–+] |\d+[.)] )")
_AMOUNT = re.compile(r"^(\D{0,3}?)([-−+]?\d[\d.,'’ ]*)(\D*)$")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")


@dataclass(frozen=True, slots=True)
class ReadValue:
    """A value read from an answer, with only those of its anchors that were sent."""

    name: str
    amount: float
    unit: str | None
    day: str
    anchors: tuple[str, ...]
    replaces: tuple[str, ...] = ()
    """Anchors of the known values that it corrects."""


def value_line(value: ReadValue | TrackedValue) -> str:
    """Return a value as a line without anchors: `weight | 71.2 kg | 2026-06-03`."""
    return f"{inline(value.name)} | {amount_words(value.amount, value.unit)} | {value.day}"


def anchored_value_line(value: ReadValue) -> str:
    """Return a value as it was written, with the anchors it names."""
    replaces = [f"replaces {' '.join(value.replaces)}"] * bool(value.replaces)
    return " | ".join([value_line(value), " ".join(value.anchors), *replaces])


def amount_words(amount: float, unit: str | None = None) -> str:
    """Return an amount without needless zeros, with its unit: `4.5 EUR`."""
    number = f"{amount:.6f}".rstrip("0").rstrip(".")
    return f"{number} {inline(unit)}" if unit else number


def read_values(
    lines: Sequence[str], sent: Collection[str], known: Collection[str]
) -> tuple[list[ReadValue], list[str]]:
    """Return the values in an answer's lines, and the lines that are none.

    `sent`: the M anchors, one of which each line must name. `known`: the V anchors that
    `replaces` may name.
    """
    values: list[ReadValue] = []
    unread: list[str] = []
    for line in lines:
        value = _read_value(line, sent, known)
        if value is None:
            unread.append(line)
        else:
            values.append(value)
    return values, unread


def _read_value(line: str, sent: Collection[str], known: Collection[str]) -> ReadValue | None:
    pieces = [part.strip() for part in _BULLET.sub("", one_line(line)).split("|")]
    if len(pieces) < _LEAST_PIECES:
        return None
    name, written, day, *others = pieces
    amount = _AMOUNT.fullmatch(written)
    number = None if amount is None else read_amount(amount[2])
    marks = [piece for piece in others if piece.lower().startswith("replaces")]
    anchors = anchors_in([piece for piece in others if piece not in marks], sent)
    name = one_line(storable(unescape(name)))
    is_whole = bool(number is not None and anchors and name and is_when(day) and is_day(day))
    if amount is None or number is None or not is_whole:
        return None
    unit = one_line(storable(unescape(f"{amount[1].strip()} {amount[3].strip()}")))
    replaces = anchors_in(marks, known)[:MAX_REPLACED]
    return ReadValue(
        name, number, unit[:_UNIT_LENGTH] or None, day, tuple(anchors), tuple(replaces)
    )


def is_name_of(name: str, rule: str) -> bool:
    """Return whether a folded name is what a rule follows, or how it begins."""
    return bool(name) and f"{folded(rule)} ".startswith(f"{name} ")


def is_called(name: str, wanted: str) -> bool:
    """Return whether a name is the wanted one, or one of the two is how the other begins."""
    return is_name_of(folded(wanted), name) or is_name_of(folded(name), wanted)


def folded(name: str) -> str:
    """Return a name without letter case, with single spaces."""
    return " ".join(name.casefold().split())


def read_amount(text: str) -> float | None:
    """Return the value of a number such as `4.50`, `4,50`, `1,300.50` or `10 000`."""
    digits = re.sub("['’ ]", "", text.strip()).replace("−", "-").rstrip(".,")
    whole, point, part = digits.rpartition(".")
    if "," in part:  # 1.300,50
        whole, point, part = digits.rpartition(",")
        digits = whole.replace(".", "") + "." + part
    elif point:
        digits = whole.replace(",", "") + "." + part
    elif _THOUSANDS.fullmatch(digits.lstrip("+-")):
        digits = digits.replace(",", "")
    else:
        digits = digits.replace(",", ".")
    try:
        amount = float(digits)
    except ValueError:
        return None
    return amount if math.isfinite(amount) and abs(amount) < _MOST else None
