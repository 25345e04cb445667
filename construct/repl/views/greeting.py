"""What stands on the screen before the first prompt: plain words, drawn before rich is imported."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from construct.clock import Clock, from_text, gap_words
from construct.config import Settings
from construct.repl.views.words import ago, title_of
from construct.store.talk import ConversationSummary
from construct.text import shorten

if TYPE_CHECKING:
    from construct.repl.start import Opening

_LONG_ENOUGH = timedelta(hours=1)
_TWO_COLUMNS = 76
_COMMANDS = (
    ("/memory", "what it knows about you"), ("/why ID", "where it has that from"), ("/edit ID", "correct it"),
    ("/forget ID", "delete it, for good"), ("/private on", "talk without being stored"), ("/help", "everything else"),
)  # fmt: skip


def greeting(opening: "Opening", width: int) -> str:
    """Return what greets whoever begins a chat."""
    if opening.first_run:
        return "\n".join(first_screen(opening.settings, opening.models.main.name, width))
    return "\n".join(hello(opening.conversation, opening.settings.clock, private=opening.private))


def first_screen(settings: Settings, model: str, width: int) -> list[str]:
    """Return the first run's screen: what is stored, where, how to see, correct, delete it; which model talks."""
    learning = (
        "In the background it notes what matters, with dates: that is what it knows you by later."
        if settings.memory == "on"
        else "It learns nothing from it: CONSTRUCT_MEMORY is set so."
    )
    return [
        "Construct, a companion that remembers.",
        "",
        f"You talk to {model}. Every word is kept in one file, yours alone:",
        f"  {_from_home(settings.db)}",
        learning,
        "",
        *_commands(width),
        *([] if settings.has_credentials else _without_a_key(settings)),
    ]


def _from_home(path: Path) -> Path:
    with suppress(RuntimeError, ValueError):  # there is no home, or it is not there
        return "~" / path.relative_to(Path.home())
    return path


def _commands(width: int) -> Iterator[str]:
    cells = [f"  {name:<11}  {meaning:<27}" for name, meaning in _COMMANDS]
    step = 2 if width >= _TWO_COLUMNS else 1
    for first in range(0, len(cells), step):
        yield "".join(cells[first : first + step]).rstrip()


def _without_a_key(settings: Settings) -> list[str]:
    return [
        "",
        "No key is set, so the embedded model answers: tiny, good for trying things out. Go on with it by just typing,"
        f" or set in the environment or in {_from_home(settings.config_dir / 'config.env')}",
        "  ANTHROPIC_API_KEY   a key from https://console.anthropic.com, or",
        "  ANTHROPIC_BASE_URL  your own server with the Messages API",
    ]


def pause_line(before: datetime, now: datetime) -> str:
    """Return what to say of the time when something is said after a pause, both on the user's clock; mostly nothing."""
    if now.date() != before.date():
        return f"{now:%A}, {now.day} {now:%B %Y, %H:%M}"
    return f"{now:%H:%M}, {gap_words(now - before)} later" if now - before >= _LONG_ENOUGH else ""


def hello(here: ConversationSummary | None, clock: Clock, *, private: bool) -> list[str]:
    """Return what greets a user who comes back: which talk goes on, and how long the pause was."""
    if here is None:
        lines = ["Construct · a new conversation"]
    else:
        lines = [f"Construct · {title_of(here)} · last talked {ago(here.last_at, clock)}"]
        task = here.conversation.current_task
        if task and clock.now() - from_text(here.last_at) >= _LONG_ENOUGH:
            lines.append(f"Where you were: {shorten(task, 120)}")
    if private:
        lines.append("Nothing of this talk is stored.")
    return lines
