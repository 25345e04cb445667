"""How an observation reads: the line the main model and the reflector are shown. Pure."""

from typing import Protocol

from construct import tokens

SIGNS = {"high": "!", "medium": "-", "low": "~"}
_STANCE_NOTES = {
    "asked": "asked",
    "planned": "planned",
    "hypothetical": "hypothetical",
    "inferred": "inferred",
    "assistant": "the assistant's words",
    "quoted": "quoted, not the user's words",
}


class Worded(Protocol):
    """What a line is made of: an observation, proposed or stored."""

    @property
    def content(self) -> str:
        """Its words."""

    @property
    def priority(self) -> str:
        """`high`, `medium` or `low`."""

    @property
    def stance(self) -> str:
        """Whose word it is, and how it was meant."""

    @property
    def observation_date(self) -> str:
        """The day it happened or was said."""

    @property
    def referenced_date(self) -> str | None:
        """The day ahead, or long ago, that it speaks of."""


def line(o: Worded) -> str:
    """Return a line such as `! [2025-01-15] User has a dentist appointment on March 5th at 9am`.

    What was not stated by the user says so behind it, and so does a day the words do not name.
    Nothing in it depends on the present: the prompt cache lives on lines that stay the same.
    """
    notes = []
    if note := _STANCE_NOTES.get(o.stance):
        notes.append(note)
    if o.referenced_date and o.referenced_date not in o.content and o.referenced_date != o.observation_date:
        notes.append(f"for {o.referenced_date}")
    behind = f" ({'; '.join(notes)})" if notes else ""
    return f"{SIGNS[o.priority]} [{o.observation_date}] {o.content}{behind}"


def line_tokens(o: Worded) -> int:
    """Return the observation tokens of a line, its line end included."""
    return tokens.count(line(o) + "\n")
