"""Markdown for the terminal, whole or as it streams in; both leave the same lines.

A stream prints what nothing that follows can change: every top-level block but the last, every item of a list but the
last, every line of an open code fence. The rest is small, and is shown above the prompt until it is final.
"""

import re
from collections.abc import Sequence

from construct.repl.markdown_blocks import NOTHING_OPEN, Context, Unit, parse
from construct.repl.markdown_render import Writer, to_ansi
from construct.repl.themes import NEUTRAL, Theme
from construct.text import printable

# Parsing again for each line costs little below this many characters, and too much above.
_SMALL = 2000
# After a blank line, a start like this cannot belong to the block before it, however the line goes on.
_NEW_BLOCK = re.compile(r"[^\s\d*+-]|\*\*")
# A whole line that begins a block wherever it stands.
_INTERRUPTS = re.compile(r"#{1,6}(?:\s|$)|`{3,}[^`]*$|~{3}")
_ENDED_BY_BLANK = frozenset({"paragraph_open", "heading_open", "table_open", "blockquote_open", "hr"})
# For the tail: a longer line is no table's head; a line costs this many characters more than it has.
_LONGEST_HEAD = 500
_LINE_COST = 30


def render_markdown(text: str, width: int, theme: Theme = NEUTRAL) -> str:
    """Return Markdown `text` as lines for a terminal `width` columns wide."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return _written(Writer(width, theme), parse([printable(line) for line in lines]), theme)


def warm() -> None:
    """Build what the first rendering needs; meant for a thread while the user types."""
    render_markdown("**a**\n\n```python\n1\n```\n\n|a|\n|-|\n", 80)


class MarkdownStream:
    """Renders one reply that arrives in pieces, however it is cut."""

    def __init__(self, width: int, theme: Theme = NEUTRAL) -> None:
        """Render for a terminal `width` columns wide."""
        self._width = width
        self._theme = theme
        self._writer = Writer(width, theme)
        self._context = NOTHING_OPEN
        # Lines not printed yet, cleaned; then the line that is still coming in, as it came.
        self._lines: list[str] = []
        self._size = 0
        self._partial = ""
        self._carriage_return = ""
        self._last_kind = ""
        self._parse_at = 0
        self._cached_tail: tuple[int, str] | None = None

    def feed(self, delta: str) -> str:
        """Take in `delta`; return what has become final, as whole lines to be printed once."""
        self._cached_tail = None
        first = len(self._lines)
        *lines, self._partial = (self._partial + self._newlines(delta)).split("\n")
        self._take(lines)
        out = self._flush() if self._is_due(first) else ""
        if self._begins_new_block():
            out += self._flush(probe=True)
        return out

    def finish(self) -> str:
        """Return all that is left, as whole lines."""
        self._cached_tail = None
        self._take([self._partial] if self._partial else [])
        self._partial = self._carriage_return = ""
        units, self._lines = parse(self._lines, self._context), []
        return self._write(units)

    def tail(self, max_lines: int = 8) -> str:
        """Return the last `max_lines` lines of what is not final, none wider than the terminal, to be shown for now."""
        if self._cached_tail is None or self._cached_tail[0] != max_lines:
            self._cached_tail = (max_lines, self._render_tail(max_lines))
        return self._cached_tail[1]

    def resize(self, width: int) -> None:
        """Render what has not been printed yet for a terminal `width` columns wide."""
        self._width = width
        self._cached_tail = None
        self._writer.resize(width)

    def _newlines(self, delta: str) -> str:
        """Return `delta` with newlines only; a carriage return at its end waits for the newline that may follow."""
        text = self._carriage_return + delta
        self._carriage_return = "\r" if text.endswith("\r") else ""
        return text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")

    def _take(self, lines: list[str]) -> None:
        # Cleaned by whole lines: an escape sequence cut in two by the stream is one again, and cannot hold up the rest.
        clean = [printable(line) for line in lines]
        self._lines += clean
        self._size += sum(map(len, clean)) + len(clean)

    def _is_due(self, first: int) -> bool:
        """Return whether the lines from `first` on may have finished something, and it is worth while to look.

        Large regions are looked at each time they have grown by a quarter, or when a block has ended for certain;
        otherwise a long block would be parsed as often as it has lines.
        """
        if first == len(self._lines):
            return False
        return (
            self._in_fence()
            or self._size >= self._parse_at
            or any(map(self._ends_block, range(first, len(self._lines))))
        )

    def _ends_block(self, index: int) -> bool:
        line = self._lines[index]
        if not line.strip():
            return self._last_kind in _ENDED_BY_BLANK
        after_blank = index > 0 and not self._lines[index - 1].strip()
        return bool(_INTERRUPTS.match(line) or (after_blank and _NEW_BLOCK.match(line)))

    def _begins_new_block(self) -> bool:
        """Return whether the line that is coming in shows that all before it is complete."""
        after_blank = bool(self._lines) and not self._lines[-1].strip()
        return after_blank and bool(_NEW_BLOCK.match(printable(self._partial[:9])))

    def _flush(self, *, probe: bool = False) -> str:
        """Print the units that are final. To `probe` is to ask what would be if a paragraph began here."""
        units = parse([*self._lines, "x"] if probe else self._lines, self._context)
        done, self._context, rest = self._split(units, probe=probe)
        self._last_kind = units[-1].kind if units and rest < len(self._lines) else ""
        self._lines = self._lines[rest:]
        self._size = sum(map(len, self._lines)) + len(self._lines)
        self._parse_at = self._size * 5 // 4 if self._size > _SMALL else 0
        return self._write(done)

    def _split(self, units: list[Unit], *, probe: bool) -> tuple[list[Unit], Context, int]:
        """Return the units that are final, the context of the lines that are not, and the first of these lines."""
        if not units:
            return [], self._context, len(self._lines)
        last = units[-1]
        # Only its second line shows that the first is not the head of a table.
        if not probe and last.open_fence and (last.continues or last.tokens[0].content):
            return units, last.fence_context() if not last.continues else self._context, len(self._lines)
        if not probe and last.settled(len(self._lines)):
            return units, NOTHING_OPEN, len(self._lines)
        context = last.context() if len(units) > 1 or last.continues else self._context
        return units[:-1], context, last.start

    def _write(self, units: Sequence[Unit]) -> str:
        return _written(self._writer, units, self._theme)

    def _render_tail(self, max_lines: int) -> str:
        lines = self._tail_source(2 * max_lines * self._width)
        units = parse(lines, self._context) if any(lines) else []
        return "\n".join(to_ansi(self._writer.preview(units)[-max_lines:], self._theme))

    def _tail_source(self, budget: int) -> list[str]:
        """Return the end of what is not final; of a long block its head too, which says what it is."""
        last = printable(_end(self._partial, budget))
        if self._in_fence() and not last.strip(" `~"):
            return []  # Most likely the end of the fence, coming in.
        index, size = len(self._lines), len(last)
        while index and size < budget:
            index -= 1
            size += len(self._lines[index]) + _LINE_COST
        # The beginning moves by several lines at a time, or everything would be wrapped anew for each line.
        index -= index % 8
        head = [line for line in self._lines[: min(2, index)] if len(line) < _LONGEST_HEAD]
        return [*head, *(_end(line, budget) for line in self._lines[index:]), last]

    def _in_fence(self) -> bool:
        return self._context.kind == "fence"


def _end(text: str, budget: int) -> str:
    """Return the end of `text`: `budget` to twice as many characters, beginning at a place that seldom moves."""
    return text[max(0, len(text) - budget) // budget * budget :]


def _written(writer: Writer, units: Sequence[Unit], theme: Theme) -> str:
    return "".join(f"{line}\n" for line in to_ansi(writer.write(units), theme))
