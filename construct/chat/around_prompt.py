"""The lines around the prompt: replies and notes above it, the toolbar below it.

No I/O: each part is a function of its state, the terminal's width and the time.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.utils import get_cwidth

from construct.chat.attaching import Chip
from construct.chat.prompt import SentLine
from construct.views.wrapping import ellipsized, wrapped

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FRAMES_A_SECOND = 8
_SHOW_SECONDS_FROM = 2
"""Seconds of waiting after which the time is shown too."""
_MAX_QUEUED = 3
"""How many of the lines waiting to be sent are shown."""
_MIN_QUEUED_WIDTH = 3
"""Columns that the last "queued: …" keeps, however narrow the terminal is."""
_TAKE_BACK = " · ↑ takes it back"
_MAX_CHIPS = 4
"""How many of the attached files are shown: the newest ones."""
_DETACH = " · /detach removes it"
_BETWEEN = " · "
_TITLE_WIDTH = 32
_SHORTEST_TITLE = 12
"""Columns that the last part left in the toolbar keeps, at any width."""
NEW = "new conversation"
"""The toolbar's title before anything is said."""


@dataclass(slots=True)
class Live:
    """The lines above the prompt. A part with nothing to show is empty."""

    tail: str = ""
    """The end of a reply that may still change, as ANSI text."""
    tail_gap: bool = False
    """Whether a blank line belongs before the tail."""
    panel: str = ""
    """A view that is being watched, as whole lines of ANSI text."""
    status: str = ""
    """What the user is waiting for."""
    since: float = 0.0
    """When `status` begins to be shown, by the monotonic clock."""
    hint: str = ""
    queued: Sequence[SentLine] = ()
    """Lines waiting to be sent, oldest first."""

    def wait(self, status: str, delay: float = 0.0) -> None:
        """Show after `delay` seconds what the user is waiting for; an empty text hides it."""
        self.status = status
        self.since = time.monotonic() + delay

    def fragments(
        self,
        width: int,
        chips: Sequence[Chip] = (),
        offer: str = "",
        *,
        is_asking: bool = False,
    ) -> StyleAndTextTuples:
        """Return the styled lines above the prompt.

        With `is_asking`, a question waits for the user, so `status` is left out. The files
        attached to the line (`chips`) and what Tab would attach (`offer`) come
        last, closest to the prompt.
        """
        shown: StyleAndTextTuples = []
        if self.tail:
            gap = "\n" if self.tail_gap else ""
            shown += [("", gap), *_parsed(self.tail), ("", "\n")]
        if self.panel:
            shown += [("", "\n"), *_parsed(self.panel)]
        notes = [("class:dim", note) for note in self._notes(width - 1, is_asking=is_asking)]
        notes += _attached(chips, offer, width - 1)
        if notes:
            shown.append(("", "\n"))
        shown += [(style, f"{note}\n") for style, note in notes]
        return shown or [("", "")]

    def _notes(self, width: int, *, is_asking: bool) -> Iterator[str]:
        """Yield the status, the oldest and the newest queued lines, and the hint."""
        passed = time.monotonic() - self.since
        if self.status and passed >= 0 and not is_asking:
            frame = _SPINNER[int(passed * _FRAMES_A_SECOND) % len(_SPINNER)]
            seconds = f" {int(passed)} s" if passed >= _SHOW_SECONDS_FROM else ""
            yield ellipsized(f"{frame} {self.status}{seconds} · Ctrl-C stops", width)
        if self.queued:
            *before, last = self.queued
            for line in before[: _MAX_QUEUED - 1]:
                yield ellipsized(f"queued: {line.text}", width)
            if len(before) >= _MAX_QUEUED:
                yield f"and {len(before) - _MAX_QUEUED + 1} more"
            room = max(_MIN_QUEUED_WIDTH, width - len(_TAKE_BACK))
            yield ellipsized(f"queued: {last.text}", room) + _TAKE_BACK
        if self.hint:
            yield ellipsized(self.hint, width)


def _attached(chips: Sequence[Chip], offer: str, width: int) -> Iterator[tuple[str, str]]:
    """Yield a style and a text for each of the line's newest files, and for the offer."""
    if len(chips) > _MAX_CHIPS:
        yield "class:dim", f"and {len(chips) - _MAX_CHIPS} more"
    for chip in chips[-_MAX_CHIPS:]:
        last = chip is chips[-1]
        style = "class:error" if chip.is_error else "class:accent"
        text = chip.fitting(width)
        if last and (chip.is_error or get_cwidth(text + _DETACH) <= width):
            text += _DETACH
        for line in wrapped(text, width).splitlines():
            yield style, line
    if offer:
        yield "class:dim", ellipsized(offer, width)


@lru_cache(maxsize=4)
def _parsed(text: str) -> StyleAndTextTuples:
    return to_formatted_text(ANSI(text))


@dataclass(frozen=True, slots=True)
class ToolbarState:
    """The content of the toolbar."""

    title: str = NEW
    model: str = ""
    observe: float | None = None
    """Share of the observer's threshold that is reached, 1 or more when it is due.

    None unless the memory learns, like `compact`.
    """
    compact: float | None = None
    running: str = ""
    """The memory work that is running now."""
    private: bool = False
    held: bool = False
    """Whether observing waits for more talk after an undo, whatever `observe` is."""
    keys: str = ""
    """The editing mode, unless it is emacs."""


@dataclass(frozen=True, slots=True)
class _Part:
    rank: int
    """When there is too little room, the part with the highest rank is left out first."""
    text: str
    style: str = "class:dim"


def toolbar(state: ToolbarState, width: int) -> StyleAndTextTuples:
    """Return the toolbar for a terminal `width` columns wide."""
    parts = list(_parts(state))
    while len(parts) > 1 and _width(parts) > width:
        parts.remove(max(parts, key=lambda part: part.rank))
    if _width(parts) > width:
        parts = [_Part(0, ellipsized(parts[0].text, max(_SHORTEST_TITLE, width - 2)), "")]
    line: StyleAndTextTuples = [("class:dim", " ")]
    for number, part in enumerate(parts):
        if number:
            line.append(("class:dim", _BETWEEN))
        line.append((part.style, part.text))
    return line


def _parts(state: ToolbarState) -> Iterator[_Part]:
    if state.private:
        yield _Part(0, "private: not stored", "class:high")
    yield _Part(2, ellipsized(state.title, _TITLE_WIDTH))
    if state.model:
        yield _Part(4, ellipsized(state.model, _TITLE_WIDTH))
    if state.observe is not None and not state.private:
        yield _Part(3, f"observe {'paused' if state.held else _how_near(state.observe)}")
    if state.compact is not None and not state.private:
        yield _Part(5, f"compact {_how_near(state.compact)}")
    if state.running:
        yield _Part(1, f"{state.running}…", "class:accent")
    if state.keys:
        yield _Part(1, state.keys)


def _how_near(ratio: float) -> str:
    return "due" if ratio >= 1 else f"{min(99, round(100 * ratio))}%"


def _width(parts: list[_Part]) -> int:
    return 1 + sum(get_cwidth(part.text) for part in parts) + len(_BETWEEN) * (len(parts) - 1)
