"""Render the next request to the main model, part by part."""

import json
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from construct import tokens
from construct.llm.types import Block, File, Request, ToolResult
from construct.llm.types import Text as TextBlock
from construct.memory.shown.context import (
    block_kind,
    block_text,
    block_tokens,
    request_tokens,
    tool_tokens,
)
from construct.operations.status import NextRequest
from construct.program import as_typed
from construct.text import one_line, printable, shorten
from construct.views.widgets import AccentBar, grid
from construct.views.words import counted, percent
from construct.vocabulary import Provider

_HEAD_CHARACTERS, _TAIL_CHARACTERS = 140, 60
"""How much of a long text is shown at its beginning and at its end."""
_MIN_HIDDEN = 40
"""A text is not abbreviated to hide fewer characters than this."""
_HEAD_LINES, _LINE_WIDTH = 4, 120
_BAR_WIDTH = 32
_CACHE_LIFE_WORDS = {"5m": "5 minutes", "1h": "1 hour"}


class _Passage(NamedTuple):
    """A text of the request."""

    text: str
    ends_cached_prefix: bool = False


def context_view(upcoming: NextRequest, *, full: bool = False) -> RenderableType:
    """Return the request part by part, then a table of the tokens each part takes.

    Long texts are abbreviated unless `full`; `full_command` says how to ask for it. The
    table comes last, so that it is still on the screen when a long request has scrolled
    by.
    """
    if upcoming.model == Provider.NOTEBOOK:
        return Text(
            "The notebook replies, so your message is sent to no model for its reply."
            f" Run {as_typed('setup')} to choose one."
        )
    request = upcoming.request
    sizes = request_tokens(request)
    total = sum(sizes.values())
    share = percent(total / upcoming.window)
    head = Text.assemble(
        (counted(total, "token"), "heading3"),
        f" would be sent to {one_line(upcoming.model)}, "
        f"{share} of its window of {upcoming.window:,}.",
        (
            " Up to each ◄, the server may cache the prompt, for "
            f"{_CACHE_LIFE_WORDS[request.cache_life]}.",
            "dim",
        ),
        ("" if full else f" {as_typed('memory context --full')} shows every word.", "dim"),
    )
    return Group(*_parts(request, full=full), head, Padding(_bars(request, sizes), (1, 0, 0, 2)))


def context_json(upcoming: NextRequest) -> dict[str, Any]:
    """Return the JSON form of `context_view`."""
    request = upcoming.request
    return {
        "model": upcoming.model,
        "window": upcoming.window,
        "tokens": request_tokens(request),
        "cache_life": request.cache_life,
        "system": [{"text": text.text, "mark": text.mark} for text in request.system],
        "tools": [tool.name for tool in request.tools],
        "messages": [
            {
                "role": message.role,
                "blocks": [
                    {
                        "kind": block_kind(block),
                        "text": _labelled_text(block),
                        "mark": _is_marked(block),
                    }
                    for block in message.blocks
                ],
            }
            for message in request.messages
        ],
    }


def _bars(request: Request, sizes: dict[str, int]) -> Table:
    """Return a table of the parts: for each, a bar for its place, its tokens and its share."""
    total = max(1, sum(sizes.values()))
    ends = accumulate(sizes.values())
    rows = (
        (
            "window" if name == "messages" else name,
            AccentBar(total, end - size, end),
            f"{size:,}",
            percent(size / total),
            _count_in_part(request, name),
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


def _count_in_part(request: Request, part: str) -> str:
    kinds = [[block_kind(block) for block in message.blocks] for message in request.messages]
    match part:
        case "tools":
            return counted(len(request.tools), "tool")
        case "observations":
            return counted(sum(in_message.count("observations") for in_message in kinds), "block")
        case "messages":
            return counted(sum("messages" in in_message for in_message in kinds), "message")
        case _:
            return ""


def _parts(request: Request, *, full: bool) -> Iterator[RenderableType]:
    if full:
        for tool in request.tools:
            text = f"{tool.name}: {tool.description}\n{json.dumps(tool.schema)}"
            yield from _part("tool", [_Passage(text)], size=tool_tokens(tool), full=True)
    elif request.tools:
        names = _Passage(", ".join(tool.name for tool in request.tools))
        yield from _part("tools", [names], size=request_tokens(request)["tools"], full=False)
    yield from _part(
        "system", [_Passage(text.text, text.mark) for text in request.system], full=full
    )
    for message in request.messages:
        yield from _part(
            message.role,
            [_Passage(_labelled_text(block), _is_marked(block)) for block in message.blocks],
            size=sum(map(block_tokens, message.blocks)),
            full=full,
        )


def _part(
    role: str, passages: Sequence[_Passage], *, full: bool, size: int | None = None
) -> Iterator[RenderableType]:
    """Yield a heading with the number of tokens, then the passages."""
    if size is None:
        size = sum(tokens.count(passage.text) for passage in passages)
    yield Text.assemble((role, "accent"), (f"  {counted(size, 'token')}", "dim"))
    for passage in passages:
        shown = _abbreviated(printable(passage.text), full=full)
        if passage.ends_cached_prefix:
            shown.append("  ◄", style="success")
        yield Padding(shown, (0, 0, 0, 2))
    yield Text()


def _labelled_text(block: Block) -> str:
    text = block_text(block)
    return text if isinstance(block, TextBlock | File) else f"[{type(block).__name__}] {text}"


def _is_marked(block: Block) -> bool:
    return isinstance(block, TextBlock | ToolResult | File) and block.mark


def _abbreviated(text: str, *, full: bool) -> Text:
    """Return a long text as its beginning and its end, unless `full`."""
    if full or len(text) <= _HEAD_CHARACTERS + _TAIL_CHARACTERS + _MIN_HIDDEN:
        return Text(text)
    if text.startswith("<"):  # lines in a tag, such as notes
        return _abbreviated_lines(text.splitlines())
    hidden = len(text) - _HEAD_CHARACTERS - _TAIL_CHARACTERS
    shown = Text(one_line(text[:_HEAD_CHARACTERS]))
    shown.append(f" … {counted(hidden, 'character')} … ", style="dim")
    return shown.append(one_line(text[-_TAIL_CHARACTERS:]))


def _abbreviated_lines(lines: Sequence[str]) -> Text:
    short = [shorten(line, _LINE_WIDTH) for line in lines]
    hidden = len(short) - _HEAD_LINES - 1
    if hidden <= 1:
        return Text("\n".join(short))
    shown = Text("\n".join(short[:_HEAD_LINES]))
    shown.append(f"\n… {counted(hidden, 'line')} …", style="dim")
    return shown.append(f"\n{short[-1]}")
