"""The command that adds something to an installation of the program.

It depends on how the program was installed.
"""

from typing import Any

import pytest

from construct import installation
from construct.installation import Installation, InstallKind, this_installation

CLONE = Installation(InstallKind.CLONE, "/home/me/construct")
TOOL = Installation(InstallKind.TOOL, "/home/me/my construct")
INDEX = Installation(InstallKind.TOOL, None, frozenset({"semantic"}))
GIT = Installation(InstallKind.ENVIRONMENT, "git+https://example.org/construct.git")


@pytest.mark.parametrize(
    ("here", "command"),
    [
        (CLONE, "uv run --extra local construct"),
        (TOOL, "uv tool install '/home/me/my construct[local]'"),
        (INDEX, "uv tool install 'construct-companion[local,semantic]'"),
        (GIT, f"pip install 'construct-companion[local] @ {GIT.source}'"),
    ],
)
def test_the_command_that_adds_to_it(here: Installation, command: str) -> None:
    """An extra comes from where the copy came from."""
    assert here.with_extra("local") == command


@pytest.mark.parametrize(
    ("noted", "source"),
    [
        ({"url": "file:///home/me/my%20construct", "dir_info": {}}, "/home/me/my construct"),
        (
            {
                "url": "https://example.org/c.git",
                "vcs_info": {"vcs": "git", "requested_revision": "v1", "commit_id": "a1"},
            },
            "git+https://example.org/c.git@v1",
        ),
        (
            {"url": "https://example.org/c.git", "vcs_info": {"vcs": "git", "commit_id": "a1"}},
            "git+https://example.org/c.git",
        ),
        ({"url": "https://example.org/c.whl", "archive_info": {}}, "https://example.org/c.whl"),
        ({}, None),
    ],
)
def test_where_it_came_from(
    noted: dict[str, Any], source: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source is what the installer noted.

    For a repository it includes the requested version, or adding an extra would install
    another one.
    """
    monkeypatch.setattr(installation, "_origin", lambda: noted)
    assert this_installation().source == source


def test_this_copy_is_a_clone() -> None:
    """The tests run out of one."""
    assert this_installation().kind == "clone"
