"""A prompt_toolkit application that survives changes of the window's width.

Most terminals re-wrap their lines on a resize, so the prompt may cover more rows than
were drawn. All of them have to be erased.
"""

import asyncio
from collections.abc import Callable, Mapping
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Size


class Reflow(StrEnum):
    """What a terminal re-wraps when its width changes."""

    NOTHING = "nothing"
    SHOWN = "shown"
    """What each line shows."""
    EVER_SHOWN = "ever shown"
    """All that each line ever showed, as tmux does."""


SETTLE_SECONDS = 0.1
"""How long the size must stay the same before the prompt is drawn again."""
_SAVE, _RESTORE, _ERASE_LINE_AND_GO_DOWN = "\x1b7", "\x1b8", "\x1b[2K\x1b[B"
_CUTTING = ("linux", "rxvt", "vt")
"""How TERM begins for terminals that, made narrower, cut lines off instead of re-wrapping them."""


class ResizableApplication(Application[None]):
    """Waits until the size has settled, then erases all its rows and redraws.

    Nothing may be printed while it waits (`resizing`). `on_resized` is called before it
    is drawn again, `on_settled` afterwards.
    """

    def __init__(
        self,
        *,
        reflow: Reflow,
        on_resized: Callable[[], None],
        on_settled: Callable[[], None],
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.reflow = reflow
        self._on_resized = on_resized
        self._on_settled = on_settled
        self._settling: asyncio.TimerHandle | None = None
        self._drawn_size: Size | None = None
        self._widths: list[int] = []
        """Columns filled in each row of the prompt, or ever filled if the terminal keeps them."""

    @property
    def resizing(self) -> bool:
        """Whether the size has just changed."""
        return self._settling is not None

    def erase(self) -> None:
        """Erase the prompt and leave the cursor where it began."""
        self._erase_lines()
        self.renderer.erase()

    def _on_resize(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
        self._settling = asyncio.get_running_loop().call_later(SETTLE_SECONDS, self._settle)

    def _settle(self) -> None:
        self._settling = None
        if not self.is_running or self.is_done:
            return
        self._drawn_size = self.output.get_size()
        if self.reflow != Reflow.NOTHING:
            cursor, columns = self.renderer._cursor_pos, self._drawn_size.columns
            self.output.cursor_up(more_rows(self._widths[: cursor.y], cursor.x, columns))
        self._erase_lines()
        self._on_resized()
        super()._on_resize()
        self._on_settled()

    def _erase_lines(self) -> None:
        """In tmux, erase the lines one by one.

        It moves lines that are erased all at once into the scrollback.
        """
        if self.reflow != Reflow.EVER_SHOWN:
            return
        above = self.renderer._cursor_pos.y
        rows = self.output.get_size().rows
        self.output.cursor_up(above)
        self.output.write_raw(_SAVE + _ERASE_LINE_AND_GO_DOWN * rows + _RESTORE)
        self.output.cursor_down(above)

    def _redraw(self, render_as_done: bool = False) -> None:
        size = self.output.get_size()
        if not render_as_done:
            if self._drawn_size not in (None, size) and not self.resizing:
                self._on_resize()  # the size has changed and no signal has come yet
            if self.resizing:
                return
        self._drawn_size = size
        on_screen = self.renderer.last_rendered_screen is not None
        super()._redraw(render_as_done)
        before = self._widths if on_screen and self.reflow == Reflow.EVER_SHOWN else []
        self._widths = [max(pair) for pair in zip_longest(before, self._row_widths(), fillvalue=0)]

    def _row_widths(self) -> list[int]:
        """Return how many columns of each drawn row are filled."""
        drawn = self.renderer.last_rendered_screen
        if drawn is None:
            return []
        widths = []
        for row in range(drawn.height):
            cells = drawn.data_buffer[row]
            from_right = (
                cells[x].width + x for x in sorted(cells, reverse=True) if cells[x].char.strip()
            )
            widths.append(next(from_right, 0))
        return widths


def more_rows(widths: list[int], cursor_x: int, columns: int) -> int:
    """Return how many rows the cursor moves down when the rows above it are re-wrapped.

    `widths` has the filled columns of those rows; `columns` is the terminal's new width.
    """
    return sum(max(0, width - 1) // columns for width in widths) + cursor_x // columns


def reflow_of(environ: Mapping[str, str]) -> Reflow:
    """Return what the terminal re-wraps when its width changes."""
    if environ.get("TMUX"):
        return Reflow.EVER_SHOWN
    if environ.get("STY") or environ.get("XTERM_VERSION"):  # GNU screen; xterm itself
        return Reflow.NOTHING
    cuts_lines = environ.get("TERM", "").startswith(_CUTTING)
    return Reflow.NOTHING if cuts_lines else Reflow.SHOWN
