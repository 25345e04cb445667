"""A prompt whose window is made narrower: most terminals wrap its lines anew, and it stands on more rows than drawn."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Size
from prompt_toolkit.layout.screen import Screen as Drawn

Reflow = Literal["no", "shown", "ever shown"]
"""What a terminal wraps anew: nothing; what a line shows; tmux, as far as anything ever stood in the line."""

SETTLE_SECONDS = 0.1
_SAVE, _RESTORE, _ERASE_LINE_AND_GO_DOWN = "\x1b7", "\x1b8", "\x1b[2K\x1b[B"
# Those that cut lines off instead.
_CUTTING = ("linux", "rxvt", "vt")


class ResizableApplication(Application[None]):
    """Waits until the size stays what it is, erases all rows that it stands on then, and is drawn again.

    While it waits nothing may be printed; `on_resized` is called before it is drawn, `on_settled` afterwards.
    """

    def __init__(
        self, *, reflow: Reflow, on_resized: Callable[[], None], on_settled: Callable[[], None], **options: Any
    ) -> None:
        super().__init__(**options)
        self._reflow = reflow
        self._on_resized = on_resized
        self._on_settled = on_settled
        self._settling: asyncio.TimerHandle | None = None
        self._drawn_size: Size | None = None
        self._widths: list[int] = []

    @property
    def resizing(self) -> bool:
        """Whether the size has just changed."""
        return self._settling is not None

    def _on_resize(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
        self._settling = asyncio.get_running_loop().call_later(SETTLE_SECONDS, self._settle)

    def erase(self) -> None:
        """Take the prompt off the screen; the cursor is where it began."""
        self._erase_lines()
        self.renderer.erase()

    def _settle(self) -> None:
        self._settling = None
        if not self.is_running or self.is_done:
            return
        self._drawn_size = self.output.get_size()
        if self._reflow != "no":
            cursor = self.renderer._cursor_pos
            self.output.cursor_up(more_rows(self._widths[: cursor.y], cursor.x, self._drawn_size.columns))
        self._erase_lines()
        self._on_resized()
        super()._on_resize()
        self._on_settled()

    def _erase_lines(self) -> None:
        """Empty the lines one by one for tmux, which moves to the scrollback what is erased all at once."""
        if self._reflow != "ever shown":
            return
        above = self.renderer._cursor_pos.y
        self.output.cursor_up(above)
        self.output.write_raw(_SAVE + _ERASE_LINE_AND_GO_DOWN * self.output.get_size().rows + _RESTORE)
        self.output.cursor_down(above)

    def _redraw(self, render_as_done: bool = False) -> None:
        size = self.output.get_size()
        if self._drawn_size not in (None, size) and not render_as_done and not self.resizing:
            self._on_resize()  # the size has changed, and nobody has told us yet
        if self.resizing and not render_as_done:
            return
        self._drawn_size = size
        goes_on = self._reflow == "ever shown" and self.renderer.last_rendered_screen is not None
        super()._redraw(render_as_done)
        self._measure(self._widths if goes_on else [])

    def _measure(self, before: list[int]) -> None:
        """Note how far each row is filled, or ever has been."""
        drawn = self.renderer.last_rendered_screen
        now = [] if drawn is None else [_width(drawn, row) for row in range(drawn.height)]
        longest = max(len(now), len(before))
        padded = (widths + [0] * (longest - len(widths)) for widths in (now, before))
        self._widths = [max(pair) for pair in zip(*padded, strict=True)]


def more_rows(widths: list[int], cursor_x: int, columns: int) -> int:
    """Return how far a cursor below rows of these widths moves down when they are wrapped for so many columns."""
    return sum(max(0, width - 1) // columns for width in widths) + cursor_x // columns


def reflow_of(environ: Mapping[str, str]) -> Reflow:
    """Tell what the terminal wraps anew when its width changes."""
    if environ.get("TMUX"):
        return "ever shown"
    if environ.get("STY") or environ.get("XTERM_VERSION"):  # GNU screen; xterm itself
        return "no"
    return "no" if environ.get("TERM", "").startswith(_CUTTING) else "shown"


def _width(drawn: Drawn, row: int) -> int:
    """Return the columns of a row up to the last that is not blank."""
    return max((x + cell.width for x, cell in drawn.data_buffer[row].items() if cell.char.strip()), default=0)
