"""The slash commands, in modules by group, and what these modules share.

A command's docstring is what `/help COMMAND` shows below its usage and summary.
"""

from collections.abc import Sequence

from construct.chat.chat import Chat
from construct.chat.commands import agenda as _agenda  # noqa: F401 - adds to `memory.group`
from construct.chat.commands import conversation, corrections, data, memory, status
from construct.chat.commands import reminders as _reminders  # noqa: F401 - adds to `status.group`
from construct.chat.commands import review as _review  # noqa: F401 - adds to `corrections.group`
from construct.chat.commands import tools as _tools  # noqa: F401 - adds to `status.group`
from construct.chat.commands import track as _track  # noqa: F401 - adds to `status.group`
from construct.chat.commands.help import HelpView, command_view, everyday_view, keys_view
from construct.chat.commands.registry import Choice, Registry
from construct.chat.output import Output
from construct.errors import UsageError


def all_commands() -> Registry:
    """Return the registry of all slash commands."""
    modules = (conversation, memory, corrections, status, data)
    return Registry([module.group for module in modules])


async def _command_choices(chat: Chat) -> Sequence[Choice]:
    commands = [Choice(c.name, c.help) for g in all_commands().groups for c in g.commands]
    return [Choice("all", "every command"), Choice("keys", "what the keys do"), *commands]


@status.group.command(
    "/help [COMMAND|all|keys]",
    "commands and keys",
    example="/help memory",
    choices=_command_choices,
)
async def show_help(chat: Chat, out: Output, argument: str) -> None:
    """Shows the everyday commands, all commands, one command in detail, or the keys."""
    registry = all_commands()
    if not argument:
        out.show(everyday_view(registry))
        return
    if argument == "all":
        out.show(HelpView(registry.groups))
        return
    if argument == "keys":
        out.show(keys_view())
        return
    name = argument.removeprefix("/")
    command = registry.find(name)
    if command is None:
        raise UsageError(registry.unknown(name))
    out.show(command_view(command))
