"""The tools from outside that a process offers its model.

Little is imported here: most people configure no server, and a chat waits for this module.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from construct.llm.types import Tool, ToolUse
from construct.text import shorten
from construct.tools import MCP_JSON
from construct.tools.call_types import Surroundings, UsedTool, refused
from construct.tools.results import arguments_text

if TYPE_CHECKING:
    from construct.tools.calls import ToolCalls

_SUMMARY_WIDTH = 100


class OutsideTools:
    """The tools of the servers in `mcp.json`, as far as the user has allowed them.

    What is offered stays the same until `reload`, so that requests begin with the same
    tools.
    """

    def __init__(self, config_dir: Path) -> None:
        self._config_dir = config_dir
        self._calls: ToolCalls | None = None
        self._is_read = False
        self.is_allowed_in_private = False

    def offered(self) -> tuple[Tool, ...]:
        """Return the tools that the model is offered; none if the answers cannot be read."""
        calls = self._read()
        return calls.offered() if calls else ()

    def notices(self) -> list[str]:
        """Return what the user should know of their servers, a line each."""
        calls = self._read()
        return calls.notices() if calls else []

    def reload(self) -> None:
        """Read again what is configured and allowed. Servers that failed are tried again."""
        self._is_read = False
        if self._calls is not None:
            self._calls.reload()

    async def use(self, call: ToolUse, around: Surroundings) -> UsedTool:
        """Run one call, if the guard and the user let it. Errors become a result."""
        calls = self._read()
        if calls is not None:
            return await calls.use(call, around)
        return refused(call, f"There is no tool {shorten(call.name, 60)}.")

    async def close(self) -> None:
        """Stop the servers that run."""
        if self._calls is not None:
            await self._calls.close()

    def _read(self) -> "ToolCalls | None":
        if not self._is_read:
            self._is_read = True
            if self._calls is None and (self._config_dir / MCP_JSON).exists():
                from construct.tools.calls import ToolCalls

                self._calls = ToolCalls(self._config_dir)
        return self._calls


def call_summary(call: ToolUse) -> str:
    """Return a call as one line for the screen."""
    return shorten(f"{call.name} {arguments_text(call.input)}", _SUMMARY_WIDTH)
