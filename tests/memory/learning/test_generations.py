"""Ten generations of an adversarial reflector: what code alone must keep."""

from collections import Counter

import pytest

from tests.memory.adversarial import Verifier, hold, simulate

VERIFIERS: dict[str, Verifier] = {
    "yes": lambda _: True,
    "no": lambda _: False,
    "at random": lambda rng: rng.random() < 0.5,
}


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_no_generation_loses_or_invents(verifier: str) -> None:
    """No number of a high note is lost, and none is invented.

    No stance gets firmer and no day moves.
    """
    kinds: Counter[str] = Counter()
    refused = 0
    for seed in range(15):
        world = simulate(seed, VERIFIERS[verifier], hold)
        kinds.update(kind for kind, _ in world.fates.values())
        refused += world.refused
    assert refused > sum(kinds.values())
    assert set(kinds) == ({"drop"} if verifier == "no" else {"line", "same", "outdated", "drop"})
