"""Markdown source → its top-level blocks, from the start or from wherever a stream has got to."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, list_block
from markdown_it.token import Token

# At its own limit markdown-it drops the rest of the document; below it a marker too many is text.
_DEEPEST = 24
_MOST_BRACKETS = 300

Rule = Callable[[StateBlock, int, int, bool], bool]


@dataclass(frozen=True)
class Context:
    """What the text before a region leaves open: nothing, a list, or a code fence."""

    kind: str = ""
    # Lines that put the parser into that state; their own blocks are thrown away.
    prefix: tuple[str, ...] = ()
    number: int = 0
    gap: bool = True


NOTHING_OPEN = Context()


@dataclass(frozen=True)
class Unit:
    """The least that is printed at once: a top-level block, an item of a top-level list, or a piece of a code fence."""

    tokens: list[Token]
    # The source that the tokens' line maps count in.
    lines: list[str]
    # Where the unit begins and ends among the lines that were given to `parse`.
    start: int
    end: int
    gap: bool
    # An item's number in its list; whether the unit goes on with a list or fence begun earlier.
    number: int = 0
    continues: bool = False

    @property
    def kind(self) -> str:
        """The markdown-it type of the unit's first token."""
        return self.tokens[0].type

    @property
    def open_fence(self) -> bool:
        """Whether the unit is a code fence without its closing line."""
        token = self.tokens[0]
        return token.type == "fence" and bool(token.map) and token.content.count("\n") == self._fence_lines()

    def _fence_lines(self) -> int:
        first, last = self.tokens[0].map or (0, 0)
        return last - first - 1

    def settled(self, total: int) -> bool:
        """Return whether nothing can be added to the unit that is the last among `total` lines."""
        if self.kind == "fence":
            return not self.open_fence
        return self.end < total and self.kind not in {"list_item_open", "code_block"}

    def context(self) -> Context:
        """Return the context in which the unit's own lines, parsed again, give the unit again."""
        if self.kind != "list_item_open" or not self.continues:
            return NOTHING_OPEN
        # Content five columns in: whatever the next item's indent (0 to 3), it is this one's sibling.
        marker = self.tokens[0].markup
        first = f"1{marker}   x" if marker in ".)" else f"{marker}    x"
        return Context("list", (first, ""), self.number, self.gap)

    def fence_context(self) -> Context:
        """Return the context of the lines that follow in the unit's open fence."""
        opener = self.lines[(self.tokens[0].map or [0])[0]]
        indent = len(opener) - len(opener.lstrip(" "))
        # The second line sees to it that the opener and what follows are not taken for a table.
        return Context("fence", (" " * indent + self.tokens[0].markup, "x"))


def inline(content: str) -> list[Token]:
    """Return the tokens of inline text. Its links are text if there are too many brackets: they cost their square."""
    links = "](" in content and content.count("[") <= _MOST_BRACKETS
    return parser(links=links).parseInline(content)[0].children or []


@cache
def parser(*, links: bool = True) -> MarkdownIt:
    """Return the parser: CommonMark and tables, but HTML and reference definitions are text.

    A definition may follow its use by pages, so a stream cannot know it; and a reader should see both.
    """
    markdown = MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"])
    markdown.disable(["reference", "html_block"])
    if not links:
        markdown.disable(["link", "image"])
    alternatives = ["paragraph", "reference", "blockquote"]
    markdown.block.ruler.at("list", _shallow(list_block), {"alt": alternatives})
    markdown.block.ruler.at("blockquote", _shallow(blockquote), {"alt": [*alternatives, "list"]})
    return markdown


def parse(lines: Sequence[str], context: Context = NOTHING_OPEN) -> list[Unit]:
    """Return the units of `lines`, which stand in `context`; inline text is left unparsed."""
    source = [*context.prefix, *lines]
    tokens: list[Token] = []
    parser().block.parse("\n".join(source) + "\n", parser(), {}, tokens)
    units = [unit for block in children(tokens) for unit in _units(block, source, context)]
    if context.kind == "list":
        return units[1:]
    return units


def children(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield each outermost block among `tokens` with all that is in it."""
    depth = start = 0
    for index, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            yield list(tokens[start : index + 1])
            start = index + 1


def blank_before(lines: Sequence[str], line: int) -> bool:
    """Return whether the source has a blank line before `line`, be it inside a block quote."""
    return line > 0 and not lines[line - 1].strip(" \t>")


def _units(block: list[Token], source: list[str], context: Context) -> Iterator[Unit]:
    if block[0].type in {"bullet_list_open", "ordered_list_open"}:
        yield from _items(block, source, context)
        return
    first, last = block[0].map or (0, 0)
    continues = context.kind == "fence" and first == 0
    if continues:
        block[0].content = block[0].content.removeprefix("x\n")
        block[0].map = [1, last]
    skipped = len(context.prefix)
    yield Unit(block, source, max(0, first - skipped), last - skipped, gap=True, continues=continues)


def _items(block: list[Token], source: list[str], context: Context) -> Iterator[Unit]:
    """Yield a unit for each item; numbers and gaps come from the context if the list began earlier."""
    skipped = len(context.prefix)
    continued = context.kind == "list" and (block[0].map or [0])[0] == 0
    number = context.number - 1 if continued else int(block[0].attrs.get("start", 1))
    for index, item in enumerate(children(block[1:-1])):
        first, last = item[0].map or (0, 0)
        gap = context.gap if continued and index == 1 else index == 0 or blank_before(source, first)
        yield Unit(item, source, first - skipped, last - skipped, gap, number + index, continues=index > 0)


def _shallow(rule: Rule) -> Rule:
    return lambda state, start, end, silent: state.level < _DEEPEST and rule(state, start, end, silent)
