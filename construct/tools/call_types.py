"""What a call of a tool from outside needs and brings, for those who call and those who ask."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from construct.llm.types import ToolResult, ToolUse


class Answer(StrEnum):
    """The user's answer when a tool is about to be called."""

    ONCE = "once"
    ALWAYS = "always"
    NEVER = "never"
    NO = "no"


@dataclass(frozen=True, slots=True)
class ToolQuestion:
    """What the user is asked before a tool is called."""

    name: str
    description: str
    arguments: str
    """All of them, as JSON."""
    is_first: bool
    """Whether the answer may be "always" or "never"."""
    holds_outside_text: bool
    """Whether a text that is not the user's own is before the model."""


AskAboutTool = Callable[[ToolQuestion], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What decides about a call besides the tool itself."""

    holds_outside_text: bool
    is_private: bool
    is_allowed_in_private: bool
    ask: AskAboutTool | None
    """None if there is no terminal to ask on."""


@dataclass(frozen=True, slots=True)
class UsedTool:
    """What came of a call."""

    result: ToolResult
    line: str
    """One line for the screen."""
    is_from_outside: bool
    """Whether the result holds a server's words; else they are ours."""


def refused(call: ToolUse, why: str) -> UsedTool:
    """Return what the model is told of a call that did not run."""
    return UsedTool(ToolResult(call.id, why, is_error=True), why, is_from_outside=False)
