"""Text for a line of so many columns: wide characters take two, and combining ones none."""

from itertools import accumulate

from prompt_toolkit.utils import get_cwidth

from construct.text import one_line


def fitted(text: str, columns: int) -> str:
    """Return `text` as one line of at most so many columns, cut with an ellipsis."""
    line = one_line(text)
    if get_cwidth(line) <= columns:
        return line
    kept = sum(width < columns for width in accumulate(map(get_cwidth, line)))
    return line[:kept].rstrip() + "…"
