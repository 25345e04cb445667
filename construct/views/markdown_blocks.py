"""Parse Markdown into top-level blocks and list items, at any point of a stream."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, list_block
from markdown_it.token import Token

from construct.views.markdown_rules import show_what_was_written

# Deeper lists and quotes are text. At its own limit, which is higher, markdown-it drops
# the rest of the document.
_MAX_NESTING = 24
_MAX_BRACKETS = 300
# An item to parse before lines that continue a list, and to discard afterwards. Its
# content is indented by five columns: items with an indent of 0 to 3 are its siblings.
_ITEM_BEFORE = {".": "1.   x", ")": "1)   x", "-": "-    x", "*": "*    x", "+": "+    x"}

Rule = Callable[[StateBlock, int, int, bool], bool]


@dataclass(frozen=True)
class Unit:
    """A top-level block or a list item, printed whole unless it is a code fence."""

    tokens: list[Token]
    lines: list[str]
    """The source lines to which the tokens' line numbers refer."""
    start: int
    end: int
    """The unit's line range among the lines given to `parse`."""
    gap: bool = True
    """Whether a blank line is drawn between it and the unit before it."""
    number: int = 0
    """A list item's number."""
    continues_list: bool = False
    """Whether it is a list item but not the first of its list."""

    @property
    def kind(self) -> str:
        """The markdown-it type of the unit's first token."""
        return self.tokens[0].type

    @property
    def open_fence(self) -> bool:
        """Whether the unit is a code fence without its closing line."""
        token = self.tokens[0]
        first, last = token.map or (0, 0)
        return token.type == "fence" and token.content.count("\n") == last - first - 1

    def is_settled(self, total: int) -> bool:
        """Return whether the unit, the last in `total` lines, is complete."""
        if self.kind == "fence":
            return not self.open_fence
        return self.end < total and self.kind not in {"list_item_open", "code_block"}


def parse(lines: Sequence[str], item: Unit | None = None) -> list[Unit]:
    """Return the units of `lines`. Their inline text is not parsed yet.

    If the lines begin in the middle of a list, `item` is the item they begin with, as
    parsed before.
    """
    before = [] if item is None else [_ITEM_BEFORE[item.tokens[0].markup], ""]
    source = [*before, *lines]
    tokens: list[Token] = []
    parser().block.parse("\n".join(source) + "\n", parser(), {}, tokens)
    units: list[Unit] = []
    for block in top_level_blocks(tokens):
        first, last = block[0].map or (0, 0)
        if block[0].type in {"bullet_list_open", "ordered_list_open"}:
            units += _items(block, source, item if first == 0 else None, len(before))
        else:
            units.append(Unit(block, source, start=first - len(before), end=last - len(before)))
    return units


def _items(
    block: list[Token], source: list[str], item: Unit | None, skipped: int
) -> Iterator[Unit]:
    """Yield a unit for each item of a list, except the one from `_ITEM_BEFORE`."""
    number = int(block[0].attrs.get("start", 1)) if item is None else item.number - 1
    for index, tokens in enumerate(top_level_blocks(block[1:-1])):
        first, last = tokens[0].map or (0, 0)
        gap = index == 0 or blank_before(source, first)
        if item is not None and index == 0:
            continue
        if item is not None and index == 1:
            gap = item.gap
        yield Unit(
            tokens,
            source,
            start=first - skipped,
            end=last - skipped,
            gap=gap,
            number=number + index,
            continues_list=index > 0,
        )


def top_level_blocks(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield each outermost block as the list of all its tokens."""
    depth = start = 0
    for index, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            yield list(tokens[start : index + 1])
            start = index + 1


def first_line(token: Token) -> int:
    """Return the index of the source line where a block begins."""
    return token.map[0] if token.map else 0


def blank_before(lines: Sequence[str], line: int) -> bool:
    """Return whether the line before `line` is blank, inside a block quote too."""
    return line > 0 and not lines[line - 1].strip(" \t>")


def inline(content: str) -> list[Token]:
    """Return the tokens of inline text.

    Links are not parsed in text with very many brackets: that takes quadratic time.
    """
    links = "](" in content and content.count("[") <= _MAX_BRACKETS
    return parser(links=links).parseInline(content)[0].children or []


@cache
def parser(*, links: bool = True) -> MarkdownIt:
    """Return the parser: CommonMark with tables and strikethrough.

    HTML blocks are text. So are link definitions: one may come pages after its use, when
    the use has already been printed.
    """
    markdown = MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"])
    markdown.disable(["reference", "html_block"])
    show_what_was_written(markdown)
    if not links:
        markdown.disable(["link", "image"])
    alternatives = ["paragraph", "reference", "blockquote"]
    markdown.block.ruler.at("list", _shallow(list_block), {"alt": alternatives})
    markdown.block.ruler.at("blockquote", _shallow(blockquote), {"alt": [*alternatives, "list"]})
    return markdown


def _shallow(rule: Rule) -> Rule:
    """Return a block rule that does not apply beyond `_MAX_NESTING`."""
    return lambda state, start, end, silent: (
        state.level < _MAX_NESTING and rule(state, start, end, silent)
    )
