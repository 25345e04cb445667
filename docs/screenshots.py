"""Makes the pictures of the documentation: `uv run python -m docs.screenshots`.

The program is real: the chat runs in a pseudo-terminal, with the life in
data/demo.jsonl. The model's answer is `REPLY`.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from construct.load_settings import load_settings
from construct.operations.demo import fill
from docs.scripted import rests, with_ids
from tests.support.emulator import PseudoTerminal
from tests.support.fake_api import FakeApi

PICTURES = Path(__file__).parent / "pictures"
ROWS = 70
"""More than any scene fills."""
NOW = {"CONSTRUCT_NOW": "2026-06-22T09:10:00+01:00", "CONSTRUCT_TZ": "Europe/London"}
FLAPJACKS = "I could do walnut flapjacks for Edie's class tonight. And post some to Anna P?"
REPLY = (
    "Not walnut: it's a school, so **no nuts** tonight. And Anna P of all people can't have them, "
    "they put her in an ambulance. Plain ones keep, and will reach Oslo."
)
SCENES: dict[str, tuple[str, ...]] = {
    "talk": (FLAPJACKS, "/why {brings flapjacks}"),
    "memory": ("/memory anna",),
    "why": ("/why {greyhound Biscuit}",),
    "status": ("/status",),
    "recall": ("/recall sea chart with a whale",),
    "diff": ("/diff 2026-05-20",),
    "timeline": ("/timeline", "/generations"),
    "forget": ("/forget {Quayside} --words", "no"),
}
"""What is typed for each picture.

{words} stands for the id of the observation that holds them.
"""
COLUMNS = {"talk": 80}
"""Widths of the pictures that are not 88 columns wide."""

THEME = TerminalTheme(
    (24, 26, 31), (214, 217, 222),
    [(24, 26, 31), (224, 108, 117), (152, 195, 121), (229, 192, 123), (97, 175, 239),
     (198, 120, 221), (86, 182, 194),
     (171, 178, 191)],
)  # fmt: skip
SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def main() -> None:
    """Make the given pictures, or all."""
    wanted = sys.argv[1:] or list(SCENES)
    with tempfile.TemporaryDirectory() as folder, FakeApi() as api:
        api.chat = lambda _: REPLY
        fill(load_settings({**NOW, "CONSTRUCT_DB": f"{folder}/construct.db"}))
        for name in wanted:
            columns = COLUMNS.get(name, 88)
            raw = play(Path(folder), api, SCENES[name], columns)
            (PICTURES / f"{name}.svg").write_text(picture(raw, columns), "utf-8")
            print(PICTURES / f"{name}.svg")


def play(folder: Path, api: FakeApi, lines: tuple[str, ...], columns: int) -> str:
    """Type lines into the chat and return everything that the program wrote.

    The chat runs on a copy of the database.
    """
    home = Path(tempfile.mkdtemp(dir=folder))
    for file in folder.glob("construct.db*"):
        shutil.copy(file, home)
    db = home / "construct.db"
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8",
           "PROMPT_TOOLKIT_NO_CPR": "1", "CONSTRUCT_DB": str(db), **NOW, **api.env()}  # fmt: skip
    terminal = PseudoTerminal([sys.executable, "-m", "construct"], env, columns, ROWS)
    try:
        terminal.see(lambda screen: "›" in screen.text and rests(terminal))
        for line in lines:
            _type(terminal, with_ids(line, db))
        return terminal.screen.raw
    finally:
        terminal.close()


def _type(terminal: PseudoTerminal, line: str) -> None:
    """Press the keys of a line, and wait for what it does."""
    before = terminal.screen.raw.count("\n")
    terminal.type(line + "\r")
    terminal.see(
        lambda screen: (
            screen.raw.count("\n") > before and rests(terminal) and "queued" not in screen.text
        )
    )


class FaintScreen(pyte.Screen):
    """A screen that shows faint text as blinking.

    pyte does not know faint, and nothing here blinks.
    """

    def select_graphic_rendition(self, *attributes: int, **kwargs: bool) -> None:
        """Replace faint with blinking."""
        seen = [5 if a == 2 else a for a in attributes]
        super().select_graphic_rendition(*seen, *([25] if 22 in seen else []), **kwargs)


def picture(raw: str, columns: int) -> str:
    """Return the screen after this output, as an SVG that loads no fonts."""
    screen = FaintScreen(columns, ROWS)
    pyte.Stream(screen).feed(raw)
    last = max(i for i, line in enumerate(screen.display) if line.strip())
    console = Console(
        record=True, width=columns, file=StringIO(), force_terminal=True, color_system="truecolor"
    )
    for y in range(last + 1):
        console.print(Text.assemble(*_cells(screen, y)), no_wrap=True, overflow="crop")
    return console.export_svg(
        title="construct", theme=THEME, code_format=SVG, unique_id="construct"
    )


def _cells(screen: pyte.Screen, y: int) -> Iterator[tuple[str, Style]]:
    for x in range(screen.columns):
        cell = screen.buffer[y][x]
        colours = [
            None if c == "default" else "yellow" if c == "brown" else c for c in (cell.fg, cell.bg)
        ]
        named = [
            f"#{c}" if c and len(c) == 6 and c.isalnum() and not c.isalpha() else c for c in colours
        ]
        yield cell.data, Style(
            color=named[0], bgcolor=named[1], bold=cell.bold, italic=cell.italics, dim=cell.blink,
            underline=cell.underscore, strike=cell.strikethrough, reverse=cell.reverse,
        )  # fmt: skip


if __name__ == "__main__":
    main()
