"""Makes the pictures of the documentation: `uv run python -m docs.screenshots`.

The program is real: the chat in a pseudo-terminal, the memory made turn by turn out of
data/samples/life.jsonl. What a model would answer is read from a script: the sample's
own replies, and the observations of pictures/observer.jsonl.
"""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime
from io import StringIO
from itertools import groupby, pairwise
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from construct.clock import to_text
from construct.responders import on_record
from construct.store.conversations import create_conversation
from docs.scripted import observed, reflected, rests, with_ids
from tests.support.emulator import PseudoTerminal
from tests.support.fake_api import FakeApi
from tests.support.fake_types import Answer, Json, last_user_words
from tests.test_life import companion_of, set_now, spoken

PICTURES = Path(__file__).parent / "pictures"
COLUMNS, ROWS = 88, 60
NOW = {"CONSTRUCT_NOW": "2026-06-23T18:30:00+01:00", "CONSTRUCT_TZ": "Europe/Lisbon"}
DINNER = "Dinner for Inês, Duarte and Tiago on Saturday. What shall I cook?"
REPLY = (
    "Your lentil soup first, with fewer carrots than in February. Then stuffed peppers: vegan for **Tiago**, "
    "no shellfish for **Duarte**, and nothing with peanuts for **you**. Tea afterwards is gorreana, I take it."
)
SCENES: dict[str, tuple[str, ...]] = {
    "talk": (DINNER, "/why {Duarte is allergic}"),
    "memory": ("/memory porto",),
    "why": ("/why {rent 950}",),
    "status": ("/status",),
    "recall": ("/recall when does Inês get married",),
    "diff": ("/diff 2026-03-15",),
    "timeline": ("/timeline", "/generations"),
    "forget": ("/forget {Zambujal} --words", "no"),
}
"""What is typed for each picture.

{words} stands for the id of the observation that holds them.
"""

OUTDATED = (
    ("lives in Lisbon", "moved to Porto"),
    ("archivist at the water museum", "works at the Serralves"),
    ("got the job", "works at the Serralves"),
    ("sees the dentist", "left the wisdom tooth"),
    ("rent is 900", "rent is 950"),
)
MERGED = {
    "parts": ("found a flat in Porto", "rent is 950"),
    "content": "User's flat in Porto: Rua do Almada 212, third floor, balcony; rent 950, parking space from landlord "
    "Mr Quintela",
}
THEME = TerminalTheme(
    (24, 26, 31), (214, 217, 222),
    [(24, 26, 31), (224, 108, 117), (152, 195, 121), (229, 192, 123), (97, 175, 239), (198, 120, 221), (86, 182, 194),
     (171, 178, 191)],
)  # fmt: skip
SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px;
  line-height: {line_height}px; }}
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
    """Make the pictures that are named, or all."""
    wanted = sys.argv[1:] or list(SCENES)
    with tempfile.TemporaryDirectory() as folder, FakeApi() as api:
        asyncio.run(live(Path(folder), api))
        api.chat = lambda _: REPLY
        for name in wanted:
            (PICTURES / f"{name}.svg").write_text(
                picture(play(Path(folder), api, SCENES[name])), "utf-8"
            )
            print(PICTURES / f"{name}.svg")


async def live(folder: Path, api: FakeApi) -> None:
    """Say the user's lines of the sample, at their times, a session a day, left at its end."""
    lines = spoken()
    replies = {
        line["content"]: after["content"]
        for line, after in pairwise(lines)
        if after["role"] == "assistant"
    }
    api.chat = lambda body: next(
        (reply for said, reply in replies.items() if said in last_user_words(body)), "Gladly."
    )
    api.observer = observe
    api.reflector = lambda body: reflected(body, [MERGED], OUTDATED)
    lines = [line for line in lines if line["role"] == "user"]
    homes: dict[str, int] = {}
    async with companion_of(folder, api, "model", lines[0]["created_at"]) as c:
        for (title, _), session in groupby(
            lines, key=lambda line: (line["conversation"], line["created_at"][:10])
        ):
            for line in session:
                set_now(c, datetime.fromisoformat(line["created_at"]))
                if title not in homes:
                    now = to_text(c.settings.clock.now())
                    homes[title] = await c.store.call(create_conversation, now, title)
                await on_record(c).turn(homes[title], line["content"], lambda _: None)
                await c.worker.run_due(homes[title])
            await c.worker.run_due(homes[title], leaving=True)
            await c.worker.rest()


def observe(body: Json) -> Answer:
    """Answer as the script has it, for the messages that are in it."""
    return observed(
        body,
        [
            json.loads(line)
            for line in (PICTURES / "observer.jsonl").read_text("utf-8").splitlines()
        ],
    )


def play(folder: Path, api: FakeApi, lines: tuple[str, ...]) -> str:
    """Type lines into the chat, on a copy of the database, and return all that the program wrote."""
    home = Path(tempfile.mkdtemp(dir=folder))
    for file in folder.glob("construct.db*"):
        shutil.copy(file, home)
    db = home / "construct.db"
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PROMPT_TOOLKIT_NO_CPR": "1",
           "CONSTRUCT_DB": str(db), **NOW, **api.env()}  # fmt: skip
    terminal = PseudoTerminal([sys.executable, "-m", "construct"], env, COLUMNS, ROWS)
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
    """A screen that keeps faint text apart, which pyte does not know, as blinking, which nobody uses."""

    def select_graphic_rendition(self, *attributes: int, **kwargs: bool) -> None:
        """Take faint for blinking."""
        seen = [5 if a == 2 else a for a in attributes]
        super().select_graphic_rendition(*seen, *([25] if 22 in seen else []), **kwargs)


def picture(raw: str) -> str:
    """Return the screen after all of this was written, as an SVG without fonts from elsewhere."""
    screen = FaintScreen(COLUMNS, ROWS)
    pyte.Stream(screen).feed(raw)
    last = max(i for i, line in enumerate(screen.display) if line.strip())
    console = Console(
        record=True, width=COLUMNS, file=StringIO(), force_terminal=True, color_system="truecolor"
    )
    for y in range(last + 1):
        console.print(Text.assemble(*_cells(screen, y)), no_wrap=True, overflow="crop")
    return console.export_svg(
        title="construct", theme=THEME, code_format=SVG, unique_id="construct"
    )


def _cells(screen: pyte.Screen, y: int) -> Iterator[tuple[str, Style]]:
    for x in range(COLUMNS):
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
