"""Find entries similar in meaning to a query by comparing vectors.

The newest vectors of each kind are kept in memory and all compared: 25 ms of CPU for
100,000. Reading them takes 300 ms, once.
"""

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
from construct.store import vectors
from construct.store.search import Entry, database_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEPT = 100_000  # newest vectors of each kind that are kept and compared
_BLOCK = 1024  # vectors compared at once, so that they fit the CPU cache
_WORD = re.compile(r"[^\W_]+(?:['’]s\b)?")


class Meaning:
    """Compares texts by meaning with one embedding model, for this process.

    Where an optional `Meaning` is None, search uses words alone.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._kept: dict[tuple[str, str], _Vectors] = {}
        """By database path and kind of entry."""
        self._lock = threading.Lock()
        self._is_ready: bool | None = None

    def ready(self) -> bool:
        """Load the model and try it once, in the calling thread; return whether it works.

        If it does not, search uses words alone.
        """
        with self._lock:
            if self._is_ready is None:
                try:
                    self._is_ready = bool(self.embedder.encode(["ready"])[0])
                except Exception as error:  # noqa: BLE001 - the runtime raises classes of its own
                    from construct.log import logger

                    logger("meaning").warning(
                        "the model of meaning cannot be used: %s", type(error).__name__
                    )
                    self._is_ready = False
            return self._is_ready

    def near(self, db: sqlite3.Connection, text: str, kinds: Iterable[str]) -> "Near | None":
        """Return how similar entries are to a text.

        None while there are no vectors, or when the model cannot be loaded.
        """
        try:
            model = vectors.model_of(db, self.embedder.name)
        except OSError:  # the weights were deleted or are not readable
            return None
        if model is None or not self.ready():
            return None
        query = self.embedder.encode([text])[0][0]
        with self._lock:
            return Near({kind: self._vectors(db, model, kind).compared(query) for kind in kinds})

    def _vectors(self, db: sqlite3.Connection, model: int, kind: str) -> "_Vectors":
        kept = self._kept.setdefault((database_path(db), kind), _Vectors())
        kept.add(vectors.newest(db, model, kind, kept.last, KEPT))
        return kept


@cache
def _meaning(weights: Weights) -> Meaning:
    return Meaning(Embedder(weights))


def meaning_for(settings: Settings) -> Meaning | None:
    """Return the shared `Meaning` of this process.

    None if the extra or the model's weights are not installed. Raises UsageError if
    CONSTRUCT_SEMANTIC_MODEL does not name a model.
    """
    weights = find_weights(settings) if is_available() else None
    return None if weights is None else _meaning(weights)


def without(text: str, names: Collection[str]) -> str:
    """Return a text without these names, so that only the rest is compared."""
    kept = _WORD.sub(
        lambda word: "" if fold(re.split("['’]", word[0])[0]) in names else word[0], text
    )
    return " ".join(kept.split()) or text


@dataclass(frozen=True, slots=True)
class Near:
    """Similarity of entries to a query, from -1 to 1."""

    compared: "dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]]"
    """By kind: ids in ascending order with the similarity of each."""

    def nearest(self, kind: str, limit: int) -> list[int]:
        """Return the ids of the most similar entries of a kind."""
        ids, scores = self.compared[kind]
        return [int(i) for i in ids[(-scores).argsort(kind="stable")[:limit]]]

    def of_all(self, entries: Iterable[Entry]) -> dict[tuple[str, int], float]:
        """Return the similarity of the entries whose vectors are in memory, by their key."""
        found = {}
        for entry in entries:
            ids, scores = self.compared[entry.kind]
            position = int(ids.searchsorted(entry.id))
            if position < len(ids) and ids[position] == entry.id:
                found[entry.key] = float(scores[position])
        return found


class _Vectors:
    """Vectors in the order of their entries; the parts of an entry are adjacent."""

    def __init__(self) -> None:
        import numpy as np

        self.ids = np.zeros(0, np.int64)
        self.vectors = np.zeros((0, 0), np.int8)
        self.lengths = np.zeros(0, np.float32)

    @property
    def last(self) -> int:
        return int(self.ids[-1]) if len(self.ids) else 0

    def add(self, found: Sequence[tuple[int, bytes]]) -> None:
        if not found:
            return
        import numpy as np

        joined = b"".join(vector for _, vector in found)
        added = np.frombuffer(joined, np.int8).reshape(len(found), -1)
        lengths = np.concatenate(
            [
                np.linalg.norm(added[at : at + _BLOCK].astype(np.float32), axis=1)
                for at in range(0, len(added), _BLOCK)
            ]
        )
        self.ids = np.append(self.ids, [entry for entry, _ in found])
        self.vectors = np.concatenate([self.vectors.reshape(-1, added.shape[1]), added])
        self.lengths = np.append(self.lengths, np.maximum(lengths, 1e-9))

    def compared(
        self, query: "NDArray[np.int8]"
    ) -> "tuple[NDArray[np.int64], NDArray[np.float32]]":
        """Return the entry ids, ascending, and the similarity of each one's best part."""
        import numpy as np

        if not len(self.ids):
            return self.ids, self.lengths
        wanted = query.astype(np.float32)
        wanted /= max(float(np.linalg.norm(wanted)), 1e-9)
        blocks = [
            self.vectors[at : at + _BLOCK].astype(np.float32) @ wanted
            for at in range(0, len(self.ids), _BLOCK)
        ]
        parts = np.concatenate(blocks) / self.lengths
        first = np.flatnonzero(np.diff(self.ids, prepend=-1))
        return self.ids[first], np.maximum.reduceat(parts, first)
