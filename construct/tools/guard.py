"""Decide whether a tool from outside may be called. No I/O.

A text from outside may tell the model to send away what it knows. So a tool of which the
user has not said that it sends nothing out is never called unasked while the request
holds such a text.
"""

from dataclasses import dataclass
from enum import StrEnum

from construct.vocabulary import Permission


class Verdict(StrEnum):
    """What happens with a call."""

    RUN = "run"
    ASK_FIRST = "ask first"
    """Ask, and offer to remember the answer."""
    ASK_NOW = "ask now"
    """Ask about this one call."""
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides about one call of a tool."""

    is_server_allowed: bool = True
    """Whether the user has allowed the server, as it is configured now."""
    permission: Permission | None = None
    """The user's lasting answer about the tool as it is described now; None for none."""
    is_harmless: bool = False
    """Whether the user said that the tool sends nothing out. A server's word is not asked for."""
    holds_outside_text: bool = False
    """Whether the request holds a tool's or the web's result, a paste, a file, a quoted passage."""
    can_ask: bool = False
    """Whether there is a terminal to ask on."""
    is_private: bool = False
    is_allowed_in_private: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, and for a refusal its reason."""

    verdict: Verdict
    reason: str = ""


def decide(case: Situation) -> Decision:
    """Return what happens with a call."""
    if case.is_private and not case.is_allowed_in_private:
        return _refused("Tools are off in private talk.")
    if not case.is_server_allowed:
        return _refused("This server is not allowed.")
    if case.permission is Permission.NEVER:
        return _refused("This tool is never allowed.")
    is_unguarded = case.holds_outside_text and not case.is_harmless
    if case.permission is Permission.ALWAYS and not is_unguarded:
        return Decision(Verdict.RUN)
    if not case.can_ask:
        if is_unguarded:
            return _refused("Beside a text from outside it is called on a terminal only.")
        return _refused("Without a terminal only tools that are always allowed are called.")
    return Decision(Verdict.ASK_NOW if case.permission is Permission.ALWAYS else Verdict.ASK_FIRST)


def _refused(reason: str) -> Decision:
    return Decision(Verdict.REFUSE, reason)
