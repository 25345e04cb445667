"""Markdown source → its top-level blocks, from wherever a stream is."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, list_block
from markdown_it.token import Token

# At its own limit markdown-it drops the rest of the document; below it a marker too
# many is text.
_DEEPEST = 24
_MOST_BRACKETS = 300
# Put before lines that continue a list, and thrown away again: an item with its content
# five columns in, so that what follows is its sibling whatever its indent (0 to 3).
_ITEM_BEFORE = {".": "1.   x", ")": "1)   x", "-": "-    x", "*": "*    x", "+": "+    x"}

Rule = Callable[[StateBlock, int, int, bool], bool]


@dataclass(frozen=True)
class Unit:
    """The least that is printed at once: a top-level block, or an item of a list."""

    tokens: list[Token]
    lines: list[str]
    """The source in whose lines the tokens' maps count."""
    start: int
    end: int
    """Where the unit begins and ends among the lines that were given to `parse`."""
    gap: bool = True
    """Whether a blank line belongs before it."""
    number: int = 0
    """An item's number in its list."""
    continues_list: bool = False

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
        """Return whether, as the last in `total` lines, it cannot grow any more."""
        if self.kind == "fence":
            return not self.open_fence
        return self.end < total and self.kind not in {"list_item_open", "code_block"}


def parse(lines: Sequence[str], item: Unit | None = None) -> list[Unit]:
    """Return the units of `lines`, their inline text unparsed.

    When the lines begin with an item in the middle of a list, `item` is that item as it
    was parsed before.
    """
    before = [] if item is None else [_ITEM_BEFORE[item.tokens[0].markup], ""]
    source = [*before, *lines]
    tokens: list[Token] = []
    parser().block.parse("\n".join(source) + "\n", parser(), {}, tokens)
    units: list[Unit] = []
    for block in children(tokens):
        first, last = block[0].map or (0, 0)
        if block[0].type in {"bullet_list_open", "ordered_list_open"}:
            units += _items(block, source, item if first == 0 else None, len(before))
        else:
            units.append(Unit(block, source, first - len(before), last - len(before)))
    return units


def _items(
    block: list[Token], source: list[str], item: Unit | None, skipped: int
) -> Iterator[Unit]:
    """Yield a unit for each item of a list, without the one before `item`."""
    number = int(block[0].attrs.get("start", 1)) if item is None else item.number - 1
    for index, tokens in enumerate(children(block[1:-1])):
        first, last = tokens[0].map or (0, 0)
        gap = index == 0 or blank_before(source, first)
        if item is not None and index == 0:
            continue
        if item is not None and index == 1:
            gap = item.gap
        yield Unit(tokens, source, first - skipped, last - skipped, gap, number + index, index > 0)


def children(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield each outermost block among `tokens` with all that is in it."""
    depth = start = 0
    for index, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            yield list(tokens[start : index + 1])
            start = index + 1


def blank_before(lines: Sequence[str], line: int) -> bool:
    """Return whether a blank line stands before `line`, be it inside a block quote."""
    return line > 0 and not lines[line - 1].strip(" \t>")


def inline(content: str) -> list[Token]:
    """Return the tokens of inline text.

    With too many brackets its links are text: they cost their square.
    """
    links = "](" in content and content.count("[") <= _MOST_BRACKETS
    return parser(links=links).parseInline(content)[0].children or []


@cache
def parser(*, links: bool = True) -> MarkdownIt:
    """Return the parser: CommonMark and tables; HTML and definitions are text.

    A definition may follow its use by pages, so a stream cannot know it; and a reader
    should see both.
    """
    markdown = MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"])
    markdown.disable(["reference", "html_block"])
    if not links:
        markdown.disable(["link", "image"])
    alternatives = ["paragraph", "reference", "blockquote"]
    markdown.block.ruler.at("list", _shallow(list_block), {"alt": alternatives})
    markdown.block.ruler.at("blockquote", _shallow(blockquote), {"alt": [*alternatives, "list"]})
    return markdown


def _shallow(rule: Rule) -> Rule:
    return lambda state, start, end, silent: (
        state.level < _DEEPEST and rule(state, start, end, silent)
    )
