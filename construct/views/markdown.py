"""Render Markdown for the terminal, whole or as it streams in, with the same result.

A stream prints a part once nothing that follows can change it: every top-level block
except the last, every list item except the last, every line of an open code fence. The
rest is small; the chat shows it above the prompt until it is final.
"""

import re

from construct.text import printable
from construct.views.markdown_blocks import Unit, first_line, parse
from construct.views.markdown_render import Writer
from construct.views.themes import NEUTRAL, Theme

# Up to this many characters, unfinished text is parsed again after each line.
_PARSED_EACH_LINE = 2000
# After a blank line, a line that starts like this begins a new block, such as "word" or
# "**bold**". A list marker, a digit or an indent may continue a list.
_NEW_BLOCK = re.compile(r"[^\s\d*+-]|\*\*")
# A line that begins a block without a blank line before it: "# Title", "```python".
_INTERRUPTS = re.compile(r"#{1,6}(?:\s|$)|`{3,}[^`]*$|~{3}")
_ENDED_BY_BLANK = frozenset(
    {"paragraph_open", "heading_open", "table_open", "blockquote_open", "hr", "formula"}
)
# In the tail, a line longer than this is not the head of a table.
_MAX_HEAD_LENGTH = 500
# Characters that the tail's budget is charged for each line, besides its own.
_LINE_COST = 30


def render_markdown(text: str, width: int, theme: Theme = NEUTRAL) -> str:
    """Return Markdown `text` as lines for a terminal of `width` columns."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return Writer(width, theme).write(parse([printable(line) for line in lines]))


def warm() -> None:
    """Render a sample, so that the first reply does not wait for imports and caches."""
    render_markdown("**a**\n\n```python\n1\n```\n\n|a|\n|-|\n", 80)


class MarkdownStream:
    """Renders one reply that arrives in pieces of any length."""

    def __init__(self, width: int, theme: Theme = NEUTRAL) -> None:
        """Render for a terminal of `width` columns."""
        self._width = width
        self._writer = Writer(width, theme)
        self._fence: _Fence | None = None
        self._lines: list[str] = []
        """Complete lines that are not printed yet, without control characters."""
        self._item: Unit | None = None
        """The list item that `_lines` begin with, if it is not the first of a list."""
        self._partial = ""
        """The line that is still coming in, as received."""
        self._carriage_return = ""
        self._size = 0
        """The number of characters in `_lines`."""
        self._last_kind = ""
        """The kind of the last unit in `_lines` when they were last parsed."""
        self._parse_at = 0
        """The size from which `_lines` are parsed again."""
        self._cached_tail: tuple[int, str] | None = None

    def feed(self, delta: str) -> str:
        """Add `delta`. Return what has become final, as complete lines to print."""
        self._cached_tail = None
        *lines, self._partial = (self._partial + self._newlines(delta)).split("\n")
        first = len(self._lines)
        final = self._take(lines)
        if self._should_parse(first):
            final += self._flush()
        if self._begins_new_block():
            final += self._flush(before_new_block=True)
        return final

    def finish(self) -> str:
        """Return everything that is left, as complete lines."""
        self._cached_tail = None
        final = self._take([self._partial] if self._partial else [])
        self._partial = self._carriage_return = ""
        units, self._lines = parse(self._lines, self._item), []
        return final + self._writer.write(units)

    def tail(self, max_lines: int = 8) -> str:
        """Return the last `max_lines` lines of what is not final.

        They are broken at the terminal's width.
        """
        if self._cached_tail is None or self._cached_tail[0] != max_lines:
            self._cached_tail = (max_lines, "\n".join(self._tail_lines(max_lines)))
        return self._cached_tail[1]

    def resize(self, width: int) -> None:
        """Render everything not printed yet for a terminal of `width` columns."""
        self._width = width
        self._cached_tail = None
        self._writer.resize(width)

    def _newlines(self, delta: str) -> str:
        """Return `delta` with all line ends as newlines.

        A carriage return at its end is held back, since a newline may follow.
        """
        text = self._carriage_return + delta
        self._carriage_return = "\r" if text.endswith("\r") else ""
        return text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")

    def _take(self, lines: list[str]) -> str:
        """Add complete lines. Return those of an open code fence, rendered."""
        # Only complete lines are cleaned: the stream may have split escape sequences.
        clean = [printable(line) for line in lines]
        code: list[str] = []
        while self._fence is not None and clean:
            line = clean.pop(0)
            if self._fence.is_closed_by(line):
                self._fence = None
            else:
                code.append(self._fence.content(line))
        self._lines += clean
        self._size += sum(map(len, clean)) + len(clean)
        return self._writer.write_code(code)

    def _should_parse(self, first: int) -> bool:
        """Return whether to parse again, now that lines were added, beginning with `first`.

        Long text is parsed each time it has grown by a quarter, or when a block has
        ended for certain. Parsing it after every line would take quadratic time.
        """
        if first == len(self._lines):
            return False
        return self._size >= self._parse_at or any(
            map(self._ends_block, range(first, len(self._lines)))
        )

    def _ends_block(self, index: int) -> bool:
        """Return whether the line at `index` ends the block before it for certain."""
        line = self._lines[index]
        if not line.strip():
            return self._last_kind in _ENDED_BY_BLANK
        after_blank = index > 0 and not self._lines[index - 1].strip()
        return bool(_INTERRUPTS.match(line) or (after_blank and _NEW_BLOCK.match(line)))

    def _begins_new_block(self) -> bool:
        """Return whether the incomplete line begins a new block for certain."""
        after_blank = bool(self._lines) and not self._lines[-1].strip()
        return after_blank and bool(_NEW_BLOCK.match(printable(self._partial[:9])))

    def _flush(self, *, before_new_block: bool = False) -> str:
        """Render the units that are final.

        `before_new_block` means that a new block is known to begin after the lines.
        """
        units = parse([*self._lines, "x"] if before_new_block else self._lines, self._item)
        done, rest = self._final(units, before_new_block=before_new_block)
        self._lines = self._lines[rest:]
        self._last_kind = units[-1].kind if units and self._lines else ""
        self._size = sum(map(len, self._lines)) + len(self._lines)
        self._parse_at = self._size * 5 // 4 if self._size > _PARSED_EACH_LINE else 0
        return self._writer.write(done)

    def _final(self, units: list[Unit], *, before_new_block: bool) -> tuple[list[Unit], int]:
        """Return the final units, and the index of the first line after them."""
        if not units:
            return [], len(self._lines)
        last = units[-1]
        if not before_new_block:
            # Without content, the fence's first line may still be the head of a table.
            if in_fence := last.open_fence and bool(last.tokens[0].content):
                self._fence = _Fence(last)
            if in_fence or last.is_settled(len(self._lines)):
                self._item = None
                return units, len(self._lines)
        self._item = last if last.continues_list else None
        return units[:-1], last.start

    def _tail_lines(self, max_lines: int) -> list[str]:
        budget = 2 * max_lines * self._width
        last = printable(_end(self._partial, budget))
        writer = self._writer.copy()
        if self._fence is not None:
            if not last.strip(" `~"):
                return []  # probably the beginning of the closing fence
            return writer.shown_on_terminal(writer.code_lines([self._fence.content(last)]))[
                -max_lines:
            ]
        lines = self._tail_source(last, budget)
        units = parse(lines, self._item) if any(lines) else []
        return writer.shown_on_terminal(writer.lines(units))[-max_lines:]

    def _tail_source(self, last: str, budget: int) -> list[str]:
        """Return the last lines of what is not final.

        The first lines of a long block are added, since they say what kind it is.
        """
        index, size = len(self._lines), len(last)
        while index and size < budget:
            index -= 1
            size += len(self._lines[index]) + _LINE_COST
        # The start moves by eight lines at a time: with every move the paragraph is
        # wrapped differently.
        index -= index % 8
        head = [line for line in self._lines[: min(2, index)] if len(line) < _MAX_HEAD_LENGTH]
        return [*head, *(_end(line, budget) for line in self._lines[index:]), last]


class _Fence:
    """A code fence whose closing line has not arrived."""

    def __init__(self, unit: Unit) -> None:
        token = unit.tokens[0]
        opener = unit.lines[first_line(token)]
        self._indent = len(opener) - len(opener.lstrip(" "))
        self._closing = re.compile(rf" {{0,3}}{token.markup}{token.markup[0]}*[ \t]*")

    def is_closed_by(self, line: str) -> bool:
        return self._closing.fullmatch(line) is not None

    def content(self, line: str) -> str:
        """Return a line of code without the fence's indent.

        As in markdown-it, a tab that reaches beyond the indent leaves blanks.
        """
        columns = 0
        for index, character in enumerate(line):
            if columns >= self._indent or character not in " \t":
                return " " * (columns - self._indent) + line[index:]
            columns += 4 - columns % 4 if character == "\t" else 1
        return ""


def _end(text: str, budget: int) -> str:
    """Return the last `budget` to 2 * `budget` characters of `text`.

    The start moves only once per `budget` characters, so that the display seldom jumps.
    """
    return text[max(0, len(text) - budget) // budget * budget :]
