"""Leaving a chat: the memory work that is due is finished first, visibly."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from construct.errors import ConstructError

if TYPE_CHECKING:
    from construct.chat.chat import Chat

_LEAVING_SECONDS = 20.0
"""How long leaving waits for the memory work that is due."""
_EXCHANGE_SECONDS = 20.0
"""How long leaving waits for the exchange with other machines."""
_PATIENCE_SECONDS = 0.3
"""How long that work may take before a notice says so."""


async def leave(chat: "Chat", notice: Callable[[str], None]) -> None:
    """Finish the memory work that is due, then say in one line what was learned and what waits."""
    from construct.views.review import evening_line

    await finish_memory(chat, notice)
    await exchange_on_leaving(chat, notice)
    with suppress(ConstructError):
        if line := evening_line(await chat.evening()):
            notice(line)


async def exchange_on_leaving(chat: "Chat", notice: Callable[[str], None]) -> None:
    """Exchange with the user's other machines, for so long and no longer."""
    exchanging = asyncio.create_task(chat.exchange(), name="exchange")
    with on_signals(exchanging.cancel, "SIGINT"):
        await asyncio.wait({exchanging}, timeout=_PATIENCE_SECONDS)
        if not exchanging.done():
            notice("exchanging with your other machines… Ctrl-C leaves it for later")
            await asyncio.wait({exchanging}, timeout=_EXCHANGE_SECONDS)
    if not exchanging.done() or exchanging.cancelled():
        exchanging.cancel()
        notice("left for the next start")
    elif line := exchanging.result():
        notice(line)


async def finish_memory(chat: "Chat", notice: Callable[[str], None]) -> None:
    """Do the memory work due on leaving, with a notice when it takes a while.

    What is left after `_LEAVING_SECONDS`, at Ctrl-C, or when this is cancelled, is done later.
    """
    if not await chat.has_work_left():
        return
    finishing = asyncio.create_task(chat.finish(_LEAVING_SECONDS), name="leaving")
    with on_signals(finishing.cancel, "SIGINT"):
        try:
            await asyncio.wait({finishing}, timeout=_PATIENCE_SECONDS)
            if not finishing.done():
                notice("finishing memory work… Ctrl-C leaves it for later")
            if not await finishing:
                notice("not finished in time; the rest will be done later")
        except asyncio.CancelledError:
            finishing.cancel()
            notice("left for later")


@contextmanager
def on_signals(act: Callable[[], object], *names: str) -> Iterator[None]:
    """Call `act` when one of the named signals arrives, if the system has it."""
    loop = asyncio.get_running_loop()
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    with suppress(NotImplementedError):  # Windows
        for number in numbers:
            loop.add_signal_handler(number, act)
    try:
        yield
    finally:
        with suppress(NotImplementedError):  # Windows
            for number in numbers:
                loop.remove_signal_handler(number)
