"""A prompt whose window is made narrower: most terminals wrap its lines anew, and it stands on more rows than drawn."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Point, Size
from prompt_toolkit.layout.screen import Screen as Drawn

SETTLE_SECONDS = 0.1
# Those that cut lines off instead.
_CUTTING = ("linux", "rxvt", "vt")


class ResizableApplication(Application[None]):
    """Waits until the size stays what it is, erases all rows that it stands on then, and is drawn again.

    While it waits nothing may be printed; `on_resized` is called before it is drawn, `on_settled` afterwards.
    """

    def __init__(
        self, *, reflows: bool, on_resized: Callable[[], None], on_settled: Callable[[], None], **options: Any
    ) -> None:
        super().__init__(**options)
        self._reflows = reflows
        self._on_resized = on_resized
        self._on_settled = on_settled
        self._settling: asyncio.TimerHandle | None = None
        self._drawn_size: Size | None = None

    @property
    def resizing(self) -> bool:
        """Whether the size has just changed."""
        return self._settling is not None

    def _on_resize(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
        self._settling = asyncio.get_running_loop().call_later(SETTLE_SECONDS, self._settle)

    def _settle(self) -> None:
        self._settling = None
        drawn, size = self.renderer.last_rendered_screen, self.output.get_size()
        if not self.is_running or self.is_done:
            return
        if self._reflows and drawn is not None:
            self.output.cursor_up(more_rows(drawn, self.renderer._cursor_pos, size.columns))
        self._drawn_size = size
        self._on_resized()
        super()._on_resize()
        self._on_settled()

    def _redraw(self, render_as_done: bool = False) -> None:
        size = self.output.get_size()
        if self._drawn_size not in (None, size) and not render_as_done and not self.resizing:
            self._on_resize()  # the size has changed, and nobody has told us yet
        if render_as_done or not self.resizing:
            self._drawn_size = size
            super()._redraw(render_as_done)


def more_rows(drawn: Drawn, cursor: Point, columns: int) -> int:
    """Return how many rows the cursor has moved down where lines were wrapped anew for so many columns."""
    above = sum(max(0, _width(drawn, row) - 1) // columns for row in range(cursor.y))
    return above + cursor.x // columns


def reflows(environ: Mapping[str, str]) -> bool:
    """Tell whether the terminal wraps lines anew when its width changes."""
    if environ.get("TMUX"):
        return True
    if environ.get("STY") or environ.get("XTERM_VERSION"):  # GNU screen; xterm itself
        return False
    return not environ.get("TERM", "").startswith(_CUTTING)


def _width(drawn: Drawn, row: int) -> int:
    """Return the columns of a row up to the last that is not blank."""
    return max((x + cell.width for x, cell in drawn.data_buffer[row].items() if cell.char.strip()), default=0)
