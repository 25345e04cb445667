"""A prompt whose window is made narrower: most terminals wrap its lines anew, and it stands on more rows than drawn."""

from collections.abc import Callable, Mapping
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Point
from prompt_toolkit.layout.screen import Screen as Drawn

# Those that cut lines off instead.
_CUTTING = ("linux", "rxvt", "vt")


class ResizableApplication(Application[None]):
    """Erases all rows that it stands on after a resize; `on_resized` is called before it is drawn again."""

    def __init__(self, *, reflows: bool, on_resized: Callable[[], None], **options: Any) -> None:
        super().__init__(**options)
        self._reflows = reflows
        self._on_resized = on_resized

    def _on_resize(self) -> None:
        drawn = self.renderer.last_rendered_screen
        if self._reflows and drawn is not None:
            columns = self.output.get_size().columns
            self.output.cursor_up(more_rows(drawn, self.renderer._cursor_pos, columns))
        self._on_resized()
        super()._on_resize()


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
