"""Markdown for the terminal, whole or as it streams in; both leave the same lines.

A stream prints what nothing that follows can change: every top-level block but the
last, every item of a list but the last, every line of an open code fence. The rest is
small, and is shown above the prompt until it is final.
"""

import re

from construct.text import printable
from construct.views.markdown_blocks import Unit, parse
from construct.views.markdown_render import Writer
from construct.views.themes import NEUTRAL, Theme

# Parsing again for each line costs little below this many characters, and too much
# above.
_SMALL = 2000
# After a blank line, a start like this cannot belong to the block before it, however
# the line goes on.
_NEW_BLOCK = re.compile(r"[^\s\d*+-]|\*\*")
# A whole line that begins a block wherever it stands.
_INTERRUPTS = re.compile(r"#{1,6}(?:\s|$)|`{3,}[^`]*$|~{3}")
_ENDED_BY_BLANK = frozenset(
    {"paragraph_open", "heading_open", "table_open", "blockquote_open", "hr"}
)
# For the tail: a longer line is no table's head; a line costs this many characters more
# than it has.
_LONGEST_HEAD = 500
_LINE_COST = 30


def render_markdown(text: str, width: int, theme: Theme = NEUTRAL) -> str:
    """Return Markdown `text` as lines for a terminal `width` columns wide."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return Writer(width, theme).write(parse([printable(line) for line in lines]))


def warm() -> None:
    """Build what the first rendering needs; meant for a thread while the user types."""
    render_markdown("**a**\n\n```python\n1\n```\n\n|a|\n|-|\n", 80)


class MarkdownStream:
    """Renders one reply that arrives in pieces, however it is cut."""

    def __init__(self, width: int, theme: Theme = NEUTRAL) -> None:
        """Render for a terminal `width` columns wide."""
        self._width = width
        self._writer = Writer(width, theme)
        self._fence: _Fence | None = None
        # Lines not printed yet, cleaned, and the item they begin with in the middle of
        # a list; then the line that is still coming in, as it came.
        self._lines: list[str] = []
        self._item: Unit | None = None
        self._partial = ""
        self._carriage_return = ""
        self._size = 0
        self._last_kind = ""
        self._parse_at = 0
        self._cached_tail: tuple[int, str] | None = None

    def feed(self, delta: str) -> str:
        """Take in `delta`.

        Return what has become final, as whole lines to be printed once.
        """
        self._cached_tail = None
        *lines, self._partial = (self._partial + self._newlines(delta)).split("\n")
        first = len(self._lines)
        out = self._take(lines)
        if self._is_due(first):
            out += self._flush()
        if self._begins_new_block():
            out += self._flush(probe=True)
        return out

    def finish(self) -> str:
        """Return all that is left, as whole lines."""
        self._cached_tail = None
        out = self._take([self._partial] if self._partial else [])
        self._partial = self._carriage_return = ""
        units, self._lines = parse(self._lines, self._item), []
        return out + self._writer.write(units)

    def tail(self, max_lines: int = 8) -> str:
        """Return the last `max_lines` lines of what is not final, to be shown for now.

        None of them is wider than the terminal.
        """
        if self._cached_tail is None or self._cached_tail[0] != max_lines:
            self._cached_tail = (max_lines, "\n".join(self._tail_lines(max_lines)))
        return self._cached_tail[1]

    def resize(self, width: int) -> None:
        """Render what has not been printed yet for a terminal `width` columns wide."""
        self._width = width
        self._cached_tail = None
        self._writer.resize(width)

    def _newlines(self, delta: str) -> str:
        """Return `delta` with newlines only.

        A carriage return at its end waits for the newline that may follow.
        """
        text = self._carriage_return + delta
        self._carriage_return = "\r" if text.endswith("\r") else ""
        return text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")

    def _take(self, lines: list[str]) -> str:
        # Cleaned by whole lines: an escape sequence cut in two by the stream is one
        # again, and cannot hold up the rest.
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

    def _is_due(self, first: int) -> bool:
        """Return whether the lines from `first` on are worth a look for what is final.

        A large region is looked at each time it has grown by a quarter, or when a block
        has ended for certain; otherwise a long block would be parsed as often as it has
        lines.
        """
        if first == len(self._lines):
            return False
        return self._size >= self._parse_at or any(
            map(self._ends_block, range(first, len(self._lines)))
        )

    def _ends_block(self, index: int) -> bool:
        line = self._lines[index]
        if not line.strip():
            return self._last_kind in _ENDED_BY_BLANK
        after_blank = index > 0 and not self._lines[index - 1].strip()
        return bool(_INTERRUPTS.match(line) or (after_blank and _NEW_BLOCK.match(line)))

    def _begins_new_block(self) -> bool:
        after_blank = bool(self._lines) and not self._lines[-1].strip()
        return after_blank and bool(_NEW_BLOCK.match(printable(self._partial[:9])))

    def _flush(self, *, probe: bool = False) -> str:
        """Return the units that are final.

        To `probe` is to ask what would be if a paragraph began here.
        """
        units = parse([*self._lines, "x"] if probe else self._lines, self._item)
        done, rest = self._final(units, probe=probe)
        self._lines = self._lines[rest:]
        self._last_kind = units[-1].kind if units and self._lines else ""
        self._size = sum(map(len, self._lines)) + len(self._lines)
        self._parse_at = self._size * 5 // 4 if self._size > _SMALL else 0
        return self._writer.write(done)

    def _final(self, units: list[Unit], *, probe: bool) -> tuple[list[Unit], int]:
        if not units:
            return [], len(self._lines)
        last = units[-1]
        # Only its second line shows that a fence's first is not the head of a table.
        in_fence = not probe and last.open_fence and bool(last.tokens[0].content)
        if in_fence:
            self._fence = _Fence(last)
        if in_fence or (not probe and last.is_settled(len(self._lines))):
            self._item = None
            return units, len(self._lines)
        self._item = last if last.continues_list else None
        return units[:-1], last.start

    def _tail_lines(self, max_lines: int) -> list[str]:
        budget = 2 * max_lines * self._width
        last = printable(_end(self._partial, budget))
        trial = self._writer.copy()
        if self._fence is not None:
            if not last.strip(" `~"):
                return []  # most likely the end of the fence, coming in
            return trial.fitted(trial.code_lines([self._fence.content(last)]))[-max_lines:]
        lines = self._tail_source(last, budget)
        units = parse(lines, self._item) if any(lines) else []
        return trial.fitted(trial.lines(units))[-max_lines:]

    def _tail_source(self, last: str, budget: int) -> list[str]:
        """Return the end of what is not final.

        Of a long block its head too, which says what it is.
        """
        index, size = len(self._lines), len(last)
        while index and size < budget:
            index -= 1
            size += len(self._lines[index]) + _LINE_COST
        # The beginning moves by several lines at a time, or everything would be wrapped
        # anew for each line.
        index -= index % 8
        head = [line for line in self._lines[: min(2, index)] if len(line) < _LONGEST_HEAD]
        return [*head, *(_end(line, budget) for line in self._lines[index:]), last]


class _Fence:
    def __init__(self, unit: Unit) -> None:
        token = unit.tokens[0]
        opener = unit.lines[(token.map or [0])[0]]
        self._indent = len(opener) - len(opener.lstrip(" "))
        self._closing = re.compile(rf" {{0,3}}{token.markup}{token.markup[0]}*[ \t]*")

    def is_closed_by(self, line: str) -> bool:
        return self._closing.fullmatch(line) is not None

    def content(self, line: str) -> str:
        """Return a line of code without the indent of the fence.

        A tab that reaches beyond that indent leaves blanks, as markdown-it has it.
        """
        columns = 0
        for at, character in enumerate(line):
            if columns >= self._indent or character not in " \t":
                return " " * (columns - self._indent) + line[at:]
            columns += 4 - columns % 4 if character == "\t" else 1
        return ""


def _end(text: str, budget: int) -> str:
    """Return the end of `text`: `budget` to twice as many characters.

    It begins at a place that seldom moves.
    """
    return text[max(0, len(text) - budget) // budget * budget :]
