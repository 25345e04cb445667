"""`construct chat`: on a terminal, or with piped lines.

Imports little: the first prompt waits for it.
"""

import sys

from construct.cli.environment import Environment
from construct.config import Settings


def chat(
    env: Environment,
    *,
    conversation: int | None = None,
    new: bool = False,
    model: str | None = None,
    private: bool = False,
    commands: bool = False,
) -> int:
    """Chat on the terminal, or answer piped lines; return the exit status.

    On a terminal, a user who has not set up a model is asked to choose one first. If they
    leave without choosing, there is no chat.
    """
    settings = env.settings
    if _is_on_terminal() and settings.provider == "auto" and not settings.is_configured:
        from construct.cli.setup import first_choice

        chosen = first_choice(env)
        if chosen is None:
            return 0
        settings = chosen
    return chat_with(
        settings,
        conversation=conversation,
        new=new,
        model=model,
        private=private,
        commands=commands,
    )


def chat_with(
    settings: Settings,
    *,
    conversation: int | None = None,
    new: bool = False,
    model: str | None = None,
    private: bool = False,
    commands: bool = False,
) -> int:
    """Chat or answer piped lines with these settings; return the exit status."""
    from construct.operations.opening import open_chat

    opening = open_chat(settings, conversation, new=new, model=model, private=private)
    if _is_on_terminal():
        from construct.chat.app import run_chat

        return run_chat(opening)
    from construct.chat.line_mode import run_piped

    # When only the output is redirected, the user types the lines and may use commands.
    return run_piped(opening, runs_commands=commands or sys.stdin.isatty())


def _is_on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()
