"""`chat`: the REPL, or piped lines. Apart from `ask`, since the prompt waits for what this imports."""

import sys

from construct.cli.environment import Environment
from construct.errors import UsageError


def chat(
    env: Environment,
    *,
    conversation: int | None = None,
    new: bool = False,
    model: str | None = None,
    private: bool = False,
) -> int:
    """Run the REPL, or answer piped lines; return the exit status."""
    if conversation is not None and new:
        raise UsageError("--conversation and --new exclude each other: name one of them.")
    if sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        from construct.repl.app import run_chat

        return run_chat(env.settings, conversation=conversation, new=new, model=model, private=private)
    from construct.repl.piped import run_piped

    return run_piped(env.settings, conversation=conversation, new=new, model=model, private=private)
