"""`construct demo`: a chat with a temporary copy of an invented person's memory."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from construct.cli.environment import Environment
from construct.cli.streams import say
from construct.errors import UsageError
from construct.operations.demo import fill
from construct.user_rules import RulesFile

_WELCOME = """\
This is the demo: a year in the life of Mara, who is invented. You work on a \
copy, which is deleted when you leave. Your own data is not touched. Try:
"""
_SUGGESTIONS = {
    "What is Anna Petrov allergic to?": "there are two Annas",
    "When is Mum's party?": "it was moved",
    "/why 73": "where one memory came from",
    "/profile": "what it knows about Mara, by subject",
    "/agenda": "what is due, today and later",
}
_TWO_COLUMNS_FROM = 76
"""Terminal width from which each suggestion is explained."""


def demo(env: Environment) -> int:
    """Run a chat with the demo's memory; return the exit status."""
    if env.db is not None:
        raise UsageError("The demo uses a copy of its own. Leave out --db.")
    with tempfile.TemporaryDirectory(prefix="construct-demo-") as folder:
        place = Path(folder)
        settings = replace(  # without the user's own persona and memory rules
            env.settings,
            db=place / "demo.db",
            config_dir=place,
            persona=None,
            memory_rules=RulesFile(place / "memory-rules.md"),
        )
        fill(settings)
        say(_welcome(shutil.get_terminal_size().columns))
        from construct.cli.chat import chat_with

        return chat_with(settings)


def _welcome(columns: int) -> str:
    """Return what to try; on a narrow terminal without the explanations."""
    if columns < _TWO_COLUMNS_FROM:
        lines = [f"  {suggestion}" for suggestion in _SUGGESTIONS]
    else:
        lines = [f"  {suggestion:<36}{why}" for suggestion, why in _SUGGESTIONS.items()]
    return "\n".join([_WELCOME, *lines, ""])
