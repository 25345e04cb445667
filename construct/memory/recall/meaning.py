"""Find entries similar in meaning to a query by comparing vectors.

The newest vectors of each kind are kept in memory and all compared: 25 ms of CPU for
100,000. Reading them takes 300 ms, once.
"""

import re
import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from construct.config import Settings
from construct.language.index_words import fold
from construct.llm.embedding import Embedder, Weights, find_weights, is_available
from construct.store import vectors
from construct.store.driver import Connection
from construct.store.search import Entry, database_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_KEPT = 100_000
"""Newest vectors of each kind that are read and compared; later ones are added to them."""
_BLOCK = 1024
"""Vectors that are compared at once: few enough to fit the CPU cache."""
# "Anna's" in "Anna's boat"
_WORD = re.compile(r"[^\W_]+(?:['’]s\b)?")


class Meaning:
    """Compares a text with stored entries by meaning, using one embedding model.

    Each process has one. Where an optional `Meaning` is None, search uses words alone.
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
                        "the embedding model cannot be used: %s", type(error).__name__
                    )
                    self._is_ready = False
            return self._is_ready

    def similarities(
        self, db: Connection, text: str, kinds: Iterable[str]
    ) -> "Similarities | None":
        """Return how similar the entries of these kinds are to a text.

        None if this model was never used for the database, or cannot be loaded.
        """
        try:
            model = vectors.model_of(db, self.embedder.name)
        except OSError:  # the weights were deleted or are not readable
            return None
        if model is None or not self.ready():
            return None
        query = self.embedder.encode([text])[0][0]
        with self._lock:
            return Similarities(
                {kind: self._vectors(db, model, kind).compared(query) for kind in kinds}
            )

    def _vectors(self, db: Connection, model: int, kind: str) -> "_Vectors":
        kept = self._kept.setdefault((database_path(db), kind), _Vectors())
        kept.add(vectors.newest(db, model, kind, kept.last, MAX_KEPT))
        return kept


@cache
def _meaning(weights: Weights) -> Meaning:
    return Meaning(Embedder(weights))


def meaning_for(settings: Settings) -> Meaning | None:
    """Return the shared `Meaning` of this process.

    None if the extra `semantic` or the model's weights are not installed. Raises
    UsageError if CONSTRUCT_SEMANTIC_MODEL does not name a model.
    """
    weights = find_weights(settings) if is_available() else None
    return None if weights is None else _meaning(weights)


def without_names(text: str, names: Collection[str]) -> str:
    """Return a text without these names, so that only the rest is compared.

    A text that consists of names is returned unchanged.
    """

    def keep(match: re.Match[str]) -> str:
        word = re.split("['’]", match[0])[0]
        return "" if fold(word) in names else match[0]

    rest = " ".join(_WORD.sub(keep, text).split())
    return rest if _WORD.search(rest) else text


@dataclass(frozen=True, slots=True)
class Similarities:
    """Cosine similarities of entries to a query, from -1 to 1."""

    by_kind: "dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]]"
    """The ids of the entries in ascending order, and the similarity of each."""

    def nearest(self, kind: str, limit: int) -> list[int]:
        """Return the ids of the most similar entries of a kind."""
        ids, scores = self.by_kind[kind]
        return [int(i) for i in ids[(-scores).argsort(kind="stable")[:limit]]]

    def of(self, entries: Iterable[Entry]) -> dict[tuple[str, int], float]:
        """Return the similarity of each entry whose vectors are kept, by the entry's key."""
        by_key = {}
        for entry in entries:
            ids, scores = self.by_kind[entry.kind]
            position = int(ids.searchsorted(entry.id))
            if position < len(ids) and ids[position] == entry.id:
                by_key[entry.key] = float(scores[position])
        return by_key


class _Vectors:
    """Vectors of one kind in the order of their entries; an entry has one for each part."""

    def __init__(self) -> None:
        import numpy as np

        self.ids = np.zeros(0, np.int64)
        self.vectors = np.zeros((0, 0), np.int8)
        self.lengths = np.zeros(0, np.float32)

    @property
    def last(self) -> int:
        """The id of the newest entry, or 0."""
        return int(self.ids[-1]) if len(self.ids) else 0

    def add(self, new: Sequence[tuple[int, bytes]]) -> None:
        """Add (entry id, vector) pairs of newer entries, in order."""
        if not new:
            return
        import numpy as np

        joined = b"".join(vector for _, vector in new)
        added = np.frombuffer(joined, np.int8).reshape(len(new), -1)
        lengths = np.concatenate(
            [
                np.linalg.norm(added[start : start + _BLOCK].astype(np.float32), axis=1)
                for start in range(0, len(added), _BLOCK)
            ]
        )
        self.ids = np.append(self.ids, [entry for entry, _ in new])
        self.vectors = np.concatenate([self.vectors.reshape(-1, added.shape[1]), added])
        self.lengths = np.append(self.lengths, np.maximum(lengths, 1e-9))

    def compared(
        self, query: "NDArray[np.int8]"
    ) -> "tuple[NDArray[np.int64], NDArray[np.float32]]":
        """Return the entry ids, ascending, and the similarity of each one's best part."""
        import numpy as np

        if not len(self.ids):
            return self.ids, self.lengths
        direction = query.astype(np.float32)
        direction /= max(float(np.linalg.norm(direction)), 1e-9)
        blocks = [
            self.vectors[start : start + _BLOCK].astype(np.float32) @ direction
            for start in range(0, len(self.ids), _BLOCK)
        ]
        similarities = np.concatenate(blocks) / self.lengths
        first_parts = np.flatnonzero(np.diff(self.ids, prepend=-1))
        return self.ids[first_parts], np.maximum.reduceat(similarities, first_parts)
