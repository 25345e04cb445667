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

_BREAK_SQL = "coalesce({}, 0)".format(
    ", ".join(
        f"nullif(instr({{ahead}}, {'char(10)' if mark == chr(10) else repr(mark)}), 0)"
        for mark in _BREAKS
    )
)
_AHEAD_SQL = "substr(text, {part} * size + 1, size / 2)"


def passages_sql(messages: str) -> str:
    """Return a query for the rows (id, text) of the index, from one for (message, text).

    An empty text has one passage. Each `LIMIT` keeps SQLite from working out a value once more
    wherever it is named: to find a place in a text, it reads the text up to there.
    """
    break_after = _BREAK_SQL.format(ahead="ahead")
    break_after_next = _BREAK_SQL.format(ahead="ahead_of_next")
    measured = f"SELECT message, text, length(text) AS size_of_all FROM ({messages} LIMIT -1)"
    sized = f"""SELECT *, max({SIZE}, size_of_all / {MAX_PASSAGES} + 1) AS size
        FROM ({measured} LIMIT -1)"""
    counted = f"""SELECT *, max(1, (size_of_all + size / 2) / size) AS passage_count
        FROM ({sized} LIMIT -1)"""
    numbered = f"""SELECT *, {_AHEAD_SQL.format(part="part")} AS ahead,
            {_AHEAD_SQL.format(part="(part + 1)")} AS ahead_of_next
        FROM ({counted} LIMIT -1) CROSS JOIN passage_numbers WHERE part < passage_count"""
    ends = f"""SELECT message << {PART_BITS} | part AS id, text,
            iif(part = 0, 0, part * size + {break_after}) AS begins,
            iif(part + 1 < passage_count, (part + 1) * size + {break_after_next}, size_of_all)
                AS ends
        FROM ({numbered} LIMIT -1)"""
    return f"SELECT id, substr(text, begins + 1, ends - begins) AS text FROM ({ends} LIMIT -1)"


def indexed_text_sql(message: str) -> str:
    """Return a query for (message, text) of a message, such as `new`: what is indexed of it."""
    text = f"{message}.content || ifnull(char(10) || {message}.attached, '')"
    return f"SELECT {message}.id AS message, iif({message}.withheld, '', {text}) AS text"


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
