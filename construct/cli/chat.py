"""`chat`: the REPL, or piped lines. Apart from `ask`, since the prompt waits for what this imports."""

import sys

from construct.cli.environment import Environment


def chat(
    env: Environment,
    *,
    conversation: int | None = None,
    new: bool = False,
    model: str | None = None,
    private: bool = False,
    commands: bool = False,
) -> int:
    """Run the REPL, or answer piped lines; return the exit status."""
    from construct.repl.start import open_chat

    opening = open_chat(env.settings, conversation, new=new, model=model, private=private)
    if sys.stdin.isatty() and sys.stdout.isatty():
        from construct.repl.app import run_chat

        return run_chat(opening)
    from construct.repl.piped import run_piped

    # With the output alone redirected, the lines are typed, and commands are the user's own.
    return run_piped(opening, runs_commands=commands or sys.stdin.isatty())
