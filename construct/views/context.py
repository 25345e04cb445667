"""What the main model would be sent, part by part."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from construct import tokens
from construct.llm.types import Block, File, Request, ToolResult
from construct.llm.types import Text as TextBlock
from construct.memory.shown.context import block_kind, block_text, block_tokens, request_tokens
from construct.operations.status import NextRequest
from construct.text import one_line, printable, shorten
from construct.views.widgets import AccentBar, grid
from construct.views.words import counted, percent

_FIRST, _LAST, _GAP = 140, 60, 40
_FIRST_LINES, _LINE_WIDTH = 4, 120
_BAR_WIDTH = 32
_LIVES = {"5m": "5 minutes", "1h": "1 hour"}


def context_view(found: NextRequest, *, full: bool = False) -> RenderableType:
    """Return a request part by part, long texts abbreviated unless `full`.

    Where its tokens go stands at the end, which is what is on the screen afterwards.
    """
    request = found.request
    sizes = request_tokens(request)
    total = sum(sizes.values())
    share = percent(total / found.window)
    head = Text.assemble(
        (counted(total, "token"), "heading3"),
        f" would be sent to {one_line(found.model)}, {share} of its window of {found.window:,}.",
        (f" Cached for {_LIVES[request.cache_life]} up to each ◄.", "dim"),
        ("" if full else " /context full shows every word.", "dim"),
    )
    return Group(*_parts(request, full=full), head, Padding(_bars(request, sizes), (1, 0, 0, 2)))


def context_json(found: NextRequest) -> dict[str, Any]:
    """Return the same for programs."""
    request = found.request
    return {
        "model": found.model,
        "window": found.window,
        "tokens": request_tokens(request),
        "cache_life": request.cache_life,
        "system": [{"text": text.text, "mark": text.mark} for text in request.system],
        "tools": [tool.name for tool in request.tools],
        "messages": [
            {
                "role": message.role,
                "blocks": [
                    {"kind": block_kind(block), "text": _words(block), "mark": _is_marked(block)}
                    for block in message.blocks
                ],
            }
            for message in request.messages
        ],
    }


def _bars(request: Request, sizes: dict[str, int]) -> Table:
    """Return a bar for each part, placed where the part lies in the whole."""
    total = max(1, sum(sizes.values()))
    ends = accumulate(sizes.values())
    rows = (
        (
            "window" if name == "messages" else name,
            AccentBar(total, end - size, end),
            f"{size:,}",
            percent(size / total),
            _count_words(request, name),
        )
        for (name, size), end in zip(sizes.items(), ends, strict=True)
        if size
    )
    return grid(
        rows,
        Column(no_wrap=True),
        Column(max_width=_BAR_WIDTH),
        Column(no_wrap=True, justify="right"),
        Column(no_wrap=True, justify="right"),
        Column(style="dim", overflow="fold"),
    )


def _count_words(request: Request, part: str) -> str:
    observations = sum(
        block_kind(block) == "observations" for one in request.messages for block in one.blocks
    )
    messages = sum(
        any(block_kind(block) == "messages" for block in one.blocks) for one in request.messages
    )
    counts = {
        "tools": counted(len(request.tools), "tool"),
        "observations": counted(observations, "block"),
        "messages": counted(messages, "message"),
    }
    return counts.get(part, "")


def _parts(request: Request, *, full: bool) -> Iterator[RenderableType]:
    if request.tools and full:
        for tool in request.tools:
            yield from _part("tool", [(f"{tool.name}: {tool.description}", False)], full=True)
    elif request.tools:
        names = ", ".join(tool.name for tool in request.tools)
        size = request_tokens(request)["tools"]
        yield from _part("tools", [(names, False)], size=size, full=False)
    yield from _part("system", [(text.text, text.mark) for text in request.system], full=full)
    for message in request.messages:
        yield from _part(
            message.role,
            [(_words(block), _is_marked(block)) for block in message.blocks],
            size=sum(map(block_tokens, message.blocks)),
            full=full,
        )


def _part(
    role: str, texts: Sequence[tuple[str, bool]], *, full: bool, size: int | None = None
) -> Iterator[RenderableType]:
    if size is None:
        size = sum(tokens.count(text) for text, _ in texts)
    yield Text.assemble((role, "accent"), (f"  {counted(size, 'token')}", "dim"))
    for text, marked in texts:
        shown = _abbreviated(printable(text), full=full)
        if marked:
            shown.append("  ◄", style="success")
        yield Padding(shown, (0, 0, 0, 2))
    yield Text()


def _words(block: Block) -> str:
    return (
        block_text(block)
        if isinstance(block, TextBlock | File)
        else f"[{type(block).__name__}] {block_text(block)}"
    )


def _is_marked(block: Block) -> bool:
    return isinstance(block, TextBlock | ToolResult | File) and block.mark


def _abbreviated(text: str, *, full: bool) -> Text:
    """Return the text.

    Of a long one its beginning and its end, in one paragraph unless it is made of
    lines.
    """
    if full or len(text) <= _FIRST + _LAST + _GAP:
        return Text(text)
    if text.startswith("<"):
        return _abbreviated_lines(text.splitlines())
    hidden = text[_FIRST:-_LAST]
    shown = Text(one_line(text[:_FIRST]))
    shown.append(f" … {counted(len(hidden), 'character')} … ", style="dim")
    return shown.append(one_line(text[-_LAST:]))


def _abbreviated_lines(lines: Sequence[str]) -> Text:
    hidden = lines[_FIRST_LINES:-1]
    shown = Text("\n".join(shorten(line, _LINE_WIDTH) for line in lines[:_FIRST_LINES]))
    if len(hidden) == 1:
        shown.append(f"\n{shorten(hidden[0], _LINE_WIDTH)}")
    elif hidden:
        shown.append(f"\n… {counted(len(hidden), 'line')} …", style="dim")
    return (
        shown.append(f"\n{shorten(lines[-1], _LINE_WIDTH)}") if len(lines) > _FIRST_LINES else shown
    )
