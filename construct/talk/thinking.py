"""Leave out what a model thinks aloud: `<think>…</think>` at the head of its reply.

Some servers send thinking as a part of the text. It is no speech: it is not shown, stored,
found or sent back.
"""

import re

_TAGS = ("think", "thinking", "thought", "reasoning")
_OPENING = re.compile(rf"\s*<({'|'.join(_TAGS)})>", re.IGNORECASE)
_LONGEST_OPENING = max(len(f"<{tag}>") for tag in _TAGS)


def spoken(text: str) -> str:
    """Return a reply's text without the thinking at its head.

    Empty if the reply ends while the model is still thinking.
    """
    while (opening := _OPENING.match(text)) is not None:
        closing = re.search(f"</{opening[1]}>", text[opening.end() :], re.IGNORECASE)
        if closing is None:
            return ""
        text = text[opening.end() + closing.end() :].lstrip()
    return text


class Speech:
    """Leaves out the thinking at the head of a reply as it streams in."""

    def __init__(self) -> None:
        self._held = ""
        """What has come while it is not known whether it is speech."""
        self._has_begun = False

    @property
    def is_thinking(self) -> bool:
        """Whether the model has begun to think aloud and has not ended yet."""
        return _OPENING.match(self._held) is not None

    def feed(self, piece: str) -> str:
        """Add a piece of the reply. Return what of it is speech."""
        if self._has_begun:
            return piece
        self._held += piece
        if self.is_thinking and ">" not in piece:
            return ""  # cannot end yet: spares a search of all that was thought
        said = spoken(self._held)
        if not said.strip() or _may_become_a_tag(said):
            return ""
        self._has_begun, self._held = True, ""
        return said

    def finish(self) -> str:
        """Return the rest of what was said; nothing if it is blank."""
        said, self._held = spoken(self._held), ""
        return said if said.strip() else ""


def _may_become_a_tag(text: str) -> bool:
    begun = text.lstrip().lower()
    return len(begun) < _LONGEST_OPENING and any(f"<{tag}>".startswith(begun) for tag in _TAGS)
