"""The line at the bottom: which talk, which model, how far the memory is, what runs. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.utils import get_cwidth

from construct.repl.columns import fitted

_BETWEEN = " · "
_TITLE_WIDTH = 32
_SHORTEST_TITLE = 12
NEW = "new conversation"
"""The title of what nothing has been said in yet."""


@dataclass(frozen=True, slots=True)
class ToolbarState:
    """What the line says."""

    title: str = NEW
    model: str = ""
    observe: float | None = None
    """How near the next observation is, 1 when it is due; None when nothing is learned."""
    compact: float | None = None
    running: str = ""
    private: bool = False
    held: bool = False
    """Whether what was undone is held, however near the next observation looks."""
    keys: str = ""
    """Which keys are in force, where it is not the usual ones."""


def toolbar(state: ToolbarState, width: int) -> StyleAndTextTuples:
    """Return the line for a terminal `width` columns wide; what matters least goes first when there is no room."""
    parts = list(_parts(state))
    while len(parts) > 1 and _width(parts) > width:
        parts.remove(max(parts, key=lambda part: part.rank))
    if _width(parts) > width:
        parts = [_Part(0, "", fitted(parts[0].text, max(_SHORTEST_TITLE, width - 2)))]
    line: StyleAndTextTuples = [("class:dim", " ")]
    for number, part in enumerate(parts):
        if number:
            line.append(("class:dim", _BETWEEN))
        line.append((part.style, part.text))
    return line


@dataclass(frozen=True, slots=True)
class _Part:
    rank: int
    """What has the highest goes first."""
    style: str
    text: str


def _parts(state: ToolbarState) -> Iterator[_Part]:
    if state.private:
        yield _Part(0, "class:high", "private: nothing is stored")
    yield _Part(2, "class:dim", fitted(state.title, _TITLE_WIDTH))
    if state.model:
        yield _Part(4, "class:dim", fitted(state.model, _TITLE_WIDTH))
    if state.observe is not None and not state.private:
        yield _Part(3, "class:dim", f"observe {'held' if state.held else _how_near(state.observe)}")
    if state.compact is not None and not state.private:
        yield _Part(5, "class:dim", f"compact {_how_near(state.compact)}")
    if state.running:
        yield _Part(1, "class:accent", f"{state.running}…")
    if state.keys:
        yield _Part(1, "class:dim", state.keys)


def _how_near(ratio: float) -> str:
    return "due" if ratio >= 1 else f"{min(99, round(100 * ratio))}%"


def _width(parts: list[_Part]) -> int:
    return 1 + sum(get_cwidth(part.text) for part in parts) + len(_BETWEEN) * (len(parts) - 1)
