"""What the search benchmarks measure in the same way.

They measure recall and CPU time. They can also open the gate: in a large file, search
reads only the rows that have a rare enough word (`query.gated`).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from construct.memory.recall import search

OPEN = 1e6
"""Scaled by this, the gate is open."""
Asked = list[tuple[str, set[int]]]
"""Questions, each with the messages that hold the answer."""


def ask(asked: Asked, find: Callable[[str], list[int]]) -> tuple[float, list[float]]:
    """Return the mean recall and the CPU milliseconds of each question."""
    recalled, times = 0.0, []
    for text, evidence in asked:
        start = time.process_time()
        found = find(text)
        times.append((time.process_time() - start) * 1000)
        recalled += len(evidence & set(found)) / len(evidence)
    return recalled / len(asked), times


def p50_p95(times: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 95th percentile."""
    ranked = sorted(times)
    return ranked[len(ranked) // 2], ranked[int(len(ranked) * 0.95)]


def timed(find: Callable[[], list[int]]) -> tuple[list[int], float]:
    """Return what a search finds and the CPU milliseconds that it took."""
    start = time.process_time()
    found = find()
    return found, (time.process_time() - start) * 1000


@contextmanager
def gate(scale: float) -> Iterator[None]:
    """Scale the number of rows that pass the gate, within the block."""
    required, weighed = search.REQUIRED_ROWS, search.WEIGHED_ROWS
    search.REQUIRED_ROWS, search.WEIGHED_ROWS = int(required * scale), int(weighed * scale)
    try:
        yield
    finally:
        search.REQUIRED_ROWS, search.WEIGHED_ROWS = required, weighed
