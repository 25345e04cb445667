"""What is said before the first prompt, and after a pause."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from construct.clock import Clock, to_text
from construct.config import Settings
from construct.operations.opening import open_chat
from construct.store.conversations import ConversationSummary
from construct.store.records import Conversation
from construct.views.greeting import first_screen, greeting, hello, pause_line

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


def test_greetings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first screen names the file and the ways to see, correct and delete.

    Later ones the talk and the pause.
    """
    settings = Settings(
        Path("/home/me/construct.db"), config_dir=Path("/home/me/.config"), api_key="k"
    )
    for width in (80, 40):
        lines = first_screen(settings, "claude", width)
        first = "\n".join(lines)
        for part in (
            "/home/me/construct.db",
            "/memory",
            "/why ID",
            "/edit ID",
            "/forget ID",
            "/private on",
            "/help",
        ):
            assert part in first
        assert max(len(line) for line in lines if line.startswith("  ")) <= width
        assert "ANTHROPIC_API_KEY" not in first
    assert "CONSTRUCT_MEMORY" in "\n".join(
        first_screen(replace(settings, memory="off"), "claude", 80)
    )
    stamp = to_text(NOW - timedelta(days=1))
    here = Conversation(
        1, "c1", "Tea", None, stamp, None, None, None, "Planning tea", None, None, None
    )
    monkeypatch.setenv("HOME", "/home/me")
    assert "  ~/construct.db" in first_screen(settings, "claude", 80)
    back = hello(ConversationSummary(here, 2, stamp, None), Clock(NOW, UTC), private=True)
    assert back == [
        "Construct · Tea · last talked 1 day ago",
        "Where you were: Planning tea",
        "Nothing you say here is stored.",
    ]
    assert hello(None, Clock(NOW, UTC), private=False) == ["Construct · a new conversation"]


def test_the_first_screen_of_the_notebook() -> None:
    """Without a model the user is told that what answers is no model."""
    settings = Settings(Path("x.db"), config_dir=Path("/home/me/.config"))
    first = "\n".join(first_screen(settings, "notebook", 80))
    assert "no model answers, but it finds what you wrote" in first
    assert "You are talking to" not in first
    off = "\n".join(first_screen(replace(settings, memory="off"), "notebook", 80))
    assert "no model answers. " in off


def test_the_first_screen_of_a_private_chat(settings: Settings) -> None:
    """It promises to keep nothing, rather than to keep everything and learn from it."""
    opening = open_chat(settings, None, new=False, model=None, private=True)
    assert opening.first_run
    first = greeting(opening, 80)
    assert "Nothing you say here is stored." in first
    assert "kept in one file" not in first
    assert "dated notes" not in first


@pytest.mark.parametrize(
    ("minutes", "said"),
    [
        (0, ""),
        (59, ""),
        (61, "20:01, 1 hour later"),
        (200, "22:20, 3 hours later"),
        (300, "Saturday, 1 March 2025, 00:00"),
        (60 * 24 * 3, "Monday, 3 March 2025, 19:00"),
    ],
)
def test_the_time_after_a_pause(minutes: int, said: str) -> None:
    """The time is said after an hour, and with the day on another one."""
    before = datetime(2025, 2, 28, 19, tzinfo=UTC)
    assert pause_line(before, before + timedelta(minutes=minutes)) == said
