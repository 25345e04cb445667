"""Slash commands: a small module for each group, put together here. What `/help` says of one is its docstring."""

from construct.repl.commands import correct, inside, memory, talk
from construct.repl.commands.registry import Registry


def all_commands() -> Registry:
    """Return every command there is."""
    return Registry([talk.group, memory.group, correct.group, inside.group])
