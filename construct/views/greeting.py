"""Render what a chat shows when it begins and after a pause, as plain text.

Importing rich would delay the first prompt.
"""

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
from construct.vocabulary import MemorySetting

if TYPE_CHECKING:
    from construct.operations.opening import Opening

_PAUSE = timedelta(hours=1)
"""How long the user must have been away for the chat to say so."""
_TWO_COLUMNS_FROM = 76
"""Terminal width from which the commands stand in two columns."""
_TASK_LENGTH = 120
_NOTHING_STORED = "Nothing you say here is stored."
_COMMANDS = (
    ("/memory", "what is remembered"),
    ("/why ID", "where it came from"),
    ("/edit ID", "correct it"),
    ("/forget ID", "delete it for good"),
    ("/private on", "talk without storing it"),
    ("/help", "everything else"),
)


def greeting(opening: "Opening", width: int) -> str:
    """Return the text that begins a chat: the first run's screen, or a short hello."""
    if opening.first_run:
        model = opening.models.main.name
        lines = first_screen(opening.settings, model, width, private=opening.private)
    else:
        lines = hello(opening.conversation, opening.settings.clock, private=opening.private)
    if opening.models.advice:
        lines += ["", opening.models.advice]
    return "\n".join(lines)


def first_screen(settings: Settings, model: str, width: int, *, private: bool = False) -> list[str]:
    """Return the first run's screen: who answers, what is kept and where, the commands."""
    answers = _who_answers(model, settings)
    if private:
        answers_and_keeps = [f"{answers} {_NOTHING_STORED}"]
    else:
        answers_and_keeps = [
            f"{answers} Everything is kept in one file that only you can read:",
            f"  {_from_home(settings.db)}",
            "In the background Construct takes dated notes of what matters, "
            "and uses them to remember you."
            if settings.learns
            else f"Construct learns nothing while CONSTRUCT_MEMORY is {settings.memory}.",
        ]
    return [
        "Construct, a companion that remembers.",
        "",
        *answers_and_keeps,
        "",
        *_commands(width),
    ]


def _who_answers(model: str, settings: Settings) -> str:
    if model != Notebook.name:
        return f"You are talking to {model_words(model)}."
    if settings.memory == MemorySetting.OFF:
        return "This is a notebook: no model answers."
    return "This is a notebook: no model answers, but it finds what you wrote."


def _from_home(path: Path) -> Path:
    with suppress(RuntimeError, ValueError):  # no home directory, or the file is elsewhere
        return "~" / path.relative_to(Path.home())
    return path


def _commands(width: int) -> Iterator[str]:
    cells = [f"  {name:<11}  {meaning:<27}" for name, meaning in _COMMANDS]
    columns = 2 if width >= _TWO_COLUMNS_FROM else 1
    for first in range(0, len(cells), columns):
        yield "".join(cells[first : first + columns]).rstrip()


def pause_line(before: datetime, now: datetime) -> str:
    """Return a line with the time, after a pause or on a new day; otherwise ""."""
    if now.date() != before.date():
        return f"{now:%A}, {now.day} {now:%B %Y, %H:%M}"
    pause = now - before
    return f"{now:%H:%M}, {gap_words(pause)} later" if pause >= _PAUSE else ""


def hello(summary: ConversationSummary | None, clock: Clock, *, private: bool) -> list[str]:
    """Return the lines for a returning user: the conversation, when they last talked, its task."""
    if summary is None:
        lines = ["Construct · a new conversation"]
    else:
        lines = [f"Construct · {summary.name} · last talked {ago(summary.last_at, clock)}"]
        task = summary.conversation.current_task
        if task and clock.now() - from_text(summary.last_at) >= _PAUSE:
            lines.append(f"Where you were: {shorten(task, _TASK_LENGTH)}")
    if private:
        lines.append(_NOTHING_STORED)
    return lines
