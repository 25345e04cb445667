"""Cut a long message into passages, which the full-text index has one row for each.

A passage ends at the first break after a multiple of the size: at the end of a line, of a
sentence, or of a word. `passages` does in Python what the triggers do that keep the index
in step (schema_search.py): they cannot call a function of ours.
"""

SIZE = 1_000
"""About how many characters a passage has: 170 words."""
MAX_PASSAGES = 200
"""The most passages of a message; those of longer messages are larger."""
PART_BITS = 8
"""Bits of a row's id in the index that count the passages; the rest is the message's id."""
_BREAKS = ("\n", ". ", "。", " ")
"""What ends a passage, best first."""

_COUNT_SQL = "max(1, (length({text}) + {size} / 2) / {size})"
_SIZE_SQL = f"max({SIZE}, length({{text}}) / {MAX_PASSAGES} + 1)"
_AHEAD_SQL = "substr({text}, {part} * {size} + 1, {size} / 2)"
_BREAK_SQL = "coalesce({}, 0)".format(
    ", ".join(
        f"nullif(instr({_AHEAD_SQL}, {'char(10)' if mark == chr(10) else repr(mark)}), 0)"
        for mark in _BREAKS
    )
)
_END_SQL = f"iif({{part}} < {_COUNT_SQL}, {{part}} * {{size}} + {_BREAK_SQL}, length({{text}}))"
_START_SQL = f"iif(part = 0, 0, part * {{size}} + {_BREAK_SQL.replace('{part}', 'part')})"


def passages_sql(text: str) -> tuple[str, str]:
    """Return SQL for a passage of the expression `text`, and the condition that it exists.

    Both are for a row of `passage_numbers`. An empty text has one passage.
    """
    size = _SIZE_SQL.format(text=text)
    start = _START_SQL.format(text=text, size=size)
    end = _END_SQL.format(text=text, size=size, part="(part + 1)")
    passage = f"substr({text}, {start} + 1, {end} - {start})"
    return passage, f"part < {_COUNT_SQL.format(text=text, size=size)}"


def passages(text: str) -> list[str]:
    """Return the passages of a text, in order: a short text is one."""
    size = max(SIZE, len(text) // MAX_PASSAGES + 1)
    count = (len(text) + size // 2) // size
    ends = [_break_after(text, part * size, size) for part in range(1, count)]
    return [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]


def _break_after(text: str, position: int, size: int) -> int:
    ahead = text[position : position + size // 2]
    return position + next((at for mark in _BREAKS if (at := ahead.find(mark) + 1)), 0)


def row_of(message: int) -> int:
    """Return the id of a message's first row in the index."""
    return message << PART_BITS


def message_of(row: int) -> int:
    """Return the id of the message that a row of the index belongs to."""
    return row >> PART_BITS
