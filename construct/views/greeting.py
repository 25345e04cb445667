"""What is on the screen before the first prompt: plain text, which needs no rich."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from construct.clock import Clock, from_text, gap_words
from construct.config import Settings
from construct.llm.notebook import Notebook
from construct.store.conversations import ConversationSummary
from construct.text import shorten
from construct.views.words import ago, model_words

if TYPE_CHECKING:
    from construct.operations.opening import Opening

_LONG_ENOUGH = timedelta(hours=1)
_TWO_COLUMNS = 76
_COMMANDS = (
    ("/memory", "what it knows about you"),
    ("/why ID", "where that came from"),
    ("/edit ID", "correct it"),
    ("/forget ID", "delete it, for good"),
    ("/private on", "talk without being stored"),
    ("/help", "everything else"),
)


def greeting(opening: "Opening", width: int) -> str:
    """Return the lines that begin a chat."""
    if opening.first_run:
        lines = first_screen(opening.settings, opening.models.main.name, width)
    else:
        lines = hello(opening.conversation, opening.settings.clock, private=opening.private)
    return "\n".join([*lines, *(["", opening.models.advice] if opening.models.advice else [])])


def first_screen(settings: Settings, model: str, width: int) -> list[str]:
    """Return the first run's screen: what is stored where, how to see and delete it."""
    learning = (
        "In the background it notes what matters, with dates. Later it knows you by these notes."
        if settings.memory == "on"
        else "It learns nothing, because CONSTRUCT_MEMORY says so."
    )
    return [
        "Construct, a companion that remembers.",
        "",
        f"{_who_answers(model)} Every word is kept in one file, yours alone:",
        f"  {_from_home(settings.db)}",
        learning,
        "",
        *_commands(width),
    ]


def _who_answers(model: str) -> str:
    if model == Notebook.name:
        return "This is a notebook: no model answers, but it finds what you wrote."
    return f"You talk to {model_words(model)}."


def _from_home(path: Path) -> Path:
    with suppress(RuntimeError, ValueError):  # there is no home, or it is not there
        return "~" / path.relative_to(Path.home())
    return path


def _commands(width: int) -> Iterator[str]:
    cells = [f"  {name:<11}  {meaning:<27}" for name, meaning in _COMMANDS]
    step = 2 if width >= _TWO_COLUMNS else 1
    for first in range(0, len(cells), step):
        yield "".join(cells[first : first + step]).rstrip()


def pause_line(before: datetime, now: datetime) -> str:
    """Return the user's time after a pause or on a new day, else ""."""
    if now.date() != before.date():
        return f"{now:%A}, {now.day} {now:%B %Y, %H:%M}"
    return f"{now:%H:%M}, {gap_words(now - before)} later" if now - before >= _LONG_ENOUGH else ""


def hello(here: ConversationSummary | None, clock: Clock, *, private: bool) -> list[str]:
    """Return the lines for a user who comes back: what goes on, and since when."""
    if here is None:
        lines = ["Construct · a new conversation"]
    else:
        lines = [f"Construct · {here.name} · last talked {ago(here.last_at, clock)}"]
        task = here.conversation.current_task
        if task and clock.now() - from_text(here.last_at) >= _LONG_ENOUGH:
            lines.append(f"Where you were: {shorten(task, 120)}")
    if private:
        lines.append("Nothing you say here is stored.")
    return lines
