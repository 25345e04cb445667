"""What stands above the prompt for now: the end of a reply, what is waited for, what is queued."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text

from construct.repl.columns import fitted

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FRAMES_A_SECOND = 8
_MOST_QUEUED = 3
_TAKE_BACK = " · ↑ takes it back"
_SECONDS_FROM = 2


@dataclass(slots=True)
class Live:
    """The parts, each empty when there is nothing to show."""

    tail: str = ""
    """The unfinished end of a reply, as ANSI text."""
    tail_gap: bool = False
    """Whether a blank line belongs before the tail."""
    panel: str = ""
    """A view that changes, as ANSI text; whole lines."""
    status: str = ""
    """What is waited for."""
    since: float = 0.0
    hint: str = ""
    queued: list[str] = field(default_factory=list)
    """What waits to be sent, oldest first."""

    def wait(self, status: str) -> None:
        """Say what is waited for from now on; an empty text ends it."""
        self.status = status
        self.since = time.monotonic()

    def fragments(self, width: int) -> StyleAndTextTuples:
        """Return what is shown; its last line is always blank, and stands before the prompt."""
        shown: StyleAndTextTuples = []
        if self.tail:
            if self.tail_gap:
                shown.append(("", "\n"))
            shown += _parsed(self.tail)
            shown.append(("", "\n"))
        if self.panel:
            shown += [("", "\n"), *_parsed(self.panel)]
        if self.status or self.queued or self.hint:
            shown.append(("", "\n"))
        if self.status:
            shown.append(("class:dim", fitted(self._waiting(), width - 1) + "\n"))
        shown += [("class:dim", f"{line}\n") for line in self._queued(width)]
        if self.hint:
            shown.append(("class:dim", fitted(self.hint, width - 1) + "\n"))
        return shown or [("", "")]

    def _queued(self, width: int) -> Iterator[str]:
        """Give the lines that wait: the oldest, how many are left out, and the newest, which can be taken back."""
        *before, last = self.queued or [""]
        for text in before[: _MOST_QUEUED - 1]:
            yield fitted(f"queued: {text}", width - 1)
        if len(before) >= _MOST_QUEUED:
            yield f"and {len(before) - _MOST_QUEUED + 1} more"
        if last:
            yield fitted(f"queued: {last}", max(_MOST_QUEUED, width - 1 - len(_TAKE_BACK))) + _TAKE_BACK

    def _waiting(self) -> str:
        passed = time.monotonic() - self.since
        frame = _SPINNER[int(passed * _FRAMES_A_SECOND) % len(_SPINNER)]
        seconds = f" {int(passed)} s" if passed >= _SECONDS_FROM else ""
        return f"{frame} {self.status}{seconds} · Ctrl-C stops"


@lru_cache(maxsize=4)
def _parsed(tail: str) -> StyleAndTextTuples:
    return to_formatted_text(ANSI(tail))
