"""How an observation reads: the line the main model and the reflector are shown. Pure."""

from construct import tokens
from construct.store.observations import Line
from construct.store.records import Observation

SIGNS = {"high": "!", "medium": "-", "low": "~"}
_STANCE_NOTES = {
    "asked": "asked",
    "planned": "planned",
    "hypothetical": "hypothetical",
    "inferred": "inferred",
    "assistant": "the assistant's words",
    "quoted": "quoted, not the user's words",
}


def render(content: str, priority: str, stance: str, observation_date: str, referenced_date: str | None) -> str:
    """Return a line such as `! [2025-01-15] User has a dentist appointment on March 5th at 9am`.

    What was not stated by the user says so behind it, and so does a day the words do not name.
    Nothing in it depends on the present: the prompt cache lives on lines that stay the same.
    """
    notes = []
    if note := _STANCE_NOTES.get(stance):
        notes.append(note)
    if referenced_date and referenced_date not in content and referenced_date != observation_date:
        notes.append(f"for {referenced_date}")
    behind = f" ({'; '.join(notes)})" if notes else ""
    return f"{SIGNS[priority]} [{observation_date}] {content}{behind}"


def line(o: Observation | Line) -> str:
    """Return an observation's line."""
    return render(o.content, o.priority, o.stance, o.observation_date, o.referenced_date)


def line_tokens(content: str, priority: str, stance: str, observation_date: str, referenced_date: str | None) -> int:
    """Return the observation tokens of a line, its line end included."""
    return tokens.count(render(content, priority, stance, observation_date, referenced_date) + "\n")
