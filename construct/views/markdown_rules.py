"""Rules of Markdown under which the screen shows what a model wrote.

Formulas and backslashes stay as they are, a star between two factors or in a path is a star,
and no cell of a table is dropped.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_inline import StateInline, emphasis, escape

# $f(x)$, but not "$5 and $6": no space inside the dollars, no digit behind them. Bold text
# between two prices is no formula either.
_FORMULA = re.compile(
    r"\\\(.{1,2000}?\\\)|\\\[.{1,2000}?\\\]|\$\$.{1,2000}?\$\$"
    r"|\$(?![\s$])(?:(?!\*\*)(?:\\.|[^$\\`])){1,400}?(?<!\s)\$(?!\d)",
    re.DOTALL,
)
_CLOSING = {"$$": "$$", "\\[": "\\]"}
"""What ends a formula of several lines, by what begins it."""
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_DELIMITER_ROW = re.compile(r"[\s|:-]*-[\s|:-]*")
_SEPARATOR = re.compile(r"(?<!\\)\|")
_MASK = "\ufdd0"
"""Stands for a `|` that separates no cells while a table is parsed: no text has it."""


def show_what_was_written(markdown: MarkdownIt) -> None:
    """Give a parser these rules."""
    alternatives = ["paragraph", "reference", "blockquote", "list"]
    markdown.block.ruler.before("fence", "formula", _formula_block, {"alt": alternatives})
    markdown.block.ruler.at("table", _whole_table, {"alt": ["paragraph", "reference"]})
    markdown.inline.ruler.before("escape", "formula", _formula)
    markdown.inline.ruler.at("escape", _escape)
    markdown.inline.ruler.at("emphasis", _emphasis)


def _formula(state: StateInline, silent: bool) -> bool:
    """Take a formula as plain text."""
    found = _FORMULA.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        state.push("text", "", 0).content = found[0]
    state.pos = found.end()
    return True


def _formula_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Take a formula of several lines as it stands, up to its end or a blank line."""
    first = _line(state, start)
    closing = _CLOSING.get(first[:2])
    if closing is None or closing in first[2:] or state.is_code_block(start):
        return False
    if silent:
        return True
    after, is_open = start + 1, True
    while is_open and after < end and not state.isEmpty(after):
        if state.sCount[after] < state.blkIndent:
            break
        is_open = closing not in _line(state, after)
        after += 1
    token = state.push("formula", "", 0)
    token.content = state.getLines(start, after, state.blkIndent, False)
    token.map = [start, after]
    state.line = after
    return True


def _escape(state: StateInline, silent: bool) -> bool:
    """Take a backslash and the sign behind it as text; at a line's end it breaks the line."""
    pair = state.src[state.pos : min(state.pos + 2, state.posMax)]
    if len(pair) < 2 or pair[0] != "\\" or pair[1] == "\n":
        return escape(state, silent)
    if not silent:
        state.push("text", "", 0).content = pair
    state.pos += 2
    return True


def _emphasis(state: StateInline, silent: bool) -> bool:
    """Let stars be emphasis only where they cannot be signs of arithmetic or of a path."""
    start = state.pos
    if not emphasis.tokenize(state, silent):
        return False
    length = state.pos - start
    if state.src[start] == "*":
        before = state.src[start - 1] if start else " "
        after = state.src[state.pos] if state.pos < state.posMax else " "
        may_open = not _is_factor(before) and after not in "/\\=."
        may_close = before not in "/\\(=" and not (length == 1 and _is_factor(after))
        if length == 1:
            may_open = may_open and before not in "/\\)]}^="
        for delimiter in state.delimiters[-length:]:
            delimiter.open = delimiter.open and may_open
            delimiter.close = delimiter.close and may_close
    return True


def _is_factor(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _whole_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table in which a `|` in code separates no cells, and no row is cut.

    What a row has beyond the last column becomes a part of its last cell.
    """
    if start + 2 > end or not _DELIMITER_ROW.fullmatch(_line(state, start + 1)):
        return False
    source = state.src
    first, last = state.bMarks[start], state.eMarks[_last_row(state, start, end)]
    rows = _mask_code(source[first:last]).split("\n")
    columns = len(_separators(rows[0])) + 1
    body = [_merge_beyond(row, columns) for row in rows[2:]]
    state.src = source[:first] + "\n".join([*rows[:2], *body]) + source[last:]
    parsed = len(state.tokens)
    try:
        found: bool = table(state, start, end, silent)
    finally:
        state.src = source
    for token in state.tokens[parsed:]:
        token.content = token.content.replace(_MASK, "|")
    return found


def _last_row(state: StateBlock, start: int, end: int) -> int:
    row = start + 1
    while row + 1 < end and not state.isEmpty(row + 1):
        row += 1
    return row


def _mask_code(text: str) -> str:
    return _CODE.sub(lambda code: code[0].replace("|", _MASK), text)


def _separators(row: str) -> list[int]:
    """Return where a row's cells are separated; not the outer `|`."""
    found = [match.start() for match in _SEPARATOR.finditer(row)]
    inner = row.strip()
    if inner.startswith("|"):
        found = found[1:]
    if found and found[-1] == len(row.rstrip()) - 1:
        found = found[:-1]
    return found


def _merge_beyond(row: str, columns: int) -> str:
    beyond = _separators(row)[columns - 1 :]
    if not beyond or not row[beyond[0] :].strip(" \t|"):
        return row
    return "".join(_MASK if place in beyond else sign for place, sign in enumerate(row))


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
