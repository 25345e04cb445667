"""What stands on the screen before the first prompt: plain words, drawn before rich is imported."""

from datetime import timedelta
from pathlib import Path

from construct.clock import Clock, from_text
from construct.repl.views.words import ago, title_of
from construct.store.records import Conversation
from construct.text import shorten

_LONG_ENOUGH = timedelta(hours=1)


def first_screen(db: Path, model: str, *, learns: bool) -> list[str]:
    """Return the first run's screen: what is stored, where, and how to see, correct and delete it."""
    learning = (
        "In the background it notes what matters, with dates: that is what it knows you by later."
        if learns
        else "It learns nothing from it: CONSTRUCT_MEMORY is set so."
    )
    return [
        "Construct, a companion that remembers.",
        "",
        f"You talk to {model}. Every word is kept in one file, yours alone:",
        f"  {db}",
        learning,
        "",
        "  /memory      what it knows about you     /why ID      where it has that from",
        "  /edit ID     correct it                  /forget ID   delete it, for good",
        "  /private on  talk without being stored   /help        everything else",
    ]


def hello(here: Conversation | None, last_at: str | None, clock: Clock, *, private: bool) -> list[str]:
    """Return what greets a user who comes back: which talk goes on, and how long the pause was."""
    if here is None or last_at is None:
        lines = ["Construct · a new conversation"]
    else:
        lines = [f"Construct · {title_of(here)} · last talked {ago(last_at, clock)}"]
        if here.current_task and clock.now() - from_text(last_at) >= _LONG_ENOUGH:
            lines.append(f"Where you were: {shorten(here.current_task, 120)}")
    if private:
        lines.append("Nothing of this talk is stored.")
    return lines
