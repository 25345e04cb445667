"""Lines that were sent and wait for their turn."""

import asyncio


class WaitingLines:
    """Dealt with one after the other; the newest can be taken back until it is its turn."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._changed = asyncio.Event()

    def add(self, line: str) -> None:
        """Let a line wait behind the others."""
        self.lines.append(line)
        self._changed.set()

    def take_back(self) -> str:
        """Take the newest out again and return it; there must be one."""
        return self.lines.pop()

    async def next(self) -> str:
        """Wait for the oldest and take it out."""
        while not self.lines:
            self._changed.clear()
            await self._changed.wait()
        return self.lines.pop(0)
