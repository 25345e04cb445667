"""`demo`: a chat over a copy of an invented life, which is gone afterwards."""

import tempfile
from dataclasses import replace
from pathlib import Path

from construct.cli.environment import Environment
from construct.cli.streams import say
from construct.errors import UsageError
from construct.operations.demo import fill


def demo(env: Environment) -> int:
    """Run the chat over the demo life."""
    if env.db is not None:
        raise UsageError("The demo keeps to a copy of its own. Leave out --db.")
    with tempfile.TemporaryDirectory(prefix="construct-demo-") as folder:
        settings = replace(env.settings, db=Path(folder) / "demo.db")
        fill(settings)
        say("This is the demo: Marta's life, invented. Nothing here reaches your own file.")
        from construct.cli.chat import chat_with

        return chat_with(settings)
