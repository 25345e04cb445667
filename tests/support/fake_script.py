"""What a test tells the fake to answer, and what to let go wrong."""

import threading
from collections import deque
from collections.abc import Callable

from tests.support.fake_faults import Fault
from tests.support.fake_types import PURPOSES, Answer, Answerer, Json, Purpose
from tests.support.fake_worker import WORKERS


class Script:
    """Who answers what; answers and faults that serve once come first."""

    def __init__(self) -> None:
        self.chat: Answerer = WORKERS["chat"]
        self.observer: Answerer = WORKERS["observer"]
        self.reflector: Answerer = WORKERS["reflector"]
        self.verifier: Answerer = WORKERS["verifier"]
        self.graph: Answerer = WORKERS["graph"]
        self._lock = threading.Lock()
        self._answers: dict[Purpose, deque[Answer | Answerer]] = {
            purpose: deque() for purpose in PURPOSES
        }
        self._faults: dict[Purpose, deque[tuple[Fault, int | None]]] = {
            purpose: deque() for purpose in PURPOSES
        }

    def enqueue(self, purpose: Purpose, *answers: Answer | Answerer) -> None:
        """Add answers that serve once each, in order.

        After them the purpose's own answerer serves again.
        """
        with self._lock:
            self._answers[purpose].extend(answers)

    def fail(
        self, purpose: Purpose, fault: Fault | Callable[[], Fault], times: int | None = 1
    ) -> None:
        """Make the next `times` requests of this purpose fail, or all if it is None.

        Faults that wait already come first.
        """
        with self._lock:
            self._faults[purpose].append((fault if isinstance(fault, Fault) else fault(), times))

    def heal(self) -> None:
        """Take back every fault that has not struck yet."""
        with self._lock:
            for waiting in self._faults.values():
                waiting.clear()

    def answer(self, purpose: Purpose, body: Json) -> Answer:
        """Return the next answer, and use it up."""
        with self._lock:
            waiting = self._answers[purpose]
            answer = waiting.popleft() if waiting else self._answerer(purpose)
        # Called without the lock: an answerer may take its time, or talk to the fake
        # itself.
        return answer(body) if callable(answer) else answer

    def next_fault(self, purpose: Purpose) -> Fault | None:
        """Return the fault that strikes this request, and use it up."""
        with self._lock:
            waiting = self._faults[purpose]
            if not waiting:
                return None
            fault, times = waiting[0]
            if times is not None:
                waiting.popleft()
                if times > 1:
                    waiting.appendleft((fault, times - 1))
            return fault

    def _answerer(self, purpose: Purpose) -> Answerer:
        match purpose:
            case "observer":
                return self.observer
            case "reflector":
                return self.reflector
            case "verifier":
                return self.verifier
            case "graph":
                return self.graph
            case "changes":
                return WORKERS["changes"]
        return self.chat
