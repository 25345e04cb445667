"""How wide the columns of a table are on a screen of so many columns. Pure."""

from collections.abc import Sequence

from rich.cells import cell_len

_LONG_WORD = 16
_BETWEEN = 3


def column_widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Return a width for each column (its cells' texts), together with the gaps no more than `room`.

    No word is parted but those that are very long; of what is left the narrow columns get all they want first.
    None where there is no room for the words side by side.
    """
    least = [max((cell_len(word) for cell in column for word in cell.split()), default=1) for column in columns]
    least = [min(_LONG_WORD, size) for size in least]
    wanted = [max(cell_len(line) for cell in column for line in (cell.split("\n"))) for column in columns]
    room -= _BETWEEN * (len(columns) - 1)
    if sum(least) > room:
        return None
    most = next(cap for cap in range(room, -1, -1) if sum(_clamped(least, wanted, cap)) <= room)
    widths = _clamped(least, wanted, most)
    for index in [i for i, size in enumerate(widths) if size < wanted[i]][: room - sum(widths)]:
        widths[index] += 1
    return widths


def _clamped(least: Sequence[int], wanted: Sequence[int], cap: int) -> list[int]:
    return [max(low, min(high, cap)) for low, high in zip(least, wanted, strict=True)]
