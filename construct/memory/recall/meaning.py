"""What is near a query in meaning: its vector beside those of everything said and noted.

The newest vectors of each kind are kept in memory and all compared: 25 ms of CPU for
100,000, where reading them takes 300 once. Of older entries those are compared that were
found by their words.
"""

import logging
import re
import sqlite3
import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from construct.config import Settings
from construct.language.index_words import fold
from construct.llm.embedding import Embedder, Weights, find_weights, is_available
from construct.store import vectors as rows
from construct.store.search import Entry, path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger("construct.meaning")

KEPT = 100_000  # newest vectors of each kind that are compared
_BLOCK = 1024  # vectors compared at once: they fit the processor's cache
_WORD = re.compile(r"[^\W_]+(?:['’]s\b)?")


class Meaning:
    """Compares by meaning with one model, in one process.

    `None` in its place means by words alone.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._shelves: dict[tuple[str, str], _Shelf] = {}
        self._lock = threading.Lock()
        self._is_ready: bool | None = None

    def ready(self) -> bool:
        """Load the model and try it, once, in the calling thread.

        False when it is of no use: words alone will do.
        """
        with self._lock:
            if self._is_ready is None:
                try:
                    self._is_ready = bool(self.embedder.encode(["ready"])[0])
                except Exception as error:  # noqa: BLE001 - the runtime raises classes of its own
                    log.warning("the model of meaning cannot be used: %s", type(error).__name__)
                    self._is_ready = False
            return self._is_ready

    def near(self, db: sqlite3.Connection, text: str, kinds: Iterable[str]) -> "Near | None":
        """Return what is near a text.

        None while there are no vectors, or when the model cannot be loaded.
        """
        try:
            model = rows.model_of(db, self.embedder.name)
        except OSError:  # gone, or not ours to read
            return None
        if model is None or not self.ready():
            return None
        query = self.embedder.encode([text])[0][0]
        with self._lock:
            return Near(
                db,
                model,
                {kind: self._shelf(db, model, kind).compared(query) for kind in kinds},
                query,
            )

    def _shelf(self, db: sqlite3.Connection, model: int, kind: str) -> "_Shelf":
        shelf = self._shelves.setdefault((path(db), kind), _Shelf())
        shelf.add(rows.newest(db, model, kind, shelf.last, KEPT))
        return shelf


@cache
def _meaning(weights: Weights) -> Meaning:
    return Meaning(Embedder(weights))


def meaning_for(settings: Settings) -> Meaning | None:
    """Return how this process compares by meaning.

    None without the extra or its weights.

    Raises UsageError when CONSTRUCT_SEMANTIC_MODEL names no model.
    """
    weights = find_weights(settings) if is_available() else None
    return None if weights is None else _meaning(weights)


def without(text: str, names: Collection[str]) -> str:
    """Return a text without names: what it says of anybody is what is compared."""
    kept = _WORD.sub(
        lambda word: "" if fold(re.split("['’]", word[0])[0]) in names else word[0], text
    )
    return " ".join(kept.split()) or text


@dataclass(frozen=True, slots=True)
class Near:
    """How near entries are to a query, from -1 to 1.

    By kind, ids rising, with the nearness of each.
    """

    db: sqlite3.Connection
    model: int
    compared: "dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]]"
    query: "NDArray[np.int8]"

    def nearest(self, kind: str, most: int) -> list[int]:
        """Return the entries of a kind that are nearest, at most so many, in no order."""
        import numpy as np

        ids, scores = self.compared[kind]
        best = (
            np.argpartition(-scores, most)[:most] if len(scores) > most else np.arange(len(scores))
        )
        return [int(i) for i in ids[best]]

    def of_all(self, entries: Iterable[Entry]) -> dict[tuple[str, int], float]:
        """Return how near these entries are, those that have a vector."""
        wanted: dict[str, list[int]] = {}
        for entry in entries:
            wanted.setdefault(entry.kind, []).append(entry.id)
        return {
            (kind, i): value
            for kind, ids in wanted.items()
            for i, value in self._of(kind, ids).items()
        }

    def _of(self, kind: str, wanted: Iterable[int]) -> dict[int, float]:
        """Return how near entries of a kind are, one at least, those that have a vector."""
        import numpy as np

        ids, scores = self.compared[kind]
        asked = np.array(sorted(set(wanted)), np.int64)
        at = np.minimum(np.searchsorted(ids, asked), max(0, len(ids) - 1))
        here = ids[at] == asked if len(ids) else np.zeros(len(asked), bool)
        found = dict(zip(asked[here].tolist(), scores[at[here]].tolist(), strict=True))
        if not here.all():  # older than what is kept
            older = _Shelf()
            older.add(rows.of(self.db, self.model, kind, asked[~here].tolist()))
            found |= zip(*(column.tolist() for column in older.compared(self.query)), strict=True)
        return found


class _Shelf:
    """Vectors in order of their entries.

    An entry of several parts is as near as its nearest.
    """

    def __init__(self) -> None:
        self.last = 0
        self._ids: list[NDArray[np.int64]] = []
        self._blocks: list[NDArray[np.int8]] = []
        self._lengths: list[NDArray[np.float32]] = []

    def add(self, found: Sequence[tuple[int, bytes]]) -> None:
        """Put vectors behind those that are there."""
        if not found:
            return
        import numpy as np

        self.last = found[-1][0]
        ids = np.array([entry for entry, _ in found], np.int64)
        added = np.frombuffer(b"".join(vector for _, vector in found), np.int8).reshape(
            len(found), -1
        )
        if self._blocks and len(self._blocks[-1]) < _BLOCK:
            ids = np.concatenate([self._ids.pop(), ids])
            added = np.concatenate([self._blocks.pop(), added])
            self._lengths.pop()
        for at in range(0, len(added), _BLOCK):
            block = added[at : at + _BLOCK]
            self._ids.append(ids[at : at + _BLOCK])
            self._blocks.append(block)
            self._lengths.append(np.maximum(np.linalg.norm(block.astype(np.float32), axis=1), 1e-9))

    def compared(
        self, query: "NDArray[np.int8]"
    ) -> "tuple[NDArray[np.int64], NDArray[np.float32]]":
        """Return the entries, ids rising, and how near each is."""
        import numpy as np

        if not self._blocks:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        wanted = query.astype(np.float32)
        wanted /= max(float(np.linalg.norm(wanted)), 1e-9)
        pairs = zip(self._blocks, self._lengths, strict=True)
        parts = np.concatenate(
            [block.astype(np.float32) @ wanted / length for block, length in pairs]
        )
        ids = np.concatenate(self._ids)
        first = np.flatnonzero(np.diff(ids, prepend=-1))
        return ids[first], np.maximum.reduceat(parts, first)
