"""Which models are large enough to condense memory and to verify changes to it."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imported at startup: keep it light
    from construct.llm.types import Model

FEWEST_PARAMETERS = 4_000_000_000
# "1.5b" in "qwen2.5:1.5b", "135M" in "SmolLM2-135M", "8x7b" in "mixtral-8x7b". A single
# digit before an M does not count: it is a context window ("Instruct-1M"). Nor does a
# number after an E or A: it counts effective or active parameters ("E2B", "A3B").
_SIZE = re.compile(
    r"(?<![a-z0-9.])(?:(\d{1,4})x)?(?:(\d{1,6}(?:\.\d+)?)b|(\d{2,6}(?:\.\d+)?)m)(?![a-z0-9])",
    re.IGNORECASE,
)


def is_capable(model: "Model") -> bool:
    """Return whether a model may condense memory: any that is not known to be too small."""
    return model.parameters is None or model.parameters >= FEWEST_PARAMETERS


def parameters_in(name: str) -> int | None:
    """Return the number of parameters that a model's name or size label gives."""
    sizes = [
        int(experts or 1)
        * (round(float(billions) * 1e9) if billions else round(float(millions) * 1e6))
        for experts, billions, millions in _SIZE.findall(name)
    ]
    return max(sizes, default=None)
