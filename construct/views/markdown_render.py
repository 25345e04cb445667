"""Draw parsed Markdown as lines of styled text, and turn those into text with ANSI escapes.

Rich's own Markdown is not used: it centres headings, cuts long URLs, drops HTML, and
draws a document only as a whole.
"""

import io
import re
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from markdown_it.token import Token
from rich import box
from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console, JustifyMethod
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from construct.text import printable
from construct.views.markdown_blocks import Unit, blank_before, first_line, inline, top_level_blocks
from construct.views.markdown_code import CodeBlock
from construct.views.themes import Theme
from construct.views.wrapping import break_points, chop_points

_MIN_WIDTH = 10
_MAX_RULE_WIDTH = 40
_CODE_INDENT = "  "
_LONG_WORD = 16
"""A table's words up to this long are never cut; longer ones are if there is no room."""
_COLUMN_GAP = 3
# A link definition, which begins a line of its own: "[name]: http://example.com"
_DEFINITION = re.compile(r"\[[^\]]+\]:(?:\s|$)")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_JUSTIFY: dict[str, JustifyMethod] = {"text-align:right": "right", "text-align:center": "center"}


@dataclass(frozen=True, slots=True)
class Page:
    """The width and the theme to draw with."""

    width: int
    theme: Theme

    def narrower(self, columns: int) -> "Page":
        """Return a page that is narrower by `columns`, but not too narrow to read."""
        return Page(max(_MIN_WIDTH, self.width - columns), self.theme)

    def style(self, name: str) -> str:
        """Return the definition of a named style."""
        return self.theme.styles[name]


class Writer:
    """Draws units one after another, with blank lines between them."""

    def __init__(self, width: int, theme: Theme) -> None:
        self._page = Page(width, theme)
        self._begun = False
        self._gap = False
        self._code = CodeBlock("", theme)
        """The last code fence; more of its lines may follow."""

    def resize(self, width: int) -> None:
        """Draw the next units `width` columns wide."""
        self._page = Page(width, self._page.theme)

    def copy(self) -> "Writer":
        """Return an independent copy, to draw units that may change."""
        other = copy(self)
        other._code = self._code.copy()
        return other

    def write(self, units: Sequence[Unit]) -> str:
        """Return `units` as text for the terminal."""
        return "".join(f"{line}\n" for line in self._strings(self.lines(units)))

    def write_code(self, code: Sequence[str]) -> str:
        """Return lines that continue the last code fence, as text for the terminal."""
        return "".join(f"{line}\n" for line in self._strings(self.code_lines(code)))

    def lines(self, units: Sequence[Unit]) -> list[Text]:
        """Return `units` as styled lines."""
        return [line for unit in units for line in self._unit_lines(unit)]

    def code_lines(self, code: Sequence[str]) -> list[Text]:
        """Return lines that continue the last code fence, as styled lines."""
        return self._spaced(_prefixed(self._code.add(code), _CODE_INDENT))

    def shown_on_terminal(self, lines: Sequence[Text]) -> list[str]:
        """Return lines as the terminal will show them, broken at its width."""
        width = max(2, self._page.width)
        pieces: list[Text] = []
        for line in lines:
            pieces += line.divide(chop_points(line.plain.rstrip(), width))
        return self._strings(pieces)

    def _unit_lines(self, unit: Unit) -> list[Text]:
        self._gap = self._begun and unit.gap
        token = unit.tokens[0]
        if unit.kind == "fence":
            self._code = CodeBlock(_language(token), self._page.theme)
            return self.code_lines(_code_lines(token))
        if unit.kind == "list_item_open":
            return self._spaced(_item(unit.tokens, unit.lines, self._page, unit.number))
        return self._spaced(_block(unit.tokens, unit.lines, self._page))

    def _spaced(self, lines: list[Text]) -> list[Text]:
        """Return the lines, after a blank one if there is a gap before the unit."""
        if not lines:
            return []
        gap = [Text()] if self._gap else []
        self._begun, self._gap = True, False
        return [*gap, *lines]

    def _strings(self, lines: Sequence[Text]) -> list[str]:
        if self._page.theme.plain:
            return [line.plain.rstrip() for line in lines]
        return [_ansi(line) for line in lines]


def _blocks(tokens: Sequence[Token], lines: list[str], page: Page) -> list[Text]:
    drawn: list[Text] = []
    for block in top_level_blocks(tokens):
        block_lines = _block(block, lines, page)
        if drawn and block_lines and blank_before(lines, first_line(block[0])):
            drawn.append(Text())
        drawn += block_lines
    return drawn


def _block(tokens: list[Token], lines: list[str], page: Page) -> list[Text]:
    """Return the lines of one block. `lines` are the source, for its blank lines."""
    page = page.narrower(0)  # at least the minimum width
    match tokens[0].type:
        case "paragraph_open":
            return _wrap(_inline(tokens[1], page), page.width)
        case "heading_open":
            style = page.style(f"heading{min(3, int(tokens[0].tag[1:]))}")
            return _wrap(_inline(tokens[1], page, style), page.width) if tokens[1].content else []
        case "fence" | "code_block":
            code = CodeBlock(_language(tokens[0]), page.theme).add(_code_lines(tokens[0]))
            return _prefixed(code, _CODE_INDENT)
        case "hr":
            return [Text.assemble(("─" * min(page.width, _MAX_RULE_WIDTH), page.style("rule")))]
        case "blockquote_open":
            inner = _blocks(tokens[1:-1], lines, page.narrower(2))
            return _prefixed(
                inner, Text("▌ ", page.style("quote")), blank=Text("▌", page.style("quote"))
            )
        case "formula":
            written = Text(printable(tokens[0].content).replace("\t", " "))
            return _wrap(written, page.width)
        case "table_open":
            return _table(tokens, page)
        case _:
            return _list(tokens, lines, page)


def _list(tokens: list[Token], lines: list[str], page: Page) -> list[Text]:
    drawn: list[Text] = []
    start = int(tokens[0].attrs.get("start", 1))
    for number, item in enumerate(top_level_blocks(tokens[1:-1]), start):
        if drawn and blank_before(lines, first_line(item[0])):
            drawn.append(Text())
        drawn += _item(item, lines, page, number)
    return drawn


def _item(tokens: list[Token], lines: list[str], page: Page, number: int) -> list[Text]:
    delimiter = tokens[0].markup
    marker = f"{number}{delimiter} " if delimiter in ".)" else "• "
    inner = _blocks(tokens[1:-1], lines, page.narrower(len(marker))) or [Text()]
    first = Text.assemble((marker, page.style("bullet")), inner[0])
    return [first, *_prefixed(inner[1:], " " * len(marker))]


def _table(tokens: list[Token], page: Page) -> list[Text]:
    header, *rows = _cells(tokens, page)
    widths = column_widths(
        [[cell.plain for cell in column] for column in zip(header, *rows, strict=True)], page.width
    )
    if widths is None:
        return _records(header, rows, page)
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, border_style=page.style("rule")
    )
    for cell, style, width in zip(header, _alignments(tokens), widths, strict=True):
        cell.stylize(page.style("table"))
        table.add_column(cell, justify=style, overflow="fold", width=width)
    for row in rows:
        table.add_row(*row)
    options = _console().options.update(width=page.width, height=None)
    lines = [_line(segments) for segments in _console().render_lines(table, options, pad=False)]
    while not lines[-1].plain.strip():
        lines.pop()  # rich adds a blank line below a table without rows
    return lines


def column_widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Return the widths of a table's columns, given the texts of their cells.

    With the gaps they take at most `room` columns in total. Wide columns are reduced
    first; only very long words are cut. None if the words do not fit side by side.
    """
    minima = [min(_LONG_WORD, _longest(" ".join(cells).split(), 1)) for cells in columns]
    maxima = [_longest("\n".join(cells).split("\n"), 0) for cells in columns]
    room -= _COLUMN_GAP * (len(columns) - 1)
    if sum(minima) > room:
        return None
    limit = room
    while sum(widths := _clamped(minima, maxima, limit)) > room:
        limit -= 1
    reduced = [index for index, width in enumerate(widths) if width < maxima[index]]
    for index in reduced[: room - sum(widths)]:
        widths[index] += 1
    return widths


def _longest(texts: Sequence[str], default: int) -> int:
    return max(map(cell_len, texts), default=default)


def _clamped(minima: Sequence[int], maxima: Sequence[int], limit: int) -> list[int]:
    return [max(low, min(high, limit)) for low, high in zip(minima, maxima, strict=True)]


def _records(header: list[Text], rows: list[list[Text]], page: Page) -> list[Text]:
    """Return a table that is too wide as records: "heading: cell", one cell per line.

    Empty cells are left out, unless the whole row is empty.
    """
    lines: list[Text] = []
    for row in rows or [[Text() for _ in header]]:
        if lines:
            lines.append(Text())
        row_is_empty = not any(cell.plain for cell in row)
        for name, cell in zip(header, row, strict=True):
            if cell.plain or row_is_empty:
                label = Text()
                if name.plain:
                    label = Text.assemble((name.plain, page.style("table")), ": ")
                lines += _wrap(label + cell, page.width)
    return lines


def _wrap(text: Text, width: int) -> list[Text]:
    lines: list[Text] = []
    for line in text.split("\n", allow_blank=True):
        lines += line.divide(break_points(line.plain, width))
    return lines


def _ansi(line: Text) -> str:
    line.rstrip()
    if not line.spans and not line.style:
        return line.plain
    return "".join(
        style.render(text, color_system=ColorSystem.EIGHT_BIT) if style else text
        for text, style, _ in line.render(_console())
    )


def _prefixed(lines: Sequence[Text], prefix: str | Text, blank: str | Text = "") -> list[Text]:
    """Return the lines with `prefix` before each, or `blank` before empty ones."""
    return [Text.assemble(prefix if line else blank, line) for line in lines]


def _language(token: Token) -> str:
    return (token.info.split() or [""])[0]


def _code_lines(token: Token) -> list[str]:
    return token.content.split("\n")[:-1]


def _cells(tokens: Sequence[Token], page: Page) -> list[list[Text]]:
    rows: list[list[Text]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_inline(token, page))
    return rows


def _alignments(tokens: Sequence[Token]) -> Iterator[JustifyMethod]:
    return (
        _JUSTIFY.get(str(token.attrs.get("style")), "left")
        for token in tokens
        if token.type == "th_open"
    )


def _line(segments: Sequence[Segment]) -> Text:
    return Text.assemble(
        *((text, style if style and text.strip() else "") for text, style, _ in segments)
    )


def _inline(token: Token, page: Page, style: str = "") -> Text:
    collected = _Inline(page, style)
    for child, following in pairwise([*inline(token.content), None]):
        if child is not None:
            collected.add(child, following)
    return collected.text


class _Inline:
    """Collects inline tokens into one styled text."""

    def __init__(self, page: Page, style: str) -> None:
        self.text = Text()
        self._style = page.style
        self._styles = [Style.parse(style)]
        self._links: list[tuple[str, int]] = []

    def add(self, token: Token, following: Token | None) -> None:
        match token.type:
            case "hardbreak":
                self._append("\n")
            case "softbreak":
                next_text = following.content if following and following.type == "text" else ""
                self._append("\n" if _DEFINITION.match(next_text) else " ")
            case "code_inline":
                self._append(token.content, self._style("code"))
            case "html_inline":
                self._append("\n" if _BREAK.fullmatch(token.content) else token.content)
            case "image":
                self._append(token.content or "image")
                self._append(f" ({token.attrs.get('src', '')})", self._style("url"))
            case "link_open":
                self._links.append((str(token.attrs.get("href", "")), len(self.text)))
                self._begin("link")
            case "link_close":
                self._close_link()
            case _ if token.nesting > 0:
                self._begin(token.tag)
            case _ if token.nesting < 0:
                self._styles.pop()
            case _:
                self._append(token.content)

    def _begin(self, style: str) -> None:
        self._styles.append(self._styles[-1] + Style.parse(self._style(style)))

    def _append(self, content: str, style: str = "") -> None:
        # Clean here, where entities and percent codes have been decoded.
        clean = printable(content).replace("\t", " ")
        if self.text.plain.endswith("\n"):
            clean = clean.lstrip(" ")
        self.text.append(
            clean, self._styles[-1] + Style.parse(style) if style else self._styles[-1]
        )

    def _close_link(self) -> None:
        """Append the target unless it is the text, so that no link hides it."""
        self._styles.pop()
        target, start = self._links.pop()
        if self.text.plain[start:] not in {target, target.removeprefix("mailto:")}:
            self._append(f" ({target})", self._style("url"))


@cache
def _console() -> Console:
    return Console(
        file=io.StringIO(), force_terminal=True, color_system="256", legacy_windows=False
    )
